// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestAnIncompleteReadingOpensNoJoin: a rollout is not visible without the StatefulSets.
func TestAnIncompleteReadingOpensNoJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(allUp()))...)
		w.deny["statefulsets"] = true
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if !strings.Contains(w.logged(), string(words.ReadingIncomplete)) {
			t.Errorf("log:\n%s", w.logged())
		}
	})
}

// TestAFailedLookAtTheNamespaceOpensNoFirstNode: the cluster itself is readable, and the seeds may belong to another one.
func TestAFailedLookAtTheNamespaceOpensNoFirstNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service(newcomer, "rack3", nil), lease("controller-1"))
		c := interceptor.NewClient(w.c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if o := (&client.ListOptions{}).ApplyOptions(opts); o.LabelSelector == nil {
				return errors.New("etcd is away")
			}
			return c.List(ctx, list, opts...)
		}})
		w.o.NewClient = func() (client.WithWatch, error) { return c, nil }
		ctx, done := running(t, w)
		w.renews(ctx)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
	})
}

// TestOnlyTheWatchOpensAtOnce: the change comes shortly after a judgement, so that the next one by
// the interval is 7 to 10 seconds away.
func TestOnlyTheWatchOpensAtOnce(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down := report(saw(idA, "UP", idB, "DOWN"), nil)
				w := newWorld(t, append(peers(), byOperator(down))...)
				_, done := running(t, w)
				time.Sleep(5*time.Minute + after)
				stillWaiting(t, done)
				w.update(down, func() { down.Racks = allUp().Racks })
				began := time.Now()
				opens(t, done)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("took %v: not the watch, but the interval opened it", took)
				}
			})
		})
	}
}
