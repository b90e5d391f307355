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
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// OfOperator is true where the Scylla Operator manages the member.
func (m *Member) OfOperator() bool {
	return m.c != nil && m.c.Operator || m.Service != nil && OwnedByOperator(m.Service)
}

// Says is the report of the member's node; empty where there is none.
func (m *Member) Says() api.NodeStatusReport { return ptr.Deref(m.Report, api.NodeStatusReport{}) }

// Answer is ScyllaDB's own answer, asked now, with its error; nil where it was not asked.
func (m *Member) Answer() *api.NodeStatusReport { return m.objects().Live[m.Ref.Member] }

// JoinedAs is true where the node with that host ID has joined by its own report, or where that says nothing, by the Service.
func (m *Member) JoinedAs(id hostid.ID) bool {
	if said := SaysJoined(m.Report); said != nil && m.Report.HostID == id {
		return *said
	}
	return m.RecordedID() == id && m.HasJoined()
}

// Decommissioning is true while the member is asked to leave.
func (m *Member) Decommissioning() bool { return m.Label(api.LabelDecommissioned) == "false" }

// Forced is true where its Service has it start whatever the reports say.
func (m *Member) Forced() bool { return m.Service != nil && Forces(m.Service) }

// Going is true for a member with a Service that is not expected to be ready: it is replaced, leaves, or was removed.
func (m *Member) Going() bool { return m.c != nil && m.Service != nil && m.c.going(m.Service) }

// RecordsReplaced is true while its Service still records the node that is to be replaced, or is being replaced: that host ID is the dead node's, not the newcomer's.
func (m *Member) RecordsReplaced() bool { return m.Service != nil && recordsReplaced(m.Service) }

// Claim is the one of that UID among all claims of the cluster; nil where there is none.
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

// objects are those of the cluster; none for a member that is in no cluster.
func (m *Member) objects() *Objects {
	if m.c == nil {
		return &Objects{}
	}
	return &m.c.Objects
}

// Ready is true while the condition Ready of the member's Pod is.
func (m *Member) Ready() bool { return m.Pod != nil && PodReady(m.Pod) }

// Serves is true while the member's Pod and its ScyllaDB are ready, and the Pod is not being deleted.
func (m *Member) Serves() bool { return m.Ready() && serving(m.Pod) && !m.Deleting() }

// Stopped is true for a member whose Pod is not being deleted, and whose ScyllaDB does not run.
func (m *Member) Stopped() bool { return m.Pod != nil && !m.Deleting() && !m.Started() }

// Deleting is true while the member's Pod is being deleted.
func (m *Member) Deleting() bool { return m.Pod != nil && m.Pod.DeletionTimestamp != nil }

// FailingGate is the readiness gate that keeps its Pod from being Ready although its containers are; empty where there is none.
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

// Scheduled is true once the member's Pod has a Kubernetes node.
func (m *Member) Scheduled() bool { return m.Pod != nil && m.Pod.Spec.NodeName != "" }

// KubernetesNodeLost is true where the Kubernetes node of the member's Pod does not answer, or is gone, so that the Pod cannot end.
func (m *Member) KubernetesNodeLost() bool {
	o := m.objects()
	return m.Pod != nil && (o.NodeLost(m.Pod) || o.KubernetesNode(m.Pod).State == KubernetesNodeGone)
}

// Owned is true for a Pod whose controller is the member's StatefulSet, or some StatefulSet where that was not read.
func (m *Member) Owned() bool {
	if m.Pod == nil {
		return false
	}
	owner, set := metav1.GetControllerOfNoCopy(m.Pod), m.StatefulSet
	return owner != nil && owner.Kind == "StatefulSet" && (set == nil || set.Name == owner.Name && set.UID == owner.UID)
}

// BarrierSince is when the barrier that the member's Pod is in was started; zero when it is in none.
func (m *Member) BarrierSince() time.Time {
	if b := m.Barrier(); b.Phase == BarrierWaiting && b.Since != nil {
		return b.Since.Time
	}
	return time.Time{}
}

// ScyllaDB is the state of ScyllaDB's container; empty while the kubelet has not reported one.
func (m *Member) ScyllaDB() corev1.ContainerStatus {
	if m.Pod == nil {
		return corev1.ContainerStatus{}
	}
	return ptr.Deref(ScyllaDBStatus(m.Pod), corev1.ContainerStatus{})
}

// StartedAt is when ScyllaDB's container was last started; zero while it does not run.
func (m *Member) StartedAt() time.Time {
	return ptr.Deref(m.ScyllaDB().State.Running, corev1.ContainerStateRunning{}).StartedAt.Time
}

// LastExit is the last exit of ScyllaDB's container; nil where it has not exited yet.
func (m *Member) LastExit() *corev1.ContainerStateTerminated {
	st := m.ScyllaDB()
	return cmp.Or(st.State.Terminated, st.LastTerminationState.Terminated)
}

// Rolling is true while the member's StatefulSet replaces its Pods by others of a new revision.
func (m *Member) Rolling() bool { return m.StatefulSet != nil && Rolling(m.StatefulSet) }

// Current is true for a member whose Pod is of its StatefulSet's newest revision.
func (m *Member) Current() bool {
	return m.Pod != nil && m.StatefulSet != nil && m.Pod.Labels[appsv1.ControllerRevisionHashLabelKey] == m.StatefulSet.Status.UpdateRevision
}

// Launcher is whether the member's StatefulSet starts ScyllaDB through `scylla-agent launch`, which adds the replace argument. The Scylla Operator's sidecar does that by itself.
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
		// In a shell's script the words are one argument.
		if path.Base(arg) == "scylla-agent" && i+1 < len(line) && line[i+1] == "launch" || strings.Contains(arg, "scylla-agent launch") {
			return release.Yes
		}
	}
	return release.No
}
