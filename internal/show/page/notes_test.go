// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The page has a node's notes next to its Pod, escaped; those that warn are chips.
func TestNotes(t *testing.T) {
	t.Parallel()
	r := report(1, 2, nil)
	r.Nodes[0].Notes = []cluster.Note{
		{Message: words.New(words.NoteForced, "value", "<true>"), Warn: true},
		{Message: words.New(words.NoteMaintenance, "age", "3h0m")},
	}
	var b strings.Builder
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{` <span class="chip odd">forced=&lt;true&gt;</span> `, ` <span class="dim">label node-maintenance for 3h0m</span>`} {
		if n := strings.Count(b.String(), want); n != 1 {
			t.Errorf("%d times: %s", n, want)
		}
	}
}
