// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// A StatefulSet with fewer ready Pods than members holds up a newcomer; a replacement is not held up by the dead nodes that it is to ignore, or two
// dead nodes could never be replaced.
func TestRollouts(t *testing.T) {
	const self, dead = "demo-rack3-0", "demo-rack2-0"
	tests := map[string]struct {
		change func(*stage.Stage)
		member string
		want   []string
	}{
		"all ready":                {member: self},
		"without a status":         {member: self, change: func(st *stage.Stage) { st.Sets["demo-rack2"].Status.UpdateRevision = "" }},
		"a member is not ready":    {member: self, change: func(st *stage.Stage) { st.Sets["demo-rack2"].Status.ReadyReplicas = 1 }, want: []string{"demo-rack2"}},
		"the member itself is not": {member: dead, change: func(st *stage.Stage) { st.Sets["demo-rack2"].Status.ReadyReplicas = 1 }},
		"of the replacement ignored": {member: self, change: func(st *stage.Stage) {
			st.Sets["demo-rack2"].Status.ReadyReplicas = 1
			ignore(st, self, stage.HostID(2, 0))
		}},
		"two not ready, one ignored": {
			member: self, want: []string{"demo-rack2"},
			change: func(st *stage.Stage) {
				st.Sets["demo-rack2"].Status.ReadyReplicas = 0
				ignore(st, self, stage.HostID(2, 0))
			},
		},
		"another member's replacement ignores it": {
			member: "demo-rack1-0", want: []string{"demo-rack2"},
			change: func(st *stage.Stage) {
				st.Sets["demo-rack2"].Status.ReadyReplicas = 1
				ignore(st, self, stage.HostID(2, 0))
			},
		},
		"it is replaced itself": {member: self, change: func(st *stage.Stage) {
			st.Sets["demo-rack2"].Status.ReadyReplicas = 1
			st.Services[dead].Labels[api.LabelReplacingNodeHostID] = stage.HostID(2, 0)
		}},
		"its rollout waits for the ignored": {member: self, change: func(st *stage.Stage) {
			roll(st, "demo-rack2", 1)
			ignore(st, self, stage.HostID(2, 0))
		}},
		"its rollout restarts a node before the ignored": {member: self, change: func(st *stage.Stage) {
			roll(st, "demo-rack2", 0)
			ignore(st, self, stage.HostID(2, 0))
		}, want: []string{"demo-rack2"}},
		"its rollout waits for a dead node that is not ignored": {member: self, change: func(st *stage.Stage) {
			roll(st, "demo-rack2", 1)
			ignore(st, self, stage.HostID(1, 0))
		}, want: []string{"demo-rack2"}},
		"of another revision": {member: self, change: func(st *stage.Stage) {
			status := &st.Sets["demo-rack1"].Status
			status.CurrentRevision, status.UpdatedReplicas, status.Replicas = "old", 1, 2
		}, want: []string{"demo-rack1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := settled()
			if tc.change != nil {
				tc.change(st)
			}
			c := reported(st)
			if diff := cmp.Diff(tc.want, holders(c, tc.member)); diff != "" {
				t.Errorf("rollouts that hold up %s (-want +got):\n%s", tc.member, diff)
			}
		})
	}
}

func roll(st *stage.Stage, set string, updated int32) {
	status := &st.Sets[set].Status
	status.CurrentRevision, status.UpdatedReplicas, status.Replicas, status.ReadyReplicas = "old", updated, 2, 1
}

func ignore(st *stage.Stage, member, id string) {
	st.Services[member].Labels[api.LabelReplacingNodeHostID] = stage.HostID(3, 0)
	st.Services[member].Annotations[api.AnnotationReplaceIgnoreDead] = id
}

// A newcomer and the rollout of its own StatefulSet would wait for each other, and so would two newcomers for each other's.
func TestANewcomerAndARollout(t *testing.T) {
	const self, other = "demo-rack3-1", "demo-rack2-1"
	newcomer := func(st *stage.Stage, member string) {
		delete(st.Services[member].Annotations, api.AnnotationNodeJoined)
		delete(st.Services[member].Annotations, api.AnnotationHostID)
	}
	roll := func(st *stage.Stage, rack string, updated int32) {
		status := &st.Sets["demo-"+rack].Status
		status.CurrentRevision, status.UpdatedReplicas, status.ReadyReplicas = "old", updated, 1
	}
	removed := func(st *stage.Stage, id string) {
		for _, p := range st.Pods {
			delete(p.Annotations, api.AnnotationNodeStatusReport) // the report alone speaks
		}
		for _, rack := range st.Reports["dc1"].Racks {
			for i := range rack.Nodes {
				n := &rack.Nodes[i]
				n.ObservedNodes = slices.DeleteFunc(n.ObservedNodes, func(o api.ObservedNode) bool { return o.HostID == id })
				if n.HostID != nil && *n.HostID == id {
					n.ObservedNodes = nil
				}
			}
		}
	}
	both := func(st *stage.Stage) {
		newcomer(st, self)
		newcomer(st, other)
		roll(st, "rack3", 1)
		roll(st, "rack2", 1)
	}
	tests := map[string]struct {
		change func(*stage.Stage)
		member string
		want   []string
	}{
		"its own waits for it": {member: self, change: func(st *stage.Stage) { newcomer(st, self); roll(st, "rack3", 1) }},
		"its own, whose Pods above it are not made yet": {member: self, change: func(st *stage.Stage) {
			newcomer(st, self)
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas = new(int32(4))
		}},
		"its own, and Pods above it are of the old revision": {member: self, want: []string{"demo-rack3"}, change: func(st *stage.Stage) {
			newcomer(st, self)
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas, st.Sets["demo-rack3"].Status.Replicas = new(int32(4)), 4
		}},
		"a replacement goes before a rollout that waits for a dead member that is to be replaced": {member: self, change: func(st *stage.Stage) {
			ignore(st, self, "")
			roll(st, "rack2", 0)
			st.Services[other].Labels[api.LabelReplace] = ""
			st.Services[other].Annotations[api.AnnotationHostID] = stage.HostID(2, 1)
		}},
		"its own, which has not updated it": {member: self, change: func(st *stage.Stage) { newcomer(st, self); roll(st, "rack3", 0) }},
		"another's waits for that newcomer": {member: self, change: func(st *stage.Stage) { newcomer(st, self); newcomer(st, other); roll(st, "rack2", 1) }, want: []string{"demo-rack2"}},
		"its own, which makes the Pod above the members only when it is ready": {member: "demo-rack3-0", change: func(st *stage.Stage) {
			newcomer(st, "demo-rack3-0")
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas = new(int32(3))
		}},
		"its own, and another one is not ready either": {member: "demo-rack3-0", want: []string{"demo-rack3"}, change: func(st *stage.Stage) {
			newcomer(st, "demo-rack3-0")
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas, st.Sets["demo-rack3"].Status.ReadyReplicas = new(int32(3)), 0
		}},
		"its own, which has renewed the Pod above it and has one to make": {member: "demo-rack3-0", change: func(st *stage.Stage) {
			newcomer(st, "demo-rack3-0")
			roll(st, "rack3", 1)
			st.Sets["demo-rack3"].Spec.Replicas, st.Sets["demo-rack3"].Status.ReadyReplicas = new(int32(3)), 0
		}},
		"its own, which makes all Pods at once and has not made one": {member: "demo-rack3-0", want: []string{"demo-rack3"}, change: func(st *stage.Stage) {
			newcomer(st, "demo-rack3-0")
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas = new(int32(3))
			st.Sets["demo-rack3"].Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}},
		"two: each waits for a Pod below one that is not made, the first by name does not": {member: "demo-rack2-0", change: func(st *stage.Stage) {
			for _, rack := range []string{"rack2", "rack3"} {
				newcomer(st, "demo-"+rack+"-0")
				roll(st, rack, 0)
				st.Sets["demo-"+rack].Spec.Replicas = new(int32(3))
			}
		}},
		"two: the second by name waits":                {member: self, change: both, want: []string{"demo-rack2"}},
		"two: the first by name does not":              {member: other, change: both},
		"two: a replacement goes first":                {member: self, change: func(st *stage.Stage) { both(st); ignore(st, self, "") }},
		"two: and the other waits for it":              {member: other, change: func(st *stage.Stage) { both(st); ignore(st, self, "") }, want: []string{"demo-rack3"}},
		"a replacement goes before another's newcomer": {member: self, change: func(st *stage.Stage) { ignore(st, self, ""); newcomer(st, other); roll(st, "rack2", 1) }},
		"a third waits for both":                       {member: "demo-rack1-1", change: func(st *stage.Stage) { both(st); newcomer(st, "demo-rack1-1") }, want: []string{"demo-rack2", "demo-rack3"}},
		"a member above it is about to go":             {member: "demo-rack3-0", change: func(st *stage.Stage) { newcomer(st, "demo-rack3-0"); roll(st, "rack3", 0) }, want: []string{"demo-rack3"}},
		"the member above it has been rolled":          {member: "demo-rack3-0", change: func(st *stage.Stage) { newcomer(st, "demo-rack3-0"); roll(st, "rack3", 1) }},
		"two, the first is on its way in already": {member: self, want: []string{"demo-rack2"}, change: func(st *stage.Stage) {
			both(st)
			ignore(st, self, "")
			st.Services[other].Annotations[api.AnnotationHostID] = stage.HostID(2, 1)
		}},
		"a replacement goes before a member that was removed, and joins anew": {member: self, change: func(st *stage.Stage) {
			ignore(st, self, "")
			roll(st, "rack2", 1)
			removed(st, stage.HostID(2, 1))
		}},
		"two: of the other the node was removed, which its Service still records": {member: other, change: func(st *stage.Stage) {
			newcomer(st, other)
			roll(st, "rack2", 1)
			roll(st, "rack3", 1)
			st.Sets["demo-rack3"].Spec.Replicas, st.Sets["demo-rack3"].Status.Replicas = new(int32(3)), 3
			removed := st.Services[self].DeepCopy()
			removed.Name, removed.UID, removed.Labels[api.LabelRackOrdinal] = "demo-rack3-2", "uid-removed", "2"
			removed.Annotations[api.AnnotationHostID] = "99999999-0000-4000-8000-000000000099"
			st.Services[removed.Name] = removed
			for _, report := range st.Reports {
				for i := range report.Racks {
					if rack := &report.Racks[i]; rack.Name == "rack3" {
						rack.Nodes = append(rack.Nodes, api.NodeReport{Ordinal: 2, HostID: new("99999999-0000-4000-8000-000000000099")})
					}
				}
			}
		}},
		"another's waits for a newcomer, and its own is at rest": {member: other, want: []string{"demo-rack3"}, change: func(st *stage.Stage) {
			newcomer(st, self)
			newcomer(st, other)
			roll(st, "rack3", 1)
			st.Sets["demo-rack2"].Status.UpdatedReplicas = 2
		}},
		"how far its own is cannot be told": {member: self, want: []string{"demo-rack3"}, change: func(st *stage.Stage) {
			newcomer(st, self)
			roll(st, "rack3", 1)
			st.Sets["demo-rack3"].Generation, st.Sets["demo-rack3"].Status.ObservedGeneration = 2, 1
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := settled()
			tc.change(st)
			c := reported(st)
			if diff := cmp.Diff(tc.want, holders(c, tc.member)); diff != "" {
				t.Errorf("rollouts that hold up %s (-want +got):\n%s", tc.member, diff)
			}
		})
	}
}

// settled is three StatefulSets of two Pods each that have rolled out everything.
func settled() *stage.Stage {
	st := stage.New(3, 2)
	for _, set := range st.Sets {
		set.Status.UpdateRevision, set.Status.CurrentRevision, set.Status.ReadyReplicas, set.Status.Replicas = "new", "new", 2, 2
	}
	return st
}

// reported is the cluster of a stage by its reports.
func reported(st *stage.Stage) *cluster.Cluster {
	o := objects(st)
	for _, name := range slices.Sorted(maps.Keys(st.Reports)) {
		o.Reports = append(o.Reports, *st.Reports[name])
	}
	return cluster.New(o, cluster.SourceReport, stage.Start.Add(time.Hour))
}

// holders are the StatefulSets whose rollouts hold up the member.
func holders(c *cluster.Cluster, member string) (names []string) {
	for _, r := range maintenance.Rollouts(c, c.Member(member)) {
		names = append(names, r.StatefulSet)
	}
	return names
}

// A StatefulSet with fewer ready Pods than joined members names them, and what keeps the first from being Ready.
func TestPodsThatAreNotReady(t *testing.T) {
	t.Parallel()
	const set, one, two = "demo-rack2", "demo-rack2-0", "demo-rack2-1"
	type said struct {
		Rolling       bool
		Ready, Joined any
		Pods, Gate    any
	}
	notReady := func(st *stage.Stage, names ...string) {
		for _, name := range names {
			st.Sets[set].Status.ReadyReplicas--
			st.Pods[name].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		}
	}
	revision := func(st *stage.Stage, name, hash string) {
		st.Pods[name].Labels[appsv1.ControllerRevisionHashLabelKey] = hash
	}
	// rolled is a rollout that has replaced every Pod it counts, and whose last Pods are not Ready.
	rolled := func(st *stage.Stage, first, second string) {
		st.Sets[set].Status.CurrentRevision, st.Sets[set].Status.UpdatedReplicas = "old", 2
		revision(st, one, first)
		revision(st, two, second)
		notReady(st, two)
	}
	for name, tc := range map[string]struct {
		change func(*stage.Stage)
		want   []said
	}{
		"one":            {func(st *stage.Stage) { notReady(st, two) }, []said{{false, int32(1), 2, []string{two}, ""}}},
		"both":           {func(st *stage.Stage) { notReady(st, one, two) }, []said{{false, int32(0), 2, []string{one, two}, ""}}},
		"one has no Pod": {func(st *stage.Stage) { notReady(st, two); delete(st.Pods, two) }, []said{{false, int32(1), 2, []string(nil), ""}}},
		"by a gate": {func(st *stage.Stage) {
			notReady(st, two)
			st.Pods[two].Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.test/a"}}
			st.Pods[two].Status.Conditions = append(st.Pods[two].Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
		}, []said{{false, int32(1), 2, []string{two}, "example.test/a"}}},
		"it is new":                            {func(st *stage.Stage) { notReady(st, two); waiting(st, two) }, nil},
		"it is to be replaced":                 {func(st *stage.Stage) { notReady(st, two); st.Services[two].Labels[api.LabelReplace] = "" }, nil},
		"a rollout has replaced both":          {func(st *stage.Stage) { rolled(st, "new", "new") }, []said{{false, int32(1), 2, []string{two}, ""}}},
		"a rollout has not replaced the first": {func(st *stage.Stage) { rolled(st, "old", "new") }, []said{{true, int32(1), 2, []string{two}, ""}}},
		"a rollout, and no Pod exists": {func(st *stage.Stage) {
			rolled(st, "new", "new")
			delete(st.Pods, one)
			delete(st.Pods, two)
		}, []said{{true, int32(1), 2, []string(nil), ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := settled()
			tc.change(st)
			var got []said
			for _, r := range maintenance.Rollouts(reported(st), nil) {
				p := r.Cause.Params
				got = append(got, said{r.Rolling, p["ready"], p["joined"], p["pods"], p["gate"]})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Only a rollout that restarts a node that runs or may start holds up a new node.
func TestARolloutHoldsUpWhereANodeMayStart(t *testing.T) {
	t.Parallel()
	const self, set, pod = "demo-rack1-1", "demo-rack3", "demo-rack3-1"
	for name, tc := range map[string]struct {
		change func(*stage.Stage)
		want   []string
	}{
		"none has started":       {func(*stage.Stage) {}, nil},
		"its barrier has opened": {func(st *stage.Stage) { st.Pods[pod].Status = stage.New(3, 2).Pods[pod].Status }, []string{set}},
		"its Service has a host ID": {func(st *stage.Stage) {
			st.Services[pod].Annotations = map[string]string{api.AnnotationHostID: stage.HostID(3, 1)}
		}, []string{set}},
		"it is the new node itself": {func(st *stage.Stage) {
			st.Services[self].Annotations = map[string]string{api.AnnotationHostID: stage.HostID(1, 1)}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := stage.New(3, 2)
			waiting(st, self, "demo-rack3-0", pod)
			rolls(st, set, 1)
			tc.change(st)
			if diff := cmp.Diff(tc.want, holders(read(st), self)); diff != "" {
				t.Errorf("rollouts that hold up %s (-want +got):\n%s", self, diff)
			}
		})
	}
}

// A rollout that waits for a new node holds up another one as soon as that node may be joining: the end of its join lets the rollout go on.
func TestARolloutThatWaitsForANodeThatJoins(t *testing.T) {
	t.Parallel()
	const self, other = "demo-rack2-1", "demo-rack3-1"
	const id = "99999999-0000-4000-8000-000000000099"
	for name, tc := range map[string]struct {
		operation api.NodeOperation
		want      []string
	}{
		"nothing is under way":  {api.NodeOperation{}, nil},
		"it joins":              {api.NodeOperation{Type: "bootstrap", State: "running", HostID: id}, []string{"demo-rack3"}},
		"it may be the one":     {api.NodeOperation{Type: "bootstrap", State: "running"}, []string{"demo-rack3"}},
		"another node joins":    {api.NodeOperation{Type: "bootstrap", State: "running", HostID: hostid.Known(stage.HostID(1, 0))}, nil},
		"its operation is over": {api.NodeOperation{Type: "bootstrap", State: "done", HostID: id}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := settled()
			waiting(st, self, other)
			cells(t, st, hostid.Known(stage.HostID(3, 1)), "")
			for _, set := range []string{"demo-rack2", "demo-rack3"} {
				rolls(st, set, 1).Status.ReadyReplicas = 1
			}
			st.Services[other].Annotations = map[string]string{api.AnnotationHostID: id, api.AnnotationNodeJoined: "false"}
			var open []api.NodeOperation
			if tc.operation.State != "" {
				open = []api.NodeOperation{tc.operation}
			}
			if diff := cmp.Diff(tc.want, holders(read(st, open...), self)); diff != "" {
				t.Errorf("rollouts that hold up %s (-want +got):\n%s", self, diff)
			}
		})
	}
}
