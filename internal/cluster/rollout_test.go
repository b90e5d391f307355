// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

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

// settled is three StatefulSets of two Pods each that have rolled out everything.
func settled(t *testing.T) *scene {
	t.Helper()
	st := newStage(t, 3, 2)
	for _, set := range st.Sets {
		set.Status.UpdateRevision, set.Status.CurrentRevision, set.Status.ReadyReplicas, set.Status.Replicas = "new", "new", 2, 2
	}
	return st
}
