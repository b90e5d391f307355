// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// TestB2ARemovedNodeAppliesAnew: what starts in the place of a removed node is a newcomer, although its Service still says that it has joined.
func TestB2ARemovedNodeAppliesAnew(t *testing.T) {
	t.Parallel()
	const removed = "demo-rack2-0"
	applies := func(st *scene) bool {
		return slices.ContainsFunc(st.cluster(SourceAnnotation).JoinCandidates(), func(m *Member) bool { return m.Ref.Member == removed })
	}
	st := newStage(t, 3, 1)
	delete(st.Pods, removed)
	if applies(st) {
		t.Error("a member that its peers list is a newcomer")
	}
	changeRows(t, st, removed, func(row *api.NodeStatusReport, id hostid.ID) {
		row.ObservedNodes = slices.DeleteFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.HostID == id })
	})
	if !applies(st) {
		t.Error("a member that no row lists any more gets no turn")
	}
}

// TestANodeThatHasJustJoinedIsNotRemoved: rows from before its join lack it as those of after its removal do. Its Service would be told to forget it.
func TestANodeThatHasJustJoinedIsNotRemoved(t *testing.T) {
	t.Parallel()
	const name = "demo-rack2-0"
	st := newStage(t, 3, 1)
	pod := st.Pods[name]
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Ready = false
	}
	delete(st.Pods, name)
	changeRows(t, st, name, func(row *api.NodeStatusReport, id hostid.ID) {
		row.ObservedNodes = slices.DeleteFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.HostID == id })
	})
	svc := st.Services[name]
	before := svc.DeepCopy() // the rows are from before its Service recorded anything
	delete(before.Annotations, api.AnnotationHostID)
	st.Services[name] = before
	rows := st.cluster(SourceAnnotation).Matrix()
	st.Services[name] = svc
	joined := func(id string, ago time.Duration) func() {
		return func() {
			st.Services[name].Annotations[api.AnnotationJoinedAt] = id + " " + start.Add(time.Hour-ago).UTC().Format(time.RFC3339)
		}
	}
	written := func(ago time.Duration) func() {
		return func() {
			st.Services[name].ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: start.Add(time.Hour - ago)},
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationNodeJoined + `":{}}}}`)}}
		}
	}
	id := st.Services[name].Annotations[api.AnnotationHostID]
	for _, tc := range []struct {
		name string
		do   func()
		want bool
	}{
		{"no row lists it", func() {}, true},
		{"it joined a minute ago", joined(id, time.Minute), false},
		{"by a clock that is ahead", joined(id, -time.Minute), false},
		{"it joined long ago", joined(id, 11*time.Minute), true},
		{"another node joined a minute ago", joined("11111111-1111-4111-8111-111111111111", time.Minute), true},
		{"its join was recorded a minute ago", written(time.Minute), false},
		{"its join was recorded long ago", written(11 * time.Minute), true},
		{"by its own row it is a member", func() { st.Pods[name] = pod }, false},
		{"by its last own row it is not", func() { setRow(t, pod, &api.NodeStatusReport{Error: new("connection refused")}) }, true},
	} {
		if tc.do(); st.cluster(SourceAnnotation).Member(name).Removed(rows) != tc.want {
			t.Errorf("%s: want removed: %v", tc.name, tc.want)
		}
	}
	// Its own row fails, so that the matrix has it as a node that the other rows lack.
	setRow(t, pod, &api.NodeStatusReport{HostID: hostid.ID(id), Error: new("connection refused")})
	for ago, want := range map[time.Duration]bool{time.Minute: false, 11 * time.Minute: true} {
		joined(id, ago)()
		c := st.cluster(SourceAnnotation)
		if at, ok := c.Matrix().Index(hostid.ID(id)); !ok || !c.Matrix().Nodes()[at].Removed {
			t.Fatal("the other rows do not lack it: the test proves nothing")
		}
		if c.Member(name).Removed(c.Matrix()) != want {
			t.Errorf("its own row fails, %s after its join: want removed: %v", ago, want)
		}
	}
}

// TestADecommissionedNodeIsNoApplicant: a node that was decommissioned and still runs is not on its way in, and the operation that its own task manager keeps is over.
func TestADecommissionedNodeIsNoApplicant(t *testing.T) {
	t.Parallel()
	const gone = "demo-rack2-0"
	st := newStage(t, 3, 1)
	changeRows(t, st, gone, func(row *api.NodeStatusReport, id hostid.ID) {
		row.ObservedNodes = slices.DeleteFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.HostID == id })
	})
	st.Services[gone].Annotations[api.AnnotationNodeJoined] = "false" // the controller has recorded that it left
	applies := func() bool {
		return slices.ContainsFunc(st.cluster(SourceAnnotation).JoinCandidates(), func(m *Member) bool { return m.Ref.Member == gone })
	}
	if !applies() {
		t.Fatal("a node that no row lists, and that does not say why, is no applicant: the test proves nothing")
	}
	own, err := api.DecodeNodeStatusReport(st.Pods[gone].Annotations[api.AnnotationNodeStatusReport])
	if err != nil {
		t.Fatal(err)
	}
	own.OperationMode, own.ObservedNodes = "DECOMMISSIONED", nil
	own.Error = new("GET /storage_service/host_id: HTTP 500: std::runtime_error (The gossiper is not ready yet)")
	own.Operations = []api.NodeOperation{{Type: "decommission", State: "running", HostID: own.HostID}}
	setRow(t, st.Pods[gone], own)
	if applies() {
		t.Error("a decommissioned node is on its way in")
	}
	if operations, _ := st.cluster(SourceAnnotation).Operations(); len(operations) > 0 {
		t.Errorf("the operation of a decommissioned node is under way: %v", operations)
	}
}
