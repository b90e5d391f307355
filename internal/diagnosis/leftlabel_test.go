// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// A label of a replacement that ended long ago made a joined node "new, not joined", and its replacement "open" for ever.
func TestTheLabelOfAReplacementThatHasEnded(t *testing.T) {
	t.Parallel()
	const member, original = "demo-dc1-rack1-0", "99999999-5ea1-4d00-8000-000000000009"
	left := []string{"ReplacingLabelLeft: Service demo-dc1-rack1-0 still has the label of a replacement that has ended: none of 3 status reports lists " + original + ", and all list demo-dc1-rack1-0 as a normal member; " +
		"remove the label, which cannot be undone: on an empty volume, demo-dc1-rack1-0 would try to replace " + original + " again, which no node lists: " +
		"kubectl label service demo-dc1-rack1-0 internal.scylla-operator.scylladb.com/replacing-node-hostid- -n demo"}
	for what, tc := range map[string]struct {
		change func(*plugintest.Cluster)
		want   []string
		state  cluster.MemberState
	}{
		"no row lists it":                        {func(*plugintest.Cluster) {}, left, cluster.MemberJoined},
		"no row of the Scylla Operator lists it": {func(c *plugintest.Cluster) { c.Operator() }, left, cluster.MemberJoined},
		"the replacement is requested":           {func(c *plugintest.Cluster) { c.Service(member).Labels[api.LabelReplace] = "" }, nil, cluster.MemberNewcomer},
		"our controller records it":              {func(c *plugintest.Cluster) { c.Service(member).Annotations[api.AnnotationReplaceAccepted] = "x" }, nil, cluster.MemberNewcomer},
		"a row lists it": {func(c *plugintest.Cluster) {
			c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
				if by.Name == "demo-dc1-rack2-0" {
					said.ObservedNodes = append(said.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(original), Status: api.NodeStatusDown})
				}
			})
		}, nil, cluster.MemberNewcomer},
		"a row is missing":     {func(c *plugintest.Cluster) { c.NoRow("demo-dc1-rack3-0") }, nil, cluster.MemberNewcomer},
		"a node is DOWN":       {func(c *plugintest.Cluster) { c.DownSince("demo-dc1-rack3-0", time.Hour) }, nil, cluster.MemberNewcomer},
		"its Pod is not Ready": {func(c *plugintest.Cluster) { c.Pod(member).Status.Conditions = nil }, nil, cluster.MemberNewcomer},
		"a row has it joining": {func(c *plugintest.Cluster) {
			c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
				for i := range said.ObservedNodes {
					if o := &said.ObservedNodes[i]; by.Name == "demo-dc1-rack2-0" && string(o.HostID) == c.Node(member).HostID {
						o.State = api.NodeStateReplacing
					}
				}
			})
		}, nil, cluster.MemberNewcomer},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 1)
			c.Service(member).Labels[api.LabelReplacingNodeHostID] = original
			tc.change(c)
			made := cluster.New(scenes.Objects(c), cluster.SourceAuto, scenes.Now)
			var got []string
			for _, f := range diagnosis.Judge(made, scenes.Now).Findings {
				if f.Kind == diagnosis.ReplacingLabelLeft {
					got = append(got, string(f.Kind)+": "+words.Text(f.Message)+"; "+words.Text(f.Step))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if state := made.Member(member).State; state != tc.state {
				t.Errorf("it is %s, want %s", state, tc.state)
			}
		})
	}
}

// A new node that was restarted before it had recorded that it joined has a step, also after its Pod was created again and has no row.
func TestANewNodeThatCannotStartAgain(t *testing.T) {
	t.Parallel()
	const member, original = "demo-dc1-rack1-0", "99999999-5ea1-4d00-8000-000000000009"
	c := startsOver(plugintest.New(3, 1), 20*time.Minute, 1, member)
	svc := c.Service(member)
	svc.Labels[api.LabelReplace], svc.Labels[api.LabelReplacingNodeHostID] = "", original
	for key, value := range map[string]string{
		api.AnnotationReplaceRequest: "x", api.AnnotationReplaceAccepted: "x", api.AnnotationReplaceOriginalHostID: original, api.AnnotationReplacePVCUIDs: "old", api.AnnotationReplacePodUID: "old",
	} {
		svc.Annotations[key] = value
	}
	c.NoRow(member)
	o := scenes.Objects(c)
	set, pod := &o.StatefulSets[0], slices.IndexFunc(o.Pods, func(p corev1.Pod) bool { return p.Name == member })
	o.Pods[pod].OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: new(true)}}
	o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + member, UID: "new"}})
	o.Logged = map[string]cluster.LogError{member: {Code: words.ReplacedNodeNotFound, Text: "Replaced node with Host ID " + original + " not found"}}
	made := cluster.New(o, cluster.SourceAuto, scenes.Now)
	made.TakenAt = scenes.Now
	findings := diagnosis.Judge(made, scenes.Now).Findings
	want := "kubectl scylla replace " + c.Node(member).HostID + " --skip-check=just-started -n demo"
	if len(findings) == 0 || !strings.Contains(words.Text(findings[0].Step), want) {
		t.Errorf("%+v, want %q", findings, want)
	}
}
