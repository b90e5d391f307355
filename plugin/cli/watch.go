// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// redraw is the interval at which a watched screen is redrawn to update ages.
const redraw = 2 * time.Second

// frame is one state of a watched cluster.
type frame struct {
	// Draw writes the frame to standard output.
	Draw func() error
	// Key identifies a state: if standard output is not a terminal, a state with the last state's
	// key is not written again.
	Key string
	// Changed, if not nil, replaces the current signal.
	Changed <-chan struct{}
	// What returns the differences from the previous frame, one text each; nil if they are unknown.
	What func() []string
	// Dated writes the time and the changes before every state in a file; false for documents,
	// which programs read.
	Dated bool
}

// dateline returns the line before a state in a file.
func dateline(at time.Time, texts []string) string {
	const most = 6
	line := "--- " + words.Moment(at)
	if more := len(texts) - most; more > 0 {
		texts = append(slices.Clone(texts[:most]), fmt.Sprintf("and %d more", more))
	}
	if len(texts) > 0 {
		line += ": " + show.Clean(strings.Join(texts, "; "))
	}
	return line + "\n"
}

// Watch draws frames until ctx ends, and then returns exit.Interrupted. An error of the first frame
// ends it. Later errors are printed on standard error, and the frame is retried.
func (d *Deps) Watch(ctx context.Context, next func(ctx context.Context) (frame, error)) error {
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
				d.Warn("the output may be out of date: %s; retrying", text)
			}
		default:
			trouble = ""
			if f.Changed != nil {
				changed = f.Changed
			}
			change := drawn && f.Key != last
			if tty || !drawn || change {
				if f.Dated && !tty {
					var what []string
					if change && f.What != nil {
						what = f.What()
					}
					_, _ = fmt.Fprint(d.Streams.Out, dateline(d.Clock.Now(), what))
				}
				if tty {
					// Cursor home, draw, then clear the rest: clearing first would flicker.
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
