// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for name, c := range map[string]struct {
		writes []string
		clean  bool
		want   string
	}{
		"in pieces":          {writes: []string{"on", "e\ntw", "o\n"}, want: "a | one\na | two\n"},
		"without an end":     {writes: []string{"one\ntwo"}, want: "a | one\na | two\n"},
		"an empty line":      {writes: []string{"\n\r\n"}, want: "a | \na | \n"},
		"nothing":            {writes: []string{""}},
		"sequences stay":     {writes: []string{"\x1b[2J\n"}, want: "a | \x1b[2J\n"},
		"sequences go":       {writes: []string{"\x1b[2J\rb\n"}, clean: true, want: "a |  [2J b\n"},
		"a line without end": {writes: []string{long, "y", "z"}, want: "a | " + long + "y\na | z\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			l := &Lines{Mutex: &sync.Mutex{}, To: &out, Before: "a | ", Clean: c.clean}
			for _, w := range c.writes {
				if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("wrote %d of %d: %v", n, len(w), err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
