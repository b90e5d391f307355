// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// RowUnchangedSince returns since when the member's row has not changed: the later write of the
// report and of the Pod's annotation, because a report is not written while its writer is away.
// Zero if one of them is unknown.
func (m *Member) RowUnchangedSince() time.Time {
	if m.Pod == nil || m.RowWritten.IsZero() {
		return time.Time{}
	}
	at := writtenAt(m.Pod.ManagedFields, "f:"+api.AnnotationNodeStatusReport)
	if !at.IsZero() && m.RowWritten.After(at) {
		return m.RowWritten
	}
	return at
}

// OfOperator reports whether the Scylla Operator manages the member.
func (m *Member) OfOperator() bool {
	return m.c != nil && m.c.Operator || m.Service != nil && OwnedByOperator(m.Service)
}

// Says returns the report of the member's node; empty if there is none.
func (m *Member) Says() api.NodeStatusReport { return ptr.Deref(m.Report, api.NodeStatusReport{}) }

// Answer returns ScyllaDB's own answer to a live query, with its error; nil if it was not queried.
func (m *Member) Answer() *api.NodeStatusReport { return m.objects().Live[m.Ref.Member] }

// JoinedAs reports whether the node with that host ID has joined: by its own report, or by the
// Service if the report does not show it.
func (m *Member) JoinedAs(id hostid.ID) bool {
	if said := SaysJoined(m.Report); said != nil && m.Report.HostID == id {
		return *said
	}
	return m.RecordedID() == id && m.HasJoined()
}

// Decommissioning reports whether a decommission of the member was requested.
func (m *Member) Decommissioning() bool { return m.Label(api.LabelDecommissioned) == "false" }

// Forced reports whether its Service forces the start, despite the reasons that it records.
func (m *Member) Forced() bool { return m.Service != nil && Forces(m.Service) }

// ForceOverrides returns the reasons that the member's force records. recorded is false if there is
// no record, and for a member of the Scylla Operator, whose barrier reads none: then the force
// overrides all. An unreadable record covers nothing.
func (m *Member) ForceOverrides() (list []api.ForceOverride, recorded bool) {
	if m.Service == nil || m.OfOperator() {
		return nil, false
	}
	value, recorded := m.Service.Annotations[api.AnnotationForceOverrides]
	if list, err := api.DecodeForceOverrides(value); recorded && err == nil {
		return list, true
	}
	return nil, recorded
}

// ForceVoid returns why the recorded force of the member does not count for the volume with that
// UID (as VolumeUID); zero if it does, if the UID is unknown, or if there is no record.
func (m *Member) ForceVoid(volume types.UID) words.Message {
	_, recorded := m.ForceOverrides()
	switch of := types.UID(m.Annotation(api.AnnotationForceVolume)); {
	case recorded && of == "":
		return words.New(words.ForceOfOlderVersion)
	case recorded && volume != "" && of != volume:
		return words.New(words.ForceOfOtherVolume, "forced", string(of), "uid", string(volume))
	}
	return words.Message{}
}

// VolumeUID returns the UID of the member's data PVC, or of its Pod if it has no PVC; empty if
// unknown.
func (m *Member) VolumeUID() types.UID {
	switch {
	case m.PVC != nil:
		return m.PVC.UID
	case m.objects().Read&KindPVCs == 0:
		return ""
	}
	return m.PodUID()
}

// ForceCovers returns the recorded reasons for people, at most 4 messages.
func (m *Member) ForceCovers() []words.Message {
	const enough = 3
	list, _ := m.ForceOverrides()
	var out []words.Message
	for _, r := range list[:min(len(list), enough)] {
		name := r.Object
		if id := hostid.Known(r.Object); id != "" && m.c != nil {
			name = m.c.Named(r.Object).Name()
		}
		out = append(out, words.New(words.ForceOverride, "reason", r.Reason, "object", name))
	}
	if more := len(list) - enough; more > 0 {
		out = append(out, words.New(words.ForceOverridesMore, "more", more))
	}
	return out
}

// Going reports whether the member has a Service but need not become ready: it is replaced, leaves,
// or was removed.
func (m *Member) Going() bool {
	if m.c == nil || m.Service == nil {
		return false
	}
	for _, label := range []string{api.LabelReplace, api.LabelReplacingNodeHostID, api.LabelDecommissioned} {
		if _, ok := m.Service.Labels[label]; ok {
			return true
		}
	}
	at, ok := m.c.all.Index(m.RecordedID())
	return ok && m.c.all.Nodes()[at].Removed
}

// RecordsReplaced reports whether its Service still records the node to be replaced: that host ID
// is the dead node's, not the new node's.
func (m *Member) RecordsReplaced() bool { return m.Service != nil && recordsReplaced(m.Service) }

// Claim returns the PVC with that UID among all PVCs of the cluster; nil if there is none.
func (m *Member) Claim(uid string) *corev1.PersistentVolumeClaim {
	if m.PVC != nil && string(m.PVC.UID) == uid {
		return m.PVC
	}
	for i := range m.objects().PVCs {
		if p := &m.objects().PVCs[i]; string(p.UID) == uid {
			return p
		}
	}
	return nil
}

// objects returns the cluster's objects; empty for a member without a cluster.
func (m *Member) objects() *Objects {
	if m.c == nil {
		return &Objects{}
	}
	return &m.c.Objects
}

// Ready reports whether the member's Pod is Ready.
func (m *Member) Ready() bool { return m.Pod != nil && PodReady(m.Pod) }

// Serves reports whether the member's Pod and its ScyllaDB are ready, and the Pod is not being
// deleted.
func (m *Member) Serves() bool { return m.Ready() && serving(m.Pod) && !m.Deleting() }

// Stopped reports whether the member's Pod is not being deleted and its ScyllaDB does not run.
func (m *Member) Stopped() bool { return m.Pod != nil && !m.Deleting() && !m.Started() }

// Deleting reports whether the member's Pod is being deleted.
func (m *Member) Deleting() bool { return m.Pod != nil && m.Pod.DeletionTimestamp != nil }

// FailingGate returns the readiness gate that keeps the Pod from being Ready although its
// containers are; empty if there is none.
func (m *Member) FailingGate() string {
	if m.Pod == nil || !conditionTrue(m.Pod, corev1.ContainersReady) {
		return ""
	}
	for _, g := range m.Pod.Spec.ReadinessGates {
		if !conditionTrue(m.Pod, g.ConditionType) {
			return string(g.ConditionType)
		}
	}
	return ""
}

// Scheduled reports whether the member's Pod has a Kubernetes node.
func (m *Member) Scheduled() bool { return m.Pod != nil && m.Pod.Spec.NodeName != "" }

// KubernetesNode returns the Kubernetes node of the member's Pod; its name is empty without one.
func (m *Member) KubernetesNode() KubernetesNode { return m.objects().KubernetesNode(m.Pod) }

// KubernetesNodeLost reports whether the Kubernetes node of the member's Pod is not responding or
// does not exist, so that the Pod cannot end.
func (m *Member) KubernetesNodeLost() bool {
	o := m.objects()
	return m.Pod != nil && (o.NodeLost(m.Pod) || o.KubernetesNode(m.Pod).State == KubernetesNodeGone)
}

// Owned reports whether the Pod's controller is the member's StatefulSet, or any StatefulSet if
// that was not read.
func (m *Member) Owned() bool {
	if m.Pod == nil {
		return false
	}
	owner, set := metav1.GetControllerOfNoCopy(m.Pod), m.StatefulSet
	return owner != nil && owner.Kind == "StatefulSet" && (set == nil || set.Name == owner.Name && set.UID == owner.UID)
}

// BarrierSince returns when the running barrier of the member's Pod was started; zero if none runs.
func (m *Member) BarrierSince() time.Time {
	if b := m.Barrier(); b.Phase == BarrierWaiting && b.Since != nil {
		return b.Since.Time
	}
	return time.Time{}
}

// ScyllaDB returns the status of ScyllaDB's container; empty while the kubelet has not reported
// one.
func (m *Member) ScyllaDB() corev1.ContainerStatus {
	if m.Pod == nil {
		return corev1.ContainerStatus{}
	}
	return ptr.Deref(ScyllaDBStatus(m.Pod), corev1.ContainerStatus{})
}

// StartedAt returns when ScyllaDB's container was last started; zero while it does not run.
func (m *Member) StartedAt() time.Time {
	return ptr.Deref(m.ScyllaDB().State.Running, corev1.ContainerStateRunning{}).StartedAt.Time
}

// LastExit returns the last exit of ScyllaDB's container; nil if it has not exited.
func (m *Member) LastExit() *corev1.ContainerStateTerminated {
	st := m.ScyllaDB()
	return cmp.Or(st.State.Terminated, st.LastTerminationState.Terminated)
}

// Rolling reports whether the member's StatefulSet replaces its Pods by Pods of a new revision.
func (m *Member) Rolling() bool { return m.StatefulSet != nil && Rolling(m.StatefulSet) }

// Current reports whether the member's Pod is of its StatefulSet's newest revision.
func (m *Member) Current() bool {
	return m.Pod != nil && m.StatefulSet != nil &&
		m.Pod.Labels[appsv1.ControllerRevisionHashLabelKey] == m.StatefulSet.Status.UpdateRevision
}

// Launcher returns whether the member's StatefulSet starts ScyllaDB through `scylla-agent launch`,
// which adds the replace argument. The Scylla Operator's sidecar adds it itself.
func (m *Member) Launcher() release.Support {
	switch {
	case m.StatefulSet == nil:
		return release.Unknown
	case m.OfOperator():
		return release.Yes
	}
	c := ScyllaDBContainer(&m.StatefulSet.Spec.Template.Spec)
	if c == nil {
		return release.Unknown
	}
	line := slices.Concat(c.Command, c.Args)
	for i, arg := range line {
		// In a shell script the command is one argument.
		if path.Base(arg) == "scylla-agent" && i+1 < len(line) && line[i+1] == "launch" ||
			strings.Contains(arg, "scylla-agent launch") {
			return release.Yes
		}
	}
	return release.No
}
