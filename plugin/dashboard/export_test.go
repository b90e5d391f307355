// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// PageOf is the page of a member as enter opens it.
func PageOf(ctx context.Context, d *cli.Deps, read cli.ReadFlags, target string) (*dashboard.Page, error) {
	o := &options{d: d, read: read}
	reader, err := d.NewReader(ctx, read)
	if err != nil {
		return nil, err
	}
	return o.actions(ctx, reader).Describe(target)
}

// PastOf is what a dashboard that watches sends first beside the snapshots.
func PastOf(ctx context.Context, t *testing.T, d *cli.Deps) dashboard.Past {
	t.Helper()
	reader, err := d.NewReader(ctx, cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAuto)})
	if err != nil {
		t.Fatal(err)
	}
	first, err := reader.Cluster(ctx, "demo")
	if err != nil {
		t.Fatal(err)
	}
	var got dashboard.Past
	feed := withPast(func(ctx context.Context, _ func(any)) {}, func(ctx context.Context) dashboard.Past { return past(ctx, reader, first, cluster.SourceAuto) })
	feed(ctx, func(msg any) {
		if p, ok := msg.(dashboard.Past); ok {
			got = p
		}
	})
	return got
}

// ActionsOf are what the keys run, of a dashboard with the flags that cmd has.
func ActionsOf(t *testing.T, d *cli.Deps, cmd *cobra.Command) dashboard.Actions {
	t.Helper()
	o := &options{d: d, once: true}
	if err := o.Validate(cmd); err != nil {
		t.Fatal(err)
	}
	return o.actions(t.Context(), nil)
}
