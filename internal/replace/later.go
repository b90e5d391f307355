// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// onlyWait are the steps of checks that only wait, for a time, a row, or a node that returns: no
// choice of the user passes them.
var onlyWait = []words.Code{
	words.ReplaceWaitUntil, words.ReplaceWaitMajority, words.ReplaceWaitAgreement, words.ReplaceStartingWait,
	words.ReplaceWaitRows, words.OthersWait, words.OperationWait, words.OthersBringBackOnly, words.SeeRack,
	words.SeeDatacenter,
}

// Later returns the step for a member that must be replaced while the command would wait, by its
// own checks; zero if it would not, or if a user must decide which other nodes are lost. A barrier
// reads no Pods, so it waits for other nodes whose data the command knows to be lost.
func (r *Reading) Later(member string) words.Message {
	if in := r.Input(member, r.Cluster.TakenAt, ""); in != nil {
		return in.later()
	}
	return words.Message{}
}

// later is Later for the replacement that the command would request now: of the new node of an open
// one if that has joined.
func (in Input) later() words.Message {
	patch := RequestPatch("", nil, nil)
	if id := Superseded(in); id != "" {
		patch = SupersedePatch(RecordOf(in.Self), id, "", nil, nil, in.Now)
	}
	var why []words.Message
	rows, down := words.Message{}, false
	for _, check := range MakePlan(in.With(patch)).Blockers() {
		down = down || check.Name == CheckOthersUp && check.Cure.Code != words.OthersWait
		switch {
		case check.Name == CheckRows:
			rows = check.Evidence
		case slices.Contains(onlyWait, check.Cure.Code):
			why = append(why, check.Evidence)
		}
	}
	// Nodes whose data is lost have no rows: a user decides about them.
	if !rows.IsZero() && !down && len(in.NotVerified) == 0 {
		why = append(why, rows)
	}
	if len(why) == 0 {
		return words.Message{}
	}
	return words.New(words.ReplaceLater, "why", words.New(words.ReplaceFacts, "facts", why))
}

// unlessLater returns a step whose command replaces the new node with this host ID, or why that
// command would wait.
func (in Input) unlessLater(newcomer hostid.ID, step words.Message) words.Message {
	recorded := &Patch{SetAnnotations: map[string]string{api.AnnotationHostID: string(newcomer)}}
	if later := in.With(recorded).later(); !later.IsZero() {
		return later
	}
	return step
}

// With returns the input with the labels and annotations that a patch would write.
func (in Input) With(p *Patch) Input {
	s := in.Self.Service.DeepCopy()
	p.Apply(&s.Labels, &s.Annotations)
	in.Self = in.Self.WithService(s)
	return in
}
