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

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// arrives lets a write that was sent before arrive now.
func (w *world) arrives(patch string) error {
	w.t.Helper()
	return w.c.Patch(context.Background(), ownPod(ns, pod), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// A write that the reporter has given up, and that arrives after a newer one, must not bring its row back: no later write would repair it.
func TestALateWriteDoesNotBringAnOldRowBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		defer func() { _ = stop() }()
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
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		defer func() { _ = stop() }()
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
		if err := w.arrives(lost); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if row := w.row(); row.ObservedNodes[0].Status != api.NodeStatusUp {
			t.Errorf("the row of a late write stays: %+v", row.ObservedNodes)
		}
		// When no write can arrive any more, nothing is read back.
		time.Sleep(2 * late)
		_, reads := w.count()
		time.Sleep(10 * time.Minute)
		if _, again := w.count(); again != reads {
			t.Errorf("the Pod is read %d times although nothing is in doubt", again-reads)
		}
	})
}

// Writes of others to the Pod keep no row from being written.
func TestOthersWriteToThePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		time.Sleep(time.Second)
		p := &corev1.Pod{}
		if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: pod}, p); err != nil {
			t.Fatal(err)
		}
		p.Labels = map[string]string{"of": "somebody else"}
		if err := w.c.Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		w.node.sees(false)
		time.Sleep(10 * time.Second)
		if row := w.row(); row.ObservedNodes[0].Status != api.NodeStatusDown {
			t.Errorf("the row is the old one: %+v", row.ObservedNodes)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
