// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// A member that never started, whose barrier made it wait, or whose requested replacement nobody began had the step "wait" for ever.
func TestAStartThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	const (
		member = "demo-dc1-rack3-0"
		slow   = "do not delete anything; check its log for what it is doing, and the Events of its Pod: kubectl logs demo-dc1-rack3-0 -c scylla -n demo; kubectl describe pod demo-dc1-rack3-0 -n demo"
		wait   = "wait up to 10m0s: it is starting and waiting for container scylla to become ready; check its Pod: kubectl get pod demo-dc1-rack3-0 -n demo"
	)
	notReady := func(pod *corev1.Pod, age time.Duration) {
		at := metav1.NewTime(scenes.Now.Add(-age))
		pod.CreationTimestamp = metav1.NewTime(scenes.Now.Add(-time.Hour))
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at}, {Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: at}}
		pod.Status.ContainerStatuses[0].Ready = false
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	}
	for what, tc := range map[string]struct {
		down   time.Duration
		change func(*plugintest.Cluster)
		want   string
	}{
		"for nine minutes":   {9 * time.Minute, func(c *plugintest.Cluster) { notReady(c.Pod(member), 9*time.Minute) }, wait},
		"for eleven minutes": {11 * time.Minute, func(c *plugintest.Cluster) { notReady(c.Pod(member), 11*time.Minute) }, slow},
		"started again a minute ago, in a Pod that has not been ready for an hour": {time.Hour, func(c *plugintest.Cluster) {
			notReady(c.Pod(member), time.Minute)
			c.Pod(member).Status.ContainerStatuses[0].RestartCount = 22
		}, slow},
		"at its barrier": {time.Minute, func(c *plugintest.Cluster) {
			pod := c.Pod(member)
			notReady(pod, time.Minute)
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(scenes.Now.Add(-time.Minute))}}}}
			pod.Spec.InitContainers = []corev1.Container{{Name: api.ContainerBarrier}}
		}, "check why its barrier makes it wait: kubectl scylla barrier demo-dc1-rack3-0 -n demo"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 1).DownSince(member, tc.down)
			tc.change(c)
			c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
				if by.Name == member {
					said.ObservedNodes, said.Error, said.OperationMode, said.OwnsTokens = nil, new("HTTP 500"), "JOINING", nil
				}
			})
			findings := diagnosis.Of(cluster.New(scenes.Objects(c), cluster.SourceAuto, scenes.Now))
			if len(findings) == 0 {
				t.Fatal("no finding")
			}
			if got := words.Text(findings[0].Step); got != tc.want {
				t.Errorf("%s:\n%s\nwant:\n%s", words.Text(findings[0].Message), got, tc.want)
			}
		})
	}
}
