// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// read is the cluster of a stage whose nodes have answered.
func read(st *stage.Stage, operations ...api.NodeOperation) *cluster.Cluster {
	o := objects(st)
	for i := range o.Pods {
		said, err := api.DecodeNodeStatusReport(o.Pods[i].Annotations[api.AnnotationNodeStatusReport])
		if err == nil {
			said.Operations = operations
			o.Live[o.Pods[i].Name] = said
		}
	}
	return cluster.New(o, cluster.SourceLive, stage.Start.Add(time.Hour))
}

func objects(st *stage.Stage) cluster.Objects {
	o := cluster.Objects{
		Key:  cluster.Key{Namespace: stage.Namespace, Name: stage.Name},
		Read: cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets | cluster.KindReports,
		Live: map[string]*api.NodeStatusReport{},
	}
	for _, name := range slices.Sorted(maps.Keys(st.Services)) {
		o.Services = append(o.Services, *st.Services[name])
	}
	for _, name := range slices.Sorted(maps.Keys(st.Pods)) {
		o.Pods = append(o.Pods, *st.Pods[name])
	}
	for _, name := range slices.Sorted(maps.Keys(st.Sets)) {
		o.StatefulSets = append(o.StatefulSets, *st.Sets[name])
	}
	return o
}

// TestUnderWay also plants what is over, and what need not end: neither counts.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	st := stage.New(3, 1)
	st.Services["demo-rack2-0"].Labels[api.LabelReplace] = ""
	st.Services["demo-rack3-0"].Labels[api.LabelReplacingNodeHostID] = stage.HostID(3, 0)
	for name, current := range map[string]string{"demo-rack1": "old", "demo-rack2": "new"} {
		st.Sets[name].Status.CurrentRevision, st.Sets[name].Status.UpdateRevision = current, "new"
	}
	w := maintenance.UnderWay(read(st,
		api.NodeOperation{Type: "bootstrap", State: "running"}, api.NodeOperation{Type: "rebuild", State: "created"}, api.NodeOperation{Type: "decommission", State: "failed"}))
	var got []string
	for _, op := range w.Operations {
		got = append(got, op.Type)
	}
	for _, m := range w.Replaced {
		got = append(got, m.Member)
	}
	for _, set := range w.Rolling {
		got = append(got, set.Name)
	}
	if diff := cmp.Diff([]string{"bootstrap", "rebuild", "demo-rack2-0", "demo-rack3-0", "demo-rack1"}, got); diff != "" || !w.Known {
		t.Errorf("under way (-want +got), known %t:\n%s", w.Known, diff)
	}
}

func TestNothingIsKnownOfOperationsWhereNobodyWasAsked(t *testing.T) {
	t.Parallel()
	st := stage.New(1, 2)
	for _, p := range st.Pods {
		p.Annotations = nil
	}
	if w := maintenance.UnderWay(read(st)); w.Known || len(w.Operations)+len(w.Replaced)+len(w.Rolling) > 0 {
		t.Errorf("under way: %+v", w)
	}
}

func TestRemovable(t *testing.T) {
	t.Parallel()
	c := read(stage.New(3, 1))
	for name, tc := range map[string]struct {
		id   string
		want words.Code
	}{
		"a member's": {stage.HostID(2, 0), words.HostIDOfMember},
		"nobody has it, and it is not listed as DOWN": {"00000000-0000-4000-8000-00000000000f", words.StrangerNotDown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why := maintenance.Removable(c, hostid.Known(tc.id)); why.Code != tc.want {
				t.Errorf("%s: %v", tc.id, why)
			}
		})
	}
}

// A StatefulSet whose newest spec its controller has not read yet is about to change its Pods: it is not at rest, and no new node goes before its rollout.
func TestASpecThatWasNotReadIsARollout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		generation, observed int64
		want                 int
	}{
		"it was read":                  {2, 2, 0},
		"it was not read":              {3, 2, 1},
		"its status was never written": {1, 0, 0},
	} {
		st := stage.New(2, 1)
		set := st.Sets["demo-rack1"]
		set.Generation, set.Status.ObservedGeneration = tc.generation, tc.observed
		set.Status.CurrentRevision, set.Status.UpdateRevision = "same", "same"
		set.Status.Replicas, set.Status.UpdatedReplicas, set.Status.ReadyReplicas = 1, 1, 1
		got := maintenance.Rollouts(read(st), nil)
		if n := slices.IndexFunc(got, func(r maintenance.Rollout) bool { return r.StatefulSet == "demo-rack1" }) + 1; min(n, 1) != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A decommission leaves the nodes that have joined: not those that wait, leave, or were removed.
func TestLeaveOf(t *testing.T) {
	t.Parallel()
	const leaves, other = "demo-rack1-1", "demo-rack2-1"
	id := hostid.Known(stage.HostID(2, 1))
	for name, tc := range map[string]struct {
		change func(*stage.Stage)
		want   []string
	}{
		"all have joined":                      {func(*stage.Stage) {}, []string{"demo-rack1-0", "demo-rack2-0", other}},
		"one leaves":                           {func(st *stage.Stage) { cells(t, st, id, api.NodeStateLeaving) }, []string{"demo-rack1-0", "demo-rack2-0"}},
		"one joins":                            {func(st *stage.Stage) { waiting(st, other); cells(t, st, id, api.NodeStateJoining) }, []string{"demo-rack1-0", "demo-rack2-0"}},
		"one is new":                           {func(st *stage.Stage) { st.Newcomer(2, 2) }, []string{"demo-rack1-0", "demo-rack2-0", other}},
		"one was removed":                      {func(st *stage.Stage) { waiting(st, other); cells(t, st, id, "") }, []string{"demo-rack1-0", "demo-rack2-0"}},
		"one is recorded, and no row lists it": {func(st *stage.Stage) { st.Pods[other].Annotations = nil; cells(t, st, id, "") }, []string{"demo-rack1-0", "demo-rack2-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := stage.New(2, 2)
			tc.change(st)
			c := read(st)
			l := maintenance.LeaveOf(c, []cluster.Member{*c.Member(leaves)})
			var got []string
			for _, n := range l.Left {
				got = append(got, n.Member)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("remain (-want +got):\n%s", diff)
			}
			if !l.Leaves(hostid.Known(stage.HostID(1, 1))) || l.Leaves(hostid.Known(stage.HostID(1, 0))) {
				t.Error("another node leaves")
			}
			if n := l.Replicas(&maintenance.Keyspace{Replicas: [][]hostid.ID{{hostid.Known(stage.HostID(1, 1)), hostid.Known(stage.HostID(1, 0))}}}, "dc1"); n != 2 {
				t.Errorf("%d replicas in dc1: those of the node that leaves count", n)
			}
		})
	}
}

// cells gives a node this state in every row; no row lists it with an empty one.
func cells(t *testing.T, st *stage.Stage, id hostid.ID, state api.NodeState) {
	t.Helper()
	for _, p := range st.Pods {
		row, err := api.DecodeNodeStatusReport(p.Annotations[api.AnnotationNodeStatusReport])
		if err != nil {
			continue
		}
		at := slices.IndexFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.HostID == id })
		if row.ObservedNodes[at].State = state; state == "" {
			row.ObservedNodes = slices.Delete(row.ObservedNodes, at, at+1)
		}
		p.Annotations[api.AnnotationNodeStatusReport] = *stage.RowText(t, *row)
	}
}
