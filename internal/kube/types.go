// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// ClusterKey names a cluster: the namespace and the value of label scylla/cluster. With the Scylla Operator that value is the
// name of the ScyllaDBDatacenter.
type ClusterKey struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String is "namespace/name".
func (k ClusterKey) String() string { return k.Namespace + "/" + k.Name }

// Source is where rows come from.
type Source string

const (
	SourceAuto       Source = "auto"       // reports if there are any, else annotations
	SourceReport     Source = "report"     // datacenter reports (or the cluster report that an override names)
	SourceAnnotation Source = "annotation" // the annotations of the Pods
	SourceLive       Source = "live"       // ScyllaDB's own API, through a port-forward
)

// ParseSource reads a Source as typed; the error lists the choices.
func ParseSource(text string) (Source, error) {
	switch s := Source(strings.ToLower(text)); s {
	case SourceAuto, SourceReport, SourceAnnotation, SourceLive:
		return s, nil
	}
	return "", fmt.Errorf("source %q is not known: use auto, report, annotation or live", text)
}

// Problem is something that could not be read or done, with the right that is missing where that is the cause. It is an error.
type Problem struct {
	Verb      string `json:"verb"`                // list, get, watch, "create"
	Resource  string `json:"resource"`            // "pods", "pods/portforward", "scylladbstatusreports.scylla.scylladb.com"
	Namespace string `json:"namespace,omitempty"` // empty: all namespaces
	Name      string `json:"name,omitempty"`
	// Kind tells causes apart: Forbidden, NotInstalled, NotFound, Timeout or Other.
	Kind ProblemKind `json:"kind"`
	// Message is the whole problem in one sentence, with the cure.
	Message string `json:"message"`
	// Reason is the end of Message, the cause alone, where several objects may have the same; empty elsewhere. See ProblemLines.
	Reason string `json:"reason,omitempty"`
	Err    error  `json:"-"`
}

// ProblemKind is the cause of a Problem.
type ProblemKind string

const (
	ProblemForbidden    ProblemKind = "Forbidden"
	ProblemNotInstalled ProblemKind = "NotInstalled" // the kind's CRD is missing
	ProblemNotFound     ProblemKind = "NotFound"     // one named object is missing
	ProblemTimeout      ProblemKind = "Timeout"
	ProblemOther        ProblemKind = "Other"
)

// Error is Message.
func (p Problem) Error() string { return p.Message }

// Unwrap gives the API's own error.
func (p Problem) Unwrap() error { return p.Err }

// Snapshot is everything known of one cluster at one moment. It is made by Load or Read and not changed afterwards, except by
// ReadLive; it may be shared between goroutines that only read.
type Snapshot struct {
	Namespace, Cluster string

	Services     []corev1.Service // member Services only, sorted by name
	Pods         []corev1.Pod     // sorted by name
	StatefulSets []appsv1.StatefulSet
	PVCs         []corev1.PersistentVolumeClaim
	// Reports are the datacenter reports whose selector label names the cluster: its own and those copied in from elsewhere.
	Reports      []api.ScyllaDBDatacenterNodesStatusReport
	StatusReport *api.ScyllaDBStatusReport
	// OverrideRef is the name of the ScyllaDBStatusReport that the cluster is judged by instead of its datacenter reports;
	// empty when no override is set. StatusReport is then that object, or nil when it could not be read.
	OverrideRef string
	Lease       *coordinationv1.Lease
	// Live holds what each member's ScyllaDB said, by member name; nil when nobody asked.
	Live map[string]*api.NodeStatusReport
	// Facts is what each member's ScyllaDB said beyond its row, by member name; filled with Live.
	Facts map[string]LiveFacts

	// TakenAt is when loading began; zero for saved objects, whose age nobody knows.
	TakenAt time.Time
	// Source is never SourceAuto: it is the source that Rows uses. SourceReason says in words what was found.
	Source       Source
	SourceReason string
	// Problems name what could not be read. Not empty means that the snapshot is partial.
	Problems []Problem
	// Notes are remarks on the reading itself ("2 objects of kind Secret skipped").
	Notes []string
	// Operator is true when the Scylla Operator owns the cluster's objects.
	Operator bool
	// Offline is true for saved objects.
	Offline bool

	// loaded tells a list that is empty from one that was not read.
	loaded kinds
	cache  *cache
}

// Key is the cluster's key.
func (s *Snapshot) Key() ClusterKey { return ClusterKey{Namespace: s.Namespace, Name: s.Cluster} }

// MemberState is what a member is, seen from Kubernetes and its peers.
type MemberState string

const (
	// MemberJoined is a member of the ScyllaDB cluster with a Pod.
	MemberJoined MemberState = "Member"
	// MemberNewcomer has not joined; Member.Waiting says what it waits for.
	MemberNewcomer MemberState = "Newcomer"
	// MemberLeaving is being decommissioned or removed, or is decommissioned and not gone yet.
	MemberLeaving MemberState = "Leaving"
	// MemberGhost is a host ID that peers list as a member while it has no Pod, or no Service either.
	MemberGhost MemberState = "Ghost"
	// MemberRemote is a node of another datacenter whose row was copied here; its Pod is in another namespace or cluster.
	MemberRemote MemberState = "Remote"
	// MemberGossipOnly is a node that gossips with members and is not one: newcomers whose request has not arrived, or leftovers. Only
	// ScyllaDB itself tells (SourceLive).
	MemberGossipOnly MemberState = "GossipOnly"
	// MemberUnknown is a Pod or Service of which nothing tells whether it has joined.
	MemberUnknown MemberState = "Unknown"
)

// Member joins what Kubernetes knows of one node by name: Service, Pod, claim and StatefulSet.
type Member struct {
	matrix.Ref `json:",inline"`
	Namespace  string      `json:"namespace,omitempty"`
	State      MemberState `json:"state"`
	// Detail says why State is what it is, where that is not plain ("no Pod", "label scylla/decommissioned is false").
	Detail string `json:"detail,omitempty"`
	// Joined is the joined annotation: nil when absent or not a boolean.
	Joined *bool `json:"joined,omitempty"`
	// Waiting is what a Pod that does not serve waits for ("init container scylladb-bootstrap-barrier is running"); empty when
	// ScyllaDB's container is ready.
	Waiting string `json:"waiting,omitempty"`
	// WaitingSince is when that began; zero when not known.
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	// PodState is the Pod in a few words, as kubectl's STATUS column: "Running 3/3", "Init:0/2", "Pending", "None".
	PodState string `json:"podState"`
	// PVCName is the name of the member's data claim, whether or not it exists.
	PVCName string `json:"pvc,omitempty"`
	// Reported is true when Rows has a row of this member with observations.
	Reported bool `json:"reported"`
	// RowStale is why that row may be old; empty when fresh.
	RowStale string `json:"rowStale,omitempty"`
	// RowError says why there is no row.
	RowError string `json:"rowError,omitempty"`
	// RowWritten is when the row was last written: now minus this is the most that the row's content can be out of date while
	// its reporter runs, as reporters write on change only. Zero when not known (saved objects carry no write times).
	RowWritten time.Time `json:"rowWritten,omitzero"`
	// Version, OperationMode as the node itself says; Image is the ScyllaDB container's.
	Version       string `json:"version,omitempty"`
	OperationMode string `json:"operationMode,omitempty"`
	Image         string `json:"image,omitempty"`
	// ReplaceRequested is true while label scylla/replace is on the Service; Replacing is the original host ID of an open
	// replacement.
	ReplaceRequested bool   `json:"replaceRequested,omitempty"`
	Replacing        string `json:"replacing,omitempty"`
	// Force is the value of the force annotation on the Service, empty when absent.
	Force string `json:"force,omitempty"`

	Service     *corev1.Service               `json:"-"`
	Pod         *corev1.Pod                   `json:"-"`
	PVC         *corev1.PersistentVolumeClaim `json:"-"`
	StatefulSet *appsv1.StatefulSet           `json:"-"`
}

// NotFoundError says that something named by a person does not exist, with the nearest names that do.
type NotFoundError struct {
	What    string   // "cluster", "member", "node"
	Name    string   // as typed
	In      string   // "namespace demo", "cluster demo/scylla"
	Nearest []string // at most three, nearest first
	Known   int      // how many there are at all
	Cure    string   // what to do; empty for the ordinary texts
}

// AmbiguousError says that a text fits several things.
type AmbiguousError struct {
	What       string   // "cluster", "member"
	Name       string   // as typed, may be empty
	In         string   // where
	Candidates []string // sorted
}
