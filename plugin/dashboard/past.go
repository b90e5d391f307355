// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"sync"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/ui"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/events"
)

// past returns the changes that `events` lists, except rows and containers, which the snapshot itself has. Parts that could not be read are listed.
func past(ctx context.Context, reader *cli.Reader, s *cluster.Cluster, source cluster.Source) ui.Past {
	quiet := reader.Quiet()
	h, err := events.Read(ctx, quiet.Deps(), quiet, s, source, page.HistoryChoice{})
	if err != nil {
		return ui.Past{} // only the end of ctx, and of the dashboard
	}
	var out ui.Past
	for _, c := range h.Items {
		if c.Kind == "Row" || c.Kind == "Container" {
			continue
		}
		out.Changes = append(out.Changes, ui.Change{At: c.Time.Time, Text: c.Line(), Bad: c.Warning})
	}
	for _, l := range h.LeftOut {
		out.Changes = append(out.Changes, ui.Change{At: s.TakenAt, Text: "not read: " + page.LeftOutLine(l), Bad: true})
	}
	return out
}

// withPast sends the changes of the past while the feed runs.
func withPast(feed ui.Feed, read func(context.Context) ui.Past) ui.Feed {
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
