// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// pollInterval is the interval of checks without a signal: watches can be lost, and ages grow.
const pollInterval = 5 * time.Second

// WaitFlags are --wait and --timeout.
type WaitFlags struct {
	Wait    bool
	Timeout time.Duration
}

// AddFlags binds the flags; what completes "Wait until" in the help text.
func (f *WaitFlags) AddFlags(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.Wait, "wait", f.Wait, "Wait until "+what+", at most --timeout.")
	cmd.Flags().DurationVar(&f.Timeout, "timeout", 5*time.Minute,
		"Timeout of --wait. 0: check once, negative: one week.")
}

// Validate refuses --timeout without --wait.
func (f *WaitFlags) Validate(cmd *cobra.Command) error {
	if !f.Wait && cmd.Flags().Changed("timeout") {
		return exit.Usagef("--timeout requires --wait")
	}
	return nil
}

// Wait describes one wait.
type Wait struct {
	// Subject names the awaited state, for the timeout error: "demo/demo to be healthy".
	Subject string
	Timeout time.Duration
	// Changed signals that a new check is useful; may be nil.
	Changed <-chan struct{}
	// Every is the interval of checks without a signal; default 5 s.
	Every time.Duration
	// Check runs one check. activity describes why the state is not reached yet. An error of the
	// first check ends the wait. Later errors are printed and the check is retried, because a
	// connection may recover.
	Check func(ctx context.Context) (done bool, activity string, err error)
}

// Wait repeats the check, and shows why the state is not reached yet. Errors: exit.TimedOut,
// exit.Interrupted, or the error of the first check.
func (d *Deps) Wait(ctx context.Context, w Wait) error {
	done, activity, err := w.Check(ctx)
	switch {
	case err != nil:
		return err
	case done:
		return nil
	case w.Timeout == 0:
		return exit.TimedOut(fmt.Errorf("%s: not yet: %s", w.Subject, activity))
	case w.Timeout < 0:
		w.Timeout = 7 * 24 * time.Hour
	}
	start := d.Clock.Now()
	// Before the timers, so that its first line shows zero elapsed time.
	p := d.NewLimitedProgress("waiting for "+w.Subject+": "+activity, w.Timeout)
	defer p.Stop()
	deadline := d.Clock.NewTimer(w.Timeout)
	defer deadline.Stop()
	tick := d.Clock.NewTicker(cmp.Or(w.Every, pollInterval))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return exit.Interrupted(fmt.Errorf("wait for %s: %w", w.Subject, ctx.Err()))
		case <-deadline.C():
			return exit.TimedOut(fmt.Errorf("timed out after %s waiting for %s: %s", words.Age(d.Clock.Since(start)),
				w.Subject, activity))
		case _, ok := <-w.Changed:
			if !ok {
				w.Changed = nil
				continue
			}
		case <-tick.C():
		}
		done, text, err := w.Check(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, context.Canceled):
			return exit.Interrupted(fmt.Errorf("wait for %s: %w", w.Subject, context.Canceled))
		case err != nil && exit.Code(err) != exit.CodeError:
			return err // final, not temporary
		case err != nil:
			text = exit.Describe(err).Error() + " (retrying)"
		case done:
			return nil
		}
		activity = text
		p.Update("waiting for " + w.Subject + ": " + activity)
	}
}
