// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Facts about a member that must start.

// Recorded returns the member's place, with the host ID that its Service records; empty if it
// records none.
func (m *Member) Recorded() matrix.Ref {
	ref := m.Ref
	ref.HostID = m.RecordedID()
	return ref
}

// RecordedID returns the host ID that its Service records; empty if it records none.
func (m *Member) RecordedID() hostid.ID {
	switch {
	case m.c != nil:
		return m.recorded
	case m.Service != nil:
		return recordedHostID(m.Service)
	}
	return ""
}

// WithService returns the member as it would be with this Service.
func (m Member) WithService(s *corev1.Service) *Member {
	m.Service, m.recorded = s, recordedHostID(s)
	return &m
}

// ByService returns the place by the Service's labels only, as the barrier reads it, with the host
// ID that the Service records. Without a Service it returns Ref.
func (m *Member) ByService() matrix.Ref {
	if m.Service == nil {
		return m.Ref
	}
	ref := Place(m.Ref.Member, m.Service.Labels)
	ref.HostID = m.RecordedID()
	return ref
}

// HasJoined reports whether its Service records a join.
func (m *Member) HasJoined() bool { return m.Joined != nil && *m.Joined }

// Label returns a label of its Service; empty without a Service.
func (m *Member) Label(key string) string {
	if m.Service == nil {
		return ""
	}
	return m.Service.Labels[key]
}

// Annotation returns an annotation of its Service; empty without a Service.
func (m *Member) Annotation(key string) string {
	if m.Service == nil {
		return ""
	}
	return m.Service.Annotations[key]
}

// Created returns the creation time of its Service; zero without a Service.
func (m *Member) Created() time.Time {
	if m.Service == nil {
		return time.Time{}
	}
	return m.Service.CreationTimestamp.Time
}

// podSpec returns the spec of its Pod, else of its StatefulSet's template; nil without either.
func (m *Member) podSpec() *corev1.PodSpec {
	switch {
	case m.Pod != nil:
		return &m.Pod.Spec
	case m.StatefulSet != nil:
		return &m.StatefulSet.Spec.Template.Spec
	}
	return nil
}

// ImageVersion returns the version in the tag of its ScyllaDB image; unknown for tag latest or a
// digest only.
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

// runningVersion returns the version in the tag of the image that ScyllaDB's container runs by the
// kubelet's word; empty if ScyllaDB does not run, or the image has no version. The image in the
// Pod's spec does not count: it may have changed since the container started.
func (m *Member) runningVersion() string {
	if !m.Started() || m.Process != nil {
		return ""
	}
	if v, err := release.OfImage(ScyllaDBStatus(m.Pod).Image); err == nil {
		return v.Raw
	}
	return ""
}

// Started reports whether its ScyllaDB runs: no barrier blocks it any more.
func (m *Member) Started() bool { return started(m.Pod) }

func started(pod *corev1.Pod) bool {
	if pod == nil || pod.DeletionTimestamp != nil {
		return false
	}
	st := ScyllaDBStatus(pod)
	return st != nil && st.State.Running != nil && !waitsInLauncher(pod)
}

// WaitsInBarrier reports whether its barrier blocks it: the init container, or the launcher, which
// repeats the barrier's judgement before the first start of ScyllaDB.
func (m *Member) WaitsInBarrier() bool {
	return m.Pod != nil && (waitsInBarrier(m.Pod) || waitsInLauncher(m.Pod))
}

func waitsInBarrier(pod *corev1.Pod) bool {
	st := containerStatus(pod.Status.InitContainerStatuses, api.ContainerBarrier)
	return st != nil && st.State.Running != nil && pod.DeletionTimestamp == nil
}

// waitsInLauncher reports whether the launcher of a Pod reports that it waits. It removes the
// annotation before it starts ScyllaDB.
func waitsInLauncher(pod *corev1.Pod) bool {
	value, ok := pod.Annotations[api.AnnotationBarrier]
	if !ok || pod.DeletionTimestamp != nil || !opened(pod) {
		return false
	}
	w, err := waits.Read(value, api.DecodeBarrierWait)
	return err == nil && w.Launcher
}

// opened reports whether the barrier container of a Pod has opened.
func opened(pod *corev1.Pod) bool {
	st := containerStatus(pod.Status.InitContainerStatuses, api.ContainerBarrier)
	return st != nil && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0
}

// PastBarrier reports whether the barrier of its present Pod has opened and its launcher does not
// wait, even while its ScyllaDB crashes.
func (m *Member) PastBarrier() bool {
	return m.Pod != nil && m.Pod.DeletionTimestamp == nil && passed(m.Pod)
}

// passed reports whether a Pod's barrier has opened. A Pod without a barrier has passed when its
// ScyllaDB runs.
func passed(pod *corev1.Pod) bool {
	if !HasBarrier(&pod.Spec) {
		return started(pod)
	}
	return opened(pod) && !waitsInLauncher(pod)
}

// RanAs returns the host ID with which ScyllaDB has run in its Pod while its launcher waits, by the
// Pod's own row; empty if ScyllaDB has not responded there.
func (m *Member) RanAs() hostid.ID {
	if m.c == nil || m.Pod == nil || !waitsInLauncher(m.Pod) {
		return ""
	}
	return m.c.Said(m.Ref.Member).LastHostID()
}

// HasBarrier reports whether the Pod has a barrier, which blocks it when it joins.
func HasBarrier(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.InitContainers,
		func(c corev1.Container) bool { return c.Name == api.ContainerBarrier })
}

// EmptyVolume reports whether its barrier found its volume empty.
func (m *Member) EmptyVolume() bool {
	w := m.BarrierWait()
	return w != nil && w.EmptyVolume
}

// BarrierWait returns the annotation of its Pod that waits in its barrier; nil if it does not wait
// or the annotation is not readable.
func (m *Member) BarrierWait() *api.BarrierWait {
	if m.Pod == nil {
		return nil
	}
	return barrierWait(m.Pod)
}

// Banned returns the evidence that ScyllaDB has permanently refused the new node; zero if there is
// none.
func (m *Member) Banned() words.Message { return m.c.banned(m.Ref.Member) }

// AllowsNonReporting reports whether its barrier has the flag that allows nodes without a row.
func (m *Member) AllowsNonReporting() bool {
	spec := m.podSpec()
	return spec != nil && lenientBarrier(spec)
}

// Idle reports whether its Pod was read and its ScyllaDB is not ready, or there is no Pod, or its
// Service records a finished decommission. During a replacement the Pod belongs to the new node and
// is not evidence about the recorded node.
func (m *Member) Idle() bool {
	return m.Label(api.LabelDecommissioned) == api.DecommissionedDone ||
		m.c != nil && m.c.KnowsPods() && !serving(m.Pod) && m.Label(api.LabelReplacingNodeHostID) == ""
}

// outdatedRows is for how long after a join rows without the new member may be from before it: the
// time of the slowest report, and of clocks that differ.
const outdatedRows = 10 * time.Minute

// JoinedAt returns when the controller observed the join of the recorded host ID, by its clock.
// It is zero if the controller did not, or the annotation is unreadable.
func (m *Member) JoinedAt() time.Time {
	if m.Service == nil {
		return time.Time{}
	}
	id, text, _ := strings.Cut(m.Service.Annotations[api.AnnotationJoinedAt], " ")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || hostid.Known(id) != m.RecordedID() {
		return time.Time{}
	}
	return at
}

// Removed reports whether its Service still records a host ID that no fresh row of the matrix
// lists: its node was removed. It is false if the member's ScyllaDB is ready, or may be; if the
// member has, or may have, joined since the rows were written; or if the rows can hide a member.
func (m *Member) Removed(in *matrix.Matrix) bool {
	id := m.RecordedID()
	if at, ok := in.Index(id); ok {
		return in.Nodes()[at].Removed && !m.JustJoined()
	}
	if !m.Idle() || id == "" || in.Reporting() == 0 {
		return false
	}
	return m.Label(api.LabelDecommissioned) == api.DecommissionedDone ||
		!in.Hides(m.Ref) && !m.mayOutdate(id)
}

// mayOutdate reports whether rows without this host ID may be from before its join: they lack even
// the member's own row, or its join was observed a short time ago.
func (m *Member) mayOutdate(id hostid.ID) bool {
	if joined := SaysJoined(m.Report); joined != nil && *joined && m.Report.HostID == id {
		return true
	}
	return m.JustJoined()
}

// JustJoined reports whether rows without the member may be from before its join. It uses the write
// time of the join annotation if our controller has not observed the join.
func (m *Member) JustJoined() bool {
	at := m.JoinedAt()
	if at.IsZero() && m.Service != nil {
		at = writtenAt(m.Service.ManagedFields, "f:"+api.AnnotationNodeJoined)
	}
	return m.c != nil && !at.IsZero() && m.c.TakenAt.Sub(at) < outdatedRows
}
