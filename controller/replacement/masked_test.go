// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// TestNoHarm46NoPasswordInAnEvent: the reason why nothing is deleted quotes the message of a container, which is anything.
func TestNoHarm46NoPasswordInAnEvent(t *testing.T) {
	const said = `exec: cqlsh -u admin -p hunter2 -e "ALTER ROLE a WITH PASSWORD = 'hunter2'": not found`
	for name, state := range map[string]corev1.ContainerState{
		"not created": {Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerError", Message: said}},
		"ended":       {Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: said}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.updatePod(target, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerReporter, State: state}}
				p.Status.ContainerStatuses, p.Status.Phase = nil, corev1.PodPending
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionFalse}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
			})
			w.ask()
			w.steps(w.controller(), 5, 5*time.Second)
			var list eventsv1.EventList
			w.must(w.raw.List(context.Background(), &list))
			if len(list.Items) == 0 {
				t.Fatal("no Event")
			}
			for _, e := range list.Items {
				if strings.Contains(e.Note, "hunter2") || !strings.Contains(e.Note, "cqlsh -u admin") {
					t.Errorf("%s: %s", e.Reason, e.Note)
				}
			}
		})
	}
}
