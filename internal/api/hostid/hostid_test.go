// SPDX-License-Identifier: Apache-2.0

package hostid_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

func TestParse(t *testing.T) {
	const good = "8ebd0fc0-1111-4111-8111-11111111111a"
	for text, tc := range map[string]struct {
		id  hostid.ID
		why string
	}{
		good:                               {good, ""},
		" " + strings.ToUpper(good) + "\n": {good, ""},
		"":                                 {"", "is empty: must be a host ID (UUID)"},
		hostid.Zero:                        {"", `"00000000-0000-0000-0000-000000000000" is the zero UUID, not a host ID`},
		"h0":                               {"", `"h0" is not a host ID (UUID)`},
		good[:35]:                          {"", `"` + good[:35] + `" is not a host ID (UUID)`},
		"{" + good + "}":                   {"", `"{` + good + `}" is not a host ID (UUID)`},
		good[:8] + "\u200b" + good[8:]:     {"", `"` + good[:8] + `\u200b` + good[8:] + `" is not a host ID (UUID)`},
		strings.Replace(good, "8", "\u0660", 1)[:36]: {"", `"` + strings.Replace(good, "8", "\u0660", 1)[:36] + `" is not a host ID (UUID)`},
	} {
		id, err := hostid.Parse(text)
		if id != tc.id || (err == nil) != (tc.why == "") || err != nil && err.Error() != tc.why {
			t.Errorf("%q: %q, %v; want %q, %s", text, id, err, tc.id, tc.why)
		}
		if hostid.Known(text) != tc.id {
			t.Errorf("Known(%q) = %q", text, hostid.Known(text))
		}
	}
	for _, blank := range []string{"", " "} {
		if id, err := hostid.Optional(blank); id != "" || err != nil {
			t.Errorf("Optional(%q) = %q, %v", blank, id, err)
		}
	}
	if _, err := hostid.Parse(strings.Repeat("a", 10_000)); len(err.Error()) > 200 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// TestParseTakesUUIDsAlone compares Parse with the UUID library: every text that Parse accepts is a UUID in the library's spelling, and it accepts
// every one but zero.
func TestParseTakesUUIDsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`), rapid.StringMatching(`[0-9a-g-]{35,37}`), rapid.String()).Draw(t, "text")
		id, err := hostid.Parse(text)
		u, no := uuid.Parse(strings.TrimSpace(text))
		is := no == nil && len(strings.TrimSpace(text)) == 36 && u != uuid.Nil
		if is != (err == nil) || is && string(id) != u.String() {
			t.Fatalf("%q: %q, %v; the library: %v, %v", text, id, err, u, no)
		}
		if again, err := hostid.Parse(string(id)); id != "" && (again != id || err != nil) {
			t.Fatalf("%q is read as %q", id, again)
		}
	})
}

func TestBegins(t *testing.T) {
	const id hostid.ID = "8ebd0fc0-1111-4111-8111-11111111111a"
	for typed, is := range map[string]bool{"8ebd": true, "8EBD0FC0": true, "8ebe": false, string(id): false, string(id) + "0": false, "8ebd\u00f6": false} {
		if id.Begins(typed) != is {
			t.Errorf("%q begins it: %v", typed, !is)
		}
	}
}
