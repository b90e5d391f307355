// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// operatorCure is what is left under a controller that has no second attempt.
const operatorCure = "the Scylla Operator knows no second attempt: its documentation has the way out by hand (recover from a failed replacement)"

// State is the member's replacement for people: Next, and under the Scylla Operator its own procedure as its labels tell it. What an attempt waits
// for, and whether it has failed, is judged alike under both. Its step is for showing only.
func State(in Input) Step {
	if !in.Operator {
		return Next(in)
	}
	rec := ReadRecord(in.Service.Labels, in.Service.Annotations)
	s := Step{Original: rec.Original, Procedure: rec.Procedure()}
	id := newcomerID(&in, rec.Original)
	switch {
	case !rec.Requested && !rec.HasOriginal:
		s.Action, s.Message = ActionNone, "no replacement is requested"
		return s
	case !rec.Requested:
		s.Action, s.NewHostID = ActionFail, id
		s.Message = fmt.Sprintf("label %s was removed in the middle: the Scylla Operator no longer ends the replacement, and every later start of this member replaces %s",
			api.LabelReplace, rec.Original)
		s.Cure = fmt.Sprintf("when the new node has joined: kubectl label service %s %s- -n %s", in.Self.Member, api.LabelReplacingNodeHostID, in.Namespace)
	case !rec.HasOriginal:
		s.Action, s.Message = ActionDeletePVC, "the Scylla Operator deletes claim and Pod and records the host ID"
	case rec.OriginalError != "":
		s.Action, s.Message = ActionFail, "the Scylla Operator recorded no usable host ID: "+rec.OriginalError
		s.Cure = "the new node joins as a plain new one; the dead one stays a member until it is removed (kubectl scylla replace --status lists it)"
	case in.Pod == nil || in.Pod.Deleting:
		s.Action, s.Message = ActionWaitNewPod, "the Scylla Operator waits for the new Pod"
	default:
		s = operatorJoin(in, s, id)
	}
	s.Waiting = append(s.Waiting, in.Conditions...)
	return s
}

// operatorJoin judges the new node as it would be judged under our controller. The end is the operator's: it takes the labels away.
func operatorJoin(in Input, s Step, id string) Step {
	in.Operator = false
	ours := Next(in)
	s.Action, s.NewHostID, s.Message, s.Waiting, s.Cure, s.Diagnosis = ours.Action, id, ours.Message, ours.Waiting, ours.Cure, ours.Diagnosis
	switch {
	case ours.Action == ActionFinish:
		s.Message = "the Scylla Operator removes the labels"
	case strings.Contains(ours.Cure, "--resume"):
		s.Cure = operatorCure
	}
	if ours.Diagnosis != nil {
		d := *ours.Diagnosis
		d.Cure = s.Cure
		s.Diagnosis = &d
	}
	return s
}
