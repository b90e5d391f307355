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

// gate holds back a paused node, as SIGSTOP holds a process: nothing runs, sockets stay open.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil when open
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

func (g *gate) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		ch := g.closed
		g.mu.Unlock()
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
