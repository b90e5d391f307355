// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// said is the data of a snapshot outside its objects, from which Open restores the snapshot.
type said struct {
	cluster.Key  `json:",inline"`
	TakenAt      *time.Time                       `json:"takenAt,omitempty"`
	Offline      bool                             `json:"offline,omitempty"`
	Requested    cluster.Source                   `json:"requested"`
	Source       cluster.Source                   `json:"source"`
	SourceReason string                           `json:"sourceReason,omitempty"`
	Unlabelled   bool                             `json:"unlabelled,omitempty"`
	Problems     []cluster.Problem                `json:"problems,omitempty"`
	Notes        []string                         `json:"notes,omitempty"`
	Live         map[string]*api.NodeStatusReport `json:"live,omitempty"`
	Facts        map[string]cluster.LiveFacts     `json:"facts,omitempty"`
	Conditions   []string                         `json:"conditions,omitempty"`
	Operator     *cluster.OperatorState           `json:"operator,omitempty"`
	// Elsewhere are Services of other namespaces and clusters with host IDs that no member here
	// has.
	Elsewhere map[hostid.ID]string `json:"elsewhere,omitempty"`
	// Volumes are the Kubernetes nodes on which volumes of unscheduled Pods can be used.
	// NotReadySince is since when Kubernetes nodes are not Ready.
	Volumes map[string][]string `json:"volumes,omitempty"`
	// Classes are the StorageClasses of full volumes.
	Classes map[string]cluster.StorageClass `json:"classes,omitempty"`
	// Claimed are the names of PersistentVolumes by their PVC, if a host ID has no member.
	Claimed       map[string]string    `json:"claimed,omitzero"`
	NotReadySince map[string]time.Time `json:"kubernetesNodesNotReadySince,omitempty"`
	// Read is what was listed, so that a list without objects is known to be empty.
	Read cluster.Kinds `json:"read,omitempty"`
	// Logged are the errors in the logs, Gathered is what commands printed; by member.
	Logged   map[string]cluster.LogError `json:"logged,omitempty"`
	Gathered map[string]cluster.Gathered `json:"gathered,omitempty"`
	// Machines are the states of Kubernetes nodes, also of those that no longer exist.
	Machines    map[string]string `json:"kubernetesNodes,omitempty"`
	Kubernetes  string            `json:"kubernetes,omitempty"`
	Context     string            `json:"context,omitempty"`
	LeftOut     []LeftOut         `json:"leftOut,omitempty"`
	Uncollected []LeftOut         `json:"uncollected,omitempty"`
}

func (a *Archive) said(c *Cluster) said {
	s := c.Snapshot
	out := said{
		Key: s.Key, Offline: s.Offline, Requested: cmp.Or(c.Requested, cluster.SourceAuto), Source: s.Source,
		SourceReason: words.Text(s.SourceReason()),
		Notes:        texts(s.Notes), Facts: s.Facts, Elsewhere: s.Elsewhere, Volumes: s.Volumes, Claimed: s.Claimed,
		Classes: s.Classes, Read: s.Read, Logged: maps.Clone(s.Logged), Gathered: s.Gathered,
		NotReadySince: s.NotReadySince, Machines: s.Machines, Conditions: texts(c.Conditions), Kubernetes: c.Kubernetes,
		Context: Text(c.Context), LeftOut: c.LeftOut, Uncollected: c.Uncollected, Unlabelled: unlabelled(s),
	}
	if !s.TakenAt.IsZero() {
		t := s.TakenAt.UTC()
		out.TakenAt = &t
	}
	if s.OperatorState != nil {
		state := *s.OperatorState
		state.Conditions = slices.Clone(state.Conditions)
		for i := range state.Conditions {
			state.Conditions[i].Message = Text(state.Conditions[i].Message)
		}
		if state.Lease != nil {
			lease := state.Lease.DeepCopy()
			lease.ManagedFields, lease.Annotations = nil, nil
			state.Lease = lease
		}
		out.Operator = &state
	}
	for member, e := range out.Logged {
		out.Logged[member] = cluster.LogError{Code: e.Code, Text: Text(e.Text)}
	}
	for _, p := range s.Problems {
		p.Message, p.Reason = Text(p.Message), Text(p.Reason)
		out.Problems = append(out.Problems, p)
	}
	for member, row := range s.Live {
		if out.Live == nil {
			out.Live = map[string]*api.NodeStatusReport{}
		}
		clean := *row
		if row.Error != nil {
			text := Text(*row.Error)
			clean.Error = &text
		}
		clean.Operations = slices.Clone(row.Operations)
		for i := range clean.Operations {
			clean.Operations[i].Error = Text(clean.Operations[i].Error)
		}
		out.Live[member] = &clean
	}
	return out
}

func texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = Text(out[i])
	}
	return out
}

// unlabelled reports whether an object lacks the cluster's label: Open must then not require it.
func unlabelled(s *cluster.Cluster) bool {
	lacks := func(o metav1.Object) bool { return api.ClusterOf(o.GetLabels()) != s.Name }
	for i := range s.Services {
		if lacks(&s.Services[i]) {
			return true
		}
	}
	for i := range s.Pods {
		if lacks(&s.Pods[i]) {
			return true
		}
	}
	for i := range s.StatefulSets {
		if lacks(&s.StatefulSets[i]) {
			return true
		}
	}
	for i := range s.PVCs {
		if lacks(&s.PVCs[i]) {
			return true
		}
	}
	return false
}
