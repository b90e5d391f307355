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
		rows []Row
		want seen
	}{
		"a lone node":            {[]Row{row("a", cell("a", Up))}, seen{}},
		"it sees itself UP":      {[]Row{row("a", cell("a", Up), cell("b", Up)), row("b", cell("a", Down), cell("b", Up))}, seen{Down: 1}},
		"it sees itself DOWN":    {[]Row{row("a", cell("a", Down), cell("b", Up)), row("b", cell("a", Up), cell("b", Up))}, seen{Up: 1}},
		"it lists itself not":    {[]Row{row("a", cell("b", Up)), row("b", cell("a", Up), cell("b", Up))}, seen{Up: 1}},
		"it has no row":          {[]Row{row("b", cell("a", Up), cell("b", Up)), row("c", cell("b", Up), cell("c", Up))}, seen{Up: 1, Missing: 1}},
		"it has two rows":        {[]Row{row("a", cell("a", Up), cell("b", Up)), row("a", cell("a", Up), cell("b", Up)), row("b", cell("a", Unknown), cell("b", Up))}, seen{Up: 1, Unknown: 1}},
		"nobody's row can count": {[]Row{{Reporter: Ref{HostID: "a"}}}, seen{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := New(tc.rows, Options{})
			i, ok := m.Index("a")
			if !ok {
				t.Fatal("not listed")
			}
			if diff := cmp.Diff(tc.want, m.Nodes()[i].ByOthers()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
