// SPDX-License-Identifier: Apache-2.0

// Package initreset is `kubectl scylla init reset`. It deletes the record that a cluster was
// initialised, so that a cluster that lost all its disks can bootstrap again. internal/cluster
// gives the reasons against it. This package shows them, asks for a typed confirmation, and writes.
package initreset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// eventReset is the reason of the Event that records the user and the reason.
const eventReset = "InitReset"

// attempts limits the repetitions if an object changes between read and write.
const attempts = 5

type options struct {
	d       *cli.Deps
	cluster string
	group0  bool
	yes     bool
	confirm string
	reason  string
	dryRun  cli.DryRunFlag

	reader *cli.Reader
}

// NewCmd returns the command, which only contains the subcommand.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Let a cluster that lost all its disks bootstrap again (init reset)",
		Long: `Let a cluster that lost all its disks bootstrap again (init reset).

A cluster is permanently initialised once its first node has joined. No member may bootstrap it
again, because two nodes that each bootstrap a cluster create two clusters of one name, which never
merge. "init reset" removes this record if all disks are lost.`,
		Example: cli.Examples(
			"# Show what would be reset, or why it is refused",
			"kubectl scylla init reset demo -n demo --dry-run",
			"",
			"# Reset; asks for the namespace and the name",
			"kubectl scylla init reset demo -n demo",
			"",
			"# After the recovery of a lost majority",
			"kubectl scylla init reset demo -n demo --group0",
		),
		GroupID: cli.GroupOperate,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		DisableFlagsInUseLine: true,
	}
	cmd.AddGroup(&cobra.Group{ID: group, Title: "Initialisation:"})
	cmd.AddCommand(newResetCmd(d))
	return cmd
}

// group of the subcommands in the help.
const group = "init"

func newResetCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, dryRun: cli.DryRunNone}
	cmd := &cobra.Command{
		Use:   "reset CLUSTER",
		Short: "Allow a cluster that lost all its disks to bootstrap again",
		Long: `Allow a cluster that lost all its disks to bootstrap again.

It shows the recorded state and asks you to type namespace and name. Then it removes the host IDs
from the member Services that have joined, and deletes the ScyllaDBStatusReport. The controller
recreates the report, the oldest member bootstraps the cluster, and the others join. No node, disk
or Pod is touched. If interrupted, run it again.

It refuses while ScyllaDB runs in any member, while any node is UP or known elsewhere, while any
member may start, and if not everything can be read. It cannot see disks: a member that returns
later with its old disk would belong to the old cluster.

--group0 resets only the ID of group 0, which the recovery of a lost majority changes. Nodes may
run: the ID that they report is then recorded.

Exit code: 0 reset, or nothing to reset, 2 no such cluster, refused or not confirmed, 1 error.`,
		Example: cli.Examples(
			"# Show what would be reset, or why it is refused",
			"kubectl scylla init reset demo -n demo --dry-run",
			"",
			"# Reset; asks for the namespace and the name",
			`kubectl scylla init reset demo -n demo --reason "all disks of the pool are lost"`,
			"",
			"# After the recovery of a lost majority",
			"kubectl scylla init reset demo -n demo --group0",
			"",
			"# Reset in a script",
			"kubectl scylla init reset demo -n demo --yes --confirm demo/demo",
		),
		GroupID:               group,
		Args:                  cli.AtMost(1),
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     d.CompleteClusters,
		RunE:                  cli.Run(o),
	}
	f := cmd.Flags()
	f.BoolVar(&o.group0, "group0", false, "Reset only the ID of group 0.")
	f.BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	f.StringVar(&o.confirm, "confirm", "", "With --yes: the cluster to reset, as NAMESPACE/CLUSTER.")
	f.StringVar(&o.reason, "reason", "", cli.ReasonUsage)
	o.dryRun.AddFlag(cmd)
	return cmd
}

// Complete sets the cluster's name.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.cluster = args[0]
	}
	return nil
}

// Validate checks arguments and flags.
func (o *options) Validate(*cobra.Command) error {
	switch {
	case o.cluster == "":
		return exit.Usagef("specify a cluster")
	case o.yes && o.confirm == "":
		return exit.Usagef("--yes requires --confirm NAMESPACE/CLUSTER: specify it, or omit --yes and type it")
	case o.confirm != "" && !o.yes:
		return exit.Usagef("--confirm requires --yes")
	}
	return nil
}

// Run shows the plan, asks for confirmation, and writes. If an object changes in between, it reads
// again; the confirmation remains valid.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(ctx, cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAnnotation),
		ControllerNamespace: cli.DefaultControllerNamespace})
	if err != nil {
		return err
	}
	o.reader = reader
	asked := false
	for attempt := 1; ; attempt++ {
		s, err := reader.Cluster(ctx, o.cluster)
		if err != nil {
			if nf, ok := errors.AsType[*cluster.NotFoundError](err); ok {
				return exit.Refused(nf)
			}
			return err
		}
		p, err := o.plan(s)
		if err != nil || p == nil {
			return err
		}
		if !asked {
			if err := o.ask(ctx, s, p); err != nil {
				return err
			}
			asked = true
		}
		err = o.apply(ctx, s, p)
		if err == nil || attempt == attempts || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
}

// plan lists the records to delete.
type plan struct {
	services []*corev1.Service
	report   *api.ScyllaDBStatusReport // nil if there is none
}

// plan returns the plan, a refusal, or nil if there is nothing to delete.
func (o *options) plan(s *cluster.Cluster) (*plan, error) {
	r := s.StatusReport
	if r != nil && r.Name != s.Name {
		r = nil // an override names another report
	}
	if o.group0 {
		if r == nil || r.Status.Group0ID == "" {
			o.d.Say(fmt.Sprintf("Cluster %s has no recorded group 0: nothing to reset.\n", s.Key))
			return nil, nil
		}
		return &plan{report: r}, nil
	}
	if against := s.AgainstReset(); len(against) > 0 {
		texts := make([]string, len(against))
		for i, why := range against {
			texts[i] = o.d.Words().Text(evidence.Do(why, evidence.Facts{"namespace": s.Namespace, "cluster": s.Name}))
		}
		return nil, exit.Refusedf("cluster %s cannot be reset: %s", s.Key, strings.Join(texts, "; "))
	}
	p := &plan{report: r}
	for _, v := range s.Recorded() {
		p.services = append(p.services, v.DeepCopy())
	}
	if len(p.services) == 0 &&
		(r == nil ||
			!r.Status.Initialized && (r.Status.View == nil || r.Status.View.Founder == "") && r.Status.Group0ID == "") {
		o.d.Say(fmt.Sprintf("Cluster %s is not initialised: nothing to reset.\n", s.Key))
		return nil, nil
	}
	return p, nil
}

// ask shows the records to delete and asks for confirmation.
func (o *options) ask(ctx context.Context, s *cluster.Cluster, p *plan) error {
	if o.group0 {
		o.d.Say(
			fmt.Sprintf(
				"Cluster %s is recorded with group 0 %s. Reset it only after recovering a lost majority: otherwise "+
					"its nodes belong to two clusters.\n", s.Key, p.report.Status.Group0ID))
	} else {
		if p.report != nil && p.report.Status.Initialized {
			o.d.Say(fmt.Sprintf("Cluster %s was initialised%s.\n", s.Key, how(p.report.Status.Initialization)))
		}
		for _, svc := range p.services {
			o.d.Say(fmt.Sprintf("  %s has joined as %s\n", svc.Name,
				words.Clean(svc.Annotations[api.AnnotationHostID])))
		}
		for _, claim := range s.MayHoldData() {
			o.d.Say(fmt.Sprintf("  PVC %s may contain its data\n", claim))
		}
		o.d.Warn(
			"the next first node bootstraps a new, empty cluster: a member that returns with its old disk belongs " +
				"to the old cluster and never joins the new one")
	}
	if o.dryRun != cli.DryRunNone {
		return nil
	}
	want := s.Key.String()
	if o.yes {
		if o.confirm != want {
			return exit.Refusedf("not confirmed: --confirm is %q, but the cluster is %s", o.confirm, want)
		}
		return nil
	}
	if !o.d.Terminal().In {
		return exit.WithHint(exit.Refusedf("cannot ask for confirmation: standard input is not a terminal"),
			"add --yes --confirm "+want+" if you are sure")
	}
	return o.d.Confirm(ctx, "Reset it?", want)
}

func how(i *api.StatusReportInitialization) string {
	if i == nil {
		return ""
	}
	text := " at " + words.Moment(i.At.Time)
	if i.FirstHostID != "" {
		text += " by " + words.Clean(i.FirstHostID)
	}
	return text
}

// apply writes. The report comes last: until then no member bootstraps a cluster, and after an
// error a second run does the rest.
func (o *options) apply(ctx context.Context, s *cluster.Cluster, p *plan) error {
	if o.group0 {
		return o.forgetGroup0(ctx, p.report)
	}
	c := o.reader.Client()
	for _, svc := range p.services {
		err := o.write(func(dry bool) error {
			opts := []client.PatchOption{client.FieldOwner("kubectl-scylla")}
			if dry {
				opts = append(opts, client.DryRunAll)
			}
			return kube.PatchMetadata(ctx, c, svc, func(v *corev1.Service) {
				for _, k := range []string{api.AnnotationHostID, api.AnnotationNodeJoined, api.AnnotationJoinedAt} {
					delete(v.Annotations, k)
				}
			}, opts...)
		}, "service/"+svc.Name+" reset")
		if err != nil {
			return err
		}
	}
	if p.report == nil {
		return nil
	}
	uid, version := p.report.UID, p.report.ResourceVersion
	err := o.write(func(dry bool) error {
		opts := []client.DeleteOption{client.Preconditions{UID: &uid, ResourceVersion: &version}}
		if dry {
			opts = append(opts, client.DryRunAll)
		}
		if err := c.Delete(ctx, p.report, opts...); err != nil {
			return fmt.Errorf("delete ScyllaDBStatusReport %s: %w", s.Key, err)
		}
		return nil
	}, "scylladbstatusreport/"+p.report.Name+" deleted")
	if err != nil {
		return err
	}
	for i := range s.StatefulSets {
		o.record(ctx, &s.StatefulSets[i], "reset the initialisation of cluster "+s.Key.String())
	}
	return nil
}

// forgetGroup0 removes the group 0 ID from the report, unless the report was changed.
func (o *options) forgetGroup0(ctx context.Context, r *api.ScyllaDBStatusReport) error {
	err := o.write(func(dry bool) error {
		after := r.DeepCopy()
		after.Status.Group0ID = ""
		opts := []client.SubResourcePatchOption{client.FieldOwner("kubectl-scylla")}
		if dry {
			opts = append(opts, client.DryRunAll)
		}
		patch := client.MergeFromWithOptions(r, client.MergeFromWithOptimisticLock{})
		if err := o.reader.Client().Status().Patch(ctx, after, patch, opts...); err != nil {
			return fmt.Errorf("patch ScyllaDBStatusReport %s/%s: %w", r.Namespace, r.Name, err)
		}
		return nil
	}, "scylladbstatusreport/"+r.Name+" without group 0")
	if err == nil {
		o.record(ctx, r, "reset group 0 "+r.Status.Group0ID)
	}
	return err
}

// write executes one change, or only a dry run, and reports it.
func (o *options) write(do func(dry bool) error, done string) error {
	if o.dryRun != cli.DryRunClient {
		if err := do(o.dryRun == cli.DryRunServer); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(o.d.Streams.Out, done+o.dryRun.Suffix()); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// record writes an Event. If the user cannot write Events, the reset remains, with a warning
// instead of an error.
func (o *options) record(ctx context.Context, obj client.Object, what string) {
	if o.dryRun != cli.DryRunNone {
		return
	}
	note := o.d.WhoAmI(ctx) + " " + what + " with kubectl scylla"
	if o.reason != "" {
		note += ": " + o.reason
	}
	err := kube.Emit(ctx, o.reader.Client(), obj, kube.Event{Type: corev1.EventTypeWarning, Reason: eventReset,
		Action: "InitReset", Note: note, Now: o.d.Clock.Now()})
	if err != nil {
		o.d.Warn("done, but Event not recorded: %v", err)
	}
}
