// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestNoHarm47ANodeThatRunsDoesNotWait: with the operator's feature gate off no Pod has a barrier, and a new node whose ScyllaDB runs waits for nothing, whatever the verdict.
func TestNoHarm47ANodeThatRunsDoesNotWait(t *testing.T) {
	for name, joined := range map[string]string{"not joined": "", "joined false": "false"} {
		c := plugintest.New(3, 1).Down("demo-dc1-rack1-0")
		n := c.Newcomer("dc1", "rack2", 1)
		if joined != "" {
			c.Service(n).Annotations = map[string]string{api.AnnotationNodeJoined: joined, api.AnnotationHostID: plugintest.HostID(9)}
		}
		objects := c.OperatorObjects("dc1", nil)
		for _, o := range objects {
			switch o := o.(type) {
			case *corev1.Pod:
				o.Spec.InitContainers, o.Status.InitContainerStatuses = nil, nil
				if o.Name == n {
					o.Status.Phase = corev1.PodRunning
					o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
				}
			case *appsv1.StatefulSet:
				o.Spec.Template.Spec.InitContainers = nil
			}
		}
		got := plugintest.Run{Objects: objects, Args: []string{"status", "-n", "demo"}}.Do(t)
		if text := strings.Join(strings.Fields(got.Stdout), " "); got.Code != 3 || strings.Contains(text, "must wait") || !strings.Contains(text, "ScyllaDB is running, no barrier delays it") {
			t.Errorf("%s: exit %d\n%s%s", name, got.Code, got.Stdout, got.Stderr)
		}
	}
}
