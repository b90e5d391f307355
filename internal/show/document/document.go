// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// APIVersion of every document. Fields are only added, never changed or removed.
const APIVersion = "kubectl-scylla/v1"

// Kinds of documents.
const (
	KindClusterStatus     = "ClusterStatus"
	KindClusterStatusList = "ClusterStatusList"
	KindBarrierVerdict    = "BarrierVerdict"
	KindBarrierList       = "BarrierVerdictList"
)

// Header is the beginning of every document.
type Header struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// GeneratedAt is when the document was created.
	GeneratedAt metav1.Time `json:"generatedAt"`
	// TakenAt is when the objects were read; for saved objects, the newest time in them. If absent,
	// texts have no ages.
	TakenAt *metav1.Time `json:"takenAt,omitempty"`
	// Source of the rows, with the reason for the choice.
	Source SourceInfo `json:"source,omitzero"`
	// Partial lists the unreadable parts; the rest of the document is valid.
	Partial []cluster.Problem `json:"partial"`
	// Notes are remarks on the reading itself.
	Notes []string `json:"notes"`
}

// SourceInfo is the source of the rows.
type SourceInfo struct {
	// Used is report, annotation or live.
	Used cluster.Source `json:"used,omitempty"`
	// Reason is why this source was chosen, or what was found.
	Reason string `json:"reason,omitempty"`
	// Offline is set for saved objects.
	Offline bool `json:"offline,omitempty"`
	// Context is the kubeconfig's context if it is not the current one.
	Context string `json:"context,omitempty"`
}

// InContext sets the kubeconfig's context of a cluster if it is not the current one. Saved objects
// have none.
func (h *Header) InContext(name string) {
	if !h.Source.Offline {
		h.Source.Context = name
	}
}

func header(kind, name string, s *cluster.Cluster, now time.Time) Header {
	h := Header{
		TypeMeta:    metav1.TypeMeta{APIVersion: APIVersion, Kind: kind},
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		GeneratedAt: metav1.NewTime(now.UTC().Truncate(time.Second)), TakenAt: TimePtr(s.TakenAt),
		Source:  SourceInfo{Used: s.Source, Reason: words.Text(s.SourceReason()), Offline: s.Offline},
		Partial: s.Partial(),
		Notes:   slices.Clone(s.Notes),
	}
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Resource, "leases.") && p.Kind != cluster.ProblemNotInstalled &&
			p.Kind != cluster.ProblemNotFound {
			// A Lease is in the controller's namespace: without access to it the matrix is still
			// complete.
			h.Notes = append(h.Notes, p.Message)
		}
	}
	if s.Old {
		h.Notes = append(h.Notes, words.Saved("saved objects", s.TakenAt, now)+noSteps)
	}
	return h
}

// noSteps is what Old objects lack.
const noSteps = ": steps that cannot be undone are not shown"

// PartialLines returns the unreadable parts without escape sequences, Pods with the same reason in
// one line. If there are more than most, the last line has their number; 0 returns all.
func (h *Header) PartialLines(most int) []string {
	lines := ProblemLines(h.Partial)
	if more := len(lines) - most; most > 0 && more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more (all with -o wide)", more))
	}
	for i := range lines {
		lines[i] = words.Clean(lines[i])
	}
	return lines
}

// At returns the reference time of ages; zero means no ages.
func (h *Header) At() time.Time { return TimeOf(h.TakenAt) }

// ClusterStatus is the document of `kubectl scylla status`, and the only source of its text.
type ClusterStatus struct {
	Header `json:",inline"`
	// Healthy is set if Nodes > 0 and all nodes see each other UP: a new node could join now.
	Healthy bool `json:"healthy"`
	// Verdict is HEALTHY, NOT HEALTHY, or UNKNOWN if no node could be queried.
	Verdict string `json:"verdict"`
	// Summary is the most severe finding in one sentence, else the number of nodes that are UP.
	Summary string `json:"summary"`
	// ManagedBy is scylla-operator or kubectl-scylla.
	ManagedBy string `json:"managedBy,omitempty"`
	Counts    Counts `json:"counts"`
	// View is the controller's view in the cluster report; absent if our controller writes none.
	View *api.StatusReportView `json:"view,omitempty"`
	// Coordinator is the topology coordinator, from the rows that name one; absent if none does, as
	// before ScyllaDB 6.0.
	Coordinator *Coordinator `json:"coordinator,omitempty"`
	// Findings are the causes, most severe first, then remarks. Each explains some of the blockers,
	// and every blocker has one finding.
	Findings []Finding `json:"findings"`
	// Nodes, ordered by datacenter, rack, ordinal, host ID. The text counts them from 1.
	Nodes []Node `json:"nodes"`
	// Rows of the nodes that report, each with the nodes that are not UP in it. A node with a host
	// ID that notUp lacks is UP in that row.
	Rows []Row `json:"rows"`
	// Blockers are why a new node could not join now, most severe first.
	Blockers Blockers `json:"blockers"`
	// New nodes that have not joined, each with the reason why it waits.
	Newcomers []Newcomer `json:"newcomers"`
	// Replacements that are open.
	Replacements []Replacement `json:"replacements"`
	// Operations are open topology operations of ScyllaDB's task manager, and recently failed ones.
	Operations []Operation `json:"operations"`
	// Names of members without a Pod, and host IDs that nodes list but no Kubernetes object has.
	Ghosts     []string    `json:"ghosts"`
	GossipOnly []hostid.ID `json:"gossipOnly"`
	// Leftovers are the orphaned host IDs of GossipOnly, left by failed replacements and joins.
	// Each has the nodes that list it, and the command to remove it or why it must not be removed.
	Leftovers []Leftover `json:"leftovers"`
	// Afterwards are the operations that ended within a day, latest first, with the next tasks from
	// ScyllaDB's documentation.
	Afterwards []Afterwards `json:"afterwards"`
	// Partition lists the parts of nodes, by host ID, that do not see each other; empty if
	// connected.
	Partition [][]hostid.ID `json:"partition"`
	// Split lists the clusters, by host ID, if nodes belong to several with the same name.
	Split [][]hostid.ID `json:"split"`
	// Schemas maps schema versions to node addresses, only if they disagree and only with source
	// live.
	Schemas map[string][]string `json:"schemas,omitempty"`
}

// Coordinator is the topology coordinator: the leader of group 0. Only its gossip state decides a
// join. It has no host ID if the rows disagree.
type Coordinator struct {
	matrix.Coordinator `json:",inline"`
	Text               string `json:"text"`
}

// Counts summarise a cluster.
type Counts struct {
	// Nodes is the number of judged nodes; Up of them are UP in every row, 0 <= Up <= Nodes.
	Nodes int `json:"nodes"`
	Up    int `json:"up"`
	// Reporting nodes have a fresh, readable row.
	Reporting int `json:"reporting"`
	// Problems counts findings except remarks; Blockers counts pairs and rows.
	Problems  int `json:"problems"`
	Blockers  int `json:"blockers"`
	Newcomers int `json:"newcomers"`
}

// Node is one line of the table of nodes.
type Node struct {
	matrix.Ref `json:",inline"`
	Namespace  string `json:"namespace,omitempty"`
	// Membership is a value of cluster.MemberState; Detail is the reason if it is not obvious.
	Membership cluster.MemberState `json:"membership"`
	Detail     string              `json:"detail,omitempty"`
	// State is the node's topology state in other nodes' rows (NORMAL, JOINING, LEAVING, ...).
	State string `json:"state,omitempty"`
	// Seen is how the other nodes see it; absent without their rows.
	Seen *Seen `json:"seen,omitempty"`
	// Row is the state of the node's own row.
	Row RowState `json:"row"`
	// Version and OperationMode are the node's own report; a version that it does not report is the
	// tag of the image that runs. Image is the image in the Pod's spec.
	Version       string `json:"version,omitempty"`
	OperationMode string `json:"operationMode,omitempty"`
	Image         string `json:"image,omitempty"`
	// Process is how ScyllaDB exited in the running container (state, exitStatus, ended), from its
	// supervisord; absent if it did not.
	Process *api.ScyllaDBProcess `json:"process,omitempty"`
	// Vitals are uptime, data and tokens; absent unless the node was queried (--source=live).
	cluster.Vitals `json:",inline"`
	// Pod is kubectl's STATUS column with the ready containers; "None" without a Pod.
	Pod string `json:"pod"`
	// PodIP is the address of its Pod, KubernetesNode the Kubernetes node of its Pod.
	PodIP          string                  `json:"podIP,omitempty"`
	KubernetesNode *cluster.KubernetesNode `json:"kubernetesNode,omitempty"`
	// Force is the value of the force annotation on the member Service.
	Force string `json:"force,omitempty"`
	// Notes are further facts, as messages.
	Notes []cluster.Note `json:"notes"`
}

// Seen is how the rows of the other nodes see a node, without the node's own row.
type Seen struct {
	// Status is UP if every other row has UP, else the worst of DOWN, UNKNOWN, MISSING.
	Status  api.NodeStatus `json:"status"`
	Up      int            `json:"up"`
	Down    int            `json:"down"`
	Unknown int            `json:"unknown"`
	Missing int            `json:"missing"`
	// Since is the earliest DOWN time in a row.
	Since *metav1.Time `json:"since,omitempty"`
}

// newSeen returns nil if no row has an entry.
func newSeen(t grid.Tally, since time.Time) *Seen {
	if t.Total() == 0 {
		return nil
	}
	return &Seen{Status: t.Worst().Status(), Up: t[grid.Up], Down: t[grid.Down], Unknown: t[grid.Unknown],
		Missing: t[grid.Missing], Since: TimePtr(since)}
}

// Tally counts the other rows by mark; it is empty for nil.
func (s *Seen) Tally() (t grid.Tally) {
	if s != nil {
		t[grid.Up], t[grid.Down], t[grid.Unknown], t[grid.Missing] = s.Up, s.Down, s.Unknown, s.Missing
	}
	return t
}

// Mark returns the status as a mark; grid.None for nil.
func (s *Seen) Mark() grid.Mark {
	if s == nil {
		return grid.None
	}
	return grid.Of(s.Status)
}

// Text returns the column's text: "UP 5/5", "DOWN 2/5".
func (s *Seen) Text() string {
	t := s.Tally()
	if t.Total() == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %d/%d", s.Status, t[s.Mark()], t.Total())
}

// RowStatus is the state of a row.
type RowStatus string

const (
	RowOK      RowStatus = "ok"
	RowStale   RowStatus = "stale"
	RowMissing RowStatus = "missing"
	RowError   RowStatus = "error"
	// RowNone is the absent row of a node that has not joined, for which none is expected.
	RowNone RowStatus = "none"
)

// RowState is the state of a node's own row.
type RowState struct {
	Status RowStatus `json:"status"`
	// Detail is the reason why it is stale, or the error.
	Detail string `json:"detail,omitempty"`
	// Written is when it last changed; absent if unknown.
	Written *metav1.Time `json:"written,omitempty"`
	// StaleSince is when it became stale; absent if unknown.
	StaleSince *metav1.Time `json:"staleSince,omitempty"`
}

// Row lists the nodes that are not UP in one node's row.
type Row struct {
	Observer matrix.Ref `json:"observer"`
	NotUp    []Pair     `json:"notUp"`
}

// Pair is one pair that is not UP.
type Pair struct {
	// Observed is the host ID.
	Observed hostid.ID `json:"observed"`
	// Status is DOWN, UNKNOWN or MISSING (the row lacks the node).
	Status api.NodeStatus `json:"status"`
	State  string         `json:"state,omitempty"`
	Since  *metav1.Time   `json:"since,omitempty"`
}

// Newcomer is a member that has not joined.
type Newcomer struct {
	matrix.Ref `json:",inline"`
	// Waiting is why its Pod waits, as reported by Kubernetes.
	Waiting string       `json:"waiting,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// Notes are the notes of the node, as texts.
	Notes []string `json:"notes"`
	// MayStart, Decision and Summary are the barrier's verdict. Summary has no subject: "must wait:
	// ...".
	MayStart bool          `json:"mayStart"`
	Decision string        `json:"decision,omitempty"`
	Summary  words.Message `json:"summary"`
	Blockers int           `json:"blockers"`
}

// Text returns the reason why it waits, in one line.
func (n *Newcomer) Text(now time.Time) string {
	text := n.Ref.String()
	if n.Waiting != "" {
		text += " is waiting for " + n.Waiting
		if a := words.Ago(TimeOf(n.Since), now); a != "" {
			text += " (for " + a + ")"
		}
	}
	if len(n.Notes) > 0 {
		text += " (" + strings.Join(n.Notes, ", ") + ")"
	}
	return text + ": " + words.Text(n.Summary)
}

// Replacement is an open replacement of a node.
type Replacement struct {
	matrix.Ref `json:",inline"`
	// Requested is set while the request label exists; Original is the recorded host ID to replace.
	Requested bool      `json:"requested"`
	Original  hostid.ID `json:"original,omitempty"`
	// Summary is the progress in one sentence.
	Summary string `json:"summary"`
	// Phase is Verify, DeleteVolume, EvictPod, NewPod, Join, Ready, OldNodeGone, Done or Failed.
	// Absent if too little was read, or under the Scylla Operator (which has other steps), except
	// Failed.
	Phase replace.Phase `json:"phase,omitempty"`
	// Attempt counts from 1; absent before the first is accepted.
	Attempt int `json:"attempt,omitempty"`
	// Held is set while a check blocks it.
	Held bool `json:"held,omitempty"`
	// Waiting lists what it waits for.
	Waiting []string `json:"waiting"`
	// Failure is why the attempt failed, else absent.
	Failure *Failure `json:"failure,omitempty"`
	// The action for an administrator, including after a failure.
	Cure string `json:"cure,omitempty"`
	// The source of that text; zero if the document was decoded.
	CureMessage words.Message `json:"-"`
}

// Operation is a topology operation.
type Operation struct {
	// Type is ScyllaDB's text (bootstrap, replace, decommission, "remove node", rebuild). Absent
	// while it waits, in versions up to 2025.4.
	Type string `json:"type,omitempty"`
	// State is created, running or failed.
	State string `json:"state"`
	// Node of the operation; absent if ScyllaDB does not report it, as up to 2025.4.
	Node *matrix.Ref `json:"node,omitempty"`
	// Error is ScyllaDB's text of a failed operation.
	Error string `json:"error,omitempty"`
	// UnderWay is an open operation as text; absent for a failed one.
	UnderWay words.Message `json:"underWay,omitzero"`
}

// ClusterStatusList is the document of several clusters.
type ClusterStatusList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []ClusterStatus `json:"items"`
}

// NewClusterStatusList wraps documents; Items is never null.
func NewClusterStatusList(items []ClusterStatus) *ClusterStatusList {
	if items == nil {
		items = []ClusterStatus{}
	}
	return &ClusterStatusList{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindClusterStatusList},
		Items: items}
}

// DeepCopyObject implements runtime.Object for the printers of cli-runtime.
func (d *ClusterStatus) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// DeepCopyObject implements runtime.Object.
func (d *ClusterStatusList) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// GetObjectKind implements runtime.Object.
func (h *Header) GetObjectKind() schema.ObjectKind { return &h.TypeMeta }

// DeepCopy goes through JSON, which describes a document fully; copies are rare.
func DeepCopy[T any](d *T) *T {
	out := new(T)
	// Documents contain only strings, numbers and times, which always encode.
	if data, err := json.Marshal(d); err == nil {
		_ = json.Unmarshal(data, out)
	}
	return out
}

// TimePtr returns a time for documents, truncated to seconds; nil for the zero time.
func TimePtr(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	m := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &m
}

// TimeOf returns the zero time for nil.
func TimeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// InContext is Header.InContext of every document.
func (l *ClusterStatusList) InContext(name string) {
	for i := range l.Items {
		l.Items[i].InContext(name)
	}
}
