// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"slices"
	"testing"

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
