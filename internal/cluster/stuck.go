// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// notBegunAfter is how long Kubernetes may retry before its warnings are the reason: at the
	// start of a Pod some of its volumes are not ready for a moment.
	notBegunAfter = time.Minute
	// notEndedAfter is how long a Pod may exist after its grace period.
	notEndedAfter = 5 * time.Minute
	// shortRun is the longest run of a container that is restarted again and again; longAgain is
	// the number of such restarts.
	shortRun, longAgain = 30 * time.Minute, 3
)

// Reasons of the kubelet and the attach-detach controller for a Pod whose containers do not start.
const (
	reasonMount  = "FailedMount"
	reasonAttach = "FailedAttachVolume"
	reasonMap    = "FailedMapVolume"
)

// quota matches the name of a ResourceQuota that a Pod or claim would exceed.
var quota = pattern.Lazy(`exceeded quota: ([^,\s]+)`)

// notCreated returns why the StatefulSet cannot create the member's Pod; zero without such an
// Event.
func (c *Cluster) notCreated(member string) words.Message {
	set, _, _ := cutOrdinal(member)
	for i := range c.Events {
		e := &c.Events[i]
		if e.InvolvedObject.Kind != "StatefulSet" || e.InvolvedObject.Name != set || e.Reason != "FailedCreate" ||
			podNamed(e.Message, set) != member {
			continue
		}
		text := e.Message
		if _, after, found := strings.Cut(text, "error: "); found {
			text = after
		}
		m := words.New(words.PodNotAllowed, "statefulSet", set, "words", FirstLine(text))
		if found := quota().FindStringSubmatch(e.Message); found != nil {
			m.Params["quota"] = found[1]
		}
		return m
	}
	return words.Message{}
}

// notEnded returns why a Pod that is being deleted still exists long after its grace period.
func (c *Cluster) notEnded(pod *corev1.Pod) words.Message {
	took := c.TakenAt.Sub(pod.DeletionTimestamp.Time)
	if c.TakenAt.IsZero() || took < notEndedAfter {
		return words.Message{}
	}
	m := words.New(words.PodNotEnded, "for", took.Truncate(time.Second), "finalizers", pod.Finalizers)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].State.Running != nil {
				m.Params["container"] = list[i].Name
			}
		}
	}
	return m
}

// notBegun returns Kubernetes' warning about a Pod on a Kubernetes node none of whose containers
// runs; zero if one does, or without a warning.
func (c *Cluster) notBegun(pod *corev1.Pod) words.Message {
	if pod.Status.Phase != corev1.PodPending || c.TakenAt.Sub(pod.CreationTimestamp.Time) < notBegunAfter {
		return words.Message{}
	}
	for _, st := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil {
			return words.Message{}
		}
	}
	for i := range c.Events {
		e := c.event("Pod", pod.Name, c.Events[i].Reason)
		if e == nil || e.Type != corev1.EventTypeWarning || e.Reason == reasonUnhealthy ||
			e.Reason == "FailedScheduling" {
			continue
		}
		text := FirstLine(e.Message)
		switch missing := MissingIn(e.Message); {
		case e.Reason == reasonMount && len(missing) > 0:
			return words.New(words.PodLacks, "missing", missing[0].String())
		case e.Reason == reasonMount, e.Reason == reasonMap:
			return words.New(words.PodMount, "words", text, "kubernetesNode", pod.Spec.NodeName)
		case e.Reason == reasonAttach:
			return words.New(words.PodAttach, "words", text, "volume", c.volumeOf(pod.Name))
		}
		return words.New(words.PodNotBegun, "reason", e.Reason, "words", text)
	}
	return words.Message{}
}

const reasonUnhealthy = "Unhealthy"

// probe matches the kubelet's Events about a probe that ends a container.
var probe = pattern.Lazy(`(?i)\b(liveness|startup) probe`)

// endedByProbe returns that a probe ends a container before it is ready, by the kubelet's Events;
// without these, that the container ends again and again although it runs at this moment.
func (c *Cluster) endedByProbe(pod *corev1.Pod, a pending) words.Message {
	st := a.st
	if st == nil || st.State.Running == nil || st.Ready || st.RestartCount == 0 ||
		st.LastTerminationState.Terminated == nil {
		return words.Message{}
	}
	for _, reason := range []string{reasonKilling, reasonUnhealthy} {
		e := c.event("Pod", pod.Name, reason)
		if e == nil ||
			e.InvolvedObject.FieldPath != "" && !strings.Contains(e.InvolvedObject.FieldPath, "{"+a.Name+"}") {
			continue
		}
		if kind := probe().FindStringSubmatch(e.Message); kind != nil {
			m := words.New(words.PodProbe, "container", a.name(), "probe", strings.ToLower(kind[1]), "restarts",
				int(st.RestartCount))
			if c.Operator {
				m.Params["setBy"] = "Scylla Operator"
			}
			return m
		}
	}
	last := st.LastTerminationState.Terminated
	switch {
	case !endsAgain(st):
		return words.Message{}
	case last.Reason == reasonMemory:
		return outOfMemory(a)
	}
	return exits(a, last)
}

// endsAgain reports whether a container that runs and is not ready has ended again and again after
// a short time: its previous run shows why.
func endsAgain(st *corev1.ContainerStatus) bool {
	last := st.LastTerminationState.Terminated
	return st.State.Running != nil && !st.Ready && st.RestartCount >= longAgain && last != nil && last.ExitCode != 0 &&
		!last.StartedAt.IsZero() && last.FinishedAt.Sub(last.StartedAt.Time) <= shortRun
}

// volumeOf returns the PersistentVolume of the member's data claim; empty if unknown.
func (c *Cluster) volumeOf(member string) string {
	if pvc := c.ix.pvcs[c.ix.pvcName(member)]; pvc != nil {
		return pvc.Spec.VolumeName
	}
	return ""
}
