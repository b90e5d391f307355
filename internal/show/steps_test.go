// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestOneStepEverywhere compares status, the verb barrier and the barrier in the Pod for one node in trouble. All blockers about the node have one step. A reader that sees
// Pods gives a more exact step than the barrier in the Pod, which reads Services and reports; the blockers are the same for both.
func TestOneStepEverywhere(t *testing.T) {
	const newcomer = "demo-dc1-rack2-1"
	down := func() *plugintest.Cluster {
		c := plugintest.New(4, 1)
		c.Newcomer("dc1", "rack2", 1)
		return c
	}
	objects := func(c *plugintest.Cluster) []client.Object { return c.Objects() }
	id := down().Node(replacedMember).HostID
	requested := down().Down(replacedMember)
	requested.Service(replacedMember).Labels[api.LabelReplace] = ""
	requested.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "data-" + replacedMember, UID: "claim", Labels: map[string]string{api.LabelCluster: "demo"},
	}})
	listed := down().Replacing(replacedMember).Exited(replacedMember, 1)
	listed.Pod(replacedMember).Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"hostID":"0ddba115-5ea1-4d00-8000-0000000000f1"}`}
	partition := plugintest.New(2, 2)
	partition.Newcomer("dc1", "rack2", 2)
	for _, a := range []string{"demo-dc1-rack1-0", "demo-dc1-rack1-1"} {
		for _, b := range []string{"demo-dc1-rack2-0", "demo-dc1-rack2-1"} {
			partition.Sees(a, b, api.NodeStatusDown, plugintest.Now).Sees(b, a, api.NodeStatusDown, plugintest.Now)
		}
	}
	ghost := down().DownSince("demo-dc1-rack4-0", time.Hour)
	ghostID := ghost.Node("demo-dc1-rack4-0").HostID

	const (
		look = "the replacement failed: delete nothing yet: it is unknown whether the new volume is lost. Check whether a node lists its host ID, and check its log: " +
			"kubectl scylla describe demo-dc1-rack3-0 -n demo; kubectl logs demo-dc1-rack3-0 -c scylla --previous -n demo"
		underWay = "wait up to 12h0m until its replacement has finished; check its progress: kubectl scylla replace status demo-dc1-rack3-0 -n demo"
	)
	tests := map[string]struct {
		objects []client.Object
		member  string // that waits, newcomer when empty
		hostID  string // in trouble, any when empty
		want    string
		pod     string // what the barrier in the Pod says, where it is another
	}{
		"DOWN": {
			objects: objects(down().Down(replacedMember)), hostID: id,
			want: "check the end of its log; do not replace it yet: kubectl logs demo-dc1-rack3-0 -c scylla --previous -n demo",
			pod:  "check the ScyllaDB log: kubectl logs demo-dc1-rack3-0 -c scylla -n demo",
		},
		"DOWN for long": {
			objects: objects(downSince(down().Down(replacedMember), replacedMember, cluster.ReplaceHintAfter)), hostID: id,
			want: "check the end of its log; do not replace it yet: kubectl logs demo-dc1-rack3-0 -c scylla --previous -n demo",
			pod:  "check the ScyllaDB log: kubectl logs demo-dc1-rack3-0 -c scylla -n demo",
		},
		"a replacement is under way": {objects: objects(down().Replacing(replacedMember)), hostID: id, want: underWay},
		"a replacement is asked for and held up": {
			objects: objects(requested), hostID: id,
			want: "wait up to 2m0s: its replacement is requested; check its progress: kubectl scylla replace status demo-dc1-rack3-0 -n demo",
		},
		"a replacement failed":                         {objects: objects(down().Replacing(replacedMember).Exited(replacedMember, 1)), hostID: id, want: look, pod: underWay},
		"a replacement failed whose new node is known": {objects: objects(listed), hostID: id, want: look, pod: underWay},
		"a replacement by the Scylla Operator failed": {
			objects: objects(down().Replacing(replacedMember).Exited(replacedMember, 1).Operator()), hostID: id,
			want: look,
			pod:  underWay,
		},
		"a ghost": {
			objects: append(ghost.Leftover("demo-dc1-rack4-0"), &corev1.PersistentVolumeClaim{ObjectMeta: ghost.Meta("PersistentVolumeClaim", "data-"+newcomer, map[string]string{api.LabelCluster: "demo"})}), hostID: ghostID,
			want: "check that no PersistentVolume is kept for the PVC of a former member, because it may have the data of this node: kubectl get pv; then remove this orphaned host ID, which belongs to no member; this cannot be undone: kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- removenode " + ghostID,
			pod:  "if it runs in another datacenter, start it there; check whether it is an orphaned host ID that can be removed: kubectl scylla status -n demo",
		},
		"a partition": {objects: objects(partition), member: "demo-dc1-rack2-2", want: "fix the network first (routes, firewalls, NetworkPolicies; ports 7000 and 7001); do not replace any node"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			member, pod := tc.member, tc.pod
			if member == "" {
				member = newcomer
			}
			if pod == "" {
				pod = tc.want
			}
			s := loadObjects(t, tc.objects)
			d := document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now))
			b, err := document.NewBarrierVerdict(diagnosis.Judge(s, plugintest.Now, member), member)
			if err != nil {
				t.Fatal(err)
			}
			read, err := kube.Load(t.Context(), plugintest.NewClient(tc.objects, interceptor.Funcs{}), s.Key, kube.LoadOptions{
				Source: cluster.SourceReport, NoPods: true, StatusReport: true, Member: member,
			})
			if err != nil {
				t.Fatal(err)
			}
			inPod := cluster.New(read, cluster.SourceReport, plugintest.Now)
			v, err := bootstrap.VerdictOf(inPod, member)
			if err != nil {
				t.Fatal(err)
			}
			diagnosis.Advise(inPod, &v, diagnosis.Asks{Self: v.Self})
			steps := func(who string, blockers []matrix.Blocker, want string) {
				t.Helper()
				found := false
				for _, x := range blockers {
					if tc.hostID == "" || string(x.Observed.HostID) == tc.hostID {
						found = true
						if got := words.Text(x.Step); got != want {
							t.Errorf("%s, %s:\n got %s\nwant %s", who, x.Reason, got, want)
						}
					}
				}
				if !found {
					t.Errorf("%s: no blocker about it among %+v", who, blockers)
				}
			}
			steps("status", d.Blockers, tc.want)
			steps("barrier", b.Verdict.Blockers, tc.want)
			steps("the barrier in the Pod", v.Blockers, pod)
			if diff := cmp.Diff(s.Matrix().Blockers(), []matrix.Blocker(d.Blockers), cmpopts.IgnoreFields(matrix.Blocker{}, "Step")); diff != "" {
				t.Errorf("what is known changes the blockers:\n%s", diff)
			}
			for who, doc := range map[string]any{"status": d, "barrier": b} {
				data, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				quoted, err := json.Marshal(tc.want)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(data), `"text":`+string(quoted)) {
					t.Errorf("%s as JSON lacks the step: %s", who, data)
				}
			}
			// Commands stand on lines of their own there.
			terms := func(text string) string { return strings.Join(strings.Fields(strings.ReplaceAll(text, ";", "")), " ") }
			if text := show.Barrier(b, show.Options{}); !strings.Contains(terms(text), terms(tc.want)) {
				t.Errorf("the text lacks the step:\n%s", text)
			}
		})
	}
}

// downSince makes a node that is DOWN one that is so for that long.
func downSince(c *plugintest.Cluster, name string, age time.Duration) *plugintest.Cluster {
	for _, n := range c.Nodes {
		if n.Name != name {
			c.Sees(n.Name, name, api.NodeStatusDown, plugintest.Now.Add(-age))
		}
	}
	return c
}
