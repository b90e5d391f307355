// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	idA   = "8ebd0fc0-1111-4111-8111-111111111111"
	idB   = "35d0f1aa-2222-4222-8222-222222222222"
	idC   = "1ffac2bb-3333-4333-8333-333333333333"
	idOwn = "77770000-7777-4777-8777-777777777777"
)

func ref(rack, hostID string) matrix.Ref {
	var zero int32
	return matrix.Ref{HostID: hostid.ID(hostID), Member: "demo-" + rack + "-0", Datacenter: "dc1", Rack: rack, Ordinal: &zero}
}

func cells(status matrix.Status, ids ...string) []matrix.Observation {
	var list []matrix.Observation
	for _, id := range ids {
		list = append(list, matrix.Observation{HostID: hostid.ID(id), Status: status})
	}
	return list
}

// threeUp is three members that see each other, and extra cells in every row.
func threeUp(extra ...matrix.Observation) []matrix.Row {
	var rows []matrix.Row
	for rack, id := range map[string]string{"rack1": idA, "rack2": idB, "rack3": idC} {
		rows = append(rows, matrix.Row{Reporter: ref(rack, id), Reported: true, Observed: append(cells(matrix.Up, idA, idB, idC), extra...)})
	}
	return rows
}

func down(rows []matrix.Row, observer, observed string) []matrix.Row {
	for i := range rows {
		for j := range rows[i].Observed {
			if string(rows[i].Reporter.HostID) == observer && string(rows[i].Observed[j].HostID) == observed {
				rows[i].Observed[j].Status = matrix.Down
			}
		}
	}
	return rows
}

func newMatrix(rows []matrix.Row) *matrix.Matrix { return matrix.New(rows, matrix.Options{}) }

// newcomer is a fourth member that wants to start, in a cluster that is all UP.
func newcomer() Input {
	return Input{
		Member: member(ref("rack4", ""), nil), Disk: BootstrappedNo, Reports: 1, Matrix: newMatrix(threeUp()),
		Peers: []*cluster.Member{
			member(ref("rack1", idA), ptr(true)), member(ref("rack2", idB), ptr(true)), member(ref("rack3", idC), ptr(true)),
		},
	}
}

func ptr[T any](v T) *T { return &v }

// member has a Service that records these.
func member(r matrix.Ref, joined *bool) *cluster.Member {
	m := &cluster.Member{Ref: r, Namespace: "scylla", Joined: joined, Service: &corev1.Service{}}
	m.Service.Name, m.Service.Labels, m.Service.Annotations = r.Member, map[string]string{}, map[string]string{}
	for key, value := range map[string]string{api.LabelDatacenter: r.Datacenter, api.LabelRack: r.Rack} {
		if value != "" {
			m.Service.Labels[key] = value
		}
	}
	record(m, r.HostID)
	return m
}

func record(m *cluster.Member, id hostid.ID) {
	if m.HostID = id; id != "" {
		m.Service.Annotations[api.AnnotationHostID] = string(id)
	}
}

func aged(m *cluster.Member, created time.Time) *cluster.Member {
	m.Service.CreationTimestamp.Time = created
	return m
}

// removed has no ScyllaDB that serves.
func removed(m *cluster.Member) *cluster.Member {
	m.Service.Labels[api.LabelDecommissioned] = api.DecommissionedDone
	return m
}

// runs gives the member a Pod whose ScyllaDB has been started.
func runs(m *cluster.Member, image string) {
	m.Pod = &corev1.Pod{
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB, Image: "scylladb/scylla:" + image}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
}

// waits gives the member a Pod whose barrier runs.
func waits(m *cluster.Member) {
	m.Pod = &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
		{Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}}}
}

func TestDecide(t *testing.T) {
	withRows := func(rows []matrix.Row) func(*Input) { return func(in *Input) { in.Matrix = newMatrix(rows) } }
	own := func(status matrix.Status, state matrix.State) matrix.Observation {
		return matrix.Observation{HostID: idOwn, Status: status, State: state}
	}
	// restart is the newcomer with a recorded host ID that its peers list.
	restart := func(o matrix.Observation, more ...func(*Input)) func(*Input) {
		return func(in *Input) {
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Volume = VolumeUsed
			in.Matrix = newMatrix(threeUp(o))
			for _, m := range more {
				m(in)
			}
		}
	}
	genesis := func(in *Input) { in.Matrix, in.Reports, in.Peers = nil, 0, nil }
	label := func(key, value string) func(*Input) {
		return func(in *Input) {
			in.Member.Service.Labels[key] = value
		}
	}
	force := func(value string) func(*Input) {
		return func(in *Input) {
			maps.Copy(in.Member.Service.Annotations, map[string]string{api.AnnotationForceProceed: value})
		}
	}
	all := func(list ...func(*Input)) func(*Input) {
		return func(in *Input) {
			for _, f := range list {
				f(in)
			}
		}
	}
	oneDown := withRows(down(threeUp(), idA, idB))
	// without leaves only rows of these nodes, which see all others DOWN.
	without := func(dead ...string) func(*Input) {
		return func(in *Input) {
			rows := slices.DeleteFunc(threeUp(), func(r matrix.Row) bool { return slices.Contains(dead, string(r.Reporter.HostID)) })
			for _, r := range []string{idA, idB, idC} {
				for _, d := range dead {
					down(rows, r, d)
				}
			}
			names := map[hostid.ID]matrix.Ref{idA: ref("rack1", idA), idB: ref("rack2", idB), idC: ref("rack3", idC)}
			in.Matrix = matrix.New(rows, matrix.Options{Names: names})
		}
	}
	deadC, deadBC := without(idC), without(idB, idC)
	ignore := func(id string) func(*Input) {
		return func(in *Input) {
			maps.Copy(in.Member.Service.Annotations, map[string]string{api.AnnotationReplaceIgnoreDead: id})
		}
	}

	tests := map[string]struct {
		in       func(*Input)
		decision Decision
		summary  string
		reasons  []words.Code
		notes    []string
	}{
		// The data directory.
		"a node that has bootstrapped is never held back": {
			in:       all(oneDown, func(in *Input) { in.Disk = BootstrappedYes }),
			decision: DecisionBootstrapped, summary: "demo-rack4-0 may start: its data directory shows that it has bootstrapped",
		},
		"not even a banned one, but the cure is named": {
			in: func(in *Input) {
				in.Disk, in.Banned = BootstrappedYes, words.New("received notification of being banned")
			},
			decision: DecisionBootstrapped, summary: "demo-rack4-0 may start: its data directory shows that it has bootstrapped",
			notes: []string{"ScyllaDB has rejected this host ID before (received notification of being banned)"},
		},
		"a decommissioned data directory is refused, even by force": {
			in:       all(force("true"), func(in *Input) { in.Disk = BootstrappedDecommissioned }),
			decision: DecisionRefuse, reasons: []words.Code{words.DataDirectoryUnusable},
			summary: "demo-rack4-0 cannot start, no matter how long it waits: its data directory belongs to a decommissioned node, and ScyllaDB does not start on it",
		},
		"a banned data directory is refused": {
			in: func(in *Input) {
				in.Banned, in.Member.Namespace = words.New("the node has already been removed from the cluster"), ""
			},
			decision: DecisionRefuse, reasons: []words.Code{words.DataDirectoryUnusable},
			summary: "demo-rack4-0 cannot start, no matter how long it waits: the cluster has banned the host ID in its data directory (the node has already been removed from the cluster)",
		},

		// Restarts that the data directory does not know of.
		"a member that was never flushed is a restart, though everybody sees it DOWN": {
			in: restart(own(matrix.Down, 0)), decision: DecisionRestart,
			summary: "demo-rack4-0 may start: this is a restart, demo-rack1-0 lists its host ID " + idOwn + " as a member",
		},
		"so is a leaving member": {
			in: restart(own(matrix.Down, matrix.StateLeaving)), decision: DecisionRestart,
			summary: "demo-rack4-0 may start: this is a restart, demo-rack1-0 lists its host ID " + idOwn + " as a member",
		},
		"a member whose rows are all old is a restart too: the whole cluster comes back at once": {
			in: restart(own(matrix.Up, 0), func(in *Input) {
				rows := threeUp(own(matrix.Up, 0))
				for i := range rows {
					rows[i].Stale = matrix.Trouble{Code: words.PodGone}
				}
				in.Matrix = newMatrix(rows)
			}), decision: DecisionRestart,
			summary: "demo-rack4-0 may start: this is a restart, demo-rack1-0 lists its host ID " + idOwn + " as a member",
		},
		"a fresh row that does not list it overrules an old one that does": {
			in: restart(own(matrix.Up, 0), func(in *Input) {
				rows := append(threeUp(), matrix.Row{Reporter: ref("rack5", idB), Reported: true, Stale: matrix.Trouble{Code: words.PodGone}, Observed: cells(matrix.Up, idOwn)})
				in.Matrix = newMatrix(rows)
			}), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: no status report from host ID " + idOwn + ", and 2 more reasons",
			reasons: []words.Code{words.RowMissing, words.RowStale, words.NodeNotSeen, words.NodeNotSeen, words.NodeNotSeen},
		},
		"a newcomer that stopped while JOINING is no restart": {
			in: restart(own(matrix.Down, matrix.StateJoining), func(in *Input) { in.Member = member(ref("rack4", idOwn), ptr(false)) }), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: host ID " + idOwn + " is seen DOWN by demo-rack1-0, demo-rack2-0, demo-rack3-0",
			reasons: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown},
			notes:   []string{"host ID " + idOwn + " is JOINING in every status report that lists it"},
		},
		"a member whose join is recorded restarts, where the rows have it as JOINING still": {
			in: restart(own(matrix.Down, matrix.StateJoining)), decision: DecisionRestart,
			summary: "demo-rack4-0 may start: this is a restart, demo-rack1-0 lists its host ID " + idOwn + " as a member",
		},
		"a node that is being replaced is no restart": {
			in: restart(own(matrix.Down, matrix.StateBeingReplaced)), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: host ID " + idOwn + " is seen DOWN by demo-rack1-0, demo-rack2-0, demo-rack3-0, and one more reason",
			reasons: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing},
			notes:   []string{"host ID " + idOwn + " is BEING_REPLACED in every status report that lists it"},
		},
		"a member that lost its disk is no restart": {
			in: restart(own(matrix.Down, 0), func(in *Input) { in.Volume = VolumeEmpty }), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: host ID " + idOwn + " is seen DOWN by demo-rack1-0, demo-rack2-0, demo-rack3-0, and one more reason",
			reasons: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing},
		},
		"a member whose node is to be replaced is no restart": {
			in: restart(own(matrix.Down, 0), label(api.LabelReplace, "")), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: host ID " + idOwn + " is seen DOWN by demo-rack1-0, demo-rack2-0, demo-rack3-0, and one more reason",
			reasons: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing},
		},
		"a member that replaces its own former node replaces, it does not restart": {
			in:       restart(own(matrix.Down, 0), label(api.LabelReplace, ""), label(api.LabelReplacingNodeHostID, idOwn)),
			decision: DecisionReplacing, summary: "demo-rack4-0 may start: it replaces the node with host ID " + idOwn,
		},
		"a replacement that has joined and was never flushed is a restart": {
			in:       restart(own(matrix.Down, 0), label(api.LabelReplace, ""), label(api.LabelReplacingNodeHostID, "8ebd2a16-0000-4000-8000-0000000000dd")),
			decision: DecisionRestart, summary: "demo-rack4-0 may start: this is a restart, demo-rack1-0 lists its host ID " + idOwn + " as a member",
		},
		"the only member of its cluster restarts": {
			in:       all(genesis, func(in *Input) { in.Member = member(ref("rack4", idOwn), ptr(true)) }),
			decision: DecisionRestart, summary: "demo-rack4-0 may start: this is a restart of the only member that has joined",
		},
		"the only member of its cluster lost its disk": {
			in:       all(genesis, func(in *Input) { in.Member, in.Volume = member(ref("rack4", idOwn), ptr(true)), VolumeEmpty }),
			decision: DecisionWait, summary: "demo-rack4-0 must wait: no status report exists, but the cluster is not new: the volume of demo-rack4-0 is empty, and no other " +
				"member has ever joined: the data of the cluster is lost",
			reasons: []words.Code{words.ReportMissing},
		},
		"a disk that could not be read asks the cluster": {
			in:       func(in *Input) { in.Disk, in.DiskDetail = BootstrappedUnknown, words.New("exit code 2") },
			decision: DecisionAllUp, summary: "demo-rack4-0 may start: all 3 nodes are seen UP by all nodes that report",
			notes: []string{"the data directory could not be read (exit code 2), so the status reports were used instead"},
		},

		// Force.
		"forced, with what is overruled": {
			in: all(oneDown, force("true")), decision: DecisionForced,
			summary: "demo-rack4-0 may start: it is forced, which overrides: demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN",
			reasons: []words.Code{words.NodeDown},
		},
		"forced with nothing in the way": {
			in: force("true"), decision: DecisionForced, summary: "demo-rack4-0 may start: it is forced, and nothing blocks it",
		},
		"any other value blocks and says so, though all are UP": {
			in: force("yes"), decision: DecisionWait, reasons: []words.Code{words.ForceValueInvalid},
			summary: `demo-rack4-0 must wait: annotation scylla-operator.scylladb.com/force-proceed-to-bootstrap on the Service of demo-rack4-0 is "yes"; only "true" skips the barrier`,
		},
		"a bad force value wins over a replacement": {
			in: all(deadC, force("false"), label(api.LabelReplacingNodeHostID, idC)), decision: DecisionWait, reasons: []words.Code{words.ForceValueInvalid},
			summary: `demo-rack4-0 must wait: annotation scylla-operator.scylladb.com/force-proceed-to-bootstrap on the Service of demo-rack4-0 is "false"; only "true" skips the barrier`,
		},

		// Replacement.
		"a replacement opens": {
			in: all(deadC, label(api.LabelReplacingNodeHostID, idC)), decision: DecisionReplacing, summary: "demo-rack4-0 may start: it replaces the node with host ID " + idC,
		},
		"a replacement waits for everybody but the replaced and the ignored nodes": {
			in: all(deadBC, label(api.LabelReplacingNodeHostID, idC)), decision: DecisionWait,
			reasons: []words.Code{words.NodeDown, words.RowMissing},
			summary: "demo-rack4-0 must wait: demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN, and one more reason",
		},
		"an ignored node may be DOWN as well": {
			in: all(deadBC, label(api.LabelReplacingNodeHostID, idC), ignore(idB)), decision: DecisionReplacing,
			summary: "demo-rack4-0 may start: it replaces the node with host ID " + idC,
		},
		"a replacement of a node that is UP waits": {
			in: label(api.LabelReplacingNodeHostID, idC), decision: DecisionWait, reasons: []words.Code{words.ReplacedNodeUp},
			summary: "demo-rack4-0 must wait: demo-rack3-0 (1ffac2bb) is UP, but is to be replaced or ignored: seen UP by demo-rack1-0, demo-rack2-0",
		},
		"a replacement by address opens": {
			in: all(label(api.LabelReplace, "10.0.0.3"), ownAddress("10.0.0.3")), decision: DecisionReplacing, summary: "demo-rack4-0 may start: it replaces the node with address 10.0.0.3",
		},
		"a request to replace that nobody has taken up opens nothing": {
			in: all(oneDown, label(api.LabelReplace, "")), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN",
			reasons: []words.Code{words.NodeDown},
		},
		"a replacement of nobody blocks": {
			in: all(oneDown, label(api.LabelReplacingNodeHostID, "")), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: the node that demo-rack4-0 replaces is unknown: label internal.scylla-operator.scylladb.com/replacing-node-hostid on its Service is empty, and one more reason",
			reasons: []words.Code{words.ReplaceRequestInvalid, words.NodeDown},
		},

		// Place.
		"no place": {
			in: func(in *Input) { in.Member = member(matrix.Ref{Member: "demo"}, nil) }, decision: DecisionWait,
			summary: "demo must wait: the position of demo in the cluster is unknown: label scylla/datacenter is missing or empty on its Service, and 2 more reasons",
			reasons: []words.Code{words.LabelMissing, words.LabelMissing, words.LabelMissing},
		},

		// Precondition.
		"all UP": {
			in: func(*Input) {}, decision: DecisionAllUp, summary: "demo-rack4-0 may start: all 3 nodes are seen UP by all nodes that report",
		},
		"the second node of a cluster": {
			in: func(in *Input) {
				in.Peers = []*cluster.Member{member(ref("rack1", idA), ptr(true))}
				in.Matrix = newMatrix([]matrix.Row{{Reporter: ref("rack1", idA), Reported: true, Observed: cells(matrix.Up, idA)}})
			}, decision: DecisionAllUp, summary: "demo-rack4-0 may start: the only node sees itself UP",
		},
		"one DOWN": {
			in: oneDown, decision: DecisionWait, reasons: []words.Code{words.NodeDown},
			summary: "demo-rack4-0 must wait: demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN",
		},
		"one DOWN for two": {
			in: withRows(down(down(threeUp(), idA, idC), idB, idC)), decision: DecisionWait, reasons: []words.Code{words.NodeDown, words.NodeDown},
			summary: "demo-rack4-0 must wait: demo-rack3-0 (1ffac2bb) is seen DOWN by demo-rack1-0, demo-rack2-0",
		},
		"a member whose host ID no row lists and that does not run was removed": {
			in: func(in *Input) {
				in.Peers = append(in.Peers, removed(member(ref("rack5", idOwn), ptr(true))))
			}, decision: DecisionAllUp,
			summary: "demo-rack4-0 may start: all 3 nodes are seen UP by all nodes that report",
			notes:   []string{"no node lists host ID " + idOwn + " of demo-rack5-0 any more: it was removed, and barriers ignore it; to remove it from the Service, which cannot be undone: "},
		},
		"a rollout holds up a join": {
			in: func(in *Input) {
				in.Rollouts = []maintenance.Rollout{{StatefulSet: "demo-rack1", Cause: words.New(words.PodsOfOldRevision, "statefulSet", "demo-rack1", "updated", 1, "replicas", 3)}}
			}, decision: DecisionWait, reasons: []words.Code{words.RolloutInProgress},
			summary: "demo-rack4-0 must wait: rollout in progress: StatefulSet demo-rack1 has 1 of 3 Pods updated",
		},
		"a fresh row that does not list the member is enough": {
			in: restart(own(matrix.Down, 0), func(in *Input) {
				rows := threeUp(own(matrix.Down, 0))
				rows[2].Observed = rows[2].Observed[:3]
				in.Matrix = newMatrix(rows)
			}), decision: DecisionWait,
			summary: "*", reasons: []words.Code{words.NodeDown, words.NodeDown, words.RowMissing, words.NodeNotSeen},
		},
		"a member that the Service has as not joined is no restart": {
			in: restart(own(matrix.Up, 0), func(in *Input) { in.Member.Joined = ptr(false) }), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: no status report from host ID " + idOwn, reasons: []words.Code{words.RowMissing},
		},
		"the volume of another node is no restart, and nothing else either": {
			in: restart(own(matrix.Down, 0), func(in *Input) { in.Disk, in.VolumeHostID = BootstrappedYes, "99990000-7777-4777-8777-777777777777" }), decision: DecisionRefuse,
			summary: "demo-rack4-0 cannot start, no matter how long it waits: it contains host ID 99990000-7777-4777-8777-777777777777, but its Service records " + idOwn,
			reasons: []words.Code{words.ForeignVolume},
		},
		"A6: a volume of another member, which rows list": {
			in: restart(own(matrix.Down, 0), func(in *Input) {
				in.Disk, in.VolumeHostID = BootstrappedYes, idB
				in.Peers = append(in.Peers, member(matrix.Ref{Member: "demo-rack2-0", HostID: idB}, ptr(true)))
			}), decision: DecisionRefuse,
			summary: "demo-rack4-0 cannot start, no matter how long it waits: it contains host ID " + idB + " of demo-rack2-0, but its Service records " + idOwn,
			reasons: []words.Code{words.ForeignVolume},
		},
		"A6: nobody can say whose the volume is": {
			in: restart(own(matrix.Down, 0), func(in *Input) {
				in.Disk, in.VolumeHostID, in.Matrix = BootstrappedYes, "99990000-7777-4777-8777-777777777777", nil
			}), decision: DecisionBootstrapped, summary: "*",
		},
		"A6: the new node of an open replacement has another host ID": {
			in: restart(own(matrix.Down, 0), func(in *Input) {
				in.VolumeHostID = "99990000-7777-4777-8777-777777777777"
				in.Member.Service.Labels[api.LabelReplacingNodeHostID] = idOwn
			}), decision: DecisionReplacing, summary: "*",
		},
		"a volume that not readable is no restart": {
			in: restart(own(matrix.Up, 0), func(in *Input) { in.Volume, in.VolumeDetail = VolumeUnreadable, words.New("not mounted") }), decision: DecisionWait,
			summary: "demo-rack4-0 must wait: the volume of demo-rack4-0 cannot be verified: not mounted, and one more reason",
			reasons: []words.Code{words.VolumeUnreadable, words.RowMissing},
		},
		"the whole cluster starts at once, and no row is fresh": {
			in: func(in *Input) {
				in.Member = member(ref("rack4", idOwn), ptr(true))
				in.Volume, in.VolumeHostID, in.Matrix = VolumeUsed, idOwn, nil
			}, decision: DecisionRestart,
			summary: "demo-rack4-0 may start: this is a restart, no node reports now, and its volume contains the host ID " + idOwn + " that its Service records",
		},
		"a member has joined after the report was written": {
			in: func(in *Input) { in.Peers = append(in.Peers, member(ref("rack5", idOwn), ptr(true))) }, decision: DecisionWait,
			summary: "demo-rack4-0 must wait: no status report from demo-rack5-0 (77770000): its Service records that it has joined, but no report lists it",
			reasons: []words.Code{words.RowMissing},
		},
		"peers that have not joined are not waited for, and Self is no peer of its own": {
			in: func(in *Input) {
				in.Peers = append(in.Peers, member(ref("rack5", idOwn), ptr(false)), member(ref("rack6", idOwn), nil), member(in.Member.Ref, ptr(true)))
			}, decision: DecisionAllUp, summary: "demo-rack4-0 may start: all 3 nodes are seen UP by all nodes that report",
		},
		"a second newcomer under way": {
			in: withRows(threeUp(own(matrix.Up, matrix.StateJoining))), decision: DecisionAllUp,
			summary: "demo-rack4-0 may start: all 4 nodes are seen UP by all nodes that report",
			notes:   []string{"host ID " + idOwn + " is JOINING in every status report that lists it"},
		},
		"a second newcomer that has joined since the report was written": {
			in: func(in *Input) {
				in.Matrix = newMatrix(threeUp(own(matrix.Up, matrix.StateJoining)))
				in.Peers = append(in.Peers, member(ref("rack5", idOwn), ptr(true)))
			}, decision: DecisionWait,
			summary: "demo-rack4-0 must wait: no status report from demo-rack5-0 (77770000): its Service records that it has joined, but the report still shows it as joining",
			notes:   []string{"host ID " + idOwn + " is JOINING in every status report that lists it"},
			reasons: []words.Code{words.RowMissing},
		},
		"a node whose replacement is open elsewhere": {
			in: func(in *Input) {
				in.Matrix = newMatrix(threeUp(own(matrix.Down, matrix.StateBeingReplaced)))
				in.Peers = append(in.Peers, member(ref("rack5", ""), nil))
			}, decision: DecisionWait,
			summary: "demo-rack4-0 must wait: host ID " + idOwn + " is seen DOWN by demo-rack1-0, demo-rack2-0, demo-rack3-0, and one more reason",
			notes:   []string{"host ID " + idOwn + " is BEING_REPLACED in every status report that lists it"},
			reasons: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing},
		},
		"the controller is silent, though the report says all UP": {
			in: func(in *Input) {
				in.ControllerSilent = words.New("Lease kubectl-scylla/kubectl-scylla-controller was not renewed")
			}, decision: DecisionWait,
			summary: "demo-rack4-0 must wait: no response from the controller: Lease kubectl-scylla/kubectl-scylla-controller was not renewed",
			reasons: []words.Code{words.ControllerSilent},
		},
		"a datacenter that nobody can ask": {
			in: func(in *Input) { in.NotVerified = []string{"dc2"} }, decision: DecisionWait,
			summary: "demo-rack4-0 must wait: datacenter dc2 is unverified: its nodes are not reachable from here",
			reasons: []words.Code{words.DatacenterNotVerified},
		},
		"two host IDs without a row, with the lenient rule": {
			in: func(in *Input) {
				in.AllowNonReporting = true
				in.Matrix = newMatrix(threeUp(own(matrix.Up, 0), matrix.Observation{HostID: "x", Status: matrix.Up}))
			}, decision: DecisionAllUp, summary: "demo-rack4-0 may start: all 5 nodes are seen UP by all nodes that report",
			notes: []string{"2 host IDs without a status report were accepted because of --single-report-allow-non-reporting-host-ids"},
		},
		"a datacenter that nobody can ask, with the lenient rule": {
			in: func(in *Input) {
				in.NotVerified, in.AllowNonReporting = []string{"dc2"}, true
				in.Matrix = newMatrix(threeUp(own(matrix.Up, 0)))
			}, decision: DecisionAllUp, summary: "demo-rack4-0 may start: all 4 nodes are seen UP by all nodes that report",
			notes: []string{
				"datacenter dc2 is unverified: its nodes are not reachable from here",
				"1 host ID without a status report was accepted because of --single-report-allow-non-reporting-host-ids",
			},
		},

		// Genesis.
		"the first node of all": {
			in: genesis, decision: DecisionGenesis, summary: "demo-rack4-0 may start as the first node: no member of this cluster has ever joined",
		},
		"the first node, its own host ID recorded at a first try": {
			in:       all(genesis, func(in *Input) { in.Member = member(ref("rack4", idOwn), ptr(false)) }),
			decision: DecisionGenesis, summary: "demo-rack4-0 may start as the first node: no member of this cluster has ever joined",
		},
		"of members that have not joined, another is the first node": {
			in: all(genesis, func(in *Input) {
				in.Peers = []*cluster.Member{member(ref("rack1", ""), nil), member(ref("rack2", idB), ptr(false))}
			}),
			decision: DecisionWait, reasons: []words.Code{words.FirstNodePending},
			summary: "demo-rack4-0 must wait: the cluster is new, and its first node has not joined: demo-rack1-0 starts first",
		},
		"the first node beside others that have not joined": {
			in: all(genesis, func(in *Input) {
				aged(in.Member, time.Unix(1, 0))
				in.Peers = []*cluster.Member{aged(member(ref("rack1", ""), nil), time.Unix(2, 0)), aged(member(ref("rack2", idB), ptr(false)), time.Unix(3, 0))}
			}),
			decision: DecisionGenesis, summary: "demo-rack4-0 may start as the first node: no member of this cluster has ever joined",
		},
		"a cluster that was initialised has no genesis, whatever else is lost": {
			in: all(genesis, func(in *Input) { in.Initialized = true }), decision: DecisionWait, reasons: []words.Code{words.ReportMissing},
			summary: "demo-rack4-0 must wait: no status report exists, but the cluster is not new: status.initialized of its report is true",
		},
		"a lost report is no genesis": {
			in: func(in *Input) { in.Matrix, in.Reports = nil, 0 }, decision: DecisionWait, reasons: []words.Code{words.ReportMissing},
			summary: "demo-rack4-0 must wait: no status report exists, but the cluster is not new: demo-rack1-0 has joined, demo-rack2-0 has joined, demo-rack3-0 has joined",
		},
		"a recorded host ID is enough, and a long list is cut": {
			in: all(genesis, func(in *Input) {
				in.Peers = []*cluster.Member{member(ref("rack1", idA), nil), member(ref("rack2", idB), nil), member(ref("rack3", idC), nil), member(ref("rack5", "x"), ptr(true))}
			}), decision: DecisionWait, reasons: []words.Code{words.ReportMissing},
			summary: "demo-rack4-0 must wait: no status report exists, but the cluster is not new: demo-rack1-0 has a host ID, demo-rack2-0 has a host ID, demo-rack3-0 has a host ID, and 1 more",
		},
		"the first node of a second datacenter is no genesis": {
			in: all(genesis, func(in *Input) { in.AllowNonReporting = true }), decision: DecisionWait, reasons: []words.Code{words.DatacenterNotVerified},
			summary: "demo-rack4-0 must wait: another datacenter exists, but its nodes are not reachable from here: another datacenter exists",
		},
		"a silent controller may be why there is no report": {
			in: all(genesis, func(in *Input) { in.ControllerSilent = words.New("Lease x") }), decision: DecisionWait, reasons: []words.Code{words.ControllerSilent},
			summary: "demo-rack4-0 must wait: no response from the controller: Lease x",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			tc.in(&in)
			v := Decide(in)
			if v.Decision != tc.decision {
				t.Errorf("Decision = %s, want %s", v.Decision, tc.decision)
			}
			if want := tc.decision != DecisionWait && tc.decision != DecisionRefuse; v.Satisfied != want {
				t.Errorf("Satisfied = %v, want %v", v.Satisfied, want)
			}
			summary := words.Of(v.Self.Name(), v.Summary)
			if tc.summary != "*" && summary != tc.summary {
				t.Errorf("Summary:\n got %s\nwant %s", summary, tc.summary)
			}
			var reasons []words.Code
			for _, b := range v.Blockers {
				reasons = append(reasons, b.Reason)
			}
			if diff := cmp.Diff(tc.reasons, reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			// The newcomer is the first of its rack in all of these.
			v.Notes = slices.DeleteFunc(v.Notes, func(n words.Message) bool { return n.Code == words.RackIsNew })
			if diff := cmp.Diff(tc.notes, words.Texts(v.Notes), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if strings.ContainsAny(summary, "\n") || !strings.HasPrefix(summary, in.Member.Name()) {
				t.Errorf("Summary is not one sentence about the member: %q", summary)
			}
		})
	}
}

func TestParseQuery(t *testing.T) {
	tests := map[string]struct {
		stdout   string
		exitCode int
		want     Bootstrapped
		detail   string
	}{
		"completed":                              {`[{"bootstrapped":"COMPLETED"}]`, 0, BootstrappedYes, "bootstrapped is COMPLETED in system.local"},
		"decommissioned":                         {`[{"bootstrapped":"DECOMMISSIONED"}]`, 0, BootstrappedDecommissioned, "bootstrapped is DECOMMISSIONED in system.local"},
		"in progress":                            {`[{"bootstrapped":"IN_PROGRESS"}]`, 0, BootstrappedNo, `bootstrapped is "IN_PROGRESS" in system.local`},
		"needs bootstrap":                        {`[{"bootstrapped":"NEEDS_BOOTSTRAP"}]`, 0, BootstrappedNo, `bootstrapped is "NEEDS_BOOTSTRAP" in system.local`},
		"no row":                                 {`[]`, 0, BootstrappedNo, "system.local has no row"},
		"no cell":                                {`[{"bootstrapped":null}]`, 0, BootstrappedNo, "bootstrapped is null in system.local"},
		"several rows, one decommissioned":       {`[{"bootstrapped":"DECOMMISSIONED"},{"bootstrapped":null},{"bootstrapped":"IN_PROGRESS"}]`, 0, BootstrappedDecommissioned, "bootstrapped is DECOMMISSIONED in system.local"},
		"exit code not known":                    {`[{"bootstrapped":"COMPLETED"}]`, -1, BootstrappedYes, "bootstrapped is COMPLETED in system.local"},
		"an output that failed is not trusted":   {`[{"bootstrapped":"COMPLETED"}]`, 139, BootstrappedUnknown, "the query ended with exit code 139"},
		"no SSTable to load":                     {"", 1, BootstrappedUnknown, "the query could not load an SSTable of system.local (exit code 1), as on an empty data directory"},
		"failed while it ran":                    {"", 2, BootstrappedUnknown, "the query failed during execution (exit code 2)"},
		"too old":                                {"", 100, BootstrappedUnknown, "this ScyllaDB has no sstable query: it is older than 2025.2 (exit code 100)"},
		"nothing":                                {" \n", 0, BootstrappedUnknown, "the query printed nothing"},
		"cut short after null, as 2025.2.0 does": {`[{"bootstrapped":null`, 0, BootstrappedUnknown, "unexpected output of the query: unexpected end of JSON input"},
		"garbage after null":                     {"[{\"bootstrapped\":null\"\x00\xff\"}]", 0, BootstrappedUnknown, "unexpected output of the query: invalid character '\"' after object key:value pair"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, detail := ParseQuery([]byte(tc.stdout), tc.exitCode)
			if got != tc.want || words.Text(detail) != tc.detail {
				t.Errorf("ParseQuery = %v %q, want %v %q", got, words.Text(detail), tc.want, tc.detail)
			}
		})
	}
}
