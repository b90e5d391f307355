// SPDX-License-Identifier: Apache-2.0

// Package forceproceed is `kubectl scylla force-proceed`: it starts a member although its barrier
// blocks it. It shows the blockers to ignore and asks for confirmation. Then it sets the documented
// annotation where the barrier or a controller reads it, and records the user and the reason in an
// Event.
package forceproceed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// Alias is the command's name in the proposal to the Scylla Operator.
const Alias = "force-bootstrap"

// Reasons of the Events that record the user and the reason.
const (
	eventForced    = "ForceProceedRequested"
	eventWithdrawn = "ForceProceedWithdrawn"
)

type options struct {
	d     *cli.Deps
	print *genericclioptions.PrintFlags

	member, datacenter, cluster string

	perService, undo, yes bool
	dryRun                cli.DryRunFlag
	reason, volumeUID     string
	unlessDown            bool
	read                  cli.ReadFlags // --from alone

	reader   *cli.Reader
	operator bool // the Scylla Operator runs the cluster
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, print: genericclioptions.NewPrintFlags(""), dryRun: cli.DryRunNone}
	cmd := &cobra.Command{
		Use:     "force-proceed (MEMBER | --datacenter NAME | --cluster NAME)",
		Aliases: []string{Alias},
		Short:   "Let a member start ScyllaDB even though its barrier blocks it",
		Long: `Let a member start ScyllaDB even though its barrier blocks it.

It shows and records the blockers to be ignored, and asks for confirmation. A worse blocker that
arises later blocks again, and so does another volume. If a node really is DOWN, ScyllaDB
permanently rejects the new node: its host ID is banned and its volume cannot be reused. Force only
if you know better than the reports, for example if a reporter hangs. Replace dead nodes instead.
Forcing does not override a decommissioned disk, a banned host ID or another node's volume, nor the
launcher, which waits for a seed that is UP (SeedsNotUp). Warning: with the Scylla Operator,
--datacenter and --cluster restart every Pod, one by one, and again with --undo. MEMBER and
--per-service restart nothing.
` + cli.MemberForms + `
Exit code: 0 forced or undone, 2 no such member, refused or not confirmed, 1 error.`,
		Example: cli.Examples(
			"# Show what would be ignored, change nothing",
			"kubectl scylla force-proceed demo-dc1-rack2-1 -n demo --dry-run=client",
			"",
			"# Force one member, with a reason",
			`kubectl scylla force-proceed demo-dc1-rack2-1 -n demo --reason "the reporter of rack3-0 hangs"`,
			"",
			"# Remove the force",
			"kubectl scylla force-proceed demo-dc1-rack2-1 -n demo --undo",
			"",
			"# Force all members of a datacenter that have not joined",
			"kubectl scylla force-proceed --datacenter dc1 -n demo --per-service --yes",
		),
		GroupID:               cli.GroupOperate,
		Args:                  cli.AtMost(1),
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     d.CompleteMembers,
		RunE:                  cli.Run(o),
	}
	f := cmd.Flags()
	f.StringVar(&o.datacenter, "datacenter", "", "Force a whole datacenter, by its name in ScyllaDB.")
	f.StringVar(&o.cluster, "cluster", "", "ScyllaDB cluster (not kubectl's) to force, or that of --datacenter.")
	f.BoolVar(&o.perService, "per-service", false,
		"With --datacenter or --cluster: annotate only the Services of members that have not joined.")
	o.read.AddFromFlag(cmd)
	cli.Rarely(cmd, "from")
	f.BoolVar(&o.undo, "undo", false, "Stop forcing: remove the annotations.")
	f.BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	f.StringVar(&o.reason, "reason", "", cli.ReasonUsage)
	f.StringVar(&o.volumeUID, "volume-uid", "",
		"Refuse unless the member still has the volume with this UID: the UID of its data PVC, or of its Pod if it "+
			"has no PVC.")
	f.BoolVar(&o.unlessDown, "unless-down", false,
		"Refuse while a node is DOWN: ScyllaDB would reject a new node.")
	o.dryRun.AddFlag(cmd)
	f.StringVarP(o.print.OutputFormat, "output", "o", "", "Output format. One of: json, yaml, name.")
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("datacenter", d.CompleteDatacenters)
	_ = cmd.RegisterFlagCompletionFunc("cluster", d.CompleteClusters)
	return cmd
}

// Complete sets the member's name.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.member = args[0]
	}
	return nil
}

// Validate checks arguments and flags.
func (o *options) Validate(*cobra.Command) error {
	wide := o.datacenter != "" || o.cluster != ""
	switch {
	case o.member == "" && !wide:
		return exit.Usagef("specify a member, --datacenter or --cluster")
	case o.member != "" && wide:
		return exit.Usagef("a member cannot be used together with --datacenter or --cluster")
	case o.member != "" && o.perService:
		return exit.Usagef("--per-service requires --datacenter or --cluster")
	case o.volumeUID != "" && (o.undo || o.member == ""):
		return exit.Usagef("--volume-uid requires a member, and cannot be used with --undo")
	case o.read.From != "" && (o.dryRun != cli.DryRunClient || o.undo):
		return exit.Usagef(
			"saved objects cannot be forced: use --from with --dry-run=client to show what would be ignored")
	case o.undo && (o.reason != "" || o.unlessDown):
		return exit.Usagef("--reason and --unless-down cannot be used with --undo")
	case !slices.Contains([]string{"", "json", "yaml", "name"}, *o.print.OutputFormat):
		return exit.Usagef("unknown output format %q: use one of json, yaml, name", *o.print.OutputFormat)
	}
	return nil
}

// Run shows the blockers, asks for confirmation, and annotates.
func (o *options) Run(ctx context.Context) error {
	o.read.Source, o.read.ControllerNamespace = cli.SourceFlag(cluster.SourceAuto), cli.DefaultControllerNamespace
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	o.reader = reader
	p, err := o.plan(ctx)
	if err != nil {
		if nf, ok := errors.AsType[*cluster.NotFoundError](err); ok {
			return exit.Refused(nf)
		}
		return err
	}
	o.operator = p.snapshot.Operator
	if o.undo {
		for _, w := range p.warnings {
			o.d.Warn("%s", w)
		}
		if p.restarts && o.dryRun == cli.DryRunNone && !o.yes {
			if err := o.d.Confirm(ctx, fmt.Sprintf("Remove the force from %s and restart its Pods?", p.title),
				"yes"); err != nil {
				return err
			}
		}
		return o.apply(ctx, p, nil)
	}
	docs, err := o.show(p)
	if err != nil {
		return err
	}
	if o.dryRun == cli.DryRunNone && !o.yes {
		if err := o.d.Confirm(ctx, fmt.Sprintf("Force %s?", p.title), "yes"); err != nil {
			return err
		}
	}
	return o.apply(ctx, p, docs)
}

// show lists the blockers to ignore and warns; it returns the shown verdicts.
func (o *options) show(p *plan) ([]*document.BarrierVerdict, error) {
	opts := o.d.Options(false)
	opts.Profile = show.Profile(o.d.Streams.ErrOut, o.d.Color, o.d.Environ)
	opts.Height = 0
	list, err := document.NewBarrierListOf(diagnosis.Judge(p.snapshot, o.reader.Now(), p.members...), p.members)
	if err != nil {
		return nil, err
	}
	var docs []*document.BarrierVerdict
	for i := range list.Items {
		docs = append(docs, &list.Items[i])
	}
	o.d.Say(fmt.Sprintf("Forcing %s in namespace %s.\n", p.title, p.snapshot.Namespace))
	switch {
	case len(docs) == 1:
		o.d.Rendered(show.Barrier(docs[0], opts) + "\n")
	case len(docs) > 1:
		o.d.Rendered(show.Barriers(list, opts) + "\n")
	default:
		o.d.Say("All members have joined: none is waiting. The force will apply to every member that is added later, " +
			"and overrides no blocker that arises then.\n")
		if text := document.NewViewStamp(p.snapshot).Text(o.reader.Now()); text != "" {
			o.d.Say(text + "\n")
		}
	}
	for _, d := range docs {
		if b := diagnosis.ForceLoses(bootstrap.Verdict(d.Verdict)); o.unlessDown && !d.Verdict.Satisfied && b != nil {
			return nil, exit.WithHint(exit.Refusedf("%s is DOWN: ScyllaDB would reject the new node, and its volume "+
				"would be lost", b.Observed.Name()), "bring it back or replace it first", words.Scylla(
				p.snapshot.Namespace, "status")...)
		}
	}
	if n := blockers(docs); n > 0 {
		o.d.Warn(
			"%s will be ignored: if a node really is DOWN, ScyllaDB permanently rejects the new node and its volume "+
				"is lost", words.Count(n, "blocker", "blockers"))
	}
	for _, w := range p.warnings {
		o.d.Warn("%s", w)
	}
	return docs, nil
}

func blockers(docs []*document.BarrierVerdict) int {
	n := 0
	for _, d := range docs {
		if d.Verdict.Satisfied {
			continue
		}
		for _, b := range d.Verdict.Blockers {
			n += b.Count()
		}
	}
	return n
}

// apply sets or removes the annotation on every target, then records the user and the reason.
func (o *options) apply(ctx context.Context, p *plan, docs []*document.BarrierVerdict) error {
	who := ""
	if o.dryRun == cli.DryRunNone {
		who = o.d.WhoAmI(ctx)
	}
	for _, obj := range p.targets {
		changed, err := o.annotate(ctx, obj, volumeOf(p.snapshot, obj), docs)
		if err != nil {
			return err
		}
		if err := o.say(obj, changed); err != nil {
			return err
		}
		if changed && o.dryRun == cli.DryRunNone {
			o.record(ctx, obj, who, docs)
		}
	}
	return nil
}

// overrides returns the record of the force: the blockers that were shown, and those that an
// earlier force of the object for the same volume records. False for the Scylla Operator, whose
// barrier reads none.
func (o *options) overrides(obj client.Object, volume string, docs []*document.BarrierVerdict) (string, bool) {
	if o.operator {
		return "", false
	}
	var had []api.ForceOverride
	if cluster.Forces(obj) && obj.GetAnnotations()[api.AnnotationForceVolume] == volume {
		// an unreadable record covers nothing
		had, _ = api.DecodeForceOverrides(obj.GetAnnotations()[api.AnnotationForceOverrides])
	}
	var shown []matrix.Blocker
	for _, d := range docs {
		if d.Verdict.Decision != bootstrap.DecisionRefuse { // a force does not override a refusal
			shown = append(shown, d.Verdict.Blockers...)
		}
	}
	value, err := api.EncodeForceOverrides(bootstrap.Overrides(had, shown))
	return value, err == nil
}

// volumeOf returns the UID of the volume that the force of a member Service is for; empty for any
// other object, whose copies get theirs from the controller.
func volumeOf(c *cluster.Cluster, obj client.Object) string {
	if m := c.Member(obj.GetName()); m != nil && kindOf(obj) == "Service" {
		return string(m.VolumeUID())
	}
	return ""
}

func (o *options) annotate(ctx context.Context, obj client.Object, volume string,
	docs []*document.BarrierVerdict) (changed bool, err error) {
	mutate := func(obj client.Object) {
		a := obj.GetAnnotations()
		if o.undo {
			api.DropForce(a)
			obj.SetAnnotations(a)
			return
		}
		if a == nil {
			a = map[string]string{}
		}
		a[api.AnnotationForceProceed] = api.ForceProceedValue
		if value, ok := o.overrides(obj, volume, docs); ok {
			a[api.AnnotationForceOverrides] = value
			if volume != "" {
				a[api.AnnotationForceVolume] = volume
			}
		}
		// A user's force belongs to the user: the controller must not remove it.
		delete(a, api.AnnotationForcePropagatedFrom)
		if o.reason != "" {
			a[api.AnnotationForceReason] = o.reason
		}
		obj.SetAnnotations(a)
	}
	before := fmt.Sprint(obj.GetAnnotations())
	opts := []client.PatchOption{client.FieldOwner("kubectl-scylla")}
	switch o.dryRun {
	case cli.DryRunClient:
		mutate(obj)
		return fmt.Sprint(obj.GetAnnotations()) != before, nil
	case cli.DryRunServer:
		opts = append(opts, client.DryRunAll)
	}
	c := o.reader.Client()
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		// Read again each time: the user may have answered late.
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		before = fmt.Sprint(obj.GetAnnotations())
		return kube.PatchMetadata(ctx, c, obj, mutate, opts...)
	})
	if err != nil {
		return false, fmt.Errorf("annotate %s %s/%s: %w", kindOf(obj), obj.GetNamespace(), obj.GetName(), err)
	}
	return fmt.Sprint(obj.GetAnnotations()) != before, nil
}

// say prints "service/x annotated" as kubectl does.
func (o *options) say(obj client.Object, changed bool) error {
	operation := "annotated"
	switch {
	case !changed && o.undo:
		operation = "not forced"
	case !changed:
		operation = "already forced"
	case o.undo:
		operation = "no longer forced"
	}
	operation += o.dryRun.Suffix()
	o.print.WithTypeSetter(o.scheme())
	o.print.NamePrintFlags.Operation = operation
	printer, err := o.print.ToPrinter()
	if err != nil {
		return exit.Usage(err)
	}
	if err := printer.PrintObj(obj, o.d.Streams.Out); err != nil {
		return fmt.Errorf("print %s: %w", obj.GetName(), err)
	}
	return nil
}

// scheme returns the client's scheme if there is a client. Creating one in NewCmd would add a
// millisecond to every start of the plugin.
func (o *options) scheme() *runtime.Scheme {
	if o.reader.Saved() {
		return kube.NewScheme()
	}
	return o.reader.Client().Scheme()
}

// record writes an Event. If the user cannot write Events, the force remains, with a warning
// instead of an error.
func (o *options) record(ctx context.Context, obj client.Object, who string, docs []*document.BarrierVerdict) {
	e := kube.Event{Type: corev1.EventTypeWarning, Reason: eventForced, Action: "ForceProceed", Now: o.d.Clock.Now()}
	e.Note = fmt.Sprintf("%s forced the bootstrap with kubectl scylla", who)
	if o.reason != "" {
		e.Note += ": " + o.reason
	}
	if n := blockers(docs); n > 0 {
		e.Note += fmt.Sprintf(" (%s ignored: %s)", words.Count(n, "blocker", "blockers"), docs[0].Why())
	}
	if o.undo {
		e.Type, e.Reason = corev1.EventTypeNormal, eventWithdrawn
		e.Note = fmt.Sprintf("%s removed the force with kubectl scylla", who)
	}
	if err := kube.Emit(ctx, o.reader.Client(), obj, e); err != nil {
		o.d.Warn("Event not recorded: %s", exit.Describe(err))
	}
}
