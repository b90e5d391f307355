// SPDX-License-Identifier: Apache-2.0

// Package barrier is `kubectl scylla barrier`: why a member waits, from the same facts and by the same function as its barrier. It reads and
// changes nothing.
package barrier

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	d      *cli.Deps
	read   cli.ReadFlags
	output cli.OutputFlags
	wait   cli.WaitFlags
	watch  bool
	// member as typed; empty asks who waits.
	member string

	reader *cli.Reader
	logs   cli.LogReader
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, logs: cli.LogReader{Deps: d}}
	cmd := &cobra.Command{
		Use:     "barrier [MEMBER]",
		Aliases: []string{"why"},
		Short:   "Say why a member waits before it starts ScyllaDB, and what to do about it",
		Long: `Say why a member waits before it starts ScyllaDB, and what to do about it.

A new node must not start while any node sees any other node DOWN: ScyllaDB would
refuse it for good and leave its volume unusable. The barrier, an init container,
holds it back. This verb comes to the same verdict from the same facts and names each
blocker: who sees whom how, since when, and the next step. MEMBER is the name of the
Pod. Of a member that runs it says whether it could start again now.

Without MEMBER it lists those that wait.

Exit code: 0 may start, 3 must wait, 4 must still wait after --timeout, 1 error.`,
		Example: cli.Examples(
			"# Who waits?",
			"kubectl scylla barrier -n demo",
			"",
			"# Why does this one wait?",
			"kubectl scylla barrier demo-dc1-rack2-0 -n demo",
			"",
			"# Block until it may start, at most half an hour",
			"kubectl scylla barrier demo-dc1-rack2-0 -n demo --wait --timeout 30m",
			"",
			"# Judge saved objects, with no cluster at all",
			"kubectl get services,pods,scylladbdatacenternodesstatusreports -n demo -o yaml > saved.yaml",
			"kubectl scylla barrier demo-dc1-rack2-0 --from saved.yaml -o yaml",
		),
		GroupID:               cli.GroupSee,
		Args:                  cobra.MaximumNArgs(1),
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     d.CompleteMembers,
		RunE:                  cli.Run(o),
	}
	o.read.AddFlags(cmd, true)
	o.output.AddFlags(cmd, "wide")
	o.wait.AddFlags(cmd, "the member may start")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "Show it again whenever it changes, until Ctrl-C.")
	cmd.MarkFlagsMutuallyExclusive("watch", "wait")
	return cmd
}

// Complete takes the member's name.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.member = args[0]
	}
	return nil
}

// Validate refuses what does not go together.
func (o *options) Validate(cmd *cobra.Command) error {
	if o.member == "" && o.wait.Wait {
		return exit.Usagef("--wait waits for one member: name it")
	}
	if o.read.From != "" && (o.watch || o.wait.Wait) {
		return exit.Usagef("saved objects do not change: --from goes with neither --watch nor --wait")
	}
	if err := o.wait.Validate(cmd); err != nil {
		return err
	}
	if err := o.read.Validate(); err != nil {
		return err
	}
	return o.output.Validate()
}

// Run says why one member waits, or who waits.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(o.read)
	if err != nil {
		return err
	}
	o.reader, o.logs.Archived = reader, reader.Archived
	switch {
	case o.watch:
		return o.runWatch(ctx)
	case o.wait.Wait:
		return o.runWait(ctx)
	}
	doc, _, err := o.load(ctx)
	if err != nil {
		return err
	}
	if err := o.print(doc); err != nil {
		return err
	}
	return verdict(doc)
}

// document is a BarrierVerdict or a BarrierVerdictList.
type document interface {
	runtime.Object
	Text(render.Options) string
}

func (o *options) load(ctx context.Context) (document, []*kube.Snapshot, error) {
	if o.member == "" {
		snapshots, err := o.reader.All(ctx)
		if err != nil {
			return nil, nil, err
		}
		l, err := render.NewBarrierList(snapshots, o.d.Clock.Now())
		return l, snapshots, err
	}
	s, err := o.reader.Member(ctx, o.member)
	if err != nil {
		return nil, nil, err
	}
	d, err := render.NewBarrierVerdict(s, o.member, o.d.Clock.Now())
	if err == nil && d.Replacement != nil {
		if logs := o.logs.Replacements(ctx, s, []render.Replacement{*d.Replacement}); logs != nil {
			d, err = render.NewBarrierVerdictWithLogs(s, o.member, o.d.Clock.Now(), logs)
		}
	}
	return d, []*kube.Snapshot{s}, err
}

func (o *options) print(doc document) error {
	if o.output.Text() {
		opts := o.d.Options(o.output.Format() == "wide")
		return o.d.Print(doc.Text(opts), opts)
	}
	if l, ok := doc.(*render.BarrierVerdictList); ok && o.output.Name() {
		items := make([]runtime.Object, len(l.Items))
		for i := range l.Items {
			items[i] = &l.Items[i]
		}
		return o.output.Document(o.d, items...)
	}
	return o.output.Document(o.d, doc)
}

// verdict is exit code 3 when the member, or any that was listed, must wait.
func verdict(doc document) error {
	switch d := doc.(type) {
	case *render.BarrierVerdict:
		if !d.Verdict.Satisfied {
			return exit.ConditionNotMet(nil)
		}
	case *render.BarrierVerdictList:
		for i := range d.Items {
			if !d.Items[i].Verdict.Satisfied {
				return exit.ConditionNotMet(nil)
			}
		}
	}
	return nil
}

func (o *options) runWatch(ctx context.Context) error {
	var changed <-chan struct{}
	return o.d.Watch(ctx, func(ctx context.Context) (cli.Frame, error) {
		doc, snapshots, err := o.load(ctx)
		if err != nil {
			return cli.Frame{}, err
		}
		if changed == nil {
			changed = o.reader.Watch(ctx, snapshots)
		}
		return cli.Frame{Key: key(doc), Changed: changed, Draw: func() error { return o.print(doc) }}, nil
	})
}

// key is the document without the moment at which it was made.
func key(doc document) string {
	c := doc.DeepCopyObject()
	switch d := c.(type) {
	case *render.BarrierVerdict:
		d.GeneratedAt, d.TakenAt = metav1.Time{}, nil
	case *render.BarrierVerdictList:
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

func (o *options) runWait(ctx context.Context) error {
	doc, snapshots, err := o.load(ctx)
	if err != nil {
		return err
	}
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := true
	werr := o.d.Wait(ctx, cli.Wait{
		Subject: fmt.Sprintf("member %s/%s to be free to start", snapshots[0].Namespace, o.member), Timeout: o.wait.Timeout,
		Changed: o.reader.Watch(wctx, snapshots),
		Check: func(ctx context.Context) (bool, string, error) {
			if !first {
				again, _, err := o.load(ctx)
				if err != nil {
					return false, "", err
				}
				doc = again
			}
			first = false
			d, ok := doc.(*render.BarrierVerdict)
			if !ok {
				return false, "", fmt.Errorf("wait for %s: got a list", o.member)
			}
			if d.Verdict.Decision == bootstrap.DecisionRefuse {
				// Waiting cannot help: the person must act.
				return false, "", exit.ConditionNotMet(nil)
			}
			return d.Verdict.Satisfied, d.Why(), nil
		},
	})
	if exit.Code(werr) == exit.CodeInterrupted {
		return werr
	}
	if err := o.print(doc); err != nil {
		return err
	}
	return werr
}
