// SPDX-License-Identifier: Apache-2.0

// Package notice writes Events for the reconcilers. It caches written Events, so that a lasting
// condition costs no requests. It must not decide what deserves an Event.
package notice

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// again is the interval at which the Event of a lasting condition is repeated: the API server
// deletes Events after an hour.
const again = 30 * time.Minute

// limit is the maximum number of cached Events.
const limit = 10_000

// Recorder emits Events. It is safe for concurrent use.
type Recorder struct {
	client client.Client
	clock  clock.PassiveClock
	log    *slog.Logger

	mu   sync.Mutex
	said map[key]time.Time
}

type key struct{ namespace, name, uid, typ, reason, note string }

// New returns a Recorder that writes through c.
func New(c client.Client, clk clock.PassiveClock, log *slog.Logger) *Recorder {
	return &Recorder{client: c, clock: clk, log: log, said: map[key]time.Time{}}
}

// Emit writes one Event about an object. A failed write is only logged, because no reconciliation
// depends on it.
func (r *Recorder) Emit(ctx context.Context, regarding client.Object, typ, reason, action, note string) {
	now := r.clock.Now()
	k := key{regarding.GetNamespace(), regarding.GetName(), string(regarding.GetUID()), typ, reason, note}
	r.mu.Lock()
	t, ok := r.said[k]
	if ok && now.Sub(t) < again {
		r.mu.Unlock()
		return
	}
	if len(r.said) >= limit {
		clear(r.said) // costs one repeated request per condition, which the API server deduplicates
	}
	r.said[k] = now
	r.mu.Unlock()

	err := kube.Emit(ctx, r.client, regarding, kube.Event{Type: typ, Reason: reason, Action: action, Note: note,
		Controller: api.ManagedByUs, Now: now})
	if err != nil {
		r.mu.Lock()
		delete(r.said, k)
		r.mu.Unlock()
		r.log.WarnContext(ctx, "event not written", "namespace", k.namespace, "name", k.name, "reason", reason, "error",
			err)
	}
}
