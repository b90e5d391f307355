// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestNodeLost(t *testing.T) {
	t.Parallel()
	pod := func(node, reason string) *corev1.Pod {
		return &corev1.Pod{
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}},
			Status: corev1.PodStatus{Reason: reason, Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			}},
		}
	}
	well, said, nameless := pod("a", ""), pod("a", "NodeLost"), pod("", "NodeLost")
	for name, tc := range map[string]struct {
		pod   *corev1.Pod
		state string
		want  bool
		shown string
	}{
		"nothing is known":                        {well, "", false, "a"},
		"it is ready":                             {well, "Ready", false, "a"},
		"it is cordoned":                          {well, "Ready,SchedulingDisabled", false, "a (Ready,SchedulingDisabled)"},
		"it is not ready":                         {well, "NotReady", true, "a (NotReady)"},
		"it is drained and not ready":             {well, "NotReady,SchedulingDisabled", true, "a (NotReady,SchedulingDisabled)"},
		"the Pod says so":                         {said, "", true, "a"},
		"the Pod says so of one that is Ready":    {said, "Ready", false, "a"},
		"the Pod says so of one that is cordoned": {said, "Ready,SchedulingDisabled", false, "a (Ready,SchedulingDisabled)"},
		"it does not exist any more":              {well, "Gone", false, "a (Gone)"},
		"the Pod says so of one that is no more":  {said, "Gone", false, "a (Gone)"},
		"the Pod says so and names none":          {nameless, "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Objects{Machines: map[string]string{"a": tc.state}}
			if got := o.NodeLost(tc.pod); got != tc.want {
				t.Errorf("NodeLost is %t", got)
			}
			why, _ := Stale(tc.pod)
			if text := words.Text(why.Message("demo/a")); tc.pod != well && (why.IsZero() || strings.Contains(text, "node ,")) {
				t.Errorf("its row is stale because %q", text)
			}
			if got := o.KubernetesNode(tc.pod).String(); got != tc.shown {
				t.Errorf("it is shown as %q", got)
			}
		})
	}
}

// A Pod whose readiness gate is shut looks the same before and after its Kubernetes node is lost.
func TestAttack10AReadinessGateDoesNotHideALostKubernetesNode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		machine string
		shut    bool
		want    bool
	}{
		"shut, and the node was not read": {"", true, false},
		"shut, and the node is ready":     {"Ready", true, false},
		"shut, and the node is lost":      {"NotReady", true, true},
		"shut, cordoned and lost":         {"NotReady,SchedulingDisabled", true, true},
		"no gate":                         {"Ready", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			pod := st.Pods["demo-rack1-0"]
			pod.Spec.NodeName = "machine-of-its-own"
			if tc.shut {
				pod.Status.Conditions[1].Status, pod.Status.Conditions[1].Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
			}
			o := st.cluster(SourceAnnotation).Objects
			o.Machines = map[string]string{"machine-of-its-own": tc.machine}
			for _, source := range []Source{SourceReport, SourceAnnotation} {
				rows := New(o, source, start).Rows()
				if got := rows[0].Stale.Code == words.KubernetesNodeSilent; len(rows) != 2 || got != tc.want || got != !rows[0].Stale.IsZero() {
					t.Errorf("%s: %d rows, stale %+v", source, len(rows), rows[0].Stale)
				}
				if !rows[1].Stale.IsZero() {
					t.Errorf("%s: the other row is stale too: %+v", source, rows[1].Stale)
				}
			}
		})
	}
}
