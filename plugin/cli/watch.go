// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
)

// redraw is how often a watched screen is drawn again so that ages grow.
const redraw = 2 * time.Second

// Frame is one state of what is watched.
type Frame struct {
	// Draw writes it to standard output.
	Draw func() error
	// Key tells states apart: where standard output is not a terminal, a state with the key of the last one is not written again.
	Key string
	// Changed, when not nil, replaces the signal that was used so far.
	Changed <-chan struct{}
}

// Watch draws frame after frame until ctx ends, and then gives exit.Interrupted. The first frame that cannot be made ends it; later ones
// are told on standard error and tried again.
func (d *Deps) Watch(ctx context.Context, next func(ctx context.Context) (Frame, error)) error {
	tty := d.Terminal().Out && d.env("TERM") != "dumb"
	every := pollInterval
	if tty {
		every = redraw
	}
	tick := d.Clock.NewTicker(every)
	defer tick.Stop()
	var changed <-chan struct{}
	last, drawn, trouble := "", false, ""
	for {
		f, err := next(ctx)
		switch {
		case ctx.Err() != nil:
			return exit.Interrupted(ctx.Err())
		case err != nil && !drawn:
			return err
		case err != nil:
			if text := exit.Describe(err).Error(); text != trouble {
				trouble = text
				d.Warn("what is shown may be old: %s; trying again", text)
			}
		default:
			trouble = ""
			if f.Changed != nil {
				changed = f.Changed
			}
			if tty || !drawn || f.Key != last {
				if tty {
					// Home, draw, clear what is left below: no flicker as clearing first would have.
					_, _ = fmt.Fprint(d.Streams.Out, "\x1b[H\x1b[2J")
				}
				if err := f.Draw(); err != nil {
					return err
				}
			}
			last, drawn = f.Key, true
		}
		select {
		case <-ctx.Done():
			return exit.Interrupted(ctx.Err())
		case _, ok := <-changed:
			if !ok {
				changed = nil
			}
		case <-tick.C():
		}
	}
}
