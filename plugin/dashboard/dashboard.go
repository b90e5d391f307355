// SPDX-License-Identifier: Apache-2.0

// Package dashboard is `kubectl scylla dashboard`: the matrix, live on the whole terminal. It loads and watches one cluster and sends the result to internal/show/dashboard, which draws;
// changes of the cluster are made by the commands of the same name, run with the terminal handed over to them.
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

// The frame of --once where there is no terminal to measure.
const (
	plainWidth  = 120
	plainHeight = 40
)

type options struct {
	cli.Argument // the cluster
	d            *cli.Deps
	read         cli.ReadFlags
	once         bool
	// given are the flags of kubectl, which the commands that are run get too.
	given *pflag.FlagSet
	// width and height of the frame of --once; 0 is the terminal's.
	width, height int
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "dashboard [CLUSTER]",
		Aliases: []string{"tui"},
		Short:   "Watch who sees whom, live on the whole terminal",
		Long: `Watch who sees whom, live on the whole terminal.

Rows are reporters, columns are the nodes they observe; the glyph says the state and
the colour repeats it. Move with the arrows or the mouse. The details of the pair under
the cursor, the blockers and what has changed are beside the matrix or below it; the
changes begin with what the objects tell of the past. "n" goes from blocker to blocker,
"y" copies the command of the blocker's next step, "/" filters the rows, "z" goes from
nodes to racks, to datacenters and back, "enter" opens a pair of them, "?" shows every
key.

"enter" on a pair of nodes opens the page of the node in trouble: what "describe" says
of it. "L", "x", "c" and "t" run logs, exec (a shell), cqlsh and nodetool (status) on it,
and come back when they end.

When the API server cannot be reached the screen says since when, and turns grey: what
it shows is then the last that was known. "f" and "r" run the commands force-proceed
and replace, which show what they will do and ask.

Exit code: 0 after q, 130 after Ctrl-C; with --once that of status: 0 healthy, 3 not.`,
		Example: cli.Examples(
			"# The cluster of namespace demo",
			"kubectl scylla dashboard -n demo",
			"",
			"# One frame, for a ticket or a log",
			"kubectl scylla dashboard demo -n demo --once --width 100 --height 30",
			"",
			"# Ask each node itself, again and again: needs no controller and no agent",
			"kubectl scylla dashboard -n demo --source live",
			"",
			"# Look around in objects that were saved",
			"kubectl get services,pods,scylladbdatacenternodesstatusreports -n demo -o yaml | kubectl scylla tui --from -",
		),
	}, cli.GroupSee, d.CompleteClusters, o)
	o.read.AddFlags(cmd, false)
	cmd.Flags().BoolVar(&o.once, "once", false, "Print one frame to standard output and exit as status does.")
	cmd.Flags().IntVar(&o.width, "width", 0, "With --once: columns of the frame; the terminal's by default.")
	cmd.Flags().IntVar(&o.height, "height", 0, "With --once: lines of the frame; the terminal's by default.")
	return cmd
}

// Validate refuses flags that do not fit together, and a dashboard without a terminal.
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
			return exit.Usagef("--%s goes with --once: a terminal has its own size", f.name)
		case f.value < f.least:
			return exit.Usagef("--%s %d is too small: at least %d", f.name, f.value, f.least)
		}
	}
	if o.once {
		return nil
	}
	t := o.d.Terminal()
	cure, status := "print one frame with --once, or use", words.Scylla("", "status")
	switch {
	case !t.Out:
		return exit.WithHint(exit.Usagef("standard output is not a terminal, and a dashboard needs one"), cure, status...)
	case !t.In && o.read.From != "-":
		return exit.WithHint(exit.Usagef("standard input is not a terminal, so no key can be read"), cure, status...)
	case dumb(o.d.Environ):
		return exit.WithHint(exit.Usagef("this terminal cannot move its cursor (TERM is dumb or not set)"), cure, status...)
	}
	return nil
}

// statusOf makes the document of a cluster when it is needed.
func statusOf(c *cluster.Cluster, now time.Time) func() *document.ClusterStatus {
	return func() *document.ClusterStatus { return document.NewClusterStatus(diagnosis.Judge(c, now, nil)) }
}

// Run shows one frame, or the dashboard until the person leaves it.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	first, err := reader.Cluster(ctx, o.Name)
	if err != nil {
		return err
	}
	look := o.d.Options(false)
	looked := o.read.ControllerNamespace != ""
	now := o.d.Clock.Now()
	snapshot := dashboard.NewSnapshot(first, statusOf(first, now), nil, looked, now)
	if reader.Saved() {
		snapshot = dashboard.NewSavedSnapshot(first, statusOf(first, now), looked, now)
	}
	if o.once || reader.Saved() { // the changes of the past are loaded later, and delay nothing
		snapshot = snapshot.WithPast(past(ctx, reader, first, cluster.Source(o.read.Source)))
	}
	opts := dashboard.Options{Now: reader.Now, Profile: look.Profile, ASCII: look.ASCII, Words: look.Words, Context: look.Context}
	if o.once {
		return o.printOnce(snapshot, opts)
	}
	opts.Actions = o.actions(ctx, reader)
	var feed dashboard.Feed
	if !reader.Saved() {
		opts.Live = true
		l := &loader{clock: o.d.Clock, readLive: o.d.ReadLive, c: reader.Client(), key: first.Key, source: cluster.Source(o.read.Source), leases: o.read.ControllerNamespace, banned: reader.Logs.Banned,
			looked: looked, ask: first.Source == cluster.SourceLive, last: snapshot}
		feed = withPast(l.run, func(ctx context.Context) dashboard.Past {
			return past(ctx, reader, first, cluster.Source(o.read.Source))
		})
	}
	term := dashboard.Terminal{Out: o.d.Streams.Out, Environ: o.d.Environ}
	if o.d.Terminal().In {
		term.In = o.d.Streams.In
	}
	err = dashboard.Run(ctx, dashboard.NewModel(snapshot, opts), term, feed)
	if errors.Is(err, dashboard.ErrInterrupted) || ctx.Err() != nil {
		return exit.Interrupted(err)
	}
	return err
}

// dumb is true for terminals on which nothing but lines can be written.
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
		h-- // one line stays free for the prompt
	}
	if o.width > 0 {
		w = o.width
	}
	if o.height > 0 {
		h = o.height
	}
	if w < dashboard.MinWidth || h < dashboard.MinHeight {
		return exit.WithHint(exit.Usagef("the terminal is %dx%d, and a frame needs %dx%d", w, h, dashboard.MinWidth, dashboard.MinHeight), "say how big it shall be with --width and --height")
	}
	if err := o.d.Print(dashboard.Once(s, opts, w, h)+"\n", look); err != nil {
		return err
	}
	if !s.Healthy() {
		return exit.ConditionNotMet(nil)
	}
	return nil
}
