// SPDX-License-Identifier: Apache-2.0

package raftlog

import (
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// Said is one node's state of group 0. The zero value is no state.
type Said struct {
	// Known is true where the node returned its indexes; Leader, Commit and Apply count only then.
	Known         bool
	Leader        bool
	Commit, Apply int64
	// Schema is its schema version, empty where it is not known.
	Schema string
}

// maxText bounds the text of a Said: the longest that String makes has 116 bytes.
const maxText = 200

// String is the text of s, empty for the zero value: "leader=true commit=123 apply=120 schema=UUID", without the unknown parts.
func (s Said) String() string {
	var parts []string
	if s.Known {
		parts = append(parts, "leader="+strconv.FormatBool(s.Leader), "commit="+strconv.FormatInt(s.Commit, 10), "apply="+strconv.FormatInt(s.Apply, 10))
	}
	if s.Schema != "" {
		parts = append(parts, "schema="+s.Schema)
	}
	return strings.Join(parts, " ")
}

// Parse reads the text of a Said. A text has one spelling; for any other the zero value and false are returned.
func Parse(text string) (Said, bool) {
	if text == "" || len(text) > maxText {
		return Said{}, text == ""
	}
	var s Said
	rest := text
	if strings.HasPrefix(rest, "leader=") {
		parts := strings.SplitN(rest, " ", 4)
		if len(parts) < 3 {
			return Said{}, false
		}
		s.Known, s.Leader = true, parts[0] == "leader=true"
		s.Commit, s.Apply = index(parts[1], "commit="), index(parts[2], "apply=")
		rest = strings.Join(parts[3:], "")
	}
	s.Schema = strings.TrimPrefix(rest, "schema=")
	if s.Commit < 0 || s.Apply < 0 || s.Schema != "" && Schema(s.Schema) == "" || s.String() != text {
		return Said{}, false
	}
	return s, true
}

// index is the number of one part, -1 where there is none.
func index(part, name string) int64 {
	text, ok := strings.CutPrefix(part, name)
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || n > maxIndex {
		return -1
	}
	return n
}

// Schema is a schema version in its one spelling, empty for a text that is no UUID.
func Schema(text string) string {
	id, err := hostid.Optional(text)
	if err != nil {
		return ""
	}
	return string(id)
}
