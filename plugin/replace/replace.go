// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// Reasons of the Events that record the user and the request.
const (
	EventRequested = "ReplacementRequested"
	EventWithdrawn = "ReplacementWithdrawn"
)

func (o *options) patch(in *replace.Input, id string) *replace.Patch {
	rec := replace.RecordOf(in.Self)
	switch {
	case o.resume:
		return replace.ResumePatch(rec, id, o.original, o.ignoreDead, o.skipChecks)
	case rec.Open() && replace.Superseded(*in) != "" && !in.Operator:
		return replace.SupersedePatch(rec, replace.Superseded(*in), id, o.ignoreDead, o.skipChecks, in.Now)
	case in.Operator:
		// The operator owns the Service's annotations; the label is its documented interface,
		// without an identity of the request.
		return &replace.Patch{SetLabels: map[string]string{api.LabelReplace: ""}}
	}
	return replace.RequestPatch(id, o.ignoreDead, o.skipChecks)
}

func (o *options) runReplace(ctx context.Context) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	if err := o.mayAsk(ctx, s); err != nil {
		return err
	}
	if err := o.nameDead(s); err != nil {
		return err
	}
	o.askNodes(ctx, s)
	o.askData(ctx, s)
	id := o.newID()
	patch := o.patch(s.in, id)
	overlay := *patch
	if s.in.Operator {
		// Only for the checks here: it is never written.
		overlay = *replace.RequestPatch(id, nil, o.skipChecks)
	}
	plan := replace.MakePlan(s.in.With(&overlay))
	doc := newPlanDocument(o.d.Clock.Now(), s, plan)
	dry := o.dryRun == cli.DryRunClient
	if err := o.showPlan(doc, plan.Blocked || dry || o.dryRun == cli.DryRunServer); err != nil {
		return err
	}
	if plan.Blocked {
		return refusal(plan)
	}
	if o.reader.Saved() {
		return nil // only a plan, without a change
	}
	if o.dryRun == cli.DryRunNone && !o.yes {
		err := o.d.Confirm(ctx, fmt.Sprintf("Replace %s? These are the first 8 characters of its host ID.", s.member()),
			plan.Original.Short())
		if err != nil {
			return err
		}
	}
	if err := o.apply(ctx, s, patch, "labeled", func(now *replace.Input) error {
		if was, is := s.in.Self.RecordedID(), now.Self.RecordedID(); was != is && !o.resume {
			return exit.Refusedf(
				"the host ID of %s changed from %s to %s after the plan was shown: nothing was changed", s.member(),
				was, is)
		}
		if !o.resume {
			if err := open(*now); err != nil {
				return err
			}
		}
		return o.stillAllowed(ctx, s, plan, &overlay)
	}); err != nil || o.dryRun != cli.DryRunNone {
		return err
	}
	o.record(ctx, s, EventRequested, fmt.Sprintf("%s requested with kubectl scylla to replace %s (request %s)%s",
		o.d.WhoAmI(ctx), plan.Original, id, skipped(o.skipChecks)))
	if !o.wait.Wait {
		o.d.Say("requested; to show its progress: " + o.d.Words().Shell(s.statusCommand()) + "\n")
		return o.finalDocument(ctx, s)
	}
	return o.follow(ctx, s, id, plan.Original)
}

// stillAllowed repeats every check on current objects: a node may have recovered while the user
// read the plan and typed.
func (o *options) stillAllowed(ctx context.Context, s *subject, shown replace.Plan, request *replace.Patch) error {
	now, err := o.find(ctx)
	if err != nil {
		return err
	}
	o.askNodes(ctx, now)
	o.askData(ctx, now)
	plan := replace.MakePlan(now.in.With(request))
	switch {
	case now.key != s.key || now.member() != s.member() || plan.Original != shown.Original:
		return exit.Refusedf("%s changed after the plan was shown: nothing was changed", s.member())
	case plan.Blocked:
		for _, b := range plan.Blockers() {
			o.d.Warn("%s: %s", b.Name, words.Text(b.Evidence))
		}
		return refusal(plan)
	}
	return nil
}

func skipped(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", skipping the checks " + strings.Join(names, ", ")
}

// mayAsk refuses requests that need no check.
func (o *options) mayAsk(ctx context.Context, s *subject) error {
	if err := o.mayAskNow(s); err != nil {
		return err
	}
	return o.mayResume(ctx, s)
}

func (o *options) mayAskNow(s *subject) error {
	rec := replace.RecordOf(s.in.Self)
	switch {
	case s.reading.Cluster.Old:
		return exit.Refusedf("%s", o.d.Words().Text(replace.ReadNow(s.reading.Cluster)))
	case o.resume && s.in.Operator:
		return exit.WithHint(
			exit.Refusedf("the Scylla Operator replaces the nodes of this cluster and cannot resume an attempt"),
			"follow its documentation: recover from a failed replacement")
	case o.resume && !rec.Open():
		return exit.WithHint(exit.Refusedf("no replacement of %s is open: nothing to resume", s.member()),
			"list the replacements", words.Scylla(s.key.Namespace, "replace", "status")...)
	case o.original != "" && rec.HasOriginal && rec.OriginalError.IsZero() && rec.Original != o.original:
		return exit.Refusedf("the original host ID %s is recorded on %s and never overwritten: omit --host-id",
			rec.Original, s.member())
	case !o.resume:
		if err := open(*s.in); err != nil {
			return err
		}
	}
	if s.in.Operator && len(o.ignoreDead) > 0 {
		return exit.WithStep(exit.Refusedf("the Scylla Operator cannot pass a list of dead nodes to one member"),
			replace.ExcludeDead(*s.in, o.ignoreDead))
	}
	return nil
}

// mayResume refuses a further attempt with the same nodes ignored while nothing shows that the
// present one has failed: its fresh volume would be deleted, and it would begin again.
func (o *options) mayResume(ctx context.Context, s *subject) error {
	rec := replace.RecordOf(s.in.Self)
	if !o.resume || o.original != "" || slices.Contains(o.skipChecks, replace.CheckAttempt) ||
		len(o.ignoreDead) > 0 && !slices.Equal(o.ignoreDead, rec.IgnoreDead) {
		return nil
	}
	step := o.judge(ctx, s)
	switch step.Action {
	case replace.ActionDeletePVC, replace.ActionEvictPod, replace.ActionWaitPodGone, replace.ActionWaitNewPod:
	case replace.ActionWaitJoin: // the checks know an attempt that ScyllaDB has accepted
		if !s.in.Self.WaitsInBarrier() {
			return nil
		}
	default:
		return nil
	}
	if step.Diagnosis != nil || step.Refused != nil || !step.Cure.IsZero() {
		return nil
	}
	return exit.WithHint(
		exit.Refusedf("attempt %d of the replacement of %s has not failed: %s; --skip-check=%s begins another",
			max(rec.Attempt, 1), s.member(), words.Text(step.Message), replace.CheckAttempt),
		"show its progress", words.Scylla(s.key.Namespace, "replace", "status", s.member())...)
}

func open(in replace.Input) error {
	why := replace.OpenAlready(in)
	if why.IsZero() {
		return nil
	}
	if !replace.LeftLabel(in.Self).IsZero() {
		return exit.WithStep(exit.Refusedf("%s", words.Text(why)), replace.RemoveLeftLabel(in.Self))
	}
	hint := words.New(words.ReplaceSeeHowFar).Do(words.Scylla(in.Namespace, "replace", "status", in.Self.Member))
	if !in.Operator {
		// The Scylla Operator resumes automatically or never.
		hint = hint.Do(words.Scylla(in.Namespace, "replace", "resume", in.Self.Member))
	}
	return exit.WithStep(exit.Refusedf("%s", words.Text(why)), hint)
}

// statusCommand returns the command that shows the progress of the member's replacement.
func (s *subject) statusCommand() words.Command {
	return words.Scylla(s.key.Namespace, "replace", "status", s.member())
}

// askNodes queries the nodes if their reports lack topology operations, as with the Scylla
// Operator's reporter.
func (o *options) askNodes(ctx context.Context, s *subject) {
	if s.in.OperationsKnown || o.read.From != "" || s.reading.Cluster.Live != nil {
		return
	}
	p := o.d.Busy("querying the nodes of " + s.key.String() + " for open operations")
	asked, err := o.d.ReadLive(ctx, s.reading.Cluster, kube.LiveOptions{})
	p.Stop()
	if err != nil {
		o.d.Warn("cannot query the nodes: %s", exit.Describe(err))
		return
	}
	s.reading = replace.Read(asked)
	s.in = s.reading.Input(s.member(), o.d.Clock.Now(), s.in.NewID)
}

// askData queries a live node for the replica placement.
func (o *options) askData(ctx context.Context, s *subject) {
	if o.reader.Saved() {
		s.in.Data = &replace.Data{Why: "saved objects do not show which nodes have replicas of the data"}
		return
	}
	p := o.d.Busy("querying the replicas of " + s.key.String())
	keyspaces, err := o.d.Replication(ctx, cli.Witnesses(s.reading.Cluster, s.member()))
	p.Stop()
	s.in.Data = &replace.Data{Known: err == nil, Keyspaces: keyspaces}
	if err != nil {
		s.in.Data.Why = exit.Describe(err).Error()
	}
}

func refusal(plan replace.Plan) error {
	blockers := plan.Blockers()
	names := make([]string, len(blockers))
	skippable := true
	for i, b := range blockers {
		names[i] = b.Name
		skippable = skippable && b.Skippable
	}
	hint := "nothing was changed"
	if skippable {
		hint += "; to override, only if you know better than the check: --skip-check=" + strings.Join(names, ",")
	}
	return exit.WithHint(exit.Refusedf("refused by %s: %s", words.Count(len(names), "check", "checks"),
		strings.Join(names, ", ")), hint)
}
