// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// Where rows can hide a member that none of them lists, it is not taken for removed: a person looks in ScyllaDB's tables first. While the nodes are of two clusters, not even
// that leads to its removal: the witness may be of the other one.
func TestNoHarmAMemberInNoRowIsLookedUp(t *testing.T) {
	t.Parallel()
	const member = "demo-dc1-rack2-0"
	for name, tc := range map[string]struct{ complete, split, looks bool }{
		"a row lists each member": {complete: true},
		"a row can hide one":      {looks: true},
		"of two clusters":         {split: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gone(plugintest.New(3, 1), member).Says(func(by plugintest.Node, r *api.NodeStatusReport) {
				r.Complete, r.Group0ID = tc.complete, "11110000-0000-1000-8000-000000000001"
				if tc.split && by.Name == "demo-dc1-rack3-0" {
					r.Group0ID = "11110000-0000-1000-8000-000000000002"
				}
			})
			o := objectsOf(s, nil)
			for i := range o.Services {
				o.Services[i].ResourceVersion = "7"
			}
			c := cluster.New(o, cluster.SourceAuto, scenes.Now)
			findings := diagnosis.Of(c)
			at := slices.IndexFunc(findings, func(f diagnosis.Finding) bool { return f.Step.Code == words.SeeIfRemoved })
			if at >= 0 != tc.looks || c.Matrix().SplitFact().IsZero() == tc.split {
				t.Fatalf("split %+v, %v", c.Matrix().SplitFact(), said(findings))
			}
			if m := c.Member(member); m.Removed(c.Matrix()) != tc.complete {
				t.Errorf("removed: %v", m.Removed(c.Matrix()))
			}
			if !tc.looks {
				return
			}
			want := "check node_state of host ID " + s.Node(member).HostID + ": kubectl exec demo-dc1-rack1-0 -n demo -c scylla -- cqlsh -e 'SELECT host_id, node_state FROM system.topology'" +
				"; if it is left, remove the host ID from the Service, which cannot be undone: kubectl annotate service " + member + " " + api.AnnotationHostID + "- " + api.AnnotationNodeJoined + "- -n demo --resource-version=7" +
				"; otherwise " + member + " is a member: check that its Pod starts. Up to 2025.2 ScyllaDB lists one of two nodes at one address"
			if got := words.Text(findings[at].Step); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
			check(t, c, findings)
		})
	}
}

// The Services of the Scylla Operator have no time of the join: the last write of the record decides whether a member in no row was removed.
func TestRecordedHostIDRemovedNeedsRowsOfAfterTheJoin(t *testing.T) {
	t.Parallel()
	const member = "demo-dc1-rack2-0"
	for name, tc := range map[string]struct {
		written time.Duration
		want    bool
	}{
		"it was removed":              {time.Hour, true},
		"it joined a few seconds ago": {5 * time.Second, false},
	} {
		s := gone(plugintest.New(3, 1), member)
		waits := s.Newcomer("dc1", "rack1", 1)
		s.Operator().Service(member).ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: scenes.Now.Add(-tc.written)},
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationNodeJoined + `":{}}}}`)}}
		v, err := bootstrap.VerdictOf(cluster.New(scenes.Objects(s), cluster.SourceAuto, scenes.Now), waits)
		if err != nil {
			t.Fatal(err)
		}
		blocks := slices.ContainsFunc(v.Blockers, func(b matrix.Blocker) bool { return b.Observed.Member == member })
		if noted := slices.ContainsFunc(v.Notes, func(n words.Message) bool { return n.Code == words.RecordedHostIDNotListed }); noted != tc.want || blocks == tc.want {
			t.Errorf("%s: %s, notes %v", name, words.Text(v.Summary), v.Notes)
		}
	}
}

// The operator's rows have no version, and up to 2025.2 they can hide a member: before its volume or its record is deleted, ScyllaDB's own table must have it as left.
func TestNoHarmTheOperatorsRowsRemoveNothing(t *testing.T) {
	t.Parallel()
	const member = "demo-dc1-rack2-0"
	const look = "kubectl exec demo-dc1-rack1-0 -n demo -c scylla -- cqlsh -e 'SELECT host_id, node_state FROM system.topology'; if it is left, "
	s := gone(plugintest.New(3, 1), member)
	id := s.Node(member).HostID
	c := cluster.New(scenes.Objects(s.Operator()), cluster.SourceAuto, scenes.Now)
	self := c.Member(member).Recorded()
	v := bootstrap.Verdict{Self: self,
		Blockers: []matrix.Blocker{{Reason: words.DataDirectoryUnusable, Observed: self, Cause: words.New(words.HostIDNotListed, "hostID", self.HostID)}},
		Notes:    []words.Message{words.New(words.RecordedHostIDNotListed, "member", member, "hostID", self.HostID)}}
	diagnosis.Advise(c, &v, diagnosis.Asks{Self: self, Claim: "data-" + member, VolumeUID: "a-uid"})
	for got, want := range map[string]string{
		words.Text(v.Notes[0]): "no node lists host ID " + id + " of " + member + " any more, and barriers ignore it. Check its node_state: " +
			look + "remove the host ID from the Service, which cannot be undone: kubectl annotate service " + member + " " + api.AnnotationHostID + "- " + api.AnnotationNodeJoined + "- -n demo",
		words.Text(v.Blockers[0].Step): "check node_state of host ID " + id + ": " + look + "delete PVC data-" + member + ", which cannot be undone; the member then starts as a new node: " +
			`kubectl patch pvc data-` + member + ` -n demo '--patch={"metadata":{"uid":"a-uid"}}' && kubectl delete pvc data-` + member + ` -n demo --wait=false && kubectl delete pod ` + member + ` -n demo` +
			"; if it is normal, let " + member + " start on its volume: kubectl scylla force-proceed " + member + " -n demo --volume-uid=a-uid. Up to 2025.2 ScyllaDB lists one of two nodes at one address",
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
