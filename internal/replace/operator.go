// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// State returns the member's replacement for display: Next or, under the Scylla Operator, its own
// procedure as shown by its labels. Reasons to wait and failures use the same logic. Do not execute
// its step.
func State(in Input) Step {
	if left := LeftLabel(in.Self); !left.IsZero() {
		return Step{Action: ActionNone, Message: left, Cure: RemoveLeftLabel(in.Self)}
	}
	if !in.Operator {
		return Next(in)
	}
	rec := RecordOf(in.Self)
	s := Step{Original: rec.Original, Procedure: rec.Procedure()}
	id := newcomerID(&in, rec.Original)
	lost := LostRecord(in)
	switch {
	case !lost.IsZero():
		s.Action, s.Message, s.Cure = ActionFail, words.New(words.RecordLost, "member", in.Self.Member), lost
	case !rec.Requested && !rec.HasOriginal:
		s.Action, s.Message = ActionNone, words.New(words.ReplaceNone)
		return s
	case !rec.Requested:
		s.Action, s.NewHostID = ActionFail, id
		s.Message = words.New(words.OperatorLabelRemoved, "label", api.LabelReplace, "original", rec.Original)
		s.Cure = words.New(words.OperatorEndByHand).Do(words.Scylla(in.Namespace, "replace", "status", in.Self.Member))
	case !rec.HasOriginal:
		s = operatorDeletes(in, s)
	case !rec.OriginalError.IsZero():
		s.Action, s.Message = ActionFail, words.New(words.OperatorNoOriginal, "why", rec.OriginalError)
		s.Cure = words.New(words.OperatorPlainNewNode).Do(words.Scylla(in.Namespace, "replace", "status"))
	case in.Self.Pod == nil || in.Self.Deleting():
		s.Action, s.Message, s.Cure = ActionWaitNewPod, words.New(words.OperatorWaitsForPod), in.Order
	case oldPodStays(in, rec.Original):
		s = operatorOldPod(in, s)
	default:
		s = operatorJoin(in, s, id)
	}
	if !in.OperatorOff.IsZero() && s.Action != ActionFail && !Armed(in) {
		s = operatorOff(in, s)
	}
	for _, c := range in.Conditions {
		s.Waiting = append(s.Waiting, words.New(words.OperatorCondition, "condition", c))
	}
	return s
}

// operatorDeletes is the operator's first step: it deletes the PVC and retries the eviction. The
// step is blocked while the operator does not run or a disruption budget protects the Pod.
func operatorDeletes(in Input, s Step) Step {
	budget := in.Budget != "" ||
		slices.ContainsFunc(in.Conditions, func(c string) bool { return strings.Contains(c, "disruption budget") })
	switch {
	case Armed(in):
		s.Action, s.Message = ActionHoldEviction, words.New(words.OperatorWouldDelete, "why", in.OperatorOff, "member",
			in.Self.Member)
		s.Cure = disarm(in.Namespace, in.Self.Member)
	case budget:
		s.Action, s.Message = ActionHoldEviction, words.New(words.OperatorHeldByBudget, "budget", in.Budget)
		s.Cure = words.New(words.CureBudget).Do(words.Kubectl(in.Namespace, "get", "poddisruptionbudgets,pods"))
	default:
		s.Action, s.Message = ActionDeletePVC, words.New(words.OperatorDeletes)
		if i := slices.IndexFunc(in.Claims, func(p *corev1.PersistentVolumeClaim) bool { return !goes(p) }); i >= 0 {
			s.Cure = words.New(words.OperatorHasNotBegun, "claim", in.Claims[i].Name).Do(
				words.Kubectl(api.OperatorNamespace, "get", "deployment,pods"))
		}
	}
	return s
}

// checkOperator requires that the operator runs. It deletes the PVC of a requested replacement
// whenever it starts, even if the node is UP again by then.
func (v *verifier) checkOperator() finding {
	look := seeOperator(v.in.OperatorOff)
	switch {
	case !v.in.OperatorOff.IsZero():
		f := failed(v.in.OperatorOff, words.New(words.ReplaceStartOperator).Do(look))
		f.hard = true
		return f
	case !v.in.OperatorLeads:
		return unknown(words.New(words.ReplaceOperatorUnknown),
			words.New(words.ReplaceSeeOperator, "check", CheckOperator).Do(look))
	}
	return ok(words.New(words.ReplaceOperatorLeads))
}

// seeOperator returns the command that shows why the operator does not run.
func seeOperator(off words.Message) words.Command {
	step := words.StartOperator
	if off.Code == words.OperatorScaledDown {
		step = words.ScaleOperatorBack
	}
	return evidence.Facts{}.Commands(step)[0]
}

// Armed reports whether the Scylla Operator would delete the volume of a running node: its
// replacement is requested, nothing is deleted yet, and it is UP in a row or its Pod is Ready.
func Armed(in Input) bool {
	rec, target := RecordOf(in.Self), in.Self.RecordedID()
	if !in.Operator || !rec.Requested || rec.HasOriginal || !TooLate(in).IsZero() {
		return false
	}
	return alive(&in, target)
}

// Disarm is the only step, before anything that starts the operator, for a cluster with a member
// whose request is Armed; zero if there is none.
func Disarm(c *cluster.Cluster) words.Message {
	if !c.Operator {
		return words.Message{}
	}
	r := Read(c)
	for _, m := range r.Cluster.Serviced() {
		if m.ReplaceRequested && Armed(*r.Input(m.Member, c.TakenAt, "")) {
			return disarm(c.Namespace, m.Member)
		}
	}
	return words.Message{}
}

func disarm(namespace, member string) words.Message {
	return evidence.Do(words.New(words.CancelBeforeStart, "member", member),
		evidence.Facts{"namespace": namespace, "member": member})
}

// operatorOldPod handles a replacement whose old Pod was never evicted although the operator waits
// for a new host ID. Without the label the operator evicts the Pod, which deletes its volume. That
// is therefore suggested only for a node that is known to be dead.
func operatorOldPod(in Input, s Step) Step {
	s.Action, s.Message = ActionHoldEviction, words.New(words.OperatorOldPod, "pod", in.Self.Pod.Name, "label",
		api.LabelReplacingNodeHostID)
	if mayEvict(&in, s.Original) {
		s.Cure = words.New(words.OperatorLetEvict).Do(words.Kubectl(in.Namespace, "label", "service", in.Self.Member,
			api.LabelReplacingNodeHostID+"-"))
		return s
	}
	s.Cure = seeOldPod(&in)
	return s
}

// operatorOff is the step of each phase while the operator does not run. The step names a
// withdrawal only while a PVC exists that nothing deletes. Once the host ID is recorded, the new
// node joins without the operator, whose report then goes out of date.
func operatorOff(in Input, s Step) Step {
	look := seeOperator(in.OperatorOff)
	s.Cure = words.New(words.StartOperatorToEnd).Do(look)
	switch {
	case s.Original != "" && s.Action == ActionFinish:
		s.OperatorOff, s.Message = true, words.New(words.OperatorOffAtEnd, "why", in.OperatorOff)
	case s.Original != "":
		s.OperatorOff = true
		s.Message = words.New(words.OperatorOffMeanwhile, "state", s.Message, "why", in.OperatorOff)
	case len(in.Claims) > 0 && TooLate(in).IsZero():
		s.Action, s.Message = ActionHoldEviction, words.New(words.OperatorOff, "why", in.OperatorOff)
		s.Cure = words.New(words.StartOperatorAgain).Do(look)
	default:
		s.Action, s.Message = ActionHoldEviction, words.New(words.OperatorOffDeleted, "why", in.OperatorOff)
		s.Cure = words.New(words.StartOperatorToRecord).Do(look)
	}
	return s
}

// operatorJoin uses the logic of our controller, except that the operator removes the labels.
func operatorJoin(in Input, s Step, id hostid.ID) Step {
	in.Operator = false
	ours := Next(in)
	s.Action, s.NewHostID, s.Message, s.Waiting, s.Cure, s.Diagnosis = ours.Action, id, ours.Message, ours.Waiting,
		ours.Cure, ours.Diagnosis
	if ours.Action == ActionFinish {
		s.Message = words.New(words.OperatorRemovesLabels)
	}
	switch ours.Cure.Code {
	case words.CureResume, words.CureResumeAfter, words.CureVolumeLost, words.CureNewcomerLost,
		words.CureNewcomerIsMember, words.CureGiveHostID, words.CureStartAsNew:
		// The operator has no second attempt, and ends the first one itself.
		s.Cure = words.New(words.CureOperatorByHand)
	case words.CureBringBackOrResume:
		s.Cure = words.Message{Code: words.CureBringBack, Params: ours.Cure.Params}
	}
	if ours.Diagnosis != nil {
		d := *ours.Diagnosis
		d.Cure = s.Cure
		s.Diagnosis = &d
	}
	return s
}
