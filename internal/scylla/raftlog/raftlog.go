// SPDX-License-Identifier: Apache-2.0

package raftlog

import (
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// State is one node's state of group 0. The zero value means unknown.
type State struct {
	// Known is true if the node returned its indexes; otherwise Leader, Commit and Apply are
	// meaningless.
	Known         bool
	Leader        bool
	Commit, Apply int64
	// Schema is the node's schema version, empty if unknown.
	Schema string
}

// maxText limits the text of a Said in bytes; the longest result of String has 116.
const maxText = 200

// String returns "leader=true commit=123 apply=120 schema=UUID" without the unknown parts, empty
// for the zero value.
func (s State) String() string {
	var parts []string
	if s.Known {
		parts = append(parts, "leader="+strconv.FormatBool(s.Leader), "commit="+strconv.FormatInt(s.Commit, 10),
			"apply="+strconv.FormatInt(s.Apply, 10))
	}
	if s.Schema != "" {
		parts = append(parts, "schema="+s.Schema)
	}
	return strings.Join(parts, " ")
}

// Parse decodes the text of a Said. Only the exact output of String is valid; otherwise it returns
// the zero value and false.
func Parse(text string) (State, bool) {
	if text == "" || len(text) > maxText {
		return State{}, text == ""
	}
	var s State
	rest := text
	if strings.HasPrefix(rest, "leader=") {
		parts := strings.SplitN(rest, " ", 4)
		if len(parts) < 3 {
			return State{}, false
		}
		s.Known, s.Leader = true, parts[0] == "leader=true"
		s.Commit, s.Apply = index(parts[1], "commit="), index(parts[2], "apply=")
		rest = strings.Join(parts[3:], "")
	}
	s.Schema = strings.TrimPrefix(rest, "schema=")
	if s.Commit < 0 || s.Apply < 0 || s.Schema != "" && Schema(s.Schema) == "" || s.String() != text {
		return State{}, false
	}
	return s, true
}

// index returns the number in one part, -1 if there is none.
func index(part, name string) int64 {
	text, ok := strings.CutPrefix(part, name)
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || n > maxIndex {
		return -1
	}
	return n
}

// Schema returns a schema version in its canonical spelling, empty if text is not a UUID.
func Schema(text string) string {
	id, err := hostid.Optional(text)
	if err != nil {
		return ""
	}
	return string(id)
}
