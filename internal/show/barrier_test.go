// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// TestTheBarrierNamesTheCauseOfStatus: what a waiting member waits for is the finding of status, in the first line, with its step before
// the blockers; these are listed by cause, so that a partition of 27 nodes fits a screen of 24 lines. The documents have the same findings
// and steps, and each blocker has one cause.
func TestTheBarrierNamesTheCauseOfStatus(t *testing.T) {
	t.Parallel()
	inputs := map[string]*cluster.Cluster{}
	for name, c := range situations() {
		if !strings.Contains(name, "newcomer") {
			c.Newcomer("dc1", "rack2", 4)
		}
		inputs[name] = load(t, c)
	}
	for _, s := range scenes.All(99) {
		inputs[s.String()] = s.Cluster()
	}
	waiting := 0
	for name, c := range inputs {
		j := diagnosis.Judge(c, plugintest.Now, c.MayWait()...)
		status := document.NewClusterStatus(j)
		list, err := document.NewBarrierList([]*diagnosis.Judged{j})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			d := &list.Items[i]
			explained := 0
			for _, f := range d.Findings {
				explained += len(f.Explains)
				if !slices.ContainsFunc(status.Findings, func(g document.Finding) bool {
					return g.Message.Key() == f.Message.Key() && g.Step.Key() == f.Step.Key() && !g.Remark
				}) {
					t.Errorf("%s, %s: status does not have %s", name, d.Name, f.Text(d.At()))
				}
			}
			groups := 0
			for _, cause := range d.Causes() {
				if cause.Finding == nil {
					groups += cause.Groups[0].Total
				}
			}
			if total := len(d.Verdict.Blockers); explained+groups < total {
				t.Errorf("%s, %s: %d of %d blockers have a cause", name, d.Name, explained+groups, total)
			}
			if len(d.Findings) == 0 || d.Verdict.Summary.Code != words.MustWait || d.Causes()[0].Finding == nil {
				continue
			}
			waiting++
			f := &d.Findings[0]
			text := show.Barrier(d, show.Options{Width: 80, Height: 24})
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if first := unwrapped(lines); !strings.Contains(first, f.Text(d.At())) {
				t.Errorf("%s: the first line is not %q:\n%s", name, f.Text(d.At()), text)
			}
			if len(lines) > 23 {
				t.Errorf("%s: %d lines on a screen of 24:\n%s", name, len(lines), text)
			}
			head, _, _ := strings.Cut(oneLine(text), "Blockers (")
			if step := oneLine(words.Text(f.Step)); !f.Step.IsZero() && len(f.Step.Commands) == 0 && !strings.Contains(head, step) {
				t.Errorf("%s: the step %q is not before the blockers:\n%s", name, step, text)
			}
			if name == "a partition" {
				plugintest.Golden(t, "barriers/a-partition-80x24.txt", text)
				plugintest.Golden(t, "barriers/a-partition.txt", show.Barrier(d, show.Options{}))
			}
		}
	}
	if waiting < 5 {
		t.Errorf("%d members wait for a finding", waiting)
	}
}

// TestBlockersOfNoNodeAreNotCountedAsNodes: StatefulSets that lack Ready Pods are named one by one, however many they are; nodes with one reason are counted.
func TestBlockersOfNoNodeAreNotCountedAsNodes(t *testing.T) {
	t.Parallel()
	c := plugintest.New(7, 1)
	for i := range 5 { // one cause of five nodes
		c.Down(fmt.Sprintf("demo-dc1-rack%d-0", i+1))
		c.Set("dc1", fmt.Sprintf("rack%d", i+1)).Status = appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "a"}
	}
	newcomer := c.Newcomer("dc1", "rack6", 1)
	d, err := document.NewBarrierVerdict(diagnosis.Judge(load(t, c), plugintest.Now, newcomer), newcomer)
	if err != nil {
		t.Fatal(err)
	}
	text := oneLine(show.Barrier(d, show.Options{Width: 80, Height: 50}))
	if n := strings.Count(text, "more nodes (-o wide)"); n > 2 { // DOWN, and no usable status report
		t.Errorf("%d lines count nodes, and StatefulSets are none:\n%s", n, text)
	}
	for i := range 5 {
		if set := fmt.Sprintf("StatefulSet demo-dc1-rack%d has 0 Ready Pods", i+1); !strings.Contains(text, set) {
			t.Errorf("%q is missing:\n%s", set, text)
		}
	}
}
