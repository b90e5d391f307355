// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A StatefulSet with fewer ready Pods than members holds up a newcomer; a replacement is not held up by the dead nodes that it is to ignore, or two
// dead nodes could never be replaced.
func TestRollouts(t *testing.T) {
	const self, dead = "demo-rack3-0", "demo-rack2-0"
	tests := map[string]struct {
		change func(*scene)
		member string
		want   []string
	}{
		"all ready":                  {member: self},
		"without a status":           {member: self, change: func(st *scene) { st.Sets["demo-rack2"].Status.UpdateRevision = "" }},
		"a member is not ready":      {member: self, change: func(st *scene) { st.Sets["demo-rack2"].Status.ReadyReplicas = 1 }, want: []string{"demo-rack2"}},
		"the member itself is not":   {member: dead, change: func(st *scene) { st.Sets["demo-rack2"].Status.ReadyReplicas = 1 }},
		"of the replacement ignored": {member: self, change: func(st *scene) { st.Sets["demo-rack2"].Status.ReadyReplicas = 1; ignore(st, self, hostID(2, 0)) }},
		"two not ready, one ignored": {
			member: self, want: []string{"demo-rack2"},
			change: func(st *scene) { st.Sets["demo-rack2"].Status.ReadyReplicas = 0; ignore(st, self, hostID(2, 0)) },
		},
		"another member's replacement ignores it": {
			member: "demo-rack1-0", want: []string{"demo-rack2"},
			change: func(st *scene) { st.Sets["demo-rack2"].Status.ReadyReplicas = 1; ignore(st, self, hostID(2, 0)) },
		},
		"it is replaced itself": {member: self, change: func(st *scene) {
			st.Sets["demo-rack2"].Status.ReadyReplicas = 1
			st.Services[dead].Labels[api.LabelReplacingNodeHostID] = hostID(2, 0)
		}},
		"of another revision": {member: self, change: func(st *scene) {
			status := &st.Sets["demo-rack1"].Status
			status.CurrentRevision, status.UpdatedReplicas, status.Replicas = "old", 1, 2
		}, want: []string{"demo-rack1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := settled(t)
			if tc.change != nil {
				tc.change(st)
			}
			c := st.cluster(SourceReport)
			holdUp(t, c, tc.member, tc.want)
			v, err := bootstrap.VerdictOf(c, tc.member)
			if err != nil {
				t.Fatal(err)
			}
			blocked := slices.ContainsFunc(v.Blockers, func(b matrix.Blocker) bool {
				return b.Reason == words.RolloutInProgress || b.Reason == words.PodsNotReady
			})
			if v.Decision == bootstrap.DecisionWait && blocked != (len(tc.want) > 0) {
				t.Errorf("verdict %s blocked by a rollout: %v, want %v", v.Decision, blocked, len(tc.want) > 0)
			}
		})
	}
}

// TestNoHarm32APodThatIsNotReadyIsNoRollout: it was called one, with `rollout status` as the step, which never ends.
func TestNoHarm32APodThatIsNotReadyIsNoRollout(t *testing.T) {
	const pod, gate = "demo-rack2-1", "example.test/attached"
	st := settled(t)
	st.Sets["demo-rack2"].Status.ReadyReplicas = 1
	p := st.Pods[pod]
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: gate, Status: corev1.ConditionFalse},
	}
	blockers := func() (found []string) {
		for _, b := range bootstrap.HealthOf(st.cluster(SourceReport)).Blockers {
			if b.Reason == words.RolloutInProgress || b.Reason == words.PodsNotReady {
				found = append(found, string(b.Reason)+": "+words.Text(b.Message()))
			}
		}
		return found
	}
	found := blockers()
	want := []string{"PodsNotReady: not all joined members are Ready: StatefulSet demo-rack2 has 1 Ready Pods for 2 joined members; not Ready: " + pod +
		"; readiness gate " + gate + " is not True"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The status has the old revision until the last Pod is ready: the Pods' own revisions tell.
	set := st.Sets["demo-rack2"]
	set.Status.CurrentRevision, set.Status.UpdateRevision, set.Status.UpdatedReplicas = "one", "two", set.Status.Replicas
	revision := func(pod, name string) { st.Pods[pod].Labels[appsv1.ControllerRevisionHashLabelKey] = name }
	revision("demo-rack2-0", "two")
	revision(pod, "two")
	if diff := cmp.Diff(want, blockers()); diff != "" {
		t.Errorf("every Pod is of the newest revision (-want +got):\n%s", diff)
	}
	revision("demo-rack2-0", "one")
	if got := blockers(); len(got) != 1 || !strings.HasPrefix(got[0], "RolloutInProgress: ") {
		t.Errorf("a Pod of another revision is left: %q", got)
	}
}

func ignore(st *scene, member, id string) {
	st.Services[member].Labels[api.LabelReplacingNodeHostID] = hostID(3, 0)
	st.Services[member].Annotations[api.AnnotationReplaceIgnoreDead] = id
}

// A newcomer and the rollout of its own StatefulSet would wait for each other, and so would two newcomers for each other's.
func TestANewcomerAndARollout(t *testing.T) {
	const self, other = "demo-rack3-1", "demo-rack2-1"
	newcomer := func(st *scene, member string) {
		delete(st.Services[member].Annotations, api.AnnotationNodeJoined)
		delete(st.Services[member].Annotations, api.AnnotationHostID)
	}
	roll := func(st *scene, rack string, updated int32) {
		status := &st.Sets["demo-"+rack].Status
		status.CurrentRevision, status.UpdatedReplicas, status.ReadyReplicas = "old", updated, 1
	}
	removed := func(st *scene, id string) {
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
	both := func(st *scene) {
		newcomer(st, self)
		newcomer(st, other)
		roll(st, "rack3", 1)
		roll(st, "rack2", 1)
	}
	tests := map[string]struct {
		change func(*scene)
		member string
		want   []string
	}{
		"its own waits for it": {member: self, change: func(st *scene) { newcomer(st, self); roll(st, "rack3", 1) }},
		"its own, whose Pods above it are not made yet": {member: self, change: func(st *scene) {
			newcomer(st, self)
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas = new(int32(4))
		}},
		"its own, and Pods above it are of the old revision": {member: self, want: []string{"demo-rack3"}, change: func(st *scene) {
			newcomer(st, self)
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas, st.Sets["demo-rack3"].Status.Replicas = new(int32(4)), 4
		}},
		"a replacement goes before a rollout that waits for a dead member that is to be replaced": {member: self, change: func(st *scene) {
			ignore(st, self, "")
			roll(st, "rack2", 0)
			st.Services[other].Labels[api.LabelReplace] = ""
			st.Services[other].Annotations[api.AnnotationHostID] = hostID(2, 1)
		}},
		"its own, which has not updated it": {member: self, change: func(st *scene) { newcomer(st, self); roll(st, "rack3", 0) }},
		"another's waits for that newcomer": {member: self, change: func(st *scene) { newcomer(st, self); newcomer(st, other); roll(st, "rack2", 1) }, want: []string{"demo-rack2"}},
		"its own, which makes the Pod above the members only when it is ready": {member: "demo-rack3-0", change: func(st *scene) {
			newcomer(st, "demo-rack3-0")
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas = new(int32(3))
		}},
		"its own, and another one is not ready either": {member: "demo-rack3-0", want: []string{"demo-rack3"}, change: func(st *scene) {
			newcomer(st, "demo-rack3-0")
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas, st.Sets["demo-rack3"].Status.ReadyReplicas = new(int32(3)), 0
		}},
		"its own, which makes all Pods at once and has not made one": {member: "demo-rack3-0", want: []string{"demo-rack3"}, change: func(st *scene) {
			newcomer(st, "demo-rack3-0")
			roll(st, "rack3", 0)
			st.Sets["demo-rack3"].Spec.Replicas = new(int32(3))
			st.Sets["demo-rack3"].Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}},
		"two: each waits for a Pod below one that is not made, the first by name does not": {member: "demo-rack2-0", change: func(st *scene) {
			for _, rack := range []string{"rack2", "rack3"} {
				newcomer(st, "demo-"+rack+"-0")
				roll(st, rack, 0)
				st.Sets["demo-"+rack].Spec.Replicas = new(int32(3))
			}
		}},
		"two: the second by name waits":                {member: self, change: both, want: []string{"demo-rack2"}},
		"two: the first by name does not":              {member: other, change: both},
		"two: a replacement goes first":                {member: self, change: func(st *scene) { both(st); ignore(st, self, "") }},
		"two: and the other waits for it":              {member: other, change: func(st *scene) { both(st); ignore(st, self, "") }, want: []string{"demo-rack3"}},
		"a replacement goes before another's newcomer": {member: self, change: func(st *scene) { ignore(st, self, ""); newcomer(st, other); roll(st, "rack2", 1) }},
		"a third waits for both":                       {member: "demo-rack1-1", change: func(st *scene) { both(st); newcomer(st, "demo-rack1-1") }, want: []string{"demo-rack2", "demo-rack3"}},
		"a member above it is about to go":             {member: "demo-rack3-0", change: func(st *scene) { newcomer(st, "demo-rack3-0"); roll(st, "rack3", 0) }, want: []string{"demo-rack3"}},
		"the member above it has been rolled":          {member: "demo-rack3-0", change: func(st *scene) { newcomer(st, "demo-rack3-0"); roll(st, "rack3", 1) }},
		"two, the first is on its way in already": {member: self, want: []string{"demo-rack2"}, change: func(st *scene) {
			both(st)
			ignore(st, self, "")
			st.Services[other].Annotations[api.AnnotationHostID] = hostID(2, 1)
		}},
		"a replacement goes before a member that was removed, and joins anew": {member: self, change: func(st *scene) {
			ignore(st, self, "")
			roll(st, "rack2", 1)
			removed(st, hostID(2, 1))
		}},
		"two: of the other the node was removed, which its Service still records": {member: other, change: func(st *scene) {
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
		"how far its own is cannot be told": {member: self, want: []string{"demo-rack3"}, change: func(st *scene) {
			newcomer(st, self)
			roll(st, "rack3", 1)
			st.Sets["demo-rack3"].Generation, st.Sets["demo-rack3"].Status.ObservedGeneration = 2, 1
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := settled(t)
			tc.change(st)
			c := st.cluster(SourceReport)
			holdUp(t, c, tc.member, tc.want)
		})
	}
}

// settled is three StatefulSets of two Pods each that have rolled out everything.
func settled(t *testing.T) *scene {
	t.Helper()
	st := newStage(t, 3, 2)
	for _, set := range st.Sets {
		set.Status.UpdateRevision, set.Status.CurrentRevision, set.Status.ReadyReplicas, set.Status.Replicas = "new", "new", 2, 2
	}
	return st
}

// holdUp fails the test unless exactly these StatefulSets' rollouts hold up the member.
func holdUp(t *testing.T, c *Cluster, member string, want []string) {
	t.Helper()
	var got []string
	for _, r := range maintenance.Rollouts(c, c.Member(member)) {
		got = append(got, r.StatefulSet)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rollouts that hold up %s (-want +got):\n%s", member, diff)
	}
}
