// SPDX-License-Identifier: Apache-2.0

// Package events is `kubectl scylla events`: the changes in a cluster, with their times. It reads and changes nothing; internal/bundle/page decides which differences are
// changes, so that the report and this verb list the same.
package events

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	cli.Argument // the cluster
	d            *cli.Deps
	read         cli.ReadFlags
	output       cli.OutputFlags
	since        time.Duration
	of           string
	all          bool
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "events [CLUSTER]",
		Aliases: []string{"history"},
		Short:   "List what changed and when: rows, conditions, replacements, Events",
		Long: `List what changed and when, the newest last: since when rows say that a node is not UP,
conditions of Pods and of the report, containers that ended, replacements that began and
ended, and the Events of the cluster's own objects. What the scheduler and the kubelet say
of every Pod that starts is left out; --all shows it too.

It tells what the objects tell: a row that was bad and is well again leaves no trace in
it, and Kubernetes forgets Events after an hour. The dashboard and "status --watch" note
changes as they happen.

Exit code: 0 listed, 2 no such cluster or member, 1 error.`,
		Example: cli.Examples(
			"# The cluster of namespace demo",
			"kubectl scylla events -n demo",
			"",
			"# The last half hour of one member, as JSON",
			"kubectl scylla events -n demo --for rack3/0 --since 30m -o json",
			"",
			"# From an archive",
			"kubectl scylla events --from sample:incident",
		),
	}, cli.GroupSee, d.CompleteClusters, o)
	o.read.AddFlags(cmd, true)
	o.output.AddFlags(cmd, "wide")
	f := cmd.Flags()
	f.DurationVar(&o.since, "since", 0, "Only what changed within this time, such as 30m. 0 is all.")
	f.StringVar(&o.of, "for", "", "Only what is about this member, or names it; any form that describe takes.")
	f.BoolVar(&o.all, "all", false, "Also what the scheduler and the kubelet say of every Pod that starts.")
	_ = cmd.RegisterFlagCompletionFunc("for", d.CompleteMembers)
	return cmd
}

// Validate refuses flags that do not fit together.
func (o *options) Validate(*cobra.Command) error {
	if err := o.read.Validate(); err != nil {
		return err
	}
	switch {
	case o.since < 0:
		return exit.Usagef("--since=%s cannot be: it is how long ago, such as 30m", o.since)
	case o.of != "" && o.several():
		return exit.Usagef("--for names a member of one cluster: it cannot be used with --all-namespaces or --selector")
	case o.Name != "" && o.read.Selector != "":
		return exit.Usagef("name a cluster or choose by --selector, not both")
	}
	return o.output.Validate()
}

func (o *options) several() bool {
	return o.Name == "" && (o.read.AllNamespaces || o.read.Selector != "")
}

// Run reads and lists.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	snapshots, names, err := o.find(ctx, reader)
	if err != nil {
		return err
	}
	choice := page.HistoryChoice{Since: o.since, Names: names, Routine: o.all}
	var list []*page.History
	for _, s := range snapshots {
		h, err := Read(ctx, o.d, reader, s, cluster.Source(o.read.Source), choice)
		if err != nil {
			return exit.Interrupted(err)
		}
		list = append(list, h)
	}
	return o.show(list)
}

// Read is the history of one cluster. An error is that of ctx: parts that could not be read are listed in the history.
func Read(ctx context.Context, d *cli.Deps, reader *cli.Reader, s *cluster.Cluster, source cluster.Source, choice page.HistoryChoice) (*page.History, error) {
	c := reader.Archived(s)
	if c == nil {
		p := d.Busy("reading what belongs to cluster " + s.Key.String())
		defer p.Stop()
		var err error
		if c, err = bundle.Gather(ctx, reader.Client(), s, source, bundle.Server{}, bundle.Limits{}, p.Update); err != nil {
			return nil, err
		}
	}
	now := d.Clock.Now()
	return page.New(c, now, nil).History(choice, now), nil
}

// find gives the clusters, and of a member that was named how its objects are called.
func (o *options) find(ctx context.Context, reader *cli.Reader) ([]*cluster.Cluster, []string, error) {
	if o.several() {
		list, err := reader.All(ctx)
		return list, nil, err
	}
	s, err := reader.Cluster(ctx, o.Name)
	if err != nil || o.of == "" {
		return []*cluster.Cluster{s}, nil, err
	}
	m, err := s.ResolveTarget(o.of)
	if err != nil {
		return nil, nil, exit.Refused(fmt.Errorf("--for: %w", err))
	}
	var names []string
	for _, name := range []string{m.Member, m.PVCName, string(m.HostID)} {
		if name != "" {
			names = append(names, name)
		}
	}
	return []*cluster.Cluster{s}, names, nil
}

func (o *options) show(list []*page.History) error {
	switch {
	case o.output.Text():
		opts := o.d.Options(o.output.Format() == "wide")
		var b strings.Builder
		for i, h := range list {
			if i > 0 {
				b.WriteString("\n")
			}
			if o.several() {
				b.WriteString(render.Strong.Paint(render.Clean(h.Namespace+"/"+h.Name)) + "\n")
			}
			b.WriteString(h.Text(opts))
		}
		return o.d.Print(b.String(), opts)
	case !o.several():
		return o.output.Document(o.d, list[0])
	case o.output.Name():
		items := make([]runtime.Object, len(list))
		for i, h := range list {
			items[i] = h
		}
		return o.output.Document(o.d, items...)
	}
	return o.output.Document(o.d, page.NewHistoryList(list))
}
