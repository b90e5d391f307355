// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// controllerKills counts the restarts of the controller's container that tests have caused. All
// others are a defect of the controller, or a test cluster that has too much to do.
var controllerKills atomic.Int32

// health counts what goes wrong without failing a test: restarts of the controller, and failed
// probes.
type health struct {
	mu       sync.Mutex
	restarts map[types.UID]int32 // of the controller's containers, by Pod
	probes   map[types.UID]probe // by Event
	stop     context.CancelFunc
	done     sync.WaitGroup
}

type probe struct {
	kind  string // Liveness, Readiness or Startup
	count int32
}

// watchHealth counts from now on.
func watchHealth(w *scenario.World) *health {
	ctx, stop := context.WithCancel(context.Background())
	h := &health{restarts: map[types.UID]int32{}, probes: map[types.UID]probe{}, stop: stop}
	h.done.Go(func() { h.follow(ctx, w, &corev1.PodList{}, client.InNamespace("kubectl-scylla")) })
	h.done.Go(func() { h.follow(ctx, w, &corev1.EventList{}, client.MatchingFields{"reason": "Unhealthy"}) })
	return h
}

// follow watches until ctx ends. Where a watch breaks, the next one begins with all that is there.
func (h *health) follow(ctx context.Context, w *scenario.World, list client.ObjectList, what client.ListOption) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		events, err := w.Client.Watch(ctx, list, what)
		if err != nil {
			return
		}
		defer events.Stop()
		for e := range events.ResultChan() {
			h.add(e.Object)
		}
	}, time.Second)
}

func (h *health) add(o any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch o := o.(type) {
	case *corev1.Pod:
		for _, s := range o.Status.ContainerStatuses {
			h.restarts[o.UID] = max(h.restarts[o.UID], s.RestartCount)
		}
	case *corev1.Event:
		kind, _, _ := strings.Cut(o.Message, " ")
		h.probes[o.UID] = probe{kind, max(o.Count, 1)}
	}
}

// report prints what was counted, and returns false where the controller was restarted more often
// than tests have asked for.
func (h *health) report() bool {
	h.stop()
	h.done.Wait()
	var restarts int32
	for n := range maps.Values(h.restarts) {
		restarts += n
	}
	probes := map[string]int32{}
	for _, p := range h.probes {
		probes[p.kind] += p.count
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(probes)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", probes[kind], strings.ToLower(kind)))
	}
	asked := controllerKills.Load()
	fmt.Printf("note: the controller was restarted %d times, %d of them by a test; failed probes: %s\n", restarts, asked, strings.Join(kinds, ", "))
	return restarts <= asked
}
