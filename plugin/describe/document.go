// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Kind of the document in document.APIVersion.
const Kind = "NodeDescription"

// KindList is the kind of the list that `describe` prints.
const KindList = "NodeDescriptionList"

// Document is the description of one node.
type Document struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	GeneratedAt       metav1.Time `json:"generatedAt"`
	// TakenAt is when the objects were read; for saved objects the newest time in them, absent if
	// they have none.
	TakenAt *metav1.Time `json:"takenAt,omitempty"`
	Cluster string       `json:"cluster"`
	Source  string       `json:"source,omitempty"`
	// View is the controller's view and its start time; absent if our controller keeps none.
	View *document.ViewStamp `json:"view,omitempty"`
	// RootCredential is the state of the cluster's root credential; absent if unknown.
	RootCredential string `json:"rootCredential,omitempty"`
	// Node from `status`: place, host ID, membership, status, its own row, version.
	Node document.Node `json:"node"`
	// Findings are the findings about this node, most severe first; OtherProblems counts the
	// cluster's other findings. NextStep is the recommended step.
	Findings      []document.Finding `json:"findings"`
	OtherProblems int                `json:"otherProblems,omitempty"`
	NextStep      words.Message      `json:"nextStep,omitzero"`
	// SeenBy has the node's status in every other node's row, Sees the other nodes' statuses in its
	// own row.
	SeenBy []Opinion `json:"seenBy"`
	Sees   []Opinion `json:"sees"`
	// Pod, Claim and KubernetesNode are absent if they do not exist.
	Pod            *Pod            `json:"pod,omitempty"`
	Claim          *Claim          `json:"claim,omitempty"`
	KubernetesNode *KubernetesNode `json:"kubernetesNode,omitempty"`
	// `Newcomer` is why a new node waits, Replacement this member's open replacement.
	Newcomer    *document.Newcomer    `json:"newcomer,omitempty"`
	Replacement *document.Replacement `json:"replacement,omitempty"`
	// Automatic is present if the Scylla Operator replaces nodes by itself.
	Automatic words.Message `json:"automatic,omitzero"`
	Log       *Log          `json:"log,omitempty"`
	// Events about its Pod, Service and PVC, newest last.
	Events []Event `json:"events"`
	// Partial lists the parts that could not be read.
	Partial []string `json:"partial"`
}

// Opinion is the status of one node in another node's row.
type Opinion struct {
	matrix.Ref `json:",inline"`
	// Status is UP, DOWN, UNKNOWN or MISSING; NOROW if the node has no usable row.
	Status api.NodeStatus `json:"status"`
	Since  *metav1.Time   `json:"since,omitempty"`
}

// noRow is the status for a node without a row.
const noRow api.NodeStatus = "NOROW"

// Pod of the member.
type Pod struct {
	Name    string       `json:"name"`
	State   string       `json:"state"`
	IP      string       `json:"ip,omitempty"`
	Created *metav1.Time `json:"created,omitempty"`
	// Waiting is why the Pod is not Ready; empty if ScyllaDB is Ready.
	Waiting  string       `json:"waiting,omitempty"`
	Since    *metav1.Time `json:"waitingSince,omitempty"`
	Restarts int32        `json:"restarts"`
	// Containers in start order.
	Containers []Container `json:"containers"`
}

// Container of the Pod.
type Container struct {
	Name  string `json:"name"`
	Init  bool   `json:"init,omitempty"`
	State string `json:"state"`
	Ready bool   `json:"ready"`
	// Restarts, and how the last run ended.
	Restarts int32        `json:"restarts"`
	LastEnd  string       `json:"lastEnd,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
}

// Claim is the data PVC.
type Claim struct {
	Name   string `json:"name"`
	Exists bool   `json:"exists"`
	Phase  string `json:"phase,omitempty"`
	Volume string `json:"volume,omitempty"`
	Size   string `json:"size,omitempty"`
}

// KubernetesNode is the Kubernetes node of the Pod.
type KubernetesNode struct {
	Name string `json:"name"`
	// State is Ready, NotReady, Gone, or Unknown if it could not be read.
	State    string       `json:"state"`
	Cordoned bool         `json:"cordoned,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
	// Why is the kubelet's reason for not Ready.
	Why string `json:"why,omitempty"`
}

// Log has the first and the last error line in the log of the container that explains the node's
// state, and the diagnosis.
type Log struct {
	Container string            `json:"container"`
	First     *support.LogError `json:"firstError,omitempty"`
	Last      *support.LogError `json:"lastError,omitempty"`
	Diagnosis *scylla.Diagnosis `json:"diagnosis,omitempty"`
	// Evidence is what the diagnosis shows to be lost or not lost, with the place in ScyllaDB's
	// source; `Cure` is the fix.
	Evidence string `json:"evidence,omitempty"`
	Cure     string `json:"cure,omitempty"`
}

// Event of Kubernetes.
type Event struct {
	Time    *metav1.Time `json:"time,omitempty"`
	Type    string       `json:"type"`
	Reason  string       `json:"reason"`
	Object  string       `json:"object"`
	Message string       `json:"message"`
	Count   int32        `json:"count,omitempty"`
}

// Repeat adds the user's flags to every command of the document.
func (d *Document) Repeat(p words.Printer) {
	document.Repeat(p, d.Findings)
	p.Flag(&d.NextStep)
	if d.Newcomer != nil {
		d.Newcomer.Repeat(p)
	}
	if d.Replacement != nil {
		d.Replacement.Repeat(p)
	}
}

// DeepCopyObject makes the document a runtime.Object, which cli-runtime's printers require.
func (d *Document) DeepCopyObject() runtime.Object { return document.DeepCopy(d) }

// GetObjectKind: see DeepCopyObject.
func (d *Document) GetObjectKind() schema.ObjectKind { return &d.TypeMeta }

func newDocument(s *cluster.Cluster, m *cluster.Member, status *document.ClusterStatus, a *around,
	now time.Time) *Document {
	d := &Document{
		TypeMeta:    metav1.TypeMeta{APIVersion: document.APIVersion, Kind: Kind},
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: cmp.Or(m.Member, string(m.HostID))},
		GeneratedAt: metav1.NewTime(now.UTC().Truncate(time.Second)), TakenAt: document.TimePtr(s.TakenAt),
		Cluster: s.Name, Source: string(s.Source), View: document.NewViewStamp(s), Node: nodeOf(status, m),
		Partial: slices.Concat(status.PartialLines(0), a.missing),
	}
	d.RootCredential, _ = document.RootCredential(s)
	d.find(status, m)
	d.views(s.Matrix(), m.HostID)
	d.Pod, d.Claim, d.KubernetesNode = podOf(m), claimOf(s, m), machineOf(s, m, a)
	if o := s.OperatorState; s.Operator && o != nil && ptr.Deref(o.ReplacesOrphans, false) {
		d.Automatic = words.New(words.OperatorReplacesOrphans)
	}
	for i := range status.Newcomers {
		if n := &status.Newcomers[i]; n.Member == m.Member && m.Member != "" {
			d.Newcomer = n
		}
	}
	for i := range status.Replacements {
		if r := &status.Replacements[i]; r.Member == m.Member && m.Member != "" {
			d.Replacement = r
		}
	}
	if a.log != nil {
		d.Log = newLog(a.log)
		if f := a.log.Diagnosis; f != nil {
			d.Log.Cure = document.LogCure(s, f.Code)
		}
	}
	for i := range a.events {
		e := &a.events[i]
		d.Events = append(d.Events, Event{
			Time: document.TimePtr(cluster.EventTime(e)), Type: e.Type, Reason: e.Reason,
			Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name, Message: e.Message, Count: e.Count,
		})
	}
	return d
}

func newLog(c *support.Container) *Log {
	l := &Log{Container: c.Container, First: c.First, Last: c.Last, Diagnosis: c.Diagnosis}
	if f := c.Diagnosis; f != nil {
		l.Evidence = words.Text(evidence.Message(f.Code))
	}
	return l
}

// newLogDocument describes a log alone. Without the member's objects nothing shows how old the log
// is, so an error that means the loss of a volume has no step.
func newLogDocument(log []byte, now time.Time) *Document {
	c := &support.Container{Container: api.ContainerScyllaDB}
	c.Take(log)
	d := &Document{
		TypeMeta:    metav1.TypeMeta{APIVersion: document.APIVersion, Kind: Kind},
		GeneratedAt: metav1.NewTime(now.UTC().Truncate(time.Second)), Log: newLog(c),
	}
	if f := c.Diagnosis; f != nil &&
		!slices.ContainsFunc(evidence.Table(), func(e evidence.Item) bool {
			return e.Code == f.Code && e.Volume == evidence.Lost
		}) {
		d.Log.Cure = words.Text(scylla.Cure(f.Code))
	}
	return d
}

// nodeOf returns the member's line of the status.
func nodeOf(status *document.ClusterStatus, m *cluster.Member) document.Node {
	for _, n := range status.Nodes {
		if n.HostID == m.HostID && n.Member == m.Member {
			return n
		}
	}
	return document.Node{Ref: m.Ref, Namespace: m.Namespace, Membership: m.State, Detail: words.Text(m.Detail),
		Pod: m.PodState, Image: m.Image, Version: m.Version, Vitals: m.Vitals}
}

// find adds the findings about the member: those that name it, and those that name no node and
// explain a blocker about it, such as a network partition. Every node is in a split cluster.
func (d *Document) find(status *document.ClusterStatus, m *cluster.Member) {
	about := func(r matrix.Ref) bool {
		return r.HostID != "" && r.HostID == m.HostID || r.Member != "" && r.Member == m.Member
	}
	for _, f := range status.Findings {
		mine := f.Kind == diagnosis.SplitCluster || slices.ContainsFunc(f.Scope.Nodes, about)
		for _, i := range f.Explains {
			if i < len(status.Blockers) {
				// A node that sees another DOWN may itself be healthy: only the observed node
				// counts.
				mine = mine || len(f.Scope.Nodes) == 0 && about(status.Blockers[i].Observed)
			}
		}
		switch {
		case mine:
			d.Findings = append(d.Findings, f)
		case !f.Remark:
			d.OtherProblems++
		}
	}
	for _, f := range d.Findings {
		if d.NextStep.IsZero() { // problems come first
			d.NextStep = f.Step
		}
	}
}

// views sets the member's column and row of the matrix.
func (d *Document) views(m *matrix.Matrix, hostID hostid.ID) {
	self, ok := m.Index(hostID)
	if !ok || hostID == "" {
		return
	}
	nodes := m.Nodes()
	own := m.HasUsableRow(self)
	for i := range nodes {
		if i == self || nodes[i].HostID == "" {
			continue
		}
		by := Opinion{Ref: nodes[i].Ref, Status: noRow}
		if m.HasUsableRow(i) {
			c := m.Cell(i, self)
			by.Status, by.Since = api.NodeStatus(c.Status.String()), document.TimePtr(c.Since)
		}
		d.SeenBy = append(d.SeenBy, by)
		if own {
			c := m.Cell(self, i)
			d.Sees = append(d.Sees, Opinion{Ref: nodes[i].Ref, Status: api.NodeStatus(c.Status.String()),
				Since: document.TimePtr(c.Since)})
		}
	}
}

func podOf(m *cluster.Member) *Pod {
	p := m.Pod
	if p == nil {
		return nil
	}
	out := &Pod{Name: p.Name, State: m.PodState, IP: p.Status.PodIP,
		Created: document.TimePtr(p.CreationTimestamp.Time), Waiting: words.Text(m.Waiting),
		Since: document.TimePtr(m.WaitingSince)}
	add := func(specs []corev1.Container, states []corev1.ContainerStatus, initial bool) {
		for i := range specs {
			c := Container{Name: specs[i].Name, Init: initial, State: "not started"}
			for j := range states {
				if states[j].Name == c.Name {
					c.take(&states[j])
				}
			}
			out.Restarts += c.Restarts
			out.Containers = append(out.Containers, c)
		}
	}
	add(p.Spec.InitContainers, p.Status.InitContainerStatuses, true)
	add(p.Spec.Containers, p.Status.ContainerStatuses, false)
	return out
}

func (c *Container) take(st *corev1.ContainerStatus) {
	c.Ready, c.Restarts = st.Ready, st.RestartCount
	switch {
	case st.State.Running != nil:
		c.State, c.Since = "Running", document.TimePtr(st.State.Running.StartedAt.Time)
	case st.State.Terminated != nil:
		c.State, c.Since = endOf(st.State.Terminated), document.TimePtr(st.State.Terminated.FinishedAt.Time)
	case st.State.Waiting != nil:
		c.State = cmp.Or(st.State.Waiting.Reason, "Waiting")
	}
	if t := st.LastTerminationState.Terminated; t != nil {
		c.LastEnd = endOf(t)
	}
}

func endOf(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		text += " (" + t.Reason + ")"
	}
	return text
}

// claimOf returns nil if there can be no PVC, or if PVCs were not read.
func claimOf(s *cluster.Cluster, m *cluster.Member) *Claim {
	if m.PVCName == "" || m.Member == "" || m.PVC == nil && s.Read&cluster.KindPVCs == 0 {
		return nil
	}
	c := &Claim{Name: m.PVCName}
	if m.PVC != nil {
		c.Exists, c.Phase, c.Volume = true, string(m.PVC.Status.Phase), m.PVC.Spec.VolumeName
		if m.PVC.DeletionTimestamp != nil {
			c.Phase = "Terminating"
		}
		size, ok := m.PVC.Status.Capacity[corev1.ResourceStorage]
		if !ok {
			size, ok = m.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
		}
		if ok {
			c.Size = size.String()
		}
	}
	return c
}

func machineOf(s *cluster.Cluster, m *cluster.Member, a *around) *KubernetesNode {
	if m.Pod == nil || m.Pod.Spec.NodeName == "" {
		return nil
	}
	k := &KubernetesNode{Name: m.Pod.Spec.NodeName, State: "Unknown"}
	switch {
	case a.nodeGone:
		k.State = cluster.KubernetesNodeGone
	case a.node != nil:
		ready := cluster.KubernetesNodeReadiness(a.node)
		k.State, k.Cordoned = cluster.KubernetesNodeNotReady, a.node.Spec.Unschedulable
		k.Since = document.TimePtr(ready.LastTransitionTime.Time)
		if ready.Status == corev1.ConditionTrue {
			k.State = cluster.KubernetesNodeReady
		} else {
			k.Why = cmp.Or(ready.Message, ready.Reason)
		}
	default:
		// The state may be known without the object, and the findings use it.
		state, about, _ := strings.Cut(s.KubernetesNode(m.Pod).State, ",")
		k.State, k.Cordoned = cmp.Or(state, k.State), about != ""
	}
	return k
}

// Pods returns the name of the node's Pod, for -o name; nil without one.
func (d *Document) Pods() []string {
	if d.Pod == nil {
		return nil
	}
	return []string{d.Pod.Name}
}
