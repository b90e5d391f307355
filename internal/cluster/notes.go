// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/kubectl-scylla/kubectl-scylla/internal/words"

// Note is a fact of a member that every surface shows next to its Pod. It marshals as its message.
type Note struct {
	words.Message
	// Warn reports whether the fact needs attention: then the narrow table also shows it.
	Warn bool `json:"-"`
}

// Notes returns the facts of a member beyond its state, in display order.
func (m *Member) Notes() []Note {
	var out []Note
	add := func(warn bool, what words.Message) {
		if !what.IsZero() {
			out = append(out, Note{what, warn})
		}
	}
	if m.Force != "" {
		add(true, words.New(words.NoteForced, "value", m.Force))
	}
	return out
}
