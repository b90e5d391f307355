// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestC5ASecondClusterIsTheFirstThingSaid: whatever its Service records of the member that founded it, the finding is the gravest, it explains what it causes, a
// newcomer waits for it before anything else, and nothing suggests to replace or remove a node.
func TestC5ASecondClusterIsTheFirstThingSaid(t *testing.T) {
	const founder, anew = "demo-dc1-rack1-0", "99d2f3a2-9999-4999-8999-999999999999"
	for name, recorded := range map[string]bool{"its Service records the new host ID": true, "its Service records the old one": false} {
		t.Run(name, func(t *testing.T) {
			c := plugintest.New(3, 1).NoReports()
			newcomer := c.Newcomer("dc1", "rack3", 1)
			old := c.Node(founder).HostID
			c.Says(func(by plugintest.Node, r *api.NodeStatusReport) {
				r.OperationMode = "NORMAL"
				if by.Name == founder {
					r.HostID, r.ObservedNodes = anew, []api.ObservedNodeStatusReport{{HostID: anew, Status: api.NodeStatusUp}}
					return
				}
				for i := range r.ObservedNodes {
					if string(r.ObservedNodes[i].HostID) == old {
						r.ObservedNodes[i].Status = api.NodeStatusDown
					}
				}
			})
			if recorded {
				c.Service(founder).Annotations[api.AnnotationHostID] = anew
			}
			s := load(t, c)
			if s.Source != cluster.SourceAnnotation {
				t.Fatalf("source %s", s.Source)
			}
			d := document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now))
			if d.Healthy || len(d.Findings) == 0 || d.Findings[0].Kind != diagnosis.SplitCluster || len(d.Split) != 2 || d.Partition != nil {
				t.Fatalf("healthy %v, findings %+v, split %v, partition %v", d.Healthy, d.Findings, d.Split, d.Partition)
			}
			if !slices.Contains(d.Split[1], anew) {
				t.Errorf("the second cluster is %v", d.Split[1])
			}
			text := strings.Join(strings.Fields(plain(show.Cluster(d, show.Options{}))), " ")
			for _, want := range []string{"NOT HEALTHY demo/demo: two clusters have the same name", founder, "cqlsh"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			v, err := document.NewBarrierVerdict(diagnosis.Judge(s, plugintest.Now, newcomer), newcomer)
			if err != nil {
				t.Fatal(err)
			}
			if v.Verdict.Satisfied || v.Verdict.Blockers[0].Reason != "SplitCluster" {
				t.Errorf("the newcomer's first blocker is %v", v.Verdict.Blockers[0].Reason)
			}
			text += plain(show.Barrier(v, show.Options{}))
			for _, never := range []string{"scylla replace ", "removenode"} {
				if strings.Contains(text, never) {
					t.Errorf("%q is suggested:\n%s", never, text)
				}
			}
		})
	}
}
