// SPDX-License-Identifier: Apache-2.0

package page

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// KindClusterReport is the kind of the document.
const KindClusterReport = "ClusterReport"

// Report is the document of `kubectl scylla report`: the status, and more.
type Report struct {
	document.ClusterStatus `json:",inline"`
	// Context is the kubeconfig's context; absent if unknown.
	Context string `json:"context,omitempty"`
	// Places are where members run: Pod IP and Kubernetes node.
	Places []Place `json:"places"`
	// Reports are the source objects of the report.
	Reports []Object `json:"reports"`
	// Changes, newest first, from rows, Events and conditions.
	Changes []change `json:"changes"`
	// ChangesLeftOut counts older changes beyond the limit of the list.
	ChangesLeftOut int `json:"changesLeftOut,omitempty"`
	// Waiting are troubled containers, with the errors of their logs.
	Waiting []support.Container `json:"waitingContainers"`
	// LeftOut lists unreadable parts beyond Partial: Events, logs.
	LeftOut []support.LeftOut `json:"leftOut"`
	// Versions of each component.
	Versions Versions `json:"versions"`

	of *cluster.Cluster
}

// Failure returns what to do after a log line of the cluster's ScyllaDB.
func (r *Report) Failure(code words.Code) string { return document.LogCure(r.of, code) }

// Object is one object with rows.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Datacenter of a datacenter report.
	Datacenter string `json:"datacenter,omitempty"`
	// Nodes is the number of listed nodes, Rows of those with a row: 0 <= Rows <= Nodes.
	Nodes int `json:"nodes"`
	Rows  int `json:"rows"`
	// Remote is set for a copy from another Kubernetes cluster, Used for a source of the verdict.
	Remote bool `json:"remote,omitempty"`
	Used   bool `json:"used"`
	// Written is when its rows were last written; absent if unknown.
	Written *metav1.Time `json:"written,omitempty"`
}

// Versions count nodes by version.
type Versions struct {
	KubectlScylla string         `json:"kubectlScylla"`
	Kubernetes    string         `json:"kubernetes,omitempty"`
	ScyllaDB      map[string]int `json:"scylladb,omitempty"`
}

// DeepCopyObject implements runtime.Object for the printers of cli-runtime.
func (r *Report) DeepCopyObject() runtime.Object { return document.DeepCopy(r) }

// New creates the report of one cluster from its document.
func New(c *support.Cluster, status *document.ClusterStatus) *Report {
	s := c.Snapshot
	r := &Report{
		of:            s,
		ClusterStatus: *status, Reports: []Object{}, Changes: []change{}, Waiting: c.Waiting,
		Context:  support.Text(c.Context),
		Versions: Versions{KubectlScylla: version.Get().Version, Kubernetes: c.Kubernetes, ScyllaDB: map[string]int{}},
	}
	r.Kind = KindClusterReport
	said := map[string]bool{}
	for _, p := range s.Problems {
		said[support.Text(p.Message)] = true // Partial has it already
	}
	for _, l := range c.LeftOut {
		if !said[l.Detail] {
			r.LeftOut = append(r.LeftOut, l)
		}
	}
	for _, n := range r.Nodes {
		if n.Version != "" {
			r.Versions.ScyllaDB[n.Version]++
		}
	}
	r.addPlaces(c)
	r.addObjects(s)
	r.addChanges(c)
	return r
}

// ago returns "12s ago"; empty if either time is unknown.
func (r *Report) ago(t time.Time) string {
	if t.IsZero() || r.At().IsZero() {
		return ""
	}
	return words.Age(r.At().Sub(t)) + " ago"
}

func (r *Report) addObjects(s *cluster.Cluster) {
	byReport := s.Source == cluster.SourceReport
	for i := range s.Reports {
		o := &s.Reports[i]
		_, remote := o.Labels[api.LabelRemoteReport]
		obj := Object{Kind: "ScyllaDBDatacenterNodesStatusReport", Name: o.Name, Datacenter: o.DatacenterName,
			Remote: remote, Used: byReport && !s.ByClusterReport(), Written: written(o.ManagedFields)}
		for _, rack := range o.Racks {
			obj.Nodes += len(rack.Nodes)
			for _, n := range rack.Nodes {
				if n.ObservedNodes != nil {
					obj.Rows++
				}
			}
		}
		r.Reports = append(r.Reports, obj)
	}
	if o := s.StatusReport; o != nil {
		obj := Object{Kind: "ScyllaDBStatusReport", Name: o.Name, Used: byReport && s.ByClusterReport(),
			Written: written(o.ManagedFields)}
		for _, dc := range o.Datacenters {
			obj.Nodes += len(dc.Nodes)
			for _, n := range dc.Nodes {
				if n.ObservedNodes != nil || n.MembershipDigest != "" {
					obj.Rows++
				}
			}
		}
		r.Reports = append(r.Reports, obj)
	}
}

func written(entries []metav1.ManagedFieldsEntry) *metav1.Time {
	var last *metav1.Time
	for i := range entries {
		if t := entries[i].Time; t != nil && (last == nil || t.After(last.Time)) {
			last = t
		}
	}
	return last
}
