// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// past returns the changes in the report without routine ones, and without rows and containers,
// which the snapshot itself has. It lists parts that could not be read.
func past(ctx context.Context, reader *cli.Reader, s *cluster.Cluster, source cluster.Source) dashboard.Past {
	c := reader.Archived(s)
	if c == nil {
		var err error
		if c, err = support.Gather(ctx, reader.Client(), s, source, support.Server{}, support.Limits{}); err != nil {
			return dashboard.Past{} // ctx has ended, and so has the dashboard
		}
	}
	report := page.New(c, statusOf(c.Snapshot, reader.Deps().Clock.Now())())
	var out dashboard.Past
	for _, c := range slices.Backward(report.Changes) {
		if c.Routine || c.Kind == "Row" || c.Kind == "Container" {
			continue
		}
		out.Changes = append(out.Changes, dashboard.Change{At: c.Time.Time, Text: c.Line(), Bad: c.Warning})
	}
	for _, l := range report.LeftOut {
		if !strings.HasPrefix(l.What, "log") { // logs contain no changes
			out.Changes = append(out.Changes, dashboard.Change{At: s.TakenAt, Text: "not read: " + page.LeftOutLine(l),
				Bad: true})
		}
	}
	return out
}

// withPast also sends the past changes while the feed runs.
func withPast(feed dashboard.Feed, read func(context.Context) dashboard.Past) dashboard.Feed {
	return func(ctx context.Context, send func(any)) {
		var wg sync.WaitGroup
		wg.Go(func() {
			if p := read(ctx); ctx.Err() == nil {
				send(p)
			}
		})
		feed(ctx, send)
		wg.Wait()
	}
}
