// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

// isBootstrapPreconditionMet is the algorithm of the proposal, letter by letter: it knows none of the fields that we add.
func isBootstrapPreconditionMet(statusReport *api.ScyllaDBStatusReport) bool {
	// hostIDs is a set of all IDs that appeared in the status report.
	hostIDs := map[string]bool{}
	// hostIDToNodeStatusesMap maps a node's host ID to a map of observed nodes' host IDs to their statuses as observed by the node.
	hostIDToNodeStatusesMap := map[string]map[string]bool{}

	for _, dc := range statusReport.Datacenters {
		for _, node := range dc.Nodes {
			hostIDs[node.HostID] = true

			observedNodeHostIDToNodeStatusesMap := map[string]bool{}
			for _, observedNode := range node.ObservedNodes {
				hostIDs[string(observedNode.HostID)] = true
				observedNodeHostIDToNodeStatusesMap[string(observedNode.HostID)] = observedNode.Status == api.NodeStatusUp
			}

			hostIDToNodeStatusesMap[node.HostID] = observedNodeHostIDToNodeStatusesMap
		}
	}

	for hostID := range hostIDs {
		nodeStatuses, ok := hostIDToNodeStatusesMap[hostID]
		if !ok {
			// This node did not report a status, but it must be a part of a cluster as it appeared in the status report.
			// We don't know what it thinks about other nodes, so we must assume the worst.
			return false
		}

		for otherHostID := range hostIDs {
			if !nodeStatuses[otherHostID] {
				// The other node is either missing from this node's report or is considered DOWN.
				return false
			}
		}
	}

	return true
}

// TestTheProposalsAlgorithmIsTheRecordedOne compares the copy above with the two columns of the recorded cases: with rows without host ID read as "",
// and left out.
func TestTheProposalsAlgorithmIsTheRecordedOne(t *testing.T) {
	type oracleCase struct {
		ID      int `json:"id"`
		Reports []struct {
			Racks []api.RackReport `json:"racks"`
		} `json:"reports"`
		Satisfied            bool `json:"satisfied"`
		Seed002              bool `json:"seed002"`
		Seed002SkipNilHostID bool `json:"seed002SkipNilHostID"`
	}
	flat := func(c oracleCase, skipNil bool) *api.ScyllaDBStatusReport {
		r := &api.ScyllaDBStatusReport{}
		for _, dc := range c.Reports {
			var d api.StatusReportDatacenter
			for _, rack := range dc.Racks {
				for _, node := range rack.Nodes {
					if node.HostID != nil || !skipNil {
						cells := stage.Cells(node.ObservedNodes)
						d.Nodes = append(d.Nodes, api.StatusReportNode{HostID: ptr.Deref(node.HostID, ""), ObservedNodes: cells})
					}
				}
			}
			r.Datacenters = append(r.Datacenters, d)
		}
		return r
	}
	differ := 0
	for _, c := range vectors.Oracle[oracleCase](t) {
		for skipNil, want := range map[bool]bool{false: c.Seed002, true: c.Seed002SkipNilHostID} {
			if got := isBootstrapPreconditionMet(flat(c, skipNil)); got != want {
				t.Errorf("case %d, rows without host ID left out %t: %v, want %v", c.ID, skipNil, got, want)
			}
		}
		if c.Seed002 != c.Satisfied {
			differ++
		}
	}
	if differ == 0 {
		t.Error("the columns are the same, so nothing was compared")
	}
}

// drawCluster draws a cluster of up to MaxWholeRows nodes, in which few things are wrong, with the datacenter elsewhere that some of its nodes are in.
// states is true where a row has a node as joining: our verdict leaves it out, and the proposal does not know such nodes.
func drawCluster(t *rapid.T) (objects []client.Object, elsewhere []remote.State, states bool) {
	ids := make([]string, rapid.IntRange(1, cluster.MaxWholeRows).Draw(t, "nodes"))
	for i := range ids {
		ids[i] = stage.UUID(fmt.Sprintf("h%d", i))
	}
	there := rapid.IntRange(0, min(2, len(ids)-1)).Draw(t, "nodes elsewhere")
	wrong := map[int]string{} // by index of the node
	for range rapid.IntRange(0, 2).Draw(t, "wrong rows") {
		wrong[rapid.IntRange(0, len(ids)-1).Draw(t, "whose")] = rapid.SampledFrom([]string{
			"none", "error", "malformed", "other host ID", "DOWN", "UNKNOWN", "left out", "a stranger", "one joining", "not ready", "Pod gone", "Service gone",
		}).Draw(t, "what")
	}
	if rapid.IntRange(0, 9).Draw(t, "all reporters are gone") == 0 {
		for i := range ids {
			wrong[i] = "not ready"
		}
	}
	state := remote.State{Name: "eu", Read: true, Stale: rapid.IntRange(0, 4).Draw(t, "stale") == 0, Reason: "its API server refuses connections"}
	report := api.ScyllaDBDatacenterNodesStatusReport{DatacenterName: "dc2", Racks: []api.RackReport{{Name: "r1"}}}
	report.Namespace, report.Name, report.UID = "far", "demo-dc2", "far"
	for i, id := range ids {
		cells := sees("UP", ids...)
		at := rapid.IntRange(0, len(ids)-1).Draw(t, "observed")
		switch wrong[i] {
		case "DOWN", "UNKNOWN":
			cells[at].Status = api.NodeStatus(wrong[i])
		case "left out":
			cells = slices.Delete(cells, at, at+1)
		case "a stranger":
			cells = append(cells, api.ObservedNodeStatusReport{HostID: hostid.ID(stage.UUID("stranger")), Status: api.NodeStatusUp})
		case "one joining":
			states = true
			cells = append(cells, api.ObservedNodeStatusReport{HostID: hostid.ID(stage.UUID("joins")), Status: api.NodeStatusUp, State: api.NodeStateJoining})
		}
		if i < there {
			node := api.NodeReport{Ordinal: int32(i), HostID: &id, ObservedNodes: api.Plain(cells)}
			if wrong[i] == "none" {
				node.ObservedNodes = nil
			}
			report.Racks[0].Nodes = append(report.Racks[0].Nodes, node)
			continue
		}
		said := api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "NORMAL", ObservedNodes: cells}
		switch wrong[i] {
		case "error":
			said.ObservedNodes, said.Error = nil, new("connection refused")
		case "other host ID":
			said.HostID = hostid.ID(stage.UUID("other"))
		}
		row := *text(t, said)
		switch wrong[i] {
		case "none":
			row = ""
		case "malformed":
			row = "nope"
		}
		rack := fmt.Sprintf("r%d", i%3)
		o := member(fmt.Sprintf("demo-%s-%d", rack, i), "dc1", rack, i, id, row)
		switch wrong[i] {
		case "not ready":
			o[1].(*corev1.Pod).Status.InitContainerStatuses[0].Ready = false
		case "Pod gone":
			o = o[:1]
		case "Service gone":
			o = o[1:]
		}
		objects = append(objects, o...)
	}
	for _, rack := range []string{"r0", "r1", "r2"} {
		objects = append(objects, set("demo-"+rack, "dc1", rack, int32(len(ids))))
	}
	if there > 0 {
		state.Reports = append(state.Reports, report)
		if rapid.IntRange(0, 4).Draw(t, "never read") == 0 {
			state = remote.State{Name: "eu"}
		}
		elsewhere = append(elsewhere, state)
	}
	return objects, elsewhere, states
}

// TestTheProposalsAlgorithmReadsOurReport: on the object that the controller writes for a cluster of up to 32 nodes the algorithm gives our verdict. It
// never opens where we wait; it waits where we open only beside a node that is joining.
func TestTheProposalsAlgorithmReadsOurReport(t *testing.T) {
	opened, closed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		objects, elsewhere, states := drawCluster(rt)
		b := newBench(t, objects...)
		b.remote.states = elsewhere
		b.reconcile()
		s := b.status()
		rows := matrix.FromStatusReport(s)
		if len(rows) == 0 {
			rt.Skip("the algorithm is satisfied by an empty report")
		}
		ours := bootstrap.Decide(bootstrap.Input{
			Member: &cluster.Member{Ref: matrix.Ref{Member: "demo-r9-0", Datacenter: "dc1", Rack: "r9", Ordinal: new(int32)}}, Disk: bootstrap.BootstrappedNo,
			Matrix: matrix.New(rows, matrix.Options{}), Reports: 1, NotVerified: matrix.NotVerified(s),
		})
		switch met := isBootstrapPreconditionMet(s); {
		case met && !ours.Satisfied:
			rt.Errorf("the proposal opens, and we do not: %s\n%+v", words.Of(ours.Self.Name(), ours.Summary), s.Datacenters)
		case !met && ours.Satisfied && !states:
			rt.Errorf("the proposal waits, and we do not\n%+v", s.Datacenters)
		case met:
			opened++
		default:
			closed++
		}
	})
	if opened == 0 || closed == 0 {
		t.Errorf("%d open and %d do not, want some of each", opened, closed)
	}
}
