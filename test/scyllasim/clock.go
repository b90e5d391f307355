// SPDX-License-Identifier: Apache-2.0

package scyllasim

import "time"

// clock is the time of a node. All durations given to it are ScyllaDB's own (a gossip round is one second); the clock converts
// them to wall time.
type clock struct {
	start time.Time
	speed float64
}

// newClock returns a clock that runs speed times as fast as wall time. A speed of zero or less means 1.
func newClock(speed float64) *clock {
	if speed <= 0 {
		speed = 1
	}
	return &clock{start: time.Now(), speed: speed}
}

// Now returns the node's time. Only differences mean something: a fast clock runs ahead of wall time.
func (c *clock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

// After fires once d of the node's time has passed.
func (c *clock) After(d time.Duration) <-chan time.Time { return time.After(c.Real(d)) }

// Real converts a duration of the node's time to wall time.
func (c *clock) Real(d time.Duration) time.Duration { return time.Duration(float64(d) / c.speed) }
