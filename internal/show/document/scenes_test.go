// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// codes are what a document says without its sentences: the same in clusters of every size.
func codes(d *document.ClusterStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  verdict %s, healthy %t, partial %t, %d sides\n", d.Verdict, d.Healthy, len(d.Partial) > 0, len(d.Partition))
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "  %s of a %s: %s, by %s, then %s", f.Kind, f.Scope.Level, f.Message.Code, f.Evidence.Code, f.Step.Code)
		fmt.Fprintf(&b, " (since %t, explains %t, remark %t)\n", f.Since != nil, len(f.Explains) > 0, f.Remark)
	}
	for _, r := range d.Replacements {
		fmt.Fprintf(&b, "  replacement: requested %t, phase %q, failure %t\n", r.Requested, r.Phase, r.Failure != nil)
	}
	states := map[string]bool{}
	for _, n := range d.Nodes {
		status := "nobody"
		if n.Seen != nil {
			status = string(n.Seen.Status)
		}
		states[fmt.Sprintf("seen %s, report %s, Pod %s", status, n.Row.Status, n.Pod)] = true
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		fmt.Fprintf(&b, "  nodes: %s\n", state)
	}
	return b.String()
}

// TestScenes: what each situation is called, by codes, whatever the size of the cluster.
func TestScenes(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	first := map[string]string{}
	for _, s := range scenes.All(0) {
		got := codes(document.NewClusterStatus(diagnosis.Judge(s.Cluster(), scenes.Now)))
		want, has := first[s.Name]
		if !has {
			first[s.Name] = got
			fmt.Fprintf(&all, "%s\n%s", s.Name, got)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs from the smallest (-want +got):\n%s", s, diff)
		}
	}
	golden.Text(t, "scenes.txt", all.String())
}
