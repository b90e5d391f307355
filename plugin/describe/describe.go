// SPDX-License-Identifier: Apache-2.0

// Package describe is `kubectl scylla describe`: everything that is known of one node, on one screen. It reads and changes nothing; what is wrong is said by
// package diagnosis, and nowhere here.
package describe

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	cli.Argument
	d      *cli.Deps
	read   cli.ReadFlags
	output cli.OutputFlags
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "describe MEMBER",
		Aliases: []string{"node"},
		Short:   "Show all that is known of one node: who sees it, its Pod, log, Events, next step",
		Long: `Show all that is known of one node: what is wrong with it and the next step, who sees it
and whom it sees, its Pod with containers and restarts, claim, Kubernetes node and IP, the
last errors of its log with what they mean, and its Events.

` + cli.MemberForms + ` A host ID that
only other nodes know is described too.

With --from it shows what the archive holds. What could not be read is named.

Exit code: 0 shown, 2 no such member, 1 error. Whether all is well is for "status".`,
		Example: cli.Examples(
			"# Everything of one node",
			"kubectl scylla describe demo-dc1-rack3-0 -n demo",
			"",
			"# By its IP, for a script",
			"kubectl scylla describe rack3/0 -n demo -o jsonpath='{.pod.ip}'",
			"",
			"# From an archive",
			"kubectl scylla describe rack2/1 --from sample:incident",
		),
	}, cli.GroupSee, d.CompleteMembers, o)
	o.read.AddFlags(cmd, false)
	o.output.AddFlags(cmd, "wide")
	return cmd
}

// Validate refuses a command line without a member.
func (o *options) Validate(*cobra.Command) error {
	if o.Name == "" {
		return exit.Usagef("name a member")
	}
	if err := o.read.Validate(); err != nil {
		return err
	}
	return o.output.Validate()
}

// Run reads and shows.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	s, m, err := reader.Member(ctx, o.Name)
	if err != nil {
		return err
	}
	p := o.d.Busy("reading what belongs to " + o.Name)
	status := o.status(ctx, reader, s)
	around := o.gather(ctx, reader, s, &m)
	p.Stop()
	if ctx.Err() != nil {
		return exit.Interrupted(ctx.Err())
	}
	doc := newDocument(s, &m, status, around, o.d.Clock.Now())
	if !o.output.Text() {
		return o.output.Document(o.d, doc)
	}
	opts := o.d.Options(o.output.Format() == "wide")
	return o.d.Print(doc.text(opts), opts)
}

// status is the whole cluster's: findings are about it.
func (o *options) status(ctx context.Context, reader *cli.Reader, s *cluster.Cluster) *render.ClusterStatus {
	now := o.d.Clock.Now()
	status := render.NewClusterStatus(s, now)
	if logs := reader.Logs.Replacements(ctx, s, status.Replacements); logs != nil {
		status = render.NewClusterStatusWithLogs(s, now, logs)
	}
	return status
}
