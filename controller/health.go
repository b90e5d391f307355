// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	pulseInterval = 5 * time.Second
	// notReadyAfter and deadAfter are the longest times without a processed request. A
	// reconciliation is cancelled after reconcileTimeout, so a loop without progress for longer is
	// stuck, and only a new process helps.
	notReadyAfter    = 30 * time.Second
	reconcileTimeout = time.Minute
	deadAfter        = 3 * time.Minute
	syncTimeout      = time.Second
	// stalledAfter is when a controller whose loop is stuck ends itself and releases its Lease, so
	// that another controller takes over. It exceeds the time of one reconciliation, and is less
	// than the time after which the kubelet restarts the container; outside a cluster there is no
	// kubelet.
	stalledAfter = reconcileTimeout + notReadyAfter
)

// errStalled ends a controller whose loop is stuck.
var errStalled = errors.New("the controller stops so that another one can lead")

// pulse sends an empty request through the queue of the reports' loop at intervals. A processed
// request, empty or of a cluster, shows that the loop runs, not only the process. A loop with a
// long queue also makes progress.
type pulse struct {
	clock   clock.WithTicker
	elected <-chan struct{}

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	last  time.Time
}

// source passes the loop's queue to the pulse.
func (p *pulse) source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = q
		return nil
	})
}

// beat is called by the loop after each request.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.clock.Now()
}

// Start sends requests until ctx ends. It returns an error, which ends the manager, if no request
// was processed for stalledAfter. The manager starts it on the leader only. A frozen process renews
// no Lease; a process with only its loop frozen would hold the Lease indefinitely.
func (p *pulse) Start(ctx context.Context) error {
	p.beat() // the loop has not run yet
	t := p.clock.NewTicker(pulseInterval)
	defer t.Stop()
	for {
		p.mu.Lock()
		q := p.queue
		p.mu.Unlock()
		if q != nil {
			q.Add(reconcile.Request{})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C():
		}
		if err := p.silent(stalledAfter); err != nil {
			return fmt.Errorf("%w: %w", err, errStalled)
		}
	}
}

// check returns an error if this controller leads and its loop has processed no request for longer
// than limit. A standby controller has no loop to check.
func (p *pulse) check(limit time.Duration) func(*http.Request) error {
	return func(*http.Request) error {
		select {
		case <-p.elected:
		default:
			return nil
		}
		return p.silent(limit)
	}
}

// silent returns an error if the loop has processed no request for longer than limit.
func (p *pulse) silent(limit time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.IsZero() {
		return nil // just elected; Start has not run yet
	}
	if silent := p.clock.Since(p.last); silent > limit {
		return fmt.Errorf("the loop that assembles reports has not run for %s", silent.Round(time.Second))
	}
	return nil
}

// synced returns an error until the caches are filled.
func synced(c cache.Cache) func(*http.Request) error {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), syncTimeout)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("caches are not synced")
		}
		return nil
	}
}
