// SPDX-License-Identifier: Apache-2.0

// Package replace is `kubectl scylla replace`: it shows what replacing a dead node means, makes every check that the controller will make, asks, sets
// the documented label and follows the replacement to its end. What may be replaced and how far it is, package internal/replacement says; here is
// only how people see it.
package replace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/observe"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// Reasons of the events that record who asked for what.
const (
	EventRequested = "ReplacementRequested"
	EventWithdrawn = "ReplacementWithdrawn"
)

// defaultTimeout is long: streaming a node's data takes hours.
const defaultTimeout = 4 * time.Hour

type options struct {
	d      *cli.Deps
	read   cli.ReadFlags
	output cli.OutputFlags
	wait   cli.WaitFlags
	dryRun cli.DryRunFlag

	target                 string
	ignoreDead, skipChecks []string
	hostID                 string
	yes                    bool
	resume, status, cancel bool

	// newID makes identities of requests.
	newID func() string

	reader *cli.Reader
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, dryRun: cli.DryRunNone, newID: uuid.NewString}
	o.wait.Wait = true
	cmd := &cobra.Command{
		Use:   "replace (TARGET | --status [TARGET])",
		Short: "Replace a dead node by its host ID, checked before and followed to the end",
		Long: `Replace a dead node by its host ID, checked before and followed to the end.

TARGET is a host ID or its first 8 characters or more, a Pod, a member Service, or
rack/ordinal. It prints what will be deleted and what cannot be undone, makes every
check with its evidence, and asks for the first 8 characters of the host ID. Then it
sets the label scylla/replace on the member Service: our controller (or, where it
manages the cluster, the Scylla Operator) does the rest, and this command shows how
far it is. Ctrl-C ends the watching, not the replacement. --from and -A go with
--status only.

The cluster bans the dead node as soon as the new one asks to replace it, whether
that succeeds or not. A failed attempt is therefore not undone but resumed: with
--resume, the same original host ID and a fresh volume.

Exit code: 0 replaced (or asked for, with --wait=false), 1 the attempt failed, 2
refused by a check, 4 not replaced within --timeout. With --status: 3 when a
replacement has failed or is held up.`,
		Example: cli.Examples(
			"# What would happen, and would it be allowed?",
			"kubectl scylla replace demo-dc1-rack3-0 -n demo --dry-run=client",
			"",
			"# Replace it, and follow it to the end",
			"kubectl scylla replace demo-dc1-rack3-0 -n demo",
			"",
			"# Another node is dead too, and will be replaced next",
			"kubectl scylla replace rack3/0 -n demo --ignore-dead rack2/0",
			"",
			"# How far are the replacements of this namespace? What has failed, and why?",
			"kubectl scylla replace --status -n demo",
			"",
			"# Try again after a failed attempt",
			"kubectl scylla replace --resume demo-dc1-rack2-0 -n demo",
			"",
			"# Withdraw the request, as long as nothing is deleted",
			"kubectl scylla replace --cancel demo-dc1-rack3-0 -n demo",
		),
		GroupID:               cli.GroupAct,
		Args:                  cli.AtMost(1),
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     d.CompleteMembers,
		RunE:                  cli.Run(o),
	}
	o.read.AddFlags(cmd, true)
	o.output.AddFlags(cmd)
	o.dryRun.AddFlag(cmd)
	o.wait.AddFlags(cmd, "the node is replaced")
	f := cmd.Flags()
	f.Lookup("timeout").DefValue = defaultTimeout.String()
	o.wait.Timeout = defaultTimeout
	f.StringSliceVar(&o.ignoreDead, "ignore-dead", nil, "Further dead nodes, each named as TARGET is, separated by commas. They are banned too and must be replaced or removed next.")
	f.StringSliceVar(&o.skipChecks, "skip-check", nil, "Names of checks to skip, separated by commas; recorded on the Service and in an Event. One of: "+strings.Join(replacement.CheckNames(), ", ")+".")
	f.BoolVarP(&o.yes, "yes", "y", false, "Do not ask.")
	f.BoolVar(&o.resume, "resume", false, "Continue a failed attempt: the original host ID, a fresh volume.")
	f.StringVar(&o.hostID, "host-id", "", "With --resume: the original host ID, where the Service has lost it.")
	f.BoolVar(&o.status, "status", false, "List open replacements, with the cause and the cure of what has failed.")
	f.BoolVar(&o.cancel, "cancel", false, "Withdraw a request; possible until the volume is deleted.")
	cmd.MarkFlagsMutuallyExclusive("resume", "status", "cancel")
	_ = cmd.RegisterFlagCompletionFunc("skip-check", cobra.FixedCompletions(replacement.CheckNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// Complete takes the target.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.target = args[0]
	}
	return nil
}

// Validate refuses what does not go together.
func (o *options) Validate(cmd *cobra.Command) error {
	if err := errors.Join(o.read.Validate(), o.output.Validate(), o.wait.Validate(cmd)); err != nil {
		return err
	}
	switch {
	case o.target == "" && !o.status:
		return exit.Usagef("name the node to replace: a host ID or its first 8 characters, a Pod, a member Service, or rack/ordinal")
	case o.read.From != "" && !o.status:
		return exit.Usagef("--from reads saved objects, which cannot be changed: use it with --status")
	case o.read.AllNamespaces && !o.status:
		return exit.Usagef("--all-namespaces goes with --status: a replacement is asked for in one namespace, with -n")
	case o.hostID != "" && !o.resume:
		return exit.Usagef("--host-id goes with --resume: otherwise the Service's host ID is replaced")
	case (o.status || o.cancel) && len(o.ignoreDead)+len(o.skipChecks) > 0:
		return exit.Usagef("--ignore-dead and --skip-check are for asking for a replacement")
	}
	if o.hostID != "" {
		id, err := replacement.ParseHostID(o.hostID)
		if err != nil {
			return exit.Usagef("--host-id %q %w", o.hostID, err)
		}
		o.hostID = id
	}
	for _, name := range o.skipChecks {
		if !slices.Contains(replacement.CheckNames(), name) {
			return exit.Usagef("--skip-check: no check %q can be skipped; one of %s", name, strings.Join(replacement.CheckNames(), ", "))
		}
	}
	return nil
}

// Run does one of asking, resuming, showing and cancelling.
func (o *options) Run(ctx context.Context) error {
	if o.read.Source == "" {
		o.read.Source = cli.SourceFlag(kube.SourceAuto)
	}
	reader, err := o.d.NewReader(o.read)
	if err != nil {
		return err
	}
	o.reader = reader
	switch {
	case o.status:
		return o.runStatus(ctx)
	case o.cancel:
		return o.runCancel(ctx)
	}
	return o.runReplace(ctx)
}

// subject is the member that is acted on.
type subject struct {
	cluster *observe.Cluster
	in      *replacement.Input
	key     kube.ClusterKey
}

func (s *subject) member() string { return s.in.Self.Member }

// find reads the namespace's clusters and finds the target in them. A member whose node was replaced meanwhile is found by its original host ID too.
func (o *options) find(ctx context.Context) (*subject, error) {
	snapshots, err := o.reader.All(ctx)
	if err != nil {
		return nil, err
	}
	var hits []*subject
	var names []string
	var miss error
	for _, s := range snapshots {
		member := byOriginal(s, o.target)
		if member == "" {
			m, err := kube.ResolveTarget(s, o.target)
			if err != nil {
				if _, ok := errors.AsType[*kube.AmbiguousError](err); ok {
					return nil, exit.Refused(err)
				}
				if miss == nil {
					miss = err
				}
				continue
			}
			if m.Service == nil {
				return nil, o.noService(s, m)
			}
			member = m.Member
		}
		c := observe.New(s, s.PVCs)
		hits = append(hits, &subject{cluster: c, in: c.Input(member, o.reader.Now(), o.newID()), key: s.Key()})
		names = append(names, s.Key().String())
	}
	switch len(hits) {
	case 0:
		return nil, exit.Refused(miss)
	case 1:
		return hits[0], nil
	}
	return nil, exit.Refusedf("%q is in %d clusters: %s; name it by its whole host ID", o.target, len(hits), strings.Join(names, ", "))
}

// byOriginal finds the member whose open replacement is of this host ID.
func byOriginal(s *kube.Snapshot, target string) string {
	want := strings.ToLower(strings.TrimSpace(target))
	if len(want) < 8 {
		return ""
	}
	for i := range s.Services {
		svc := &s.Services[i]
		rec := replacement.ReadRecord(svc.Labels, svc.Annotations)
		if rec.Open() && rec.Original != "" && strings.HasPrefix(rec.Original, want) {
			return svc.Name
		}
	}
	return ""
}

// noService explains a target that is no member: most often a ghost.
func (o *options) noService(s *kube.Snapshot, m kube.Member) error {
	if m.HostID == "" {
		return exit.WithHint(exit.Refusedf("%s/%s has no member Service", s.Namespace, o.target), "the controller makes member Services; see whether it runs: kubectl scylla status -n "+s.Namespace)
	}
	for _, g := range observe.New(s, s.PVCs).Ghosts(o.d.Clock.Now()) {
		if !strings.EqualFold(g.HostID, m.HostID) {
			continue
		}
		hint := g.Why
		if g.Command != "" {
			hint = "remove it from the cluster: " + g.Command
		}
		return exit.WithHint(exit.Refusedf("host ID %s belongs to no member, so there is nothing to start in its place", m.HostID), hint)
	}
	return exit.Refusedf("host ID %s belongs to no member here, so there is nothing to start in its place", m.HostID)
}

// asked is the input as it would be with the request on the Service.
func asked(in replacement.Input, p *replacement.Patch) replacement.Input {
	in.Service.Labels, in.Service.Annotations = maps.Clone(in.Service.Labels), maps.Clone(in.Service.Annotations)
	p.Apply(&in.Service.Labels, &in.Service.Annotations)
	return in
}

func (o *options) patch(in *replacement.Input, id string) *replacement.Patch {
	rec := replacement.ReadRecord(in.Service.Labels, in.Service.Annotations)
	switch {
	case o.resume:
		return replacement.ResumePatch(rec, id, o.hostID, o.ignoreDead, o.skipChecks)
	case in.Operator:
		// The operator owns the Service's annotations; the label is its documented interface, and the request has no identity there.
		return &replacement.Patch{SetLabels: map[string]string{api.LabelReplace: ""}}
	}
	return replacement.RequestPatch(id, o.ignoreDead, o.skipChecks)
}

func (o *options) runReplace(ctx context.Context) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	if err := o.mayAsk(s); err != nil {
		return err
	}
	if err := o.nameDead(s); err != nil {
		return err
	}
	o.askNodes(ctx, s)
	id := o.newID()
	patch := o.patch(s.in, id)
	overlay := *patch
	if s.in.Operator {
		// Only for the checks here: nothing of it is written.
		overlay = *replacement.RequestPatch(id, nil, o.skipChecks)
	}
	plan := replacement.MakePlan(asked(*s.in, &overlay))
	doc := newPlanDocument(o.d.Clock.Now(), s, plan)
	dry := o.dryRun == cli.DryRunClient
	if err := o.showPlan(doc, plan.Blocked || dry || o.dryRun == cli.DryRunServer); err != nil {
		return err
	}
	if plan.Blocked {
		return refusal(plan)
	}
	if o.dryRun == cli.DryRunNone && !o.yes {
		err := o.d.Confirm(ctx, fmt.Sprintf("Replace %s? These are the first 8 characters of its host ID.", s.member()), plan.Original[:8])
		if err != nil {
			return err
		}
	}
	if err := o.apply(ctx, s, patch, "labeled", func(now *replacement.Input) error {
		if now.Self.HostID != s.in.Self.HostID && !o.resume {
			return exit.Refusedf("the host ID of %s changed from %s to %s while you looked: nothing was changed", s.member(), s.in.Self.HostID, now.Self.HostID)
		}
		if o.resume {
			return nil
		}
		return open(*now)
	}); err != nil || o.dryRun != cli.DryRunNone {
		return err
	}
	o.record(ctx, s, EventRequested, fmt.Sprintf("%s asked with kubectl scylla to replace %s (request %s)%s", o.d.WhoAmI(ctx), plan.Original, id, skipped(o.skipChecks)))
	if !o.wait.Wait {
		o.d.Say(fmt.Sprintf("asked for; follow it with: kubectl scylla replace --status %s -n %s\n", s.member(), s.key.Namespace))
		return o.finalDocument(ctx, s)
	}
	return o.follow(ctx, s, id, plan.Original)
}

func skipped(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", skipping the checks " + strings.Join(names, ", ")
}

// mayAsk refuses what no check has to look at.
func (o *options) mayAsk(s *subject) error {
	rec := replacement.ReadRecord(s.in.Service.Labels, s.in.Service.Annotations)
	switch {
	case o.resume && s.in.Operator:
		return exit.WithHint(exit.Refusedf("the Scylla Operator replaces the nodes of this cluster and knows no second attempt"),
			"its documentation has the way out by hand: recover from a failed replacement")
	case o.resume && !rec.Open():
		return exit.WithHint(exit.Refusedf("no replacement of %s is open: there is nothing to resume", s.member()),
			fmt.Sprintf("start one: kubectl scylla replace %s -n %s", s.member(), s.key.Namespace))
	case o.hostID != "" && rec.HasOriginal && rec.OriginalError == "" && rec.Original != o.hostID:
		return exit.Refusedf("the original host ID %s is recorded on %s; it is never overwritten, leave --host-id out", rec.Original, s.member())
	case !o.resume:
		if err := open(*s.in); err != nil {
			return err
		}
	}
	if s.in.Operator && len(o.ignoreDead) > 0 {
		return exit.WithHint(exit.Refusedf("the Scylla Operator cannot pass a list of dead nodes to one member"),
			"set ignore_dead_nodes_for_replace for the whole cluster in its ScyllaDB configuration, then replace without --ignore-dead and with --skip-check="+replacement.CheckOthersUp)
	}
	return nil
}

// nameDead makes host IDs of the names in --ignore-dead. Whether they are members and DOWN is a check.
func (o *options) nameDead(s *subject) error {
	for i, raw := range o.ignoreDead {
		id, err := replacement.ParseHostID(strings.TrimSpace(raw))
		if err == nil {
			o.ignoreDead[i] = id
			continue
		}
		m, err := kube.ResolveTarget(s.cluster.Snapshot, raw)
		if err != nil {
			return exit.Refused(fmt.Errorf("--ignore-dead: %w", err))
		}
		if m.HostID == "" {
			return exit.Refusedf("--ignore-dead: the host ID of %s is not known: name it by its host ID", raw)
		}
		o.ignoreDead[i] = m.HostID
	}
	return nil
}

func open(in replacement.Input) error {
	if err := replacement.OpenError(in); err != nil {
		return exit.WithHint(exit.Refused(err), fmt.Sprintf("see how far it is: kubectl scylla replace --status %s -n %s (if it has failed: --resume)", in.Self.Member, in.Namespace))
	}
	return nil
}

// askNodes reads the nodes themselves when their reports say nothing of topology operations, as with the Scylla Operator's reporter.
func (o *options) askNodes(ctx context.Context, s *subject) {
	if s.in.OperationsKnown || o.read.From != "" || s.cluster.Snapshot.Live != nil {
		return
	}
	p := o.d.Busy("asking the nodes of " + s.key.String() + " for open operations")
	err := o.d.ReadLive(ctx, s.cluster.Snapshot, kube.LiveOptions{})
	p.Stop()
	if err != nil {
		o.d.Warn("the nodes could not be asked themselves: %s", exit.Describe(err))
		return
	}
	s.cluster = observe.New(s.cluster.Snapshot, s.cluster.Claims)
	s.in = s.cluster.Input(s.member(), o.d.Clock.Now(), s.in.NewID)
}

func refusal(plan replacement.Plan) error {
	blockers := plan.Blockers()
	names := make([]string, len(blockers))
	skippable := true
	for i, b := range blockers {
		names[i] = b.Name
		skippable = skippable && b.Skippable
	}
	hint := "nothing was changed"
	if skippable {
		hint += "; who knows better than a check can skip it: --skip-check=" + strings.Join(names, ",")
	}
	return exit.WithHint(exit.Refusedf("refused by %s: %s", count(len(names), "check"), strings.Join(names, ", ")), hint)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// apply patches the member Service after looking at it once more.
func (o *options) apply(ctx context.Context, s *subject, patch *replacement.Patch, operation string, check func(*replacement.Input) error) error {
	svc := &corev1.Service{}
	key := client.ObjectKey{Namespace: s.key.Namespace, Name: s.member()}
	if o.dryRun == cli.DryRunClient {
		return o.say("service/"+s.member()+" "+operation, " (dry run)")
	}
	opts := []client.PatchOption{client.FieldOwner("kubectl-scylla")}
	note := ""
	if o.dryRun == cli.DryRunServer {
		opts, note = append(opts, client.DryRunAll), " (server dry run)"
	}
	c := o.reader.Client()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, key, svc); err != nil {
			return fmt.Errorf("read service %s: %w", key, err)
		}
		now := *s.in
		now.Service.Labels, now.Service.Annotations = svc.Labels, svc.Annotations
		now.Self.HostID = svc.Annotations[api.AnnotationHostID]
		if err := check(&now); err != nil {
			return err
		}
		return kube.PatchMetadata(ctx, c, svc, func(obj *corev1.Service) { patch.Apply(&obj.Labels, &obj.Annotations) }, opts...)
	})
	if err != nil {
		return err
	}
	return o.say("service/"+s.member()+" "+operation, note)
}

// say prints what was done as kubectl does: on standard output, unless a document goes there.
func (o *options) say(what, note string) error {
	if !o.output.Text() {
		o.d.Say(what + note + "\n")
		return nil
	}
	return o.d.Print(what+note+"\n", o.d.Options(false))
}

// record leaves an Event about who asked. Whoever may not write events has asked all the same: that is said and no error.
func (o *options) record(ctx context.Context, s *subject, reason, note string) {
	svc := s.cluster.Service(s.member())
	err := kube.Emit(ctx, o.reader.Client(), svc, kube.Event{Type: corev1.EventTypeNormal, Reason: reason, Action: "ReplaceNode", Note: note, Now: o.d.Clock.Now()})
	if err != nil {
		o.d.Warn("no Event was recorded: %s", exit.Describe(err))
	}
}

func (o *options) runCancel(ctx context.Context) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	rec := replacement.ReadRecord(s.in.Service.Labels, s.in.Service.Annotations)
	switch {
	case !rec.Requested && !rec.Open():
		return exit.Refusedf("no replacement of %s is asked for: there is nothing to cancel", s.member())
	case s.in.Operator && rec.Open():
		return exit.Refusedf("the Scylla Operator has deleted the volume of %s: it is too late to cancel", s.member())
	case !s.in.Operator && !replacement.Cancelable(*s.in):
		return exit.WithHint(exit.Refusedf("it is too late to cancel: the volume of %s is deleted, and the cluster may have banned the old node", s.member()),
			fmt.Sprintf("see how far it is: kubectl scylla replace --status %s -n %s", s.member(), s.key.Namespace))
	}
	if err := o.apply(ctx, s, replacement.CancelPatch(), "unlabeled", func(now *replacement.Input) error {
		if !s.in.Operator && !replacement.Cancelable(*now) {
			return exit.Refusedf("it is too late to cancel: the volume of %s is deleted", s.member())
		}
		return nil
	}); err != nil || o.dryRun != cli.DryRunNone {
		return err
	}
	o.record(ctx, s, EventWithdrawn, fmt.Sprintf("%s withdrew the replacement of %s with kubectl scylla", o.d.WhoAmI(ctx), s.member()))
	if !o.wait.Wait || s.in.Operator || !rec.Open() && rec.Request == "" {
		return nil
	}
	id := rec.Accepted
	if id == "" {
		id = rec.Request
	}
	return o.followCancel(ctx, s, id)
}
