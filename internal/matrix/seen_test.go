// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A node's own row is not among those of the others: a lone node that sees itself UP is seen by nobody.
func TestSeenByOthers(t *testing.T) {
	t.Parallel()
	row, cell := witnessRow, seenAs
	for name, tc := range map[string]struct {
		rows   []Row
		want   Seen
		status Status
		seen   bool
	}{
		"a lone node":            {[]Row{row("a", cell("a", Up))}, Seen{}, Unknown, false},
		"it sees itself UP":      {[]Row{row("a", cell("a", Up), cell("b", Up)), row("b", cell("a", Down), cell("b", Up))}, Seen{Down: 1}, Down, true},
		"it sees itself DOWN":    {[]Row{row("a", cell("a", Down), cell("b", Up)), row("b", cell("a", Up), cell("b", Up))}, Seen{Up: 1}, Up, true},
		"it lists itself not":    {[]Row{row("a", cell("b", Up)), row("b", cell("a", Up), cell("b", Up))}, Seen{Up: 1}, Up, true},
		"it has no row":          {[]Row{row("b", cell("a", Up), cell("b", Up)), row("c", cell("b", Up), cell("c", Up))}, Seen{Up: 1, Missing: 1}, Missing, true},
		"it has two rows":        {[]Row{row("a", cell("a", Up), cell("b", Up)), row("a", cell("a", Up), cell("b", Up)), row("b", cell("a", Unknown), cell("b", Up))}, Seen{Up: 1, Unknown: 1}, Unknown, true},
		"nobody's row can count": {[]Row{{Reporter: Ref{HostID: "a"}}}, Seen{}, Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := New(tc.rows, Options{})
			i, ok := m.Index("a")
			if !ok {
				t.Fatal("not listed")
			}
			got := m.Nodes()[i].ByOthers()
			status, seen := got.Status()
			if diff := cmp.Diff(tc.want, got); diff != "" || status != tc.status || seen != tc.seen {
				t.Errorf("%s, %t (-want +got):\n%s", status, seen, diff)
			}
		})
	}
}
