// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Facts about a member that has to start.

// Recorded is its place, with the host ID that its Service records; empty where it records none.
func (m *Member) Recorded() matrix.Ref {
	ref := m.Ref
	ref.HostID = m.RecordedID()
	return ref
}

// RecordedID is the host ID that its Service records; empty where it records none.
func (m *Member) RecordedID() hostid.ID {
	switch {
	case m.c != nil:
		return m.recorded
	case m.Service != nil:
		return recordedHostID(m.Service)
	}
	return ""
}

// ByService is its place by its Service's labels alone, as its barrier reads it, with the host ID that the Service records. Without a Service it is what is known of it.
func (m *Member) ByService() matrix.Ref {
	if m.Service == nil {
		return m.Ref
	}
	ref := Place(m.Ref.Member, m.Service.Labels)
	ref.HostID = m.RecordedID()
	return ref
}

// HasJoined is true where its Service records that it has.
func (m *Member) HasJoined() bool { return m.Joined != nil && *m.Joined }

// Label is one of its Service's; empty without a Service.
func (m *Member) Label(key string) string {
	if m.Service == nil {
		return ""
	}
	return m.Service.Labels[key]
}

// Annotation is one of its Service's; empty without a Service.
func (m *Member) Annotation(key string) string {
	if m.Service == nil {
		return ""
	}
	return m.Service.Annotations[key]
}

// Created is when its Service was; zero without one.
func (m *Member) Created() time.Time {
	if m.Service == nil {
		return time.Time{}
	}
	return m.Service.CreationTimestamp.Time
}

// podSpec is the spec of its Pod, or without a Pod that of its StatefulSet; nil without either.
func (m *Member) podSpec() *corev1.PodSpec {
	switch {
	case m.Pod != nil:
		return &m.Pod.Spec
	case m.StatefulSet != nil:
		return &m.StatefulSet.Spec.Template.Spec
	}
	return nil
}

// ImageVersion is the version in the tag of its ScyllaDB image; unknown for a digest alone, or latest: nothing is concluded from it.
func (m *Member) ImageVersion() release.Version {
	spec := m.podSpec()
	if spec == nil {
		return release.Version{}
	}
	container := ScyllaDBContainer(spec)
	if container == nil {
		return release.Version{}
	}
	v, err := release.OfImage(container.Image)
	if err != nil {
		return release.Version{}
	}
	return v
}

// Started is true where its ScyllaDB has been started: no barrier holds it back any more.
func (m *Member) Started() bool { return started(m.Pod) }

func started(pod *corev1.Pod) bool {
	if pod == nil || pod.DeletionTimestamp != nil {
		return false
	}
	st := ScyllaDBStatus(pod)
	return st != nil && st.State.Running != nil
}

// WaitsInBarrier is true while its barrier runs.
func (m *Member) WaitsInBarrier() bool { return m.Pod != nil && waitsInBarrier(m.Pod) }

func waitsInBarrier(pod *corev1.Pod) bool {
	st := containerStatus(pod.Status.InitContainerStatuses, api.ContainerBarrier)
	return st != nil && st.State.Running != nil && pod.DeletionTimestamp == nil
}

// PastBarrier is true where the barrier of its present Pod has let it through, also while its ScyllaDB crashes.
func (m *Member) PastBarrier() bool {
	return m.Pod != nil && m.Pod.DeletionTimestamp == nil && passed(m.Pod)
}

// passed is true where a Pod's barrier has let it through. A Pod without a barrier has passed it once its ScyllaDB has been started.
func passed(pod *corev1.Pod) bool {
	if !HasBarrier(&pod.Spec) {
		return started(pod)
	}
	st := containerStatus(pod.Status.InitContainerStatuses, api.ContainerBarrier)
	return st != nil && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0
}

// HasBarrier is true for Pods that the barrier holds back when they join.
func HasBarrier(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == api.ContainerBarrier })
}

// EmptyVolume is true where its barrier has found its volume empty.
func (m *Member) EmptyVolume() bool {
	w := m.BarrierWait()
	return w != nil && w.EmptyVolume
}

// BarrierWait is the annotation of its Pod that waits in its barrier; nil where it does not wait, or the annotation cannot be read.
func (m *Member) BarrierWait() *api.BarrierWait {
	if m.Pod == nil {
		return nil
	}
	return barrierWait(m.Pod)
}

// Banned is the evidence that ScyllaDB has refused the newcomer for ever; zero where there is none.
func (m *Member) Banned() words.Message { return m.c.banned(m.Ref.Member) }

// AllowsNonReporting is the flag of its own barrier.
func (m *Member) AllowsNonReporting() bool {
	spec := m.podSpec()
	return spec != nil && lenientBarrier(spec)
}

// Idle is true where its Pod was read and its ScyllaDB is not ready, or there is no Pod, and where its Service records that it was decommissioned. While its node is replaced the Pod is
// the new node's, and is no evidence about the recorded one.
func (m *Member) Idle() bool {
	return m.Label(api.LabelDecommissioned) == api.DecommissionedDone ||
		m.c != nil && m.c.KnowsPods() && !serving(m.Pod) && m.Label(api.LabelReplacingNodeHostID) == ""
}

// Removed is true for a member whose Service still records a host ID that no fresh row of the matrix lists: its node was removed. It is false for a member whose ScyllaDB serves, or may:
// it has joined since the rows were written.
func (m *Member) Removed(in *matrix.Matrix) bool {
	id := m.RecordedID()
	if at, ok := in.Index(id); ok {
		return in.Nodes()[at].Removed
	}
	return m.Idle() && id != "" && in.Reporting() > 0
}
