// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter/publish"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// arrives lets a write that was sent before arrive now.
func (w *world) arrives(patch string) error {
	w.t.Helper()
	return w.c.Patch(context.Background(), ownPod(ns, pod), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// An annotation that somebody removes, or that a restored etcd lacks, is written again within two minutes, although the row is the same.
func TestNoHarm24AMissingAnnotationIsWrittenAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		for _, lose := range []string{"null", `"{}"`} {
			time.Sleep(3 * time.Minute)
			want := w.annotation()
			if want == "" {
				t.Fatal("nothing was written")
			}
			if err := w.arrives(`{"metadata":{"annotations":{"` + api.AnnotationNodeStatusReport + `":` + lose + `}}}`); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			if got := w.annotation(); got != want {
				t.Errorf("set to %s two minutes ago, it is %q, want %q", lose, got, want)
			}
		}
		// A failed check is no unwritten change, and the next one finds what is missing.
		if err := w.arrives(`{"metadata":{"annotations":{"` + api.AnnotationNodeStatusReport + `":null}}}`); err != nil {
			t.Fatal(err)
		}
		w.setFailure(context.DeadlineExceeded)
		time.Sleep(10 * time.Minute)
		w.setFailure(nil)
		time.Sleep(30 * time.Second)
		if w.annotation() == "" {
			t.Error("the annotation is missing after the API server is back")
		}
	})
}

// One answer that the Pod does not exist, as of an API server that is being restored, does not end the reporter: the Pod is read.
func TestNoHarm24APodThatIsNotFoundOnceIsReadBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		missing := true
		w.o.Client = interceptor.NewClient(w.c, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				if missing {
					missing = false
					return apierrors.NewNotFound(corev1.Resource("pods"), pod)
				}
				return c.Patch(ctx, obj, p, opts...)
			},
		})
		w.start()
		time.Sleep(time.Minute)
		if w.annotation() == "" {
			t.Error("nothing was written")
		}
	})
}

// A write that the reporter has given up, and that arrives after a newer one, must not bring its row back: no later write would repair it.
func TestALateWriteDoesNotBringAnOldRowBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		time.Sleep(time.Second)
		n, _ := w.count()
		old := w.patches[n-1] // all UP
		w.node.sees(false)
		time.Sleep(time.Minute)
		if err := w.arrives(old); !apierrors.IsConflict(err) {
			t.Errorf("it is taken: %v", err)
		}
		if row := w.row(); row.ObservedNodes[0].Status != api.NodeStatusDown {
			t.Errorf("the row is the old one: %+v", row.ObservedNodes)
		}
	})
}

// A write that failed for the reporter and arrives although the row has become the one of before again is found, and mended.
func TestALateWriteIsFound(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		time.Sleep(time.Minute)
		before, _ := w.count()
		w.setFailure(context.DeadlineExceeded)
		w.node.sees(false)
		time.Sleep(6 * time.Second)
		n, _ := w.count()
		if n == before {
			t.Fatal("nothing was written")
		}
		lost := w.patches[n-1]
		w.setFailure(nil)
		w.node.sees(true)
		time.Sleep(20 * time.Second)
		if again, _ := w.count(); again != n {
			t.Errorf("%d patches of the row that is already written", again-n)
		}
		if err := w.arrives(lost); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if row := w.row(); row.ObservedNodes[0].Status != api.NodeStatusUp {
			t.Errorf("the row of a late write stays: %+v", row.ObservedNodes)
		}
		// When no write can arrive any more, nothing is read back but for the check.
		time.Sleep(2 * publish.Late)
		_, reads := w.count()
		time.Sleep(10 * time.Minute)
		if _, again := w.count(); again-reads > int(10*time.Minute/publish.CheckEvery) {
			t.Errorf("the Pod is read %d times although nothing is in doubt", again-reads)
		}
	})
}

// Writes of others to the Pod keep no row from being written, and are kept; what is no row is replaced.
func TestOthersWriteToThePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "not json")
		w.start()
		time.Sleep(time.Second)
		w.labels(map[string]string{"of": "somebody else"})
		w.node.sees(false)
		time.Sleep(10 * time.Second)
		if row := w.row(); row.ObservedNodes[0].Status != api.NodeStatusDown {
			t.Errorf("the row is the old one: %+v", row.ObservedNodes)
		}
		if p := w.pod(); p.Annotations["other"] != "kept" || p.Labels["of"] == "" {
			t.Errorf("labels %v, annotations %v", p.Labels, p.Annotations)
		}
	})
}
