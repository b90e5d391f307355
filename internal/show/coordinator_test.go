// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestC3TheCoordinatorIsShown: in text and JSON of status and verdict, from every source, and its row before the others.
func TestC3TheCoordinatorIsShown(t *testing.T) {
	c := plugintest.New(3, 1)
	coordinator := c.Node("demo-dc1-rack3-0")
	c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.Coordinator = hostid.ID(coordinator.HostID) })
	since := plugintest.Now.Add(-10 * time.Second)
	for _, observer := range []string{"demo-dc1-rack1-0", "demo-dc1-rack3-0"} {
		c.Sees(observer, "demo-dc1-rack2-0", api.NodeStatusDown, since)
	}
	newcomer := c.Newcomer("dc1", "rack1", 1)
	s := load(t, c)
	live := map[string]*api.NodeStatusReport{}
	for i := range s.Pods {
		if said := s.Said(s.Pods[i].Name); said != nil {
			live[s.Pods[i].Name] = said
		}
	}
	byAnnotation, err := s.Using(cluster.SourceAnnotation)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := s.WithLive(live, nil, nil).Using(cluster.SourceLive)
	if err != nil {
		t.Fatal(err)
	}
	assembled := byAnnotation.ClusterReport(nil, nil)
	if got := matrix.New(matrix.FromStatusReport(assembled), matrix.Options{}).Coordinator(); string(got.HostID) != coordinator.HostID || got.Named != 3 {
		t.Errorf("by the cluster report alone: %+v", got)
	}
	for source, s := range map[string]*cluster.Cluster{"report": s, "annotation": byAnnotation, "live": asked} {
		if string(s.Source) != source {
			t.Fatalf("source %s, want %s", s.Source, source)
		}
		d := document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now))
		if text := plain(show.Cluster(d, show.Options{})); !strings.Contains(text, "the topology coordinator is demo-dc1-rack3-0") {
			t.Errorf("%s: status does not show it:\n%s", source, text)
		}
		var doc struct {
			Coordinator struct{ HostID, Member, Text string }
			Blockers    []struct {
				Coordinator bool
				Observer    struct{ Member string }
			}
		}
		data, err := json.Marshal(d)
		if err == nil {
			err = json.Unmarshal(data, &doc)
		}
		if err != nil || doc.Coordinator.HostID != coordinator.HostID || doc.Coordinator.Member != coordinator.Name || doc.Coordinator.Text == "" {
			t.Errorf("%s: %+v, %v", source, doc.Coordinator, err)
		}
		if b := doc.Blockers[0]; !b.Coordinator || b.Observer.Member != coordinator.Name {
			t.Errorf("%s: the first blocker is %+v", source, b)
		}
		v, err := document.NewBarrierVerdict(diagnosis.Judge(s, plugintest.Now, newcomer), newcomer)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(plain(show.Barrier(v, show.Options{}))), " ")
		for _, want := range []string{
			"is seen DOWN for 10s by demo-dc1-rack3-0, demo-dc1-rack1-0; demo-dc1-rack3-0 is the topology coordinator",
			"note: the topology coordinator is demo-dc1-rack3-0; only its gossip state decides whether a node can join",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the verdict does not say %q:\n%s", source, want, text)
			}
		}
	}
}
