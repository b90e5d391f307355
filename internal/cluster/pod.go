// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodState is what kubectl's STATUS and READY columns say, in one.
func PodState(pod *corev1.Pod) string {
	if pod == nil {
		return "None"
	}
	ready, total := 0, len(pod.Spec.Containers)
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Ready {
			ready++
		}
	}
	if pod.DeletionTimestamp != nil {
		return fmt.Sprintf("Terminating %d/%d", ready, total)
	}
	done, inits := 0, 0
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if isSidecar(c) {
			continue
		}
		inits++
		if st := containerStatus(pod.Status.InitContainerStatuses, c.Name); st != nil {
			switch {
			case st.State.Terminated != nil && st.State.Terminated.ExitCode == 0:
				done++
			case st.State.Terminated != nil || st.State.Waiting != nil && failing(st.State.Waiting.Reason):
				return "Init:" + initReason(st)
			}
		}
	}
	if done < inits && pod.Status.Phase == corev1.PodPending && podScheduled(pod) {
		return fmt.Sprintf("Init:%d/%d", done, inits)
	}
	for i := range pod.Status.ContainerStatuses {
		st := &pod.Status.ContainerStatuses[i]
		if w := st.State.Waiting; w != nil && failing(w.Reason) {
			return fmt.Sprintf("%s %d/%d", w.Reason, ready, total)
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		return fmt.Sprintf("Running %d/%d", ready, total)
	}
	return cmp.Or(string(pod.Status.Phase), "Unknown")
}

func initReason(st *corev1.ContainerStatus) string {
	if t := st.State.Terminated; t != nil {
		return cmp.Or(t.Reason, fmt.Sprintf("ExitCode:%d", t.ExitCode))
	}
	return st.State.Waiting.Reason
}

// failing tells the waits that something is wrong with from those that every start goes through.
func failing(reason string) bool {
	return reason != "" && reason != "PodInitializing" && reason != "ContainerCreating"
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func containerStatus(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

func podScheduled(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue || pod.Spec.NodeName != ""
}

// podWaiting says what a Pod that does not serve waits for: its place, its init containers in their order, then ScyllaDB itself. Empty
// when ScyllaDB's container is ready.
func podWaiting(pod *corev1.Pod) (what string, since time.Time) {
	if pod.DeletionTimestamp != nil {
		return "the Pod is terminating", pod.DeletionTimestamp.Time
	}
	if !podScheduled(pod) {
		if c := podCondition(pod, corev1.PodScheduled); c != nil {
			return strings.TrimSuffix(fmt.Sprintf("a Kubernetes node: %s", cmp.Or(c.Message, c.Reason)), ": "), c.LastTransitionTime.Time
		}
		return "a Kubernetes node", pod.CreationTimestamp.Time
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
		if st != nil && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0 && !isSidecar(c) {
			continue
		}
		if isSidecar(c) && st != nil && (st.Started != nil && *st.Started || st.State.Running != nil) {
			continue
		}
		return containerWaiting("init container "+c.Name, st, pod)
	}
	c := ScyllaDBContainer(&pod.Spec)
	if c == nil {
		return "", time.Time{}
	}
	st := containerStatus(pod.Status.ContainerStatuses, c.Name)
	if st != nil && st.Ready {
		return "", time.Time{}
	}
	return containerWaiting("container "+c.Name, st, pod)
}

func containerWaiting(who string, st *corev1.ContainerStatus, pod *corev1.Pod) (string, time.Time) {
	switch {
	case st == nil:
		return who + " to start", pod.CreationTimestamp.Time
	case st.State.Running != nil && strings.HasPrefix(who, "init "):
		return who + " to finish", st.State.Running.StartedAt.Time
	case st.State.Running != nil:
		return who + " to become ready", st.State.Running.StartedAt.Time
	case st.State.Terminated != nil:
		t := st.State.Terminated
		return withMessage(fmt.Sprintf("%s, which ended with exit code %d", who, t.ExitCode), FirstLine(t.Message)), t.FinishedAt.Time
	case st.State.Waiting != nil && st.State.Waiting.Reason != "":
		msg := FirstLine(st.State.Waiting.Message)
		if t := st.LastTerminationState.Terminated; t != nil {
			msg = cmp.Or(FirstLine(t.Message), fmt.Sprintf("exit code %d", t.ExitCode))
		}
		return withMessage(fmt.Sprintf("%s (%s)", who, st.State.Waiting.Reason), msg), lastEnd(st)
	}
	return who + " to start", pod.CreationTimestamp.Time
}

func withMessage(text, msg string) string {
	if msg == "" {
		return text
	}
	return text + ": " + msg
}

// FirstLine keeps a container's message to what fits a table.
func FirstLine(msg string) string {
	msg, _, _ = strings.Cut(strings.TrimSpace(msg), "\n")
	if r := []rune(msg); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return msg
}

// LogContainer is the container whose log tells how the member is: ScyllaDB's once it has run on this Pod, before that the one that it waits for.
func LogContainer(pod *corev1.Pod) string {
	db := ScyllaDBContainer(&pod.Spec)
	if db != nil {
		if st := containerStatus(pod.Status.ContainerStatuses, db.Name); st != nil && (st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil) {
			return db.Name
		}
	}
	last := ""
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
		if isSidecar(c) || st == nil || st.State.Waiting != nil && st.LastTerminationState.Terminated == nil {
			continue // it serves beside, or has no log yet
		}
		last = c.Name
	}
	switch {
	case last != "":
		return last
	case db != nil:
		return db.Name
	case len(pod.Spec.Containers) > 0:
		return pod.Spec.Containers[0].Name
	}
	return ""
}

// ContainerRuns is true while that container of the Pod runs.
func ContainerRuns(pod *corev1.Pod, name string) bool {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		if st := containerStatus(list, name); st != nil {
			return st.State.Running != nil
		}
	}
	return false
}
