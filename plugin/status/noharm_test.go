// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
)

// TestNoHarm4OnlyAHostIDOfOurOwnRackIsRemoved: a node that lives elsewhere and is DOWN for a moment must never be named for removenode, which bans it.
func TestNoHarm4OnlyAHostIDOfOurOwnRackIsRemoved(t *testing.T) {
	const gone = "demo-dc1-rack4-0"
	lost := func(ago time.Duration, members int) *plugintest.Cluster {
		return plugintest.New(4, members).DownSince(gone, ago)
	}
	places := func(change func(*api.NodePlace)) *plugintest.Cluster {
		return lost(time.Hour, 2).Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
			for i := range said.Places {
				change(&said.Places[i])
			}
		})
	}
	service := func(namespace, cluster string) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "other-dc2-rack1-0", Labels: map[string]string{api.LabelCluster: cluster},
			Annotations: map[string]string{api.AnnotationHostID: lost(0, 2).Node(gone).HostID},
		}}
	}
	unknown := lost(time.Hour, 2).Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
		said.ObservedNodes = append(said.ObservedNodes, api.ObservedNodeStatusReport{HostID: "f00d0000-5ea1-4d00-8000-000000000001", Status: api.NodeStatusUp})
	})
	for name, tc := range map[string]struct {
		objects []client.Object
		removes bool
		want    string
	}{
		"every evidence":                {objects: lost(time.Hour, 2).Leftover(gone), removes: true},
		"DOWN for five seconds":         {objects: lost(5*time.Second, 2).Leftover(gone), want: "must have had it DOWN for 5m"},
		"its place is not known":        {objects: lost(time.Hour, 2).Says(func(_ plugintest.Node, said *api.NodeStatusReport) { said.Places = nil }).Leftover(gone), want: "its datacenter and rack are not known"},
		"a second datacenter":           {objects: places(func(p *api.NodePlace) { p.Datacenter = "dc2" }).Leftover(gone), want: "it is of datacenter dc2"},
		"a rack without a member here":  {objects: places(func(p *api.NodePlace) { p.Rack = "rack9" }).Leftover(gone), want: "it is of datacenter dc1, rack rack9, which has no member here"},
		"another unknown host ID is UP": {objects: unknown.NoReports().Leftover(gone), want: "f00d0000-5ea1-4d00-8000-000000000001 is listed too"},
		"a Service in another namespace records it": {
			objects: append(lost(time.Hour, 2).Leftover(gone), service("other", "other")), want: "Service other/other-dc2-rack1-0 records it",
		},
		"a Service of another cluster here records it": {
			objects: append(lost(time.Hour, 2).Leftover(gone), service("demo", "other")), want: "Service demo/other-dc2-rack1-0 records it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := lost(0, 2).Node(gone).HostID
			var all strings.Builder
			for _, args := range [][]string{{"status", "demo", "--all"}, {"status", "demo", "-o", "json"}, {"describe", id}, {"report", "demo", "-o", "markdown"}, {"replace", "status"}} {
				all.WriteString(plugintest.Run{Args: append(args, "-n", "demo"), Objects: tc.objects}.Transcript(t))
			}
			got := strings.Join(strings.Fields(strings.ReplaceAll(all.String(), "\\\n", "")), " ")
			if removes := strings.Contains(got, "removenode"); removes != tc.removes {
				t.Errorf("removenode named: %t, want %t\n%s", removes, tc.removes, all.String())
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("want %q in\n%s", tc.want, all.String())
			}
			if elsewhere := strings.HasPrefix(tc.want, "Service ") || strings.HasPrefix(tc.want, "it is of "); elsewhere && !strings.Contains(got, "remote add") {
				t.Errorf("want remote add in\n%s", all.String())
			}
		})
	}
}
