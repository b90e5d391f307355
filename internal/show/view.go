// SPDX-License-Identifier: Apache-2.0

package show

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// view is the line about the controller's view.
func (p *painter) view(level detail) []string {
	if p.d.View == nil {
		return nil
	}
	lines := p.each(Dim, p.wrap(p.d.ViewText(p.o.Wide, level.terse), "  "))
	if level.terse {
		return lines
	}
	for _, m := range queueTexts(p.d.View, p.d.At(), queueLines) {
		lines = append(lines, p.each(Dim, p.wrap("  "+m, "    "))...)
	}
	return lines
}

// queueLines is the maximum of queue entries in a text; -o json has the whole queue.
const queueLines = 5

// queueTexts lists which members may start, and why others wait, in order.
func queueTexts(v *api.StatusReportView, now time.Time, enough int) []string {
	var out []string
	for _, x := range v.Permits {
		out = append(out,
			words.Text(words.New(words.ViewPermitted, "member", x.Member, "kind", string(x.Kind), "age",
				words.Ago(x.Since.Time, now))))
	}
	for i, x := range v.Queue {
		if i == enough {
			break
		}
		out = append(out,
			words.Text(words.New(words.ViewQueued, "place", i+1, "member", x.Member, "kind", string(x.Kind), "why",
				bootstrap.Waits(x))))
	}
	if more := max(len(v.Queue), int(v.Waiting)) - enough; more > 0 {
		out = append(out, words.Text(words.New(words.ViewQueueIsLonger, "more", more)))
	}
	return out
}
