// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// Where the replacement has a step, because it knows what became of the Kubernetes node of the old Pod or of the new volume, that is the step; otherwise what
// Kubernetes says of the Pod decides, and nothing is to be forced.
func TestAReplacementWhosePodIsStuck(t *testing.T) {
	const member = "demo-dc1-rack2-0"
	ends := func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: scenes.Now.Add(-10 * time.Minute)} }
	unplaced := func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient cpu."}}}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		cure   words.Code
		want   words.Code
	}{
		"nothing is known of its Kubernetes node":               {ends, "", words.SeeEnding},
		"its Kubernetes node is lost":                           {ends, words.MendKubernetesNode, words.ReplacementWaits},
		"nothing is known of the Kubernetes node of its volume": {unplaced, "", words.MakeRoom},
		"the Kubernetes node of its volume is gone":             {unplaced, words.CureVolumeLost, words.ReplacementWaits},
	} {
		t.Run(name, func(t *testing.T) {
			c := plugintest.New(3, 1).Replacing(member)
			tc.change(c.Pod(member))
			snap := cluster.New(scenes.Objects(c), cluster.SourceReport, scenes.Now)
			var known diagnosis.Known
			if tc.cure != "" {
				known.Steps = map[hostid.ID]words.Message{hostid.ID(c.Node(member).HostID): words.New(words.ReplacementWaits, "cure", words.New(tc.cure))}
			}
			for _, f := range diagnosis.From(snap, bootstrap.HealthOf(snap), known) {
				if f.Kind != diagnosis.ReplacementOpen {
					continue
				}
				if f.Step.Code != tc.want {
					t.Errorf("step %s, want %s", f.Step.Code, tc.want)
				}
				return
			}
			t.Error("no finding of the replacement")
		})
	}
}
