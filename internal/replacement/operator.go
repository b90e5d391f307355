// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
)

// State is the member's replacement for people: Next, and under the Scylla Operator the operator's own procedure by its labels. The reasons to wait
// and failures are judged alike under both. Its step is for showing only.
func State(in Input) Step {
	if !in.Operator {
		return Next(in)
	}
	rec := ReadRecord(in.Service.Labels, in.Service.Annotations)
	s := Step{Original: rec.Original, Procedure: rec.Procedure()}
	id := newcomerID(&in, rec.Original)
	lost := LostRecord(in)
	switch {
	case !lost.IsZero():
		s.Action, s.Message, s.Cure = ActionFail, code.New(SaysRecordLost, "member", in.Self.Member), lost
	case !rec.Requested && !rec.HasOriginal:
		s.Action, s.Message = ActionNone, code.New(saysReplaceNone)
		return s
	case !rec.Requested:
		s.Action, s.NewHostID = ActionFail, id
		s.Message = code.New(saysOperatorLabelRemoved, "label", api.LabelReplace, "original", rec.Original)
		s.Cure = code.New(saysOperatorEndByHand).Do(code.Kubectl(in.Namespace, "label", "service", in.Self.Member, api.LabelReplacingNodeHostID+"-"))
	case !rec.HasOriginal:
		s = operatorDeletes(in, s)
	case !rec.OriginalError.IsZero():
		s.Action, s.Message = ActionFail, code.New(saysOperatorNoOriginal, "why", rec.OriginalError)
		s.Cure = code.New(saysOperatorPlainNewNode).Do(code.Scylla(in.Namespace, "replace", "status"))
	case in.Pod == nil || in.Pod.Deleting:
		s.Action, s.Message = ActionWaitNewPod, code.New(saysOperatorWaitsForPod)
	case oldPodStays(in, rec.Original):
		s = operatorOldPod(in, s)
	default:
		if s = operatorJoin(in, s, id); s.Action == ActionFinish && !in.OperatorOff.IsZero() {
			s = operatorOff(in, s)
		}
	}
	for _, c := range in.Conditions {
		s.Waiting = append(s.Waiting, code.New(saysOperatorCondition, "condition", c))
	}
	return s
}

// operatorDeletes is the operator's first step: it deletes the claim and then retries the eviction. It does not happen while the operator does not
// run, or a budget protects the Pod.
func operatorDeletes(in Input, s Step) Step {
	budget := in.Budget != "" || slices.ContainsFunc(in.Conditions, func(c string) bool { return strings.Contains(c, "disruption budget") })
	switch {
	case !in.OperatorOff.IsZero():
		return operatorOff(in, s)
	case budget:
		s.Action, s.Message = ActionHoldEviction, code.New(saysOperatorBudget, "budget", in.Budget)
		s.Cure = code.New(CureBudget).Do(code.Kubectl(in.Namespace, "get", "poddisruptionbudgets,pods"))
	default:
		s.Action, s.Message = ActionDeletePVC, code.New(saysOperatorDeletes)
	}
	return s
}

// operatorOldPod is the record of a replacement whose old Pod was never evicted: the operator waits for a new host ID in it. Without the label it evicts the Pod, whose volume goes
// then, so that is offered only while a majority has the node DOWN and nothing shows that it lives.
func operatorOldPod(in Input, s Step) Step {
	s.Action, s.Message = ActionHoldEviction, code.New(saysOperatorOldPod, "pod", in.Pod.Name, "label", api.LabelReplacingNodeHostID)
	v := newOpinions(&in, s.Original, "", nil)
	if v.checkDown().result == OK && v.checkNotAlive().result == OK {
		s.Cure = code.New(saysOperatorLetEvict).Do(code.Kubectl(in.Namespace, "label", "service", in.Self.Member, api.LabelReplacingNodeHostID+"-"))
		return s
	}
	s.Cure = code.New(saysOperatorSeeOldPod).Do(code.Scylla(in.Namespace, "describe", in.Self.Member))
	return s
}

func operatorOff(in Input, s Step) Step {
	s.Action, s.Message, s.Waiting = ActionHoldEviction, code.New(saysOperatorOff, "why", in.OperatorOff), nil
	s.Cure = code.New(saysStartOperator).Do(code.Kubectl(api.OperatorNamespace, "get", "deployment,pods"))
	return s
}

// operatorJoin judges the new node as under our controller, except for the end: the operator removes the labels.
func operatorJoin(in Input, s Step, id hostid.ID) Step {
	in.Operator = false
	ours := Next(in)
	s.Action, s.NewHostID, s.Message, s.Waiting, s.Cure, s.Diagnosis = ours.Action, id, ours.Message, ours.Waiting, ours.Cure, ours.Diagnosis
	if ours.Action == ActionFinish {
		s.Message = code.New(saysOperatorRemovesLabels)
	}
	switch ours.Cure.Code {
	case CureResume, CureResumeAfter, CureVolumeLost, CureNewcomerLost, CureNewcomerIsMember, CureGiveHostID:
		// It knows no second attempt, and no end of the first but its own.
		s.Cure = code.New(CureOperatorByHand)
	case CureBringBackOrResume:
		s.Cure = code.Message{Code: CureBringBack, Params: ours.Cure.Params}
	}
	if ours.Diagnosis != nil {
		d := *ours.Diagnosis
		d.Cure = s.Cure
		s.Diagnosis = &d
	}
	return s
}
