// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Blockers are blockers as documents have them: in JSON each also has its text, without its age, and its next step as text and as commands.
type Blockers []matrix.Blocker

// LogCure is what to do after a text in the log of a cluster's ScyllaDB, as scylla.Cure; how to look where the cluster's objects are too old for that.
func LogCure(s *cluster.Cluster, c words.Code) string {
	if s.Old {
		return words.Text(replacement.ReadNow(s))
	}
	return words.Text(scylla.Cure(c))
}

// blocker is the JSON of one of Blockers.
type blocker struct {
	Reason   words.Code `json:"reason"`
	Text     string     `json:"text"`
	Observer matrix.Ref `json:"observer,omitzero"`
	Observed matrix.Ref `json:"observed,omitzero"`
	// Coordinator is set where the observer is the topology coordinator.
	Coordinator bool             `json:"coordinator,omitempty"`
	Since       time.Time        `json:"since,omitzero"`
	Detail      string           `json:"detail,omitempty"`
	Cause       *words.Statement `json:"cause,omitempty"`
	Step        *words.Statement `json:"step,omitempty"`
	More        int              `json:"more,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (b Blockers) MarshalJSON() ([]byte, error) {
	list := make([]blocker, len(b))
	var p words.Printer
	for i, x := range b {
		list[i] = blocker{
			Reason: x.Reason, Text: words.Aging(x.Message(), x.Since, time.Time{}), Observer: x.Observer, Observed: x.Observed, Since: x.Since,
			Coordinator: x.Coordinator, Detail: x.Detail, Cause: p.Document(x.Cause), Step: p.Document(x.Step), More: x.More,
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements json.Unmarshaler. The texts are made anew.
func (b *Blockers) UnmarshalJSON(data []byte) error {
	var list []blocker
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*b = make(Blockers, len(list))
	for i, x := range list {
		(*b)[i] = matrix.Blocker{
			Reason: x.Reason, Observer: x.Observer, Observed: x.Observed, Since: x.Since, Detail: x.Detail,
			Coordinator: x.Coordinator, Cause: x.Cause.Message(), Step: x.Step.Message(), More: x.More,
		}
	}
	return nil
}

// Verdict is a verdict as documents have it: in JSON summary, notes and next steps are codes, parameters and texts.
type Verdict bootstrap.Verdict

// verdict is the JSON of Verdict.
type verdict struct {
	Satisfied bool               `json:"satisfied"`
	Decision  bootstrap.Decision `json:"decision"`
	Summary   words.Statement    `json:"summary"`
	Blockers  Blockers           `json:"blockers,omitempty"`
	Notes     []words.Statement  `json:"notes,omitempty"`
	Self      matrix.Ref         `json:"member"`
}

// MarshalJSON implements json.Marshaler.
func (v Verdict) MarshalJSON() ([]byte, error) {
	var p words.Printer
	out := verdict{Satisfied: v.Satisfied, Decision: v.Decision, Blockers: v.Blockers, Notes: p.Documents(v.Notes), Self: v.Self}
	if s := p.Document(v.Summary); s != nil {
		out.Summary = *s
	}
	out.Summary.Text = v.Sentence()
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler. The texts are made anew.
func (v *Verdict) UnmarshalJSON(data []byte) error {
	var in verdict
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*v = Verdict{Satisfied: in.Satisfied, Decision: in.Decision, Summary: in.Summary.Message(), Blockers: in.Blockers, Self: in.Self}
	for i := range in.Notes {
		v.Notes = append(v.Notes, in.Notes[i].Message())
	}
	return nil
}

// Sentence is the verdict with the member as its subject.
func (v Verdict) Sentence() string { return words.Of(v.Self.Name(), v.Summary) }

// Predicate is the verdict without its subject, for places where the member's name stands beside it: "must wait: ...".
func (v Verdict) Predicate() string { return words.Text(v.Summary) }
