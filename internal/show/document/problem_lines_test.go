// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
)

func TestProblemLines(t *testing.T) {
	t.Parallel()
	var ps []cluster.Problem
	add := func(pod, reason string) {
		ps = append(ps, cluster.Problem{Name: pod}.OnPod("no answer from", reason))
	}
	for i := range 7 {
		add(fmt.Sprintf("a-%d", i), "asleep")
	}
	add("b-0", "gone")
	ps = append(ps, cluster.Problem{Message: "list pods: forbidden"})
	add("b-1", "gone")
	// A redacted text stays as it is.
	ps = append(ps, cluster.Problem{Name: "c-0", Message: "no answer from Pod c-0: [redacted]", Lead: "no answer from", Reason: "x"})
	want := []string{
		"no answer from Pods a-0, a-1, a-2, a-3, a-4 and 2 more: asleep",
		"no answer from Pods b-0, b-1: gone",
		"list pods: forbidden",
		"no answer from Pod c-0: [redacted]",
	}
	if diff := cmp.Diff(want, document.ProblemLines(ps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// An archive keeps what puts them together.
	var saved []cluster.Problem
	if b, err := json.Marshal(ps); err != nil || json.Unmarshal(b, &saved) != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, document.ProblemLines(saved)); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
}
