// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestTheLoopIsAskedOnTheLeaderOnly(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	elected := make(chan struct{})
	p := &pulse{clock: clk, elected: elected}
	ready := func() error { return p.check(notReadyAfter)((&http.Request{}).WithContext(t.Context())) }
	p.beat()
	clk.Step(time.Hour)
	if err := ready(); err != nil {
		t.Errorf("one that waits for its turn is not ready: %v", err)
	}
	close(elected)
	if err := ready(); err == nil {
		t.Error("the leader's loop is silent, and it is ready")
	}
	p.beat()
	if err := ready(); err != nil {
		t.Errorf("the loop lives: %v", err)
	}
	clk.Step(notReadyAfter + time.Second)
	if err := ready(); err == nil {
		t.Error("the loop is silent, and it is ready")
	}
	if err := p.check(deadAfter)(nil); err != nil {
		t.Errorf("dead too early: %v", err)
	}
}

// queued is a pulse that goes through a queue.
func queued(t *testing.T) (*pulse, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	p := &pulse{clock: clock.RealClock{}, elected: make(chan struct{})}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	must(t, p.source().Start(t.Context(), q))
	return p, q
}

func TestThePulseGoesThroughTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, q := queued(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Start(ctx) }()
		for range 3 {
			got, _ := q.Get()
			if got != (reconcile.Request{}) {
				t.Errorf("got %v", got)
			}
			q.Done(got)
			time.Sleep(pulseInterval)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A controller whose loop stalls ends itself, so that it does not hold the Lease of the election for ever: later than one reconciliation may take, and before the kubelet restarts
// it.
func TestAControllerWhoseLoopStallsEndsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if stalledAfter <= reconcileTimeout || stalledAfter >= deadAfter {
			t.Errorf("ends itself after %v: a reconciliation may take %v, the kubelet waits for %v", stalledAfter, reconcileTimeout, deadAfter)
		}
		p, q := queued(t)
		done := make(chan error, 1)
		go func() { done <- p.Start(t.Context()) }()
		pass := func(works bool) {
			got, _ := q.Get()
			q.Done(got)
			if works {
				p.beat()
			}
			time.Sleep(pulseInterval)
			synctest.Wait()
		}
		for range 2 * int(stalledAfter/pulseInterval) {
			pass(true)
		}
		for range int(stalledAfter/pulseInterval) - 1 { // requests that are taken from the queue are never done
			pass(false)
			select {
			case err := <-done:
				t.Fatalf("ends too early: %v", err)
			default:
			}
		}
		time.Sleep(pulseInterval)
		if err := <-done; !errors.Is(err, errStalled) {
			t.Errorf("ended by %v", err)
		}
	})
}
