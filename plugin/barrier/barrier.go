// SPDX-License-Identifier: Apache-2.0

// Package barrier is `kubectl scylla barrier`: it shows why a member waits, from the same facts and
// with the same function as the member's barrier. It changes nothing.
package barrier

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	// The member as typed; empty lists the waiting members.
	cli.Argument
	cli.ShowFlags
	plain cli.PlainFlag
	d     *cli.Deps
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "barrier [MEMBER]",
		Aliases: []string{"why"},
		Short:   "Explain why a member is waiting to start ScyllaDB, and what to do",
		Long: `Explain why a member is waiting to start ScyllaDB, and what to do.

A new node must not start while any node sees another node DOWN: ScyllaDB would permanently reject
it, and its volume could not be reused. The barrier, an init container, makes it wait. This command
uses the same logic as the barrier. It lists each blocker with its duration and the next step. For
a running member it shows whether the member could restart now. Without MEMBER it lists the waiting
members, or explains the only one.
` + cli.MemberForms + `
Exit code: 0 may start, 3 must wait, 4 must still wait after --timeout, 2 no such member, 1 error.`,
		Example: cli.Examples(
			"# List the waiting members",
			"kubectl scylla barrier -n demo",
			"",
			"# Why is this member waiting?",
			"kubectl scylla barrier demo-dc1-rack2-1 -n demo",
			"",
			"# Wait until each waiting member may start, at most 30 minutes",
			"kubectl scylla barrier -n demo --wait --timeout 30m",
			"",
			"# Members that must wait, for a script",
			"kubectl scylla barrier -n demo --no-headers | awk '$3==\"WAIT\"{print $1}'",
			"",
			"# In an archive or a sample, without a cluster",
			"kubectl scylla barrier demo-dc1-rack2-1 --from sample:incident -o yaml",
		),
	}, cli.GroupInspect, d.CompleteMembers, o)
	o.AddFlags(cmd, "the member may start")
	o.plain.AddFlag(cmd)
	return cmd
}

// Validate refuses conflicting flags.
func (o *options) Validate(cmd *cobra.Command) error {
	if err := o.ShowFlags.Validate(cmd); err != nil {
		return err
	}
	return o.plain.Validate(&o.Output)
}

// Run explains why one member waits, or lists the waiting members.
func (o *options) Run(ctx context.Context) error {
	return cli.Show(ctx, o.d, &o.ShowFlags, cli.Shown[runtime.Object]{
		Load: o.load, Print: o.print, Verdict: verdict, Key: key, Subject: o.subject, Wished: o.free,
	})
}

// load returns a BarrierVerdict or a BarrierVerdictList.
func (o *options) load(ctx context.Context, reader *cli.Reader) (runtime.Object, []*cluster.Cluster, error) {
	if o.Name == "" {
		snapshots, err := reader.All(ctx)
		if err != nil {
			return nil, nil, err
		}
		judged := make([]*diagnosis.Judged, len(snapshots))
		for i, s := range snapshots {
			judged[i] = diagnosis.Judge(s, o.d.Clock.Now(), s.MayWait()...)
		}
		l, err := document.NewBarrierList(judged)
		return l, snapshots, err
	}
	s, m, err := reader.Named(ctx, o.Name)
	if err != nil {
		return nil, nil, err
	}
	o.Name = m.Member
	d, err := document.NewBarrierVerdict(diagnosis.Judge(s, o.d.Clock.Now(), o.Name), o.Name)
	return d, []*cluster.Cluster{s}, err
}

func (o *options) print(doc runtime.Object) error {
	if o.Output.Text() {
		opts := o.d.Options(o.Output.Format() == "wide")
		opts.NoHeaders = o.plain.NoHeaders
		switch d := doc.(type) {
		case *document.BarrierVerdict:
			return o.d.Print(show.Barrier(d, opts), opts)
		case *document.BarrierVerdictList:
			if len(d.Items) == 1 && len(d.Partial) == 0 {
				return o.d.Print(show.Barrier(&d.Items[0], opts), opts)
			}
			return o.d.Print(show.Barriers(d, opts), opts)
		}
	}
	if d, ok := doc.(*document.BarrierVerdict); ok {
		return o.Output.Document(o.d, d.List())
	}
	return o.Output.Document(o.d, doc)
}

// verdict returns exit code 3 if the member, or any listed member, must wait.
func verdict(doc runtime.Object) error {
	switch d := doc.(type) {
	case *document.BarrierVerdict:
		if !d.Verdict.Satisfied {
			return exit.ConditionNotMet(nil)
		}
	case *document.BarrierVerdictList:
		for i := range d.Items {
			if !d.Items[i].Verdict.Satisfied {
				return exit.ConditionNotMet(nil)
			}
		}
	}
	return nil
}

// key returns the document as JSON without its times.
func key(doc runtime.Object) string {
	c := doc.DeepCopyObject()
	switch d := c.(type) {
	case *document.BarrierVerdict:
		d.GeneratedAt, d.TakenAt = metav1.Time{}, nil
	case *document.BarrierVerdictList:
		for i := range d.Items {
			d.Items[i].GeneratedAt, d.Items[i].TakenAt = metav1.Time{}, nil
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (o *options) subject(_ runtime.Object, snapshots []*cluster.Cluster) string {
	if o.Name == "" {
		return "all waiting members to be allowed to start"
	}
	return fmt.Sprintf("member %s/%s to be allowed to start", snapshots[0].Namespace, o.Name)
}

// free is the condition of --wait: the member may start, or each waiting member may.
func (o *options) free(doc runtime.Object) (bool, string, error) {
	var all []document.BarrierVerdict
	switch d := doc.(type) {
	case *document.BarrierVerdict:
		all = append(all, *d)
	case *document.BarrierVerdictList:
		all = d.Items
	}
	why := ""
	for i := range all {
		switch d := &all[i]; {
		case d.Verdict.Decision == bootstrap.DecisionRefuse:
			// Waiting cannot help: the user must act.
			return false, "", exit.ConditionNotMet(nil)
		case !d.Verdict.Satisfied && why == "":
			if why = d.Why(); o.Name == "" {
				why = d.Name + ": " + why
			}
		}
	}
	return why == "", why, nil
}
