// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"errors"
	"slices"
)

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
	// Lead and Reason are the parts of Message before and after the Pod's name, where several Pods may have the same problem; empty elsewhere. See OnPod.
	Lead   string `json:"lead,omitempty"`
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

// Resources as RBAC and people write them.
const (
	ResourceServices      = "services"
	ResourcePods          = "pods"
	ResourcePortForward   = "pods/portforward"
	ResourceStatefulSets  = "statefulsets.apps"
	ResourcePVCs          = "persistentvolumeclaims"
	ResourceReports       = "scylladbdatacenternodesstatusreports.scylla.scylladb.com"
	ResourceStatusReports = "scylladbstatusreports.scylla.scylladb.com"
	ResourceLeases        = "leases.coordination.k8s.io"
)

// SortProblems puts problems, in place, into a stable order and drops repetitions.
func SortProblems(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Resource == b.Resource && a.Name == b.Name && a.Verb == b.Verb && a.Namespace == b.Namespace && a.Kind == b.Kind
	})
}

// Incomplete joins the problems that leave something unknown, nil when there are none. A kind that is not installed and an object that does not exist hide no data.
func Incomplete(problems []Problem) error {
	var errs []error
	for _, p := range SortProblems(slices.Clone(problems)) {
		if p.Kind != ProblemNotInstalled && p.Kind != ProblemNotFound {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

// Incomplete is Incomplete of the Cluster's problems.
func (o *Objects) Incomplete() error { return Incomplete(o.Problems) }

// Partial are the Problems that make a display of the snapshot partial. A kind that is not installed and an object that does not exist hide no data, nor does the controller's
// Lease; a node's missing answer matters where it was asked.
func (c *Cluster) Partial() []Problem {
	var out []Problem
	for _, p := range c.Problems {
		switch {
		case p.Kind == ProblemNotInstalled || p.Kind == ProblemNotFound || p.Resource == ResourceLeases:
		case p.Resource == ResourcePortForward && p.Name != "" && c.Source != SourceLive:
		default:
			out = append(out, p)
		}
	}
	return out
}

// OnPod sets the texts of p that several Pods may share: "no answer from Pod demo-rack1-0: connection refused".
func (p Problem) OnPod(lead, reason string) Problem {
	p.Lead, p.Reason, p.Message = lead, reason, lead+" Pod "+p.Name+": "+reason
	return p
}

// mayNotAsk is true once a port-forward was forbidden.
func (o *Objects) mayNotAsk() bool {
	return slices.ContainsFunc(o.Problems, func(p Problem) bool { return p.Resource == ResourcePortForward && p.Kind == ProblemForbidden })
}
