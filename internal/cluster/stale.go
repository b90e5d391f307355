// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// rowStale returns why a row written by a Pod's reporter may be old, and since when; zero if the
// reporter runs. All callers use this rule.
func (c *Cluster) rowStale(pod *corev1.Pod) (matrix.Trouble, time.Time) {
	if pod == nil {
		if c.Offline {
			return matrix.Trouble{Code: words.PodNotSaved}, time.Time{}
		}
		return matrix.Trouble{Code: words.PodGone}, time.Time{}
	}
	why, since := Stale(pod)
	switch {
	case why.Code == words.KubernetesNodeSilent && c.KubernetesNode(pod).Ready():
		why.Code = words.PodMarkedNotReady // the Node object is newer than what was written into the Pod
	case why.IsZero() && gateShut(pod) && c.NodeLost(pod):
		// The Pod's conditions do not show it: the node controller sets Ready to False, which it
		// already is.
		return matrix.Trouble{Code: words.KubernetesNodeSilent, Object: pod.Spec.NodeName}, time.Time{}
	}
	return why, since
}

// Stale is rowStale for a Pod that exists.
func Stale(pod *corev1.Pod) (matrix.Trouble, time.Time) {
	status, container, ours := reporterStatus(pod)
	of := func(c words.Code, terms string) matrix.Trouble {
		return matrix.Trouble{Code: c, Object: container, Words: terms}
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return matrix.Trouble{Code: words.PodDeleting}, pod.DeletionTimestamp.Time
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return matrix.Trouble{Code: words.PodNotRunning, Words: string(pod.Status.Phase)},
			podTransition(pod, corev1.ContainersReady)
	case status == nil && pod.Status.Phase != corev1.PodRunning:
		return matrix.Trouble{Code: words.PodNotRunning, Words: cmp.Or(string(pod.Status.Phase), "not running")},
			pod.CreationTimestamp.Time
	case status == nil:
		return of(words.ContainerUnknown, ""), time.Time{}
	case status.State.Terminated != nil:
		t := status.State.Terminated
		if t.Reason == "" {
			return of(words.ContainerExited, strconv.Itoa(int(t.ExitCode))), t.FinishedAt.Time
		}
		return of(words.ContainerEnded, t.Reason), t.FinishedAt.Time
	case status.State.Waiting != nil && status.State.Waiting.Reason != "":
		return of(words.ContainerWaits, status.State.Waiting.Reason), lastEnd(status)
	case status.State.Running == nil:
		return of(words.ContainerNotRunning, ""), lastEnd(status)
	case ours && !status.Ready:
		// The reporter's readiness shows that its loop polls. The operator's reporter shares
		// ScyllaDB's container, whose readiness is ScyllaDB's.
		return of(words.ReporterNotReady, ""), podTransition(pod, corev1.ContainersReady)
	case nodeLost(pod) && pod.Spec.NodeName == "":
		return of(words.ContainerUnknown, ""), podTransition(pod, corev1.PodReady)
	case nodeLost(pod):
		return matrix.Trouble{Code: words.KubernetesNodeSilent, Object: pod.Spec.NodeName},
			podTransition(pod, corev1.PodReady)
	}
	return matrix.Trouble{}, time.Time{}
}

// RowFrozen reports whether the member's row, whatever it shows, is not kept up to date: its
// reporter does not run, or its Kubernetes node does not respond or no longer exists. A Pod that
// was not Ready before its Kubernetes node was lost does not show that in its conditions.
func (m *Member) RowFrozen() bool {
	if m.Pod == nil {
		return true
	}
	why, _ := Stale(m.Pod)
	return !why.IsZero() || m.KubernetesNodeLost()
}

// SaysMore reports whether a Pod's update changes a fact about its row: whether its reporter keeps
// it up to date, or whether ScyllaDB is ready.
func SaysMore(was, is *corev1.Pod) bool {
	before, _ := Stale(was)
	after, _ := Stale(is)
	return before != after || serving(was) != serving(is)
}

// serving reports whether ScyllaDB's container in the Pod is ready: it serves CQL, which a node
// does only after it has joined.
func serving(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	c := ScyllaDBContainer(&pod.Spec)
	if c == nil {
		return false
	}
	st := containerStatus(pod.Status.ContainerStatuses, c.Name)
	return st != nil && st.Ready
}

// reporterStatus returns the container that writes the row: our sidecar if the Pod has one, else
// ScyllaDB's own container, which under the Scylla Operator is the reporter.
func reporterStatus(pod *corev1.Pod) (status *corev1.ContainerStatus, name string, ours bool) {
	has := func(cs []corev1.Container, name string) bool {
		return slices.ContainsFunc(cs, func(c corev1.Container) bool { return c.Name == name })
	}
	find := func(cs []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
		if i := slices.IndexFunc(cs, func(c corev1.ContainerStatus) bool { return c.Name == name }); i >= 0 {
			return &cs[i]
		}
		return nil
	}
	if pod == nil {
		return nil, api.ContainerReporter, true
	}
	switch {
	case has(pod.Spec.InitContainers, api.ContainerReporter):
		return find(pod.Status.InitContainerStatuses, api.ContainerReporter), api.ContainerReporter, true
	case has(pod.Spec.Containers, api.ContainerReporter):
		return find(pod.Status.ContainerStatuses, api.ContainerReporter), api.ContainerReporter, true
	}
	name = api.ContainerScyllaDB
	if c := ScyllaDBContainer(&pod.Spec); c != nil {
		name = c.Name
	}
	return find(pod.Status.ContainerStatuses, name), name, false
}

// nodeLost recognises the change that the node controller makes to the Pods of a Kubernetes node
// that is not responding. Only the node controller sets Ready to False while the containers still
// count as ready.
func nodeLost(pod *corev1.Pod) bool {
	if pod.Status.Reason == "NodeLost" {
		return true
	}
	ready, containers := podCondition(pod, corev1.PodReady), podCondition(pod, corev1.ContainersReady)
	return ready != nil && ready.Status != corev1.ConditionTrue && !gateShut(pod) &&
		containers != nil && containers.Status == corev1.ConditionTrue
}

// gateShut reports whether the Pod was not Ready only because of a readiness gate when its kubelet
// last wrote.
func gateShut(pod *corev1.Pod) bool {
	ready := podCondition(pod, corev1.PodReady)
	return ready != nil && ready.Status != corev1.ConditionTrue && ready.Reason == "ReadinessGatesNotReady"
}

func podCondition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func podTransition(pod *corev1.Pod, t corev1.PodConditionType) time.Time {
	if c := podCondition(pod, t); c != nil && c.Status != corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

func lastEnd(s *corev1.ContainerStatus) time.Time {
	if t := s.LastTerminationState.Terminated; t != nil {
		return t.FinishedAt.Time
	}
	return time.Time{}
}
