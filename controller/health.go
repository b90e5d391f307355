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
	// notReadyAfter and deadAfter are how long the loop may be silent. A reconciliation is cut off after reconcileTimeout, so a loop
	// that is silent for longer than that is stuck and only a new process helps.
	notReadyAfter    = 30 * time.Second
	reconcileTimeout = time.Minute
	deadAfter        = 3 * time.Minute
	syncTimeout      = time.Second
	// stalledAfter is when a controller whose loop is silent ends itself, and so releases its Lease: a new controller, or the waiting one, takes over. It is longer than one
	// reconciliation may take, and shorter than the time after which the kubelet restarts the container; outside a cluster there is no kubelet.
	stalledAfter = reconcileTimeout + notReadyAfter
)

// errStalled ends a controller whose loop stalls.
var errStalled = errors.New("the controller stops so that another one can lead")

// pulse sends an empty request through the queue of the reports' loop at intervals: a request that is processed, this one or a cluster's, shows that the loop lives, not only the
// process. A loop that works off a long queue lives.
type pulse struct {
	clock   clock.WithTicker
	elected <-chan struct{}

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	last  time.Time
}

// source gives the loop's queue to the pulse.
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

// Start sends until ctx ends, and ends with an error, and so the manager with it, when no request has been processed for stalledAfter. The manager starts it on the leader only. A
// process that is frozen as a whole renews no Lease; one whose loop alone is frozen would hold it for ever.
func (p *pulse) Start(ctx context.Context) error {
	p.beat() // the loop has had no chance yet
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

// check fails when this controller leads and the loop has been silent for longer than limit. A controller that waits for its turn has no loop to check.
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

// silent is an error when the loop has been silent for longer than limit.
func (p *pulse) silent(limit time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.IsZero() {
		return nil // elected a moment ago; Start is about to run
	}
	if silent := p.clock.Since(p.last); silent > limit {
		return fmt.Errorf("the loop that assembles reports has not run for %s", silent.Round(time.Second))
	}
	return nil
}

// synced fails until the caches are filled.
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
