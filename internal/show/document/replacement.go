// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// replacementOf returns the open replacement of a member, else nil.
func replacementOf(j *diagnosis.Judged, m *cluster.Member, podState string) *Replacement {
	found, open := j.Replacing[m.Ref.Member]
	if !open {
		return nil
	}
	r := newReplacement(m, &found, podState)
	s := found.Step
	if s == nil {
		return &r
	}
	r.Phase, r.Attempt, r.Waiting, r.Cure, r.CureMessage, r.Failure = s.Phase(), s.Attempt, words.Texts(s.Waiting),
		words.Text(s.Cure), s.Cure, newFailure(s.Diagnosis)
	message := words.Text(s.Message)
	r.Held = s.Held()
	what := r.Original.Short()
	if what == "" {
		what = "its node"
	}
	switch {
	case r.Failure != nil:
		r.Summary = fmt.Sprintf("the attempt to replace %s failed: %s", what, r.Failure.Text)
	case r.Held:
		r.Summary = fmt.Sprintf("the replacement of %s is blocked: %s", what, message)
	case r.Cure != "" && len(r.Waiting) > 0:
		r.Summary = message + ": " + strings.Join(r.Waiting, "; ")
	case r.Cure != "":
		r.Summary = message
	}
	return &r
}

// Failure is why an attempt failed.
type Failure struct {
	// Code is stable, CamelCase; Text is the fact, followed by the remedy.
	Code string `json:"code"`
	Text string `json:"text"`
	Cure string `json:"cure"`
	cure words.Message
}

func newFailure(d *replace.Diagnosis) *Failure {
	if d == nil {
		return nil
	}
	return &Failure{Code: string(d.Code), Text: words.Text(d.Text), Cure: words.Text(d.Cure), cure: d.Cure}
}

// Leftover is a host ID that the cluster lists and no member has.
type Leftover struct {
	HostID hostid.ID `json:"hostID"`
	// Evidence lists the nodes that list it, with its state there.
	Evidence string `json:"evidence"`
	// Command removes it; empty if it must not be removed, for the reason Why. With a Command, Why
	// is what to do first.
	Command string `json:"command,omitempty"`
	Why     string `json:"why,omitempty"`

	// First and Remove are the sources of Why and Command; zero if the document was decoded.
	First  words.Message `json:"-"`
	Remove words.Command `json:"-"`
}

func newLeftovers(ghosts []replace.Ghost) []Leftover {
	var out []Leftover
	for _, g := range ghosts {
		out = append(out, Leftover{HostID: g.HostID, Evidence: words.Text(g.Evidence), Command: words.Shell(g.Command),
			Why: words.Text(g.Why), First: g.Why, Remove: g.Command})
	}
	return out
}

func newReplacement(m *cluster.Member, found *diagnosis.Replacing, podState string) Replacement {
	r := Replacement{Ref: m.Ref, Requested: found.Requested, Original: found.Original}
	switch {
	case r.Original == "":
		r.Summary = "requested, the host ID to replace is not recorded yet"
	case m.HostID == r.Original || m.HostID == "":
		r.Summary = fmt.Sprintf("%s is being replaced, the new node has no host ID yet (Pod %s)", r.Original.Short(),
			podState)
	case m.State == cluster.MemberJoined:
		r.Summary = fmt.Sprintf("%s was replaced by %s, which has joined; the labels are not removed yet",
			r.Original.Short(), m.HostID.Short())
	default:
		r.Summary = fmt.Sprintf("%s is being replaced by %s, which has not joined yet (Pod %s)", r.Original.Short(),
			m.HostID.Short(), podState)
	}
	return r
}
