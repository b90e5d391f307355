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

// APIVersion of every document. Fields are added under it, never changed or removed.
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
	// GeneratedAt is when the document was made.
	GeneratedAt metav1.Time `json:"generatedAt"`
	// TakenAt is when the objects were read, of saved objects the newest time in them; absent where they have none. Texts then give no ages.
	TakenAt *metav1.Time `json:"takenAt,omitempty"`
	// Source of the rows, with the reason for the choice.
	Source SourceInfo `json:"source,omitzero"`
	// Partial lists the parts that could not be read; the rest of the document is true.
	Partial []cluster.Problem `json:"partial,omitempty"`
	// Notes are remarks on the reading itself.
	Notes []string `json:"notes,omitempty"`
}

// SourceInfo says where rows came from.
type SourceInfo struct {
	// Used is report, annotation or live.
	Used cluster.Source `json:"used,omitempty"`
	// Reason says in words why that one, or what was found.
	Reason string `json:"reason,omitempty"`
	// Offline is true for saved objects.
	Offline bool `json:"offline,omitempty"`
	// Context is the kubeconfig's context, where it is not the current one.
	Context string `json:"context,omitempty"`
}

// InContext sets the kubeconfig's context by which the cluster was read, where that is not the current one. Saved objects have none.
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
		Source:  SourceInfo{Used: s.Source, Reason: words.Text(s.SourceReason), Offline: s.Offline},
		Partial: s.Partial(),
		Notes:   slices.Clone(s.Notes),
	}
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Resource, "leases.") && p.Kind != cluster.ProblemNotInstalled && p.Kind != cluster.ProblemNotFound {
			// The controller's own namespace: a user who may read only the cluster's namespace still gets the whole matrix.
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

// PartialLines are the parts that could not be read, each without escape sequences; those of Pods with the same reason are one line. When there are more than most, the last
// line gives their number; zero gives all.
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

// At is the moment that ages count to; zero leaves ages out.
func (h *Header) At() time.Time { return TimeOf(h.TakenAt) }

// ClusterStatus is the document of `kubectl scylla status`. Its text is made from it and from nothing else.
type ClusterStatus struct {
	Header `json:",inline"`
	// Healthy is true when there is at least one node and every node sees every node UP: a newcomer could join now.
	Healthy bool `json:"healthy"`
	// Verdict is HEALTHY, NOT HEALTHY, or UNKNOWN where no node could be asked.
	Verdict string `json:"verdict"`
	// Summary is the gravest finding in one sentence, or the number of nodes that are UP where there is none.
	Summary string `json:"summary"`
	// ManagedBy is scylla-operator or kubectl-scylla.
	ManagedBy string `json:"managedBy,omitempty"`
	Counts    Counts `json:"counts"`
	// View is the controller's own summary in the cluster report; absent where our controller keeps none.
	View *api.StatusReportView `json:"view,omitempty"`
	// Coordinator is the topology coordinator, by the rows that name one; absent where none does, as before ScyllaDB 6.0.
	Coordinator *Coordinator `json:"coordinator,omitempty"`
	// Findings are the causes, the gravest first: each explains some of the blockers, and every blocker is explained by one. Remarks come last.
	Findings []Finding `json:"findings,omitempty"`
	// Nodes, ordered by datacenter, rack, ordinal, host ID. The text counts them from 1.
	Nodes []Node `json:"nodes"`
	// Rows of the nodes that report, each with the nodes that are not UP in it. A node with a host ID that a row does not list in notUp is UP in it.
	Rows []Row `json:"rows,omitempty"`
	// Blockers, the gravest first: why a newcomer could not join now.
	Blockers Blockers `json:"blockers,omitempty"`
	// Newcomers have not joined yet; each with the reason for which it waits.
	Newcomers []Newcomer `json:"newcomers,omitempty"`
	// Replacements that are open.
	Replacements []Replacement `json:"replacements,omitempty"`
	// Operations are the topology operations that ScyllaDB's task manager shows as open, and those that failed a while ago.
	Operations []Operation `json:"operations,omitempty"`
	// Ghosts are members without a Pod; GossipOnly are host IDs that peers list and no Kubernetes object has. By name or host ID.
	Ghosts     []string    `json:"ghosts,omitempty"`
	GossipOnly []hostid.ID `json:"gossipOnly,omitempty"`
	// Leftovers are those of GossipOnly that are ghosts, as failed replacements and joins leave behind: each with the nodes that list it, and the command that removes it or
	// the reason why it must not be removed.
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// Afterwards are the operations that ended within a day, the latest first, each with what ScyllaDB's documentation asks for next.
	Afterwards []Afterwards `json:"afterwards,omitempty"`
	// Partition lists the parts, by host ID, when the reporting nodes form parts that do not see each other; empty otherwise.
	Partition [][]hostid.ID `json:"partition,omitempty"`
	// Split lists by host ID the clusters of one name that the nodes belong to, when it is more than one; empty otherwise.
	Split [][]hostid.ID `json:"split,omitempty"`
	// Schemas maps schema versions to the addresses of the nodes that have them; only ScyllaDB itself tells (source live), and only
	// disagreement is listed.
	Schemas map[string][]string `json:"schemas,omitempty"`
}

// Coordinator is the topology coordinator: the leader of group 0, whose own view alone decides a join. It has no host ID where the rows do not agree.
type Coordinator struct {
	matrix.Coordinator `json:",inline"`
	Text               string `json:"text"`
}

// Counts sum a cluster up.
type Counts struct {
	// Nodes is the number of judged nodes; Up of them are UP in every row.
	Nodes int `json:"nodes"`
	Up    int `json:"up"`
	// Reporting nodes have a fresh, readable row.
	Reporting int `json:"reporting"`
	// Problems are the findings that are no remarks; Blockers counts single pairs and rows.
	Problems  int `json:"problems"`
	Blockers  int `json:"blockers"`
	Newcomers int `json:"newcomers"`
}

// Node is one line of the table of nodes.
type Node struct {
	matrix.Ref `json:",inline"`
	Namespace  string `json:"namespace,omitempty"`
	// Membership is Member, Newcomer, Leaving, Ghost, Remote or Unknown; Detail is the reason where it is not obvious.
	Membership cluster.MemberState `json:"membership"`
	Detail     string              `json:"detail,omitempty"`
	// State is the node's state in the topology by its peers' rows (NORMAL, JOINING, LEAVING, ...).
	State string `json:"state,omitempty"`
	// Seen is how the other nodes see it; absent when no node was asked about it.
	Seen *Seen `json:"seen,omitempty"`
	// Row is the state of the node's own row.
	Row RowState `json:"row"`
	// Version and OperationMode are the node's own report, Image is its container's.
	Version       string `json:"version,omitempty"`
	OperationMode string `json:"operationMode,omitempty"`
	Image         string `json:"image,omitempty"`
	// Process is how its ScyllaDB ended within the container that runs (state, exitStatus, ended), by its supervisord; absent where it has not.
	Process *api.ScyllaDBProcess `json:"process,omitempty"`
	// Vitals are its uptime, data and tokens; absent unless the node itself was asked (--source=live) and answered.
	cluster.Vitals `json:",inline"`
	// Pod is the Pod's state in words, as kubectl's STATUS column with ready containers; "None" without one.
	Pod string `json:"pod"`
	// PodIP is the address of its Pod, KubernetesNode the one that it is on.
	PodIP          string                  `json:"podIP,omitempty"`
	KubernetesNode *cluster.KubernetesNode `json:"kubernetesNode,omitempty"`
	// Force is the value of the force annotation on the member Service.
	Force string `json:"force,omitempty"`
}

// Seen is how the rows of the other nodes see a node. The node's own opinion of itself does not count.
type Seen struct {
	// Status is UP only when every other row says UP, else the gravest that any of them says: DOWN, UNKNOWN, MISSING.
	Status  api.NodeStatus `json:"status"`
	Up      int            `json:"up"`
	Down    int            `json:"down"`
	Unknown int            `json:"unknown"`
	Missing int            `json:"missing"`
	// Since is the earliest moment from which a row says DOWN.
	Since *metav1.Time `json:"since,omitempty"`
}

// newSeen is nil where no row says anything.
func newSeen(t grid.Tally, since time.Time) *Seen {
	if t.Total() == 0 {
		return nil
	}
	return &Seen{Status: t.Worst().Status(), Up: t[grid.Up], Down: t[grid.Down], Unknown: t[grid.Unknown], Missing: t[grid.Missing], Since: TimePtr(since)}
}

// Tally counts the other rows by what they say; it is empty for nil.
func (s *Seen) Tally() (t grid.Tally) {
	if s != nil {
		t[grid.Up], t[grid.Down], t[grid.Unknown], t[grid.Missing] = s.Up, s.Down, s.Unknown, s.Missing
	}
	return t
}

// Mark is what the other rows say; grid.None for nil.
func (s *Seen) Mark() grid.Mark {
	if s == nil {
		return grid.None
	}
	return grid.Of(s.Status)
}

// Text is the column's text: "UP 5/5", "DOWN 2/5".
func (s *Seen) Text() string {
	t := s.Tally()
	if t.Total() == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %d/%d", s.Status, t[s.Mark()], t.Total())
}

// RowStatus tells the states of a row apart.
type RowStatus string

const (
	RowOK      RowStatus = "ok"
	RowStale   RowStatus = "stale"
	RowMissing RowStatus = "missing"
	RowError   RowStatus = "error"
	// RowNone is an absent row of a node that has not joined, for which none is expected.
	RowNone RowStatus = "none"
)

// RowState is the state of a node's own row.
type RowState struct {
	Status RowStatus `json:"status"`
	// Detail is the reason why it is stale, or the error.
	Detail string `json:"detail,omitempty"`
	// Written is when it last changed; absent when not known.
	Written *metav1.Time `json:"written,omitempty"`
	// StaleSince is when it became stale; absent when not known.
	StaleSince *metav1.Time `json:"staleSince,omitempty"`
}

// Row lists the nodes that are not UP in one node's row.
type Row struct {
	Observer matrix.Ref `json:"observer"`
	NotUp    []Pair     `json:"notUp,omitempty"`
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

// Newcomer is a member that has not joined yet.
type Newcomer struct {
	matrix.Ref `json:",inline"`
	// Waiting is the reason for which its Pod waits, as Kubernetes gives it.
	Waiting string       `json:"waiting,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// MayStart, Decision and Summary are the barrier's verdict. The newcomer is the subject of the summary's text, and is left out: "must wait: ...".
	MayStart bool          `json:"mayStart"`
	Decision string        `json:"decision,omitempty"`
	Summary  words.Message `json:"summary"`
	Blockers int           `json:"blockers"`
}

// Text says why it waits, in one line.
func (n *Newcomer) Text(now time.Time) string {
	text := n.Ref.String()
	if n.Waiting != "" {
		text += " is waiting for " + n.Waiting
		if a := words.Ago(TimeOf(n.Since), now); a != "" {
			text += " (for " + a + ")"
		}
	}
	return text + ": " + words.Text(n.Summary)
}

// Replacement is an open replacement of a node.
type Replacement struct {
	matrix.Ref `json:",inline"`
	// Requested is true while the request label is there, Original the host ID that is being replaced once that is recorded.
	Requested bool      `json:"requested"`
	Original  hostid.ID `json:"original,omitempty"`
	// Summary is the progress in one sentence.
	Summary string `json:"summary"`
	// Phase is Verify, DeleteVolume, EvictPod, NewPod, Join, Ready, OldNodeGone, Done or Failed; absent under the Scylla Operator, which has
	// steps of its own, unless the attempt failed, and where too little was read to tell.
	Phase replace.Phase `json:"phase,omitempty"`
	// Attempt counts from 1; absent before the first was accepted.
	Attempt int `json:"attempt,omitempty"`
	// Held is true while a check holds it up.
	Held bool `json:"held,omitempty"`
	// Waiting is the condition for which it waits.
	Waiting []string `json:"waiting,omitempty"`
	// Failure is why the attempt failed; absent unless it did.
	Failure *Failure `json:"failure,omitempty"`
	// Cure is the action for an administrator, including that of the failure.
	Cure string `json:"cure,omitempty"`
	// CureMessage is Cure as it was made; zero where the document was read.
	CureMessage words.Message `json:"-"`
}

// Operation is a topology operation.
type Operation struct {
	// Type is ScyllaDB's text (bootstrap, replace, decommission, "remove node", rebuild); absent while it waits, in versions up to 2025.4.
	Type string `json:"type,omitempty"`
	// State is created, running or failed.
	State string `json:"state"`
	// Node that it is about; absent where ScyllaDB does not say, as in every version up to 2025.4.
	Node *matrix.Ref `json:"node,omitempty"`
	// Error is ScyllaDB's text of one that failed.
	Error string `json:"error,omitempty"`
	// UnderWay says an open one in words; absent for one that failed.
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
	return &ClusterStatusList{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindClusterStatusList}, Items: items}
}

// DeepCopyObject makes the documents runtime.Objects, which the printers of cli-runtime ask for.
func (d *ClusterStatus) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// DeepCopyObject as for ClusterStatus.
func (d *ClusterStatusList) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// GetObjectKind as for ClusterStatus.
func (h *Header) GetObjectKind() schema.ObjectKind { return &h.TypeMeta }

// DeepCopy goes through JSON: a document is fully described by its JSON, and copies are rare.
func DeepCopy[T any](d *T) *T {
	out := new(T)
	// Documents hold strings, numbers and times only; none of them fails to encode.
	if data, err := json.Marshal(d); err == nil {
		_ = json.Unmarshal(data, out)
	}
	return out
}

// TimePtr is a moment as documents hold it, to the second; nil for the zero time.
func TimePtr(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	m := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &m
}

// TimeOf is the zero time for nil.
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
