// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reasons of the kubelet for a container that does not run (pkg/kubelet/images/types.go,
// pkg/kubelet/kuberuntime/kuberuntime_container.go, pkg/kubelet/container/sync_result.go).
var (
	imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
	configReasons = []string{"CreateContainerConfigError"}
)

const (
	reasonLoop    = "CrashLoopBackOff"
	reasonMemory  = "OOMKilled"
	reasonEvicted = "Evicted"
)

// Trouble returns why Kubernetes does not run ScyllaDB in the member's Pod, or does not create the
// Pod: by the fields of the Pod's status and its claims, and the Events that explain them. It is
// zero if ScyllaDB runs or starts, and for a Pod that waits its turn. None of these shows that the
// data of the member is lost.
func (c *Cluster) Trouble(member string) words.Message {
	why := c.podTrouble(member)
	if why.IsZero() || why.Code == words.PodExits {
		if said := c.logged(member, why); !said.IsZero() {
			return said
		}
	}
	return why
}

func (c *Cluster) podTrouble(member string) words.Message {
	pod := c.ix.pods[member]
	switch {
	case pod == nil:
		return c.notCreated(member)
	case pod.DeletionTimestamp != nil:
		return c.notEnded(pod)
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == reasonEvicted:
		text := FirstLine(pod.Status.Message)
		m := words.New(words.PodWasEvicted, "words", text)
		if found := evictedFor().FindStringSubmatch(text); found != nil {
			m.Params["resource"], m.Params["kubernetesNode"] = found[1]+found[2], pod.Spec.NodeName
		}
		return m
	case pod.Status.Phase == corev1.PodFailed:
		return words.New(words.PodFailed, "reason", pod.Status.Reason, "words", FirstLine(pod.Status.Message))
	case unscheduled(pod):
		return c.noPlace(pod)
	}
	for a := range pendingContainers(pod) {
		if why := c.containerTrouble(pod, a); !why.IsZero() {
			if ours := a.Container == ScyllaDBContainer(&pod.Spec); ours &&
				(why.Code == words.PodMemory || why.Code == words.PodProbe) {
				why.Params["database"] = "ScyllaDB"
			}
			return why
		}
	}
	return c.notBegun(pod)
}

// SidecarTrouble returns why a Pod is not Ready although its ScyllaDB is: another container that
// does not run, or is not ready. It is zero if there is none. The node itself is not affected.
func (c *Cluster) SidecarTrouble(member string) words.Message {
	pod := c.ix.pods[member]
	if pod == nil || !serving(pod) {
		return words.Message{}
	}
	for a := range sidecars(pod) {
		why := c.containerTrouble(pod, a)
		if why.IsZero() {
			what, _ := containerWaiting(a, pod)
			why = words.New(words.SidecarNotReady, "container", a.name(), "waits", what)
		}
		return why
	}
	return words.Message{}
}

// evictedFor matches the resource in the kubelet's message about an eviction.
var evictedFor = pattern.Lazy(`low on resource: ([a-z0-9.-]*[a-z0-9])|local (ephemeral)[- ]storage`)

// containerTrouble returns why the container does not run, or is restarted again and again; zero if
// it runs or is about to.
func (c *Cluster) containerTrouble(pod *corev1.Pod, a pending) words.Message {
	st := a.st
	if !crashed(st) {
		return c.endedByProbe(pod, a)
	}
	why := func(code words.Code, more ...any) words.Message {
		return words.New(code, append([]any{"container", a.name()}, more...)...)
	}
	ended := st.State.Terminated
	if w := st.State.Waiting; w != nil {
		text := FirstLine(w.Message)
		switch {
		case slices.Contains(imageReasons, w.Reason):
			return why(words.PodImage, "image", a.Image, "reason", w.Reason, "words", text)
		case slices.Contains(configReasons, w.Reason):
			return why(words.PodConfig, "reason", w.Reason, "words", text)
		case w.Reason != reasonLoop:
			return why(words.PodNotCreated, "reason", w.Reason, "words", text)
		case st.LastTerminationState.Terminated == nil:
			return exits(a, nil)
		}
		ended = st.LastTerminationState.Terminated
	}
	if ended.Reason == reasonMemory {
		return outOfMemory(a)
	}
	return exits(a, ended)
}

// outOfMemory returns that a container ended at its memory limit.
func outOfMemory(a pending) words.Message {
	limit := ""
	if q := a.Resources.Limits.Memory(); !q.IsZero() {
		limit = q.String()
	}
	return words.New(words.PodMemory, "container", a.name(), "limit", limit, "restarts", int(a.st.RestartCount))
}

// exits returns that a container ends again and again, with its last exit if that is known.
func exits(a pending, ended *corev1.ContainerStateTerminated) words.Message {
	m := words.New(words.PodExits, "container", a.Name, "restarts", int(a.st.RestartCount))
	if a.kind == words.InitContainer {
		m.Params["container"] = a.name()
	}
	if ended != nil {
		m.Params["code"], m.Params["words"] = ended.ExitCode, FirstLine(ended.Message)
		if ended.Reason != "Error" && ended.Reason != "Completed" && ended.Reason != "" {
			m.Params["reason"] = ended.Reason
		}
	}
	return m
}

// VolumeGone returns the objects that show that a member's volume, or its place, no longer exists;
// zero without such evidence.
func (c *Cluster) VolumeGone(member string) words.Message {
	pvc := c.ix.pvcs[c.ix.pvcName(member)]
	if pvc == nil {
		return words.Message{}
	}
	if c.claimLost(member) {
		return words.New(words.ClaimIsLost, "claim", pvc.Name)
	}
	// a Pod on another Kubernetes node contradicts the volume's affinity
	pod := c.ix.pods[member]
	elsewhere := pod != nil && !unscheduled(pod) && c.KubernetesNode(pod).State != KubernetesNodeGone
	if n, pinned, _ := c.volumeNode(member); pinned && !elsewhere && n.State == KubernetesNodeGone {
		return words.New(words.VolumeOfGoneNode, "volume", pvc.Spec.VolumeName, "kubernetesNode", n.Name)
	}
	return words.Message{}
}

// claimLost reports whether the volume of the member's claim no longer exists.
func (c *Cluster) claimLost(member string) bool {
	pvc := c.ix.pvcs[c.ix.pvcName(member)]
	return pvc != nil && pvc.Status.Phase == corev1.ClaimLost
}
