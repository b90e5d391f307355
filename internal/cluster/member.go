// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Source is the source of rows.
type Source string

const (
	// reports if any, with a Pod's row if it differs; else annotations
	SourceAuto Source = "auto"
	// datacenter reports (or the cluster report that an override names)
	SourceReport     Source = "report"
	SourceAnnotation Source = "annotation" // the annotations of the Pods
	SourceLive       Source = "live"       // ScyllaDB's own API, through a port-forward
)

// ParseSource parses a Source as typed; the error lists the choices.
func ParseSource(text string) (Source, error) {
	switch s := Source(strings.ToLower(text)); s {
	case SourceAuto, SourceReport, SourceAnnotation, SourceLive:
		return s, nil
	}
	return "", fmt.Errorf("unknown source %q: use one of auto, report, annotation, live", text)
}

// MemberState is a member's state, by Kubernetes and its peers.
type MemberState string

const (
	// MemberJoined is a member of the ScyllaDB cluster with a Pod.
	MemberJoined MemberState = "Member"
	// MemberNewcomer has not joined; Member.Waiting is what it waits for.
	MemberNewcomer MemberState = "Newcomer"
	// MemberLeaving is being decommissioned or removed, or is decommissioned and its Pod still
	// exists.
	MemberLeaving MemberState = "Leaving"
	// MemberGhost is a host ID that peers list as a member while it has no Pod. It may also have no
	// Service, but only with the evidence that `Stranger` requires.
	MemberGhost MemberState = "Ghost"
	// MemberRemote is a node of another datacenter, whose Pod is in another namespace or cluster.
	// Either its row was copied here, or only its peers list it and another datacenter may exist.
	MemberRemote MemberState = "Remote"
	// MemberGossipOnly is a node that gossips with members but is not a member: a new node whose
	// request has not arrived, or a leftover. Only ScyllaDB itself lists them (SourceLive).
	MemberGossipOnly MemberState = "GossipOnly"
	// MemberUnknown is a Pod or Service without evidence of whether it has joined.
	MemberUnknown MemberState = "Unknown"
)

// Member joins the objects of one node by name: Service, Pod, PVC and StatefulSet, with its report
// and its node of the matrix. Facts that follow from these are methods.
type Member struct {
	matrix.Ref `json:",inline"`
	Namespace  string      `json:"namespace,omitempty"`
	State      MemberState `json:"state"`
	// Detail is the reason for State, if not obvious.
	Detail words.Message `json:"detail,omitzero"`
	// Joined is the joined annotation: nil if absent or not a boolean.
	Joined *bool `json:"joined,omitempty"`
	// Waiting is what a Pod waits for; it completes "it waits for ...". Zero if ScyllaDB's
	// container is ready.
	Waiting words.Message `json:"waiting,omitzero"`
	// WaitingSince is when Waiting began; zero if unknown.
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	// PodState is the Pod in a few words, as kubectl's STATUS column: "Running 3/3", "Init:0/2",
	// "Pending", "None".
	PodState string `json:"podState"`
	// PVCName is the name of the member's data PVC, whether or not it exists.
	PVCName string `json:"pvc,omitempty"`
	// Reported is true if Rows has a row of this member with observations.
	Reported bool `json:"reported"`
	// RowStale is why that row may be old; zero if fresh.
	RowStale words.Message `json:"rowStale,omitzero"`
	// RowTrouble is why there is no row; zero if there is one or the reason is unknown.
	RowTrouble words.Message `json:"rowTrouble,omitzero"`
	// RowWritten is when the row was last written. Reporters write only changes, so with a running
	// reporter the row is out of date by at most now - RowWritten. Zero if unknown (saved objects
	// have no write times).
	RowWritten time.Time `json:"rowWritten,omitzero"`
	// Version and OperationMode are what the node reports. A version that it does not report, as
	// with the Scylla Operator, is the tag of the image that its container runs. Image is the image
	// in the Pod's spec.
	Version       string `json:"version,omitempty"`
	OperationMode string `json:"operationMode,omitempty"`
	Image         string `json:"image,omitempty"`
	// Process is how ScyllaDB ended within the running container, by supervisord; nil if it has not
	// ended or this is unknown.
	Process *api.ScyllaDBProcess `json:"process,omitempty"`
	// Vitals are the node's answers about its process and data; empty unless the source is
	// SourceLive.
	Vitals Vitals `json:"vitals,omitzero"`
	// ReplaceRequested is true while label scylla/replace is on the Service; Replacing is the
	// original host ID of an open replacement.
	ReplaceRequested bool      `json:"replaceRequested,omitempty"`
	Replacing        hostid.ID `json:"replacing,omitempty"`
	// LeftReplacing is the replaced host ID in the label of a replacement that has ended, which
	// LeftRows rows show. Such a label is no open replacement.
	LeftReplacing hostid.ID `json:"leftReplacing,omitempty"`
	LeftRows      int       `json:"-"`
	// Force is the value of the force annotation on the Service, empty if absent.
	Force string `json:"force,omitempty"`

	Service     *corev1.Service               `json:"-"`
	Pod         *corev1.Pod                   `json:"-"`
	PVC         *corev1.PersistentVolumeClaim `json:"-"`
	StatefulSet *appsv1.StatefulSet           `json:"-"`
	// Report is the node's report, as Cluster.Said; Node is the node with HostID in the matrix of
	// all rows. Nil if there is none.
	Report *api.NodeStatusReport `json:"-"`
	Node   *matrix.Node          `json:"-"`

	c        *Cluster  // the member's cluster
	recorded hostid.ID // as its Service has it, read once
}
