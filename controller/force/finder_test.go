// SPDX-License-Identifier: Apache-2.0

package force

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// watched counts the watches that are added to it.
type watched struct {
	controller.Controller
	added chan source.Source
}

func (w *watched) Watch(s source.Source) error {
	w.added <- s
	return nil
}

// later is a mapper that reports a kind as unknown on the first lookup and knows it from the second on.
type later struct {
	meta.RESTMapper
	asked map[schema.GroupKind]int
	kind  string
}

func (l *later) RESTMapping(gk schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	l.asked[gk]++
	if gk.Kind == l.kind && l.asked[gk] < 2 {
		return nil, &meta.NoKindMatchError{GroupKind: gk}
	}
	return &meta.RESTMapping{}, nil
}

func TestKindsMayBeInstalledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{added: make(chan source.Source, 2)}
		f := &finder{mapper: &later{asked: map[schema.GroupKind]int{}, kind: "ScyllaDBDatacenter"}, controller: w, clock: clock.RealClock{}, log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- f.Start(ctx) }()
		<-w.added
		time.Sleep(lookForKinds - 1)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("gave up: %v", err)
		default:
		}
		if diff := cmp.Diff([]schema.GroupVersionKind{api.ScyllaClusterGVK}, f.kinds()); diff != "" {
			t.Errorf("at first (-want +got):\n%s", diff)
		}
		<-w.added
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]schema.GroupVersionKind{api.ScyllaDBDatacenterGVK, api.ScyllaClusterGVK}, f.kinds()); diff != "" {
			t.Errorf("in the end, nearest first (-want +got):\n%s", diff)
		}
	})
}

func TestTheSearchEndsWithTheController(t *testing.T) {
	f := &finder{mapper: meta.NewDefaultRESTMapper(nil), clock: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)), log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Start(ctx); err != nil || len(f.kinds()) != 0 {
		t.Errorf("%v, %v", err, f.kinds())
	}
}
