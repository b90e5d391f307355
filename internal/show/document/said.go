// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Blockers are blockers as documents have them: in JSON each also has its text, without its age, and its next step as text and as commands.
type Blockers []matrix.Blocker

// LogCure is what to do after a text in the log of a cluster's ScyllaDB, as scylla.Cure; how to look where the cluster's objects are too old for that.
func LogCure(s *cluster.Cluster, c words.Code) string {
	if s.Old {
		return words.Text(replace.ReadNow(s))
	}
	return words.Text(scylla.Cure(c))
}

// blocker is the JSON of one of Blockers.
type blocker struct {
	Reason words.Code `json:"reason"`
	Text   string     `json:"text"`
	matrix.Blocker
}

// MarshalJSON implements json.Marshaler.
func (b Blockers) MarshalJSON() ([]byte, error) {
	list := make([]blocker, len(b))
	for i := range b {
		list[i] = blocker{b[i].Reason, words.Aging(b[i].Message(), b[i].Since, time.Time{}), b[i]}
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements json.Unmarshaler. The texts are made anew.
func (b *Blockers) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*[]matrix.Blocker)(b))
}

// Verdict is a verdict as documents have it: its blockers have texts, and the text of the summary begins with the member.
type Verdict bootstrap.Verdict

// verdict is the JSON of Verdict.
type verdict struct {
	Satisfied bool               `json:"satisfied"`
	Decision  bootstrap.Decision `json:"decision"`
	Summary   words.About        `json:"summary"`
	Blockers  Blockers           `json:"blockers,omitempty"`
	Notes     []words.Message    `json:"notes,omitempty"`
	Self      matrix.Ref         `json:"member"`
}

// MarshalJSON implements json.Marshaler.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(verdict{v.Satisfied, v.Decision, words.About{Subject: v.Self.Name(), Message: v.Summary}, v.Blockers, v.Notes, v.Self})
}

// UnmarshalJSON implements json.Unmarshaler. The texts are made anew.
func (v *Verdict) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*bootstrap.Verdict)(v))
}

// Sentence is the verdict with the member as its subject.
func (v Verdict) Sentence() string { return words.Of(v.Self.Name(), v.Summary) }

// Predicate is the verdict without its subject, for places where the member's name stands beside it: "must wait: ...".
func (v Verdict) Predicate() string { return words.Text(v.Summary) }
