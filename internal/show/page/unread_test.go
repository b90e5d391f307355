// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// TestNobodyAskedIsNoNodesTrouble: a page without the right to read anything says of no node and no rack that it has trouble or is not UP.
func TestNobodyAskedIsNoNodesTrouble(t *testing.T) {
	t.Parallel()
	for _, s := range scenes.All(0) {
		if s.Nodes != 504 || s.Name != "no rights" && s.Name != "rack" {
			continue
		}
		var b bytes.Buffer
		if err := page.HTML(&b, page.New(&support.Cluster{Snapshot: s.Cluster()}, document.NewClusterStatus(diagnosis.Judge(s.Cluster(), scenes.Now)))); err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"with trouble</span>", "0/42 UP", "<b>0<small>/504</small></b> seen UP"} {
			if s.Name == "no rights" && strings.Contains(b.String(), words) {
				t.Errorf("%s: the page says %q", s, words)
			}
		}
		if got, want := strings.Count(b.String(), "</span> unknown</span>"), map[string]int{"no rights": 12, "rack": 0}[s.Name]; got != want {
			t.Errorf("%s: %d racks are not known, want %d", s, got, want)
		}
		if s.Name == "rack" && !strings.Contains(b.String(), "42 with problems") {
			t.Error("the rack that is DOWN has no trouble")
		}
	}
}
