// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// apply reads the member Service again, checks it, and patches it.
func (o *options) apply(ctx context.Context, s *subject, patch *replace.Patch, operation string,
	check func(*replace.Input) error) error {
	svc := &corev1.Service{}
	key := client.ObjectKey{Namespace: s.key.Namespace, Name: s.member()}
	if o.dryRun == cli.DryRunClient {
		return o.say("service/" + s.member() + " " + operation)
	}
	opts := []client.PatchOption{client.FieldOwner("kubectl-scylla")}
	if o.dryRun == cli.DryRunServer {
		opts = append(opts, client.DryRunAll)
	}
	c := o.reader.Client()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, key, svc); err != nil {
			return fmt.Errorf("read service %s: %w", key, err)
		}
		now, self := *s.in, *s.in.Self
		self.Service, now.Self = svc, &self
		if err := check(&now); err != nil {
			return err
		}
		return kube.PatchMetadata(ctx, c, svc, func(obj *corev1.Service) { patch.Apply(&obj.Labels, &obj.Annotations) },
			opts...)
	})
	if err != nil {
		return err
	}
	return o.say("service/" + s.member() + " " + operation)
}

// say prints a change as kubectl does: on standard output, unless that is for a document.
func (o *options) say(what string) error {
	what += o.dryRun.Suffix()
	if !o.output.Text() {
		o.d.Say(what + "\n")
		return nil
	}
	return o.d.Print(what+"\n", o.d.Options(false))
}

// record writes an Event about the user's request. If the user cannot write Events, the request
// remains, with a warning instead of an error.
func (o *options) record(ctx context.Context, s *subject, reason, note string) {
	svc := s.reading.Cluster.Service(s.member())
	err := kube.Emit(ctx, o.reader.Client(), svc,
		kube.Event{Type: corev1.EventTypeNormal, Reason: reason, Action: "ReplaceNode", Note: note,
			Now: o.d.Clock.Now()})
	if err != nil {
		o.d.Warn("Event not recorded: %s", exit.Describe(err))
	}
}

func (o *options) runCancel(ctx context.Context) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	rec := replace.RecordOf(s.in.Self)
	if lost := replace.LostRecord(*s.in); !lost.IsZero() {
		return exit.WithStep(exit.Refusedf("%s", words.Text(words.New(words.RecordLost, "member", s.member()))), lost)
	}
	if !rec.Requested && !rec.Open() {
		return exit.WithHint(exit.Refusedf("no replacement of %s is requested: nothing to cancel", s.member()),
			"list the replacements", words.Scylla(s.key.Namespace, "replace", "status")...)
	}
	if err := o.tooLate(ctx, s); err != nil {
		return err
	}
	if err := o.apply(ctx, s, replace.CancelPatch(), "unlabeled", func(now *replace.Input) error {
		again := *s
		again.in = now
		return o.tooLate(ctx, &again)
	}); err != nil || o.dryRun != cli.DryRunNone {
		return err
	}
	if s.in.Operator {
		// The operator has no withdrawal: it may have begun to delete before the label was removed.
		if late := o.tooLate(ctx, s); late != nil {
			return exit.WithStep(exit.Refusedf("the label was removed too late: %s",
				words.Text(words.New(words.RecordLost, "member", s.member()))),
				replace.PutBack(*s.in, s.in.Self.RecordedID()))
		}
	}
	o.record(ctx, s, EventWithdrawn, fmt.Sprintf("%s withdrew the replacement of %s with kubectl scylla",
		o.d.WhoAmI(ctx), s.member()))
	if !o.wait.Wait || s.in.Operator || !rec.Open() && rec.Request == "" {
		return nil
	}
	return o.followCancel(ctx, s, cmp.Or(rec.Accepted, rec.Request))
}

// tooLate refuses to withdraw a request past the point of no return, from the current PVCs.
func (o *options) tooLate(ctx context.Context, s *subject) error {
	now := *s.in
	now.Claims = slices.Clone(now.Claims)
	for i, c := range now.Claims {
		pvc := &corev1.PersistentVolumeClaim{}
		err := o.reader.Client().Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: c.Name}, pvc)
		switch {
		case apierrors.IsForbidden(err): // use the listed PVC
		case apierrors.IsNotFound(err) || err == nil && pvc.UID != c.UID:
			now.Claims[i] = c.DeepCopy()
			now.Claims[i].DeletionTimestamp = &metav1.Time{}
		case err != nil:
			return fmt.Errorf("read PVC %s/%s: %w", s.key.Namespace, c.Name, err)
		default:
			now.Claims[i] = pvc
		}
	}
	why := replace.TooLate(now)
	if why.IsZero() {
		return nil
	}
	return exit.WithHint(exit.Refusedf("too late to cancel: %s", words.Text(why)), "show its progress",
		s.statusCommand()...)
}
