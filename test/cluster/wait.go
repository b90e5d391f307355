// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// permanentError marks an error that waiting cannot cure.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks err as one that waiting cannot cure: WaitFor returns it at once.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// WaitFor calls cond at once and then every so often until it is done, and returns nil. An error of cond counts as
// "not yet", because an API server that restarts refuses connections for a moment; wrap it in Permanent to give up.
// When ctx ends first, the error says what was waited for, for how long, and the last state or error that cond
// reported; so give ctx a deadline.
func WaitFor(ctx context.Context, what string, every time.Duration, cond func(ctx context.Context) (done bool, state string, err error)) error {
	start := time.Now()
	const unseen = "not looked at yet"
	last := unseen
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: gave up after %s: %w; last state: %s",
				what, time.Since(start).Round(100*time.Millisecond), context.Cause(ctx), last)
		case <-timer.C:
		}
		done, state, err := cond(ctx)
		var permanent permanentError
		switch {
		case errors.As(err, &permanent):
			return fmt.Errorf("wait for %s: %w; last state: %s", what, permanent.error, cmp.Or(state, last))
		case err != nil && ctx.Err() != nil && last != unseen:
			// The end of ctx broke off the look itself; what was seen before says more.
		case err != nil:
			last = err.Error()
		case done:
			return nil
		default:
			last = cmp.Or(state, "not yet")
		}
		timer.Reset(every)
	}
}
