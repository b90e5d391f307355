// SPDX-License-Identifier: Apache-2.0

// Package hostid has the identity of a ScyllaDB node. Texts become IDs where they are read:
// annotations, reports, labels, ScyllaDB's responses, the command line. Everywhere else, equal IDs
// mean the same node.
package hostid

import (
	"errors"
	"fmt"
	"strings"
)

// ID is a host ID in ScyllaDB's spelling: a UUID of 36 characters in lower case. Empty if the node
// has none or it is unknown.
type ID string

// Zero is ScyllaDB's UUID for "not set"; it is not a valid host ID.
const Zero = "00000000-0000-0000-0000-000000000000"

// Error means that a text is not a host ID.
type Error struct {
	Text string
	// Why completes "the text ...".
	Why string
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Why
	}
	return fmt.Sprintf("%.80q %s", e.Text, e.Why)
}

// Why returns the reason for which Parse refused a text, without the text: "is not a host ID
// (UUID)". Empty for nil.
func Why(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Why
	}
	return ""
}

// Parse parses a host ID, in upper or lower case, and trims blanks. The error is an *Error.
func Parse(text string) (ID, error) {
	if lower(text) && text != Zero {
		return ID(text), nil
	}
	id := strings.ToLower(strings.TrimSpace(text))
	switch {
	case id == "":
		return "", &Error{text, "is empty: must be a host ID (UUID)"}
	case !lower(id):
		return "", &Error{text, "is not a host ID (UUID)"}
	case id == Zero:
		return "", &Error{text, "is the zero UUID, not a host ID"}
	}
	return ID(id), nil
}

// Optional is Parse, except that an empty text returns the empty ID.
func Optional(text string) (ID, error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	return Parse(text)
}

// Known is Parse, except that an invalid text returns the empty ID.
func Known(text string) ID {
	if text == "" {
		return "" // avoids allocating an unused error
	}
	id, _ := Parse(text)
	return id
}

// lower reports whether text is a UUID of 36 characters in lower case.
func lower(text string) bool {
	if len(text) != len(Zero) {
		return false
	}
	if text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return false
	}
	digits := 0
	for i := range len(text) {
		digits += int(digit[text[i]])
	}
	return digits == len(Zero)-4
}

// digit is 1 for hex digits and 0 for other bytes. It is a table because nothing is parsed more
// often than host IDs.
var digit = func() (t [256]byte) {
	for _, c := range []byte("0123456789abcdef") {
		t[c] = 1
	}
	return t
}()

// String returns the ID as text.
func (id ID) String() string { return string(id) }

// Begins reports whether typed is a proper prefix of the ID, in upper or lower case.
func (id ID) Begins(typed string) bool {
	return len(typed) < len(id) && strings.EqualFold(string(id[:len(typed)]), typed)
}

// Join joins IDs with commas, as in ScyllaDB's arguments and our annotations.
func Join(ids []ID) string { return strings.Join(Texts(ids), ",") }

// Texts returns the IDs as strings.
func Texts(ids []ID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return texts
}

// Short returns the first 8 characters, the form in most outputs.
func (id ID) Short() string { return string(id[:min(8, len(id))]) }
