// SPDX-License-Identifier: Apache-2.0

// Package dashboard is `kubectl scylla dashboard`: the live matrix in full screen. It loads and
// watches one cluster and sends the result to internal/show/dashboard, which draws. The commands of
// the same name change the cluster; the dashboard runs them with the terminal.
package dashboard

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// The size of the frame of --once without a terminal.
const (
	plainWidth  = 120
	plainHeight = 40
)

type options struct {
	cli.Argument // the cluster
	d            *cli.Deps
	read         cli.ReadFlags
	once         bool
	// given are kubectl's flags, which the commands also get.
	given *pflag.FlagSet
	// width and height of the frame of --once; 0 means the terminal's.
	width, height int
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "dashboard [CLUSTER]",
		Aliases: []string{"tui"},
		Short:   "Watch a cluster in a live full-screen dashboard",
		Long: `Watch a cluster in a live full-screen dashboard.

In the matrix, lines are reporters and columns are the nodes that they observe. The verdict shows
the cause with its next step. The panes show the selected pair, the findings, and all changes.

  n next finding          y copy its command        / filter
  z group by rack         enter describe the node   C other clusters
  f force-proceed         r replace                 t nodetool status
  ? all keys

f and r show what they will do and ask for confirmation. If the API server is not reachable, the
screen turns grey and shows the last known state with its age.

Exit code: 0 after q, 130 after Ctrl-C; with --once as status: 0 healthy, 3 not healthy or unknown.`,
		Example: cli.Examples(
			"# The cluster of namespace demo",
			"kubectl scylla dashboard -n demo",
			"",
			"# One frame, for a ticket or a log",
			"kubectl scylla dashboard demo -n demo --once --width 100 --height 30",
			"",
			"# Poll each node directly: requires no controller and no agent",
			"kubectl scylla dashboard -n demo --source live",
			"",
			"# Explore saved objects",
			"kubectl get services,pods,scylladbdatacenternodesstatusreports -n demo -o yaml | kubectl scylla tui "+
				"--from -",
		),
	}, cli.GroupInspect, d.CompleteClusters, o)
	o.read.AddFlags(cmd, false)
	cmd.Flags().BoolVar(&o.once, "once", false, "Print one frame to standard output; the exit code is that of status.")
	cmd.Flags().IntVar(&o.width, "width", 0, "With --once: width of the frame in columns. Default: the terminal's.")
	cmd.Flags().IntVar(&o.height, "height", 0, "With --once: height of the frame in lines. Default: the terminal's.")
	return cmd
}

// Validate refuses conflicting flags, and a dashboard without a terminal.
func (o *options) Validate(cmd *cobra.Command) error {
	o.given = cmd.InheritedFlags()
	if err := o.read.Validate(); err != nil {
		return err
	}
	for _, f := range []struct {
		name         string
		value, least int
	}{{"width", o.width, dashboard.MinWidth}, {"height", o.height, dashboard.MinHeight}} {
		switch {
		case !cmd.Flags().Changed(f.name):
		case !o.once:
			return exit.Usagef("--%s requires --once", f.name)
		case f.value < f.least:
			return exit.Usagef("invalid --%s=%d: must be at least %d", f.name, f.value, f.least)
		}
	}
	if o.once {
		return nil
	}
	t := o.d.Terminal()
	cure, status := "print one frame with --once, or use", words.Scylla("", "status")
	switch {
	case !t.Out:
		return exit.WithHint(exit.Usagef("the dashboard requires a terminal: standard output is not one"), cure,
			status...)
	case !t.In && o.read.From != "-":
		return exit.WithHint(exit.Usagef("the dashboard requires a terminal: standard input is not one"), cure,
			status...)
	case dumb(o.d.Environ):
		return exit.WithHint(exit.Usagef("the terminal cannot move its cursor: TERM is dumb or not set"), cure,
			status...)
	}
	return nil
}

// statusOf returns a function that computes the document of a cluster on demand.
func statusOf(c *cluster.Cluster, now time.Time) func() *document.ClusterStatus {
	return func() *document.ClusterStatus { return document.NewClusterStatus(diagnosis.Judge(c, now)) }
}

// Run shows one frame, or the dashboard until the user ends it, of one cluster after the other.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	for {
		first, err := reader.Cluster(ctx, o.Name)
		choose := !o.once && o.Name == "" && reader.MustChoose(err)
		if err == nil {
			err = o.show(ctx, reader, first)
			choose = errors.Is(err, dashboard.ErrChoose)
		}
		if !choose {
			return err
		}
		if left, err := o.choose(ctx, reader, first, err); left || err != nil {
			return err
		}
	}
}

// choose shows the list of clusters. If there is nothing to choose, the error is why.
func (o *options) choose(ctx context.Context, reader *cli.Reader, shown *cluster.Cluster, why error) (left bool,
	err error) {
	keys, err := reader.Choices(ctx)
	if err != nil {
		return false, err
	}
	if len(keys) == 0 {
		return false, why
	}
	at, names := -1, make([]string, len(keys))
	for i, k := range keys {
		if names[i] = k.String(); shown != nil && k == shown.Key {
			at = i
		}
	}
	look := o.d.Options(false)
	chosen, err := dashboard.Choose(ctx, names, at, dashboard.Options{Profile: look.Profile, ASCII: look.ASCII},
		o.terminal())
	if err != nil {
		return false, interrupted(ctx, err)
	}
	if chosen < 0 {
		return shown == nil, nil
	}
	o.d.Flags.Namespace, o.Name = &keys[chosen].Namespace, keys[chosen].Name
	return false, nil
}

// terminal is where the dashboard is shown.
func (o *options) terminal() dashboard.Terminal {
	term := dashboard.Terminal{Out: o.d.Streams.Out, Environ: o.d.Environ}
	if o.d.Terminal().In {
		term.In = o.d.Streams.In
	}
	return term
}

func interrupted(ctx context.Context, err error) error {
	if errors.Is(err, dashboard.ErrInterrupted) || ctx.Err() != nil {
		return exit.Interrupted(err)
	}
	return err
}

// show shows one cluster.
func (o *options) show(ctx context.Context, reader *cli.Reader, first *cluster.Cluster) error {
	look := o.d.Options(false)
	looked := o.read.ControllerNamespace != ""
	now := o.d.Clock.Now()
	snapshot := dashboard.NewSnapshot(first, statusOf(first, now), nil, looked, now)
	if reader.Saved() {
		snapshot = dashboard.NewSavedSnapshot(first, statusOf(first, now), looked, now)
	}
	if o.once || reader.Saved() { // otherwise loaded later, without delay
		snapshot = snapshot.WithPast(past(ctx, reader, first, cluster.Source(o.read.Source)))
	}
	opts := dashboard.Options{Now: reader.Now, Profile: look.Profile, ASCII: look.ASCII, Words: look.Words,
		Context: look.Context}
	if o.once {
		return o.printOnce(snapshot, opts)
	}
	opts.Actions = o.actions(ctx, reader)
	var feed dashboard.Feed
	if !reader.Saved() {
		opts.Live = true
		l := &loader{clock: o.d.Clock, readLive: o.d.ReadLive, c: reader.Client(), key: first.Key,
			source: cluster.Source(o.read.Source), leases: o.read.ControllerNamespace, banned: reader.Logs.Read,
			looked: looked, ask: first.Source == cluster.SourceLive, last: snapshot}
		feed = withPast(l.run, func(ctx context.Context) dashboard.Past {
			return past(ctx, reader, first, cluster.Source(o.read.Source))
		})
	}
	return interrupted(ctx, dashboard.Run(ctx, dashboard.NewModel(snapshot, opts), o.terminal(), feed))
}

// dumb reports whether the terminal can only write lines.
func dumb(environ []string) bool {
	term := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "TERM="); ok {
			term = v
		}
	}
	return term == "" || term == "dumb"
}

func (o *options) printOnce(s *dashboard.Snapshot, opts dashboard.Options) error {
	look := o.d.Options(false)
	w, h := look.Width, look.Height
	if w <= 0 || h <= 0 {
		w, h = plainWidth, plainHeight
	} else {
		h-- // one line for the prompt
	}
	if o.width > 0 {
		w = o.width
	}
	if o.height > 0 {
		h = o.height
	}
	if w < dashboard.MinWidth || h < dashboard.MinHeight {
		return exit.WithHint(exit.Usagef("the terminal is %dx%d: a frame requires at least %dx%d", w, h,
			dashboard.MinWidth, dashboard.MinHeight), "specify the size with --width and --height")
	}
	if err := o.d.Print(dashboard.Once(s, opts, w, h)+"\n", look); err != nil {
		return err
	}
	if !s.Healthy() {
		return exit.ConditionNotMet(nil)
	}
	return nil
}
