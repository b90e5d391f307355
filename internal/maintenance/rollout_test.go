// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// waiting makes a member a new node whose Pod waits in its barrier.
func waiting(st *stage.Stage, members ...string) {
	for _, name := range members {
		st.Services[name].Annotations = nil
		p := st.Pods[name]
		p.Annotations = nil
		p.Status.Conditions, p.Status.ContainerStatuses = nil, nil
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	}
}

// installed is two racks of three Pods each, of which no node has started.
func installed() *stage.Stage {
	st := stage.New(2, 3)
	for name := range st.Services {
		waiting(st, name)
	}
	return st
}

// rolls is a StatefulSet of which so many Pods have the newest revision.
func rolls(st *stage.Stage, name string, updated int32) *appsv1.StatefulSet {
	set := st.Sets[name]
	set.Status.CurrentRevision, set.Status.UpdateRevision = "old", "new"
	set.Status.Replicas, set.Status.UpdatedReplicas, set.Status.ReadyReplicas = *set.Spec.Replicas, updated, *set.Spec.Replicas
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	return set
}

func holdUp(t *testing.T, st *stage.Stage, member string, want ...string) {
	t.Helper()
	c := read(st)
	var got []string
	for _, r := range maintenance.Rollouts(c, c.Member(member)) {
		got = append(got, r.StatefulSet+" "+string(r.Cause.Code))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rollouts that hold up %s (-want +got):\n%s", member, diff)
	}
}

// A rollout stops at a Pod that is not Ready, and none of a new cluster is before its first node has joined: the two waited for each other.
func TestTheFirstNodeWaitsForNoRolloutThatWaitsForIt(t *testing.T) {
	t.Parallel()
	const first, other, own = "demo-rack1-0", "demo-rack2", "demo-rack1"
	for name, tc := range map[string]struct {
		change func(*stage.Stage)
		want   []string
	}{
		"another rack's stops at its second Pod": {change: func(st *stage.Stage) { rolls(st, other, 2) }},
		"another rack's, of one Pod, in order": {change: func(st *stage.Stage) {
			set := rolls(st, other, 0)
			set.Spec.PodManagementPolicy, set.Spec.Replicas, set.Status.Replicas = appsv1.OrderedReadyPodManagement, new(int32(1)), 1
		}},
		"another rack's is not observed yet": {change: func(st *stage.Stage) {
			set := rolls(st, other, 0)
			set.Generation, set.Status.ObservedGeneration = 2, 1
		}},
		"another rack's, done by inject":     {change: func(st *stage.Stage) { byInject(rolls(st, other, 1)) }},
		"its own stops at the Pods above it": {change: func(st *stage.Stage) { rolls(st, own, 1) }},
		"each rack's":                        {change: func(st *stage.Stage) { rolls(st, own, 1); rolls(st, other, 1) }},
		"how far its own is cannot be told":  {want: []string{own + " PodsOfOldRevision"}, change: func(st *stage.Stage) { set := rolls(st, own, 1); set.Generation, set.Status.ObservedGeneration = 2, 1 }},
		"another rack's has a node that joins": {want: []string{other + " PodsOfOldRevision"}, change: func(st *stage.Stage) {
			rolls(st, other, 1)
			st.Pods[other+"-1"].Status = stage.New(2, 3).Pods[other+"-1"].Status
		}},
		"its own has a node that joins, which the rollout has replaced": {want: []string{own + " PodsOfOldRevision"}, change: func(st *stage.Stage) {
			rolls(st, own, 1)
			st.Pods[own+"-2"].Status = stage.New(2, 3).Pods[own+"-2"].Status
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := installed()
			for _, set := range st.Sets {
				set.Status.ReadyReplicas = 0
			}
			tc.change(st)
			holdUp(t, st, first, tc.want...)
		})
	}
}

// A rollout stops at a new node, which waits for the dead node that a Pod of the same StatefulSet replaces: the two waited for each other.
func TestAReplacementDoesNotWaitForItsRolloutThatWaitsForIt(t *testing.T) {
	t.Parallel()
	const replacement, set = "demo-rack1-0", "demo-rack1"
	st := stage.New(2, 3)
	waiting(st, replacement, set+"-2")
	rolls(st, set, 1)
	st.Services[replacement].Labels[api.LabelReplacingNodeHostID] = stage.HostID(1, 0)
	holdUp(t, st, replacement)
	holdUp(t, st, set+"-2") // it has the newest revision
	st.Pods[set+"-2"], st.Services[set+"-2"] = stage.New(2, 3).Pods[set+"-2"], stage.New(2, 3).Services[set+"-2"]
	holdUp(t, st, replacement, set+" PodsOfOldRevision") // it runs: Kubernetes goes on to the Pods below
}

// A rollout of a rack in which no node runs or starts restarts none.
func TestARolloutThatRestartsNoNodeHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	st := stage.New(3, 2)
	waiting(st, "demo-rack1-1", "demo-rack3-0", "demo-rack3-1")
	rolls(st, "demo-rack3", 1)
	holdUp(t, st, "demo-rack1-1")
	st.Services["demo-rack3-1"].Annotations = map[string]string{api.AnnotationHostID: stage.HostID(3, 1)}
	holdUp(t, st, "demo-rack1-1", "demo-rack3 PodsOfOldRevision")
}

func byInject(set *appsv1.StatefulSet) {
	onDelete(set)
	set.Annotations = map[string]string{api.AnnotationRolling: "{}"}
}

func onDelete(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
}

func partition(at int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &at}
	}
}

// The strategy decides whether old Pods are a rollout, in every place by one rule: nobody replaces those that a user's OnDelete or partition keeps, and
// `rollout status` shows none of inject's.
func TestOldPodsThatNobodyReplacesAreNoRollout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		strategy func(*appsv1.StatefulSet)
		updated  int32
		cause    string // empty: it is at rest
		observed bool   // false: a change has not been observed yet
		replaces bool   // Kubernetes replaces Pods
	}{
		"rolling update":                            {strategy: func(*appsv1.StatefulSet) {}, updated: 1, cause: "PodsOfOldRevision", observed: true, replaces: true},
		"a user's OnDelete":                         {strategy: onDelete, updated: 1, observed: true},
		"a user's OnDelete, changed":                {strategy: onDelete, updated: 1},
		"inject's OnDelete":                         {strategy: byInject, updated: 1, cause: "PodsOfOldTemplate", observed: true},
		"inject's OnDelete, changed":                {strategy: byInject, updated: 3, cause: "PodsOfOldTemplate"},
		"inject's OnDelete, all done":               {strategy: byInject, updated: 3, observed: true},
		"a partition of which one Pod is left":      {strategy: partition(1), updated: 1, cause: "PodsOfOldRevision", observed: true, replaces: true},
		"a partition that is done":                  {strategy: partition(1), updated: 2, observed: true},
		"a partition above every Pod":               {strategy: partition(3), updated: 0, observed: true},
		"a partition above every Pod, with a few":   {strategy: partition(9), updated: 0, observed: true},
		"a partition that was changed":              {strategy: partition(1), updated: 2, cause: "PodsOfOldRevision"},
		"a partition of nothing, as rolling update": {strategy: partition(0), updated: 2, cause: "PodsOfOldRevision", observed: true, replaces: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := stage.New(2, 3)
			set := rolls(st, "demo-rack2", tc.updated)
			if tc.strategy(set); !tc.observed {
				set.Generation, set.Status.ObservedGeneration = 2, 1
			}
			waiting(st, "demo-rack1-2")
			st.Sets["demo-rack1"].Status.ReadyReplicas = 3
			var want []string
			if tc.cause != "" {
				want = []string{"demo-rack2 " + tc.cause}
			}
			holdUp(t, st, "demo-rack1-2", want...)
			if got := cluster.Rolling(set); got != tc.replaces {
				t.Errorf("Kubernetes replaces Pods: %t, want %t", got, tc.replaces)
			}
			if got := len(maintenance.UnderWay(read(st)).Rolling) > 0; got != (tc.cause != "") {
				t.Errorf("in progress for the commands: %t, want %t", got, tc.cause != "")
			}
			// inject leaves out its own roll in this way
			set.Status.UpdateRevision = ""
			if rolls := maintenance.UnderWay(read(st)).Rolling; len(rolls) > 0 {
				t.Errorf("in progress without a revision: %d", len(rolls))
			}
		})
	}
}
