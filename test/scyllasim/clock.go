// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"sync"
	"time"
)

// Clock is the time of a node. All durations given to it are ScyllaDB's own (a gossip round is one second); the clock converts
// them to wall time.
type Clock interface {
	// Now returns the node's time. Only differences mean something: a fast clock runs ahead of wall time.
	Now() time.Time
	// After fires once d of the node's time has passed.
	After(d time.Duration) <-chan time.Time
	// Real converts a duration of the node's time to wall time, for socket deadlines.
	Real(d time.Duration) time.Duration
}

type scaledClock struct {
	start time.Time
	speed float64
}

// NewClock returns a clock that runs speed times as fast as wall time. A speed of zero or less means 1.
func NewClock(speed float64) Clock {
	if speed <= 0 {
		speed = 1
	}
	return &scaledClock{start: time.Now(), speed: speed}
}

func (c *scaledClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

func (c *scaledClock) After(d time.Duration) <-chan time.Time { return time.After(c.Real(d)) }

func (c *scaledClock) Real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

// ManualClock changes only when Advance is called. It is for tests that drive a part of a node without waiting.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []manualTimer
}

type manualTimer struct {
	at time.Time
	ch chan time.Time
}

// NewManualClock returns a clock set to start.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start} }

// Now returns the time last set.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After fires when Advance has moved the clock by at least d.
func (c *ManualClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- c.now
		return ch
	}
	c.timers = append(c.timers, manualTimer{at: c.now.Add(d), ch: ch})
	return ch
}

// Real returns d: a manual clock has no wall time of its own.
func (c *ManualClock) Real(d time.Duration) time.Duration { return d }

// Waiters returns how many timers have not fired.
func (c *ManualClock) Waiters() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// Advance moves the clock and fires what is due.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	rest := c.timers[:0]
	for _, t := range c.timers {
		if t.at.After(c.now) {
			rest = append(rest, t)
			continue
		}
		t.ch <- c.now
	}
	c.timers = rest
}

// gate holds back a paused node, as SIGSTOP holds a process: nothing runs, sockets stay open.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil when open; closed channel is replaced on resume
}

func (g *gate) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// held returns nil when the gate is open, else a channel that is closed when it opens.
func (g *gate) held() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *gate) wait(ctx context.Context) error {
	for {
		ch := g.held()
		if ch == nil {
			return ctx.Err()
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
