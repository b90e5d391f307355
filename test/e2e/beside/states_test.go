// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// runs is the operator as it should be: a Deployment with a Pod, a Lease that is renewed, and the cluster's ScyllaDBDatacenter.
func runs(o *objects) {
	deployment(1, 1)(o)
	lease(5 * time.Second)(o)
	managed(o)
}

func managed(o *objects) {
	conditions("Progressing", "False", "AsExpected", "")(o)
	dc := o.all[len(o.all)-1].(*unstructured.Unstructured)
	dc.Object["spec"] = map[string]any{"disableAutomaticOrphanedNodeReplacement": true}
}

// gateOff is the operator without its feature gate BootstrapSynchronisation: no Pod has a barrier, and the new node's ScyllaDB runs.
func gateOff(o *objects) {
	for _, x := range o.all {
		switch x := x.(type) {
		case *corev1.Pod:
			x.Spec.InitContainers, x.Status.InitContainerStatuses = nil, nil
		case *appsv1.StatefulSet:
			x.Spec.Template.Spec.InitContainers = nil
		}
	}
}

// leftMirror is a report that a controller of ours copied for a remote cluster, and that nothing renews any more.
func leftMirror(o *objects) {
	seen := []api.ObservedNode{}
	for _, id := range []string{idOf(0), idOf(1), idOf(2), unknownID} {
		seen = append(seen, api.ObservedNode{HostID: id, Status: api.NodeStatusUp})
	}
	left := &api.ScyllaDBDatacenterNodesStatusReport{DatacenterName: "eu", Racks: []api.RackReport{{
		Name: "a", Nodes: []api.NodeReport{{HostID: new(unknownID), ObservedNodes: seen}},
	}}}
	left.Namespace, left.Name = "demo", "demo-eu-mirror"
	left.Labels = map[string]string{api.LabelReportSelector: "demo", api.LabelRemoteReport: "eu", api.LabelManagedBy: api.ManagedByUs}
	left.Annotations = map[string]string{api.AnnotationCopy: api.CopyPushed}
	left.ManagedFields = stage.Written(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationCopyRenewed + `":{}}}}`)
	left.ManagedFields[0].Time.Time = plugintest.Now.Add(-time.Hour)
	o.add(left)
}

func states() []situation {
	const joins = "demo-dc1-rack2-1"
	return []situation{
		{name: "healthy", member: third, objects: runs},
		{name: "feature gate off, a node joins", member: joins, cluster: joining("false"), objects: all(runs, gateOff)},
		{name: "operator scaled to 0", objects: all(managed, deployment(0, 0), lease(time.Hour))},
		{name: "report deleted", objects: runs, after: noReports},
		{name: "replacing", member: third, cluster: replacing(byHostID()), objects: runs},
		{name: "decommissioning", objects: all(runs, labels(third, map[string]string{api.LabelDecommissioned: "false"}), func(o *objects) {
			*o.set("demo-dc1-rack3").Spec.Replicas = 0
		})},
		{name: "two datacenters", cluster: twoDatacenters, objects: runs},
		{name: "mirror left behind", objects: runs, after: leftMirror},
	}
}

// digest is the first line of an output, and its steps with their commands.
func digest(text string) string {
	var out []string
	in := -1 // the column of the last step
	for i, line := range strings.Split(text, "\n") {
		_, pane, found := strings.Cut(line, "│")
		if found {
			line = pane
		}
		trimmed := strings.TrimLeft(line, " ")
		column := len(line) - len(trimmed)
		step := slices.ContainsFunc([]string{"→", "Next:", "Elsewhere:", "failed ", "warning", "note"}, func(p string) bool { return strings.HasPrefix(trimmed, p) })
		switch {
		case i == 0:
			out = append(out, line)
			continue
		case step:
			in = column
		case in < 0 || column <= in || trimmed == "":
			in = -1
			continue
		}
		if !strings.HasPrefix(trimmed, "https://") {
			out = append(out, "    "+line)
		}
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

// TestEightStates is what an engineer on call sees of a cluster of the Scylla Operator: the exit code of each verb that reads, the first line and the steps.
func TestEightStates(t *testing.T) {
	var b strings.Builder
	for _, s := range states() {
		o := s.build(t)
		fmt.Fprintf(&b, "== %s\n", s.name)
		for _, args := range [][]string{
			{"status"}, {"barrier", s.who()}, {"report"}, {"dashboard", "--once", "--width=160", "--height=40"}, {"describe", s.who()}, {"replace", "status"}, {"check"},
		} {
			got := plugintest.Run{Args: append(args, "-n", "demo"), Objects: o.all, Live: nobody, Environ: []string{"COLUMNS=400"}}.Do(t)
			fmt.Fprintf(&b, "%s, exit %d: %s", strings.Join(args[:min(2, len(args))], " "), got.Code, digest(got.Stdout+got.Stderr))
		}
		b.WriteString("\n")
	}
	plugintest.Golden(t, "states.txt", b.String())
}
