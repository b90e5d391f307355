// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
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

func TestThePulseGoesThroughTheQueue(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	p := &pulse{clock: clk, elected: make(chan struct{})}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := p.source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Start(ctx) }()
	for range 3 {
		got, _ := q.Get()
		if got != (reconcile.Request{}) {
			t.Errorf("got %v", got)
		}
		q.Done(got)
		clk.Step(pulseInterval)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
