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

// Blockers are blockers in documents: in JSON each also has its text without age, and its next step
// as text and as commands.
type Blockers []matrix.Blocker

// LogCure returns what to do after a ScyllaDB log line; if the cluster's objects are Old, the
// command to read them again.
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

// UnmarshalJSON implements json.Unmarshaler. It ignores the texts, which MarshalJSON generates.
func (b *Blockers) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*[]matrix.Blocker)(b))
}

// Verdict is a verdict in documents: its blockers have texts, and its summary names the member.
type Verdict bootstrap.Verdict

// verdict is the JSON of Verdict.
type verdict struct {
	Satisfied bool               `json:"satisfied"`
	Decision  bootstrap.Decision `json:"decision"`
	Summary   words.About        `json:"summary"`
	Blockers  Blockers           `json:"blockers"`
	Notes     []words.Message    `json:"notes"`
	Self      matrix.Ref         `json:"member"`
}

// MarshalJSON implements json.Marshaler.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(verdict{v.Satisfied, v.Decision, words.About{Subject: v.Self.Name(), Message: v.Summary},
		v.Blockers, v.Notes, v.Self})
}

// UnmarshalJSON implements json.Unmarshaler. It ignores the texts, which MarshalJSON generates.
func (v *Verdict) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*bootstrap.Verdict)(v))
}

// Sentence returns the verdict with the member as its subject.
func (v Verdict) Sentence() string { return words.Of(v.Self.Name(), v.Summary) }

// Predicate returns the verdict without its subject, to follow the member's name: "must wait: ...".
func (v Verdict) Predicate() string { return words.Text(v.Summary) }
