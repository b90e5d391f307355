// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

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

// Trouble returns why Kubernetes does not run ScyllaDB in the member's Pod, by the fields of the
// Pod's status; zero if it runs, starts or is not scheduled. None of these shows that the data of
// the member is lost.
func (c *Cluster) Trouble(member string) words.Message { return podTrouble(c.ix.pods[member]) }

func podTrouble(pod *corev1.Pod) words.Message {
	switch {
	case pod == nil || pod.DeletionTimestamp != nil:
		return words.Message{}
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == reasonEvicted:
		return words.New(words.PodWasEvicted, "words", FirstLine(pod.Status.Message))
	case pod.Status.Phase == corev1.PodFailed:
		return words.New(words.PodFailed, "reason", pod.Status.Reason, "words", FirstLine(pod.Status.Message))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
		if st == nil || st.State.Terminated != nil && st.State.Terminated.ExitCode == 0 && !isSidecar(c) ||
			isSidecar(c) && sidecarStarted(st) {
			continue
		}
		if why := containerTrouble(c, words.InitContainer, st); !why.IsZero() {
			return why
		}
	}
	if c := ScyllaDBContainer(&pod.Spec); c != nil {
		return containerTrouble(c, words.Container, containerStatus(pod.Status.ContainerStatuses, c.Name))
	}
	return words.Message{}
}

// containerTrouble returns why the container does not run; zero if it runs or is about to.
func containerTrouble(c *corev1.Container, kind words.Code, st *corev1.ContainerStatus) words.Message {
	if !crashed(st) {
		return words.Message{}
	}
	why := func(code words.Code, more ...any) words.Message {
		return words.New(code, append([]any{"container", words.New(kind, "container", c.Name)}, more...)...)
	}
	ended := st.State.Terminated
	if w := st.State.Waiting; w != nil {
		text := FirstLine(w.Message)
		switch {
		case slices.Contains(imageReasons, w.Reason):
			return why(words.PodImage, "image", c.Image, "reason", w.Reason, "words", text)
		case slices.Contains(configReasons, w.Reason):
			return why(words.PodConfig, "reason", w.Reason, "words", text)
		case w.Reason != reasonLoop:
			return why(words.PodNotCreated, "reason", w.Reason, "words", text)
		case st.LastTerminationState.Terminated == nil:
			return exits(c, kind, st, nil)
		}
		ended = st.LastTerminationState.Terminated
	}
	if ended.Reason == reasonMemory {
		limit := ""
		if q := c.Resources.Limits.Memory(); !q.IsZero() {
			limit = q.String()
		}
		return why(words.PodMemory, "limit", limit, "restarts", int(st.RestartCount))
	}
	return exits(c, kind, st, ended)
}

// exits returns that a container ends again and again, with its last exit if that is known.
func exits(c *corev1.Container, kind words.Code, st *corev1.ContainerStatus,
	ended *corev1.ContainerStateTerminated) words.Message {
	m := words.New(words.PodExits, "container", c.Name, "restarts", int(st.RestartCount))
	if kind == words.InitContainer {
		m.Params["container"] = words.New(kind, "container", c.Name)
	}
	if ended != nil {
		m.Params["code"], m.Params["words"] = ended.ExitCode, FirstLine(ended.Message)
	}
	return m
}

// OldRevision reports whether the member's Pod is not of the newest template of its StatefulSet. A
// rolling update does not replace such a Pod while it is not Ready (kubernetes issue 67250).
func (c *Cluster) OldRevision(member string) bool {
	pod, set := c.ix.pods[member], c.StatefulSet(member)
	if pod == nil || set == nil || set.Status.ObservedGeneration != set.Generation {
		return false
	}
	revision := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	return revision != "" && set.Status.UpdateRevision != "" && revision != set.Status.UpdateRevision
}

// VolumeGone returns the objects that show that a member's volume, or its place, no longer exists;
// zero without such evidence.
func (c *Cluster) VolumeGone(member string) words.Message {
	pvc := c.ix.pvcs[c.ix.pvcName(member)]
	if pvc == nil {
		return words.Message{}
	}
	if pvc.Status.Phase == corev1.ClaimLost {
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

// Log is where a Pod shows why ScyllaDB is not Ready.
type Log struct {
	Container string
	// Previous is true if only the previous run of the container has a log.
	Previous bool
	// None is true if no container of the Pod has run: only its Events show the reason.
	None bool
}

// LogOf returns the log of a Pod; of container database if nothing is known of its containers.
func LogOf(pod *corev1.Pod, database string) Log {
	if pod == nil || pod.Status.Phase == "" {
		return Log{Container: database}
	}
	l := Log{Container: cmp.Or(LogContainer(pod), database), None: true}
	for _, st := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if st.Name == l.Container {
			ran := st.State.Running != nil || st.State.Terminated != nil
			loops := st.State.Waiting != nil && st.State.Waiting.Reason == reasonLoop
			l.Previous = !ran && (loops || st.LastTerminationState.Terminated != nil)
			l.None = !ran && !l.Previous
		}
	}
	return l
}
