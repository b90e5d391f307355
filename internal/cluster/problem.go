// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"errors"
	"slices"
)

// Problem is something that could not be read or done, with the missing permission if that is the
// cause. It is an error.
type Problem struct {
	Verb string `json:"verb"` // list, get, watch, "create"
	// "pods", "pods/portforward", "scylladbstatusreports.scylla.scylladb.com"
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"` // empty: all namespaces
	Name      string `json:"name,omitempty"`
	// Kind is the cause: Forbidden, NotInstalled, NotFound, Timeout or Other.
	Kind ProblemKind `json:"kind"`
	// Message is the whole problem in one sentence, with the fix.
	Message string `json:"message"`
	// Lead and Reason are the parts of Message before and after the Pod's name, if several Pods may
	// have the same problem; empty otherwise. See OnPod.
	Lead   string `json:"lead,omitempty"`
	Reason string `json:"reason,omitempty"`
	Err    error  `json:"-"`
}

// ProblemKind is the cause of a Problem.
type ProblemKind string

const (
	ProblemForbidden    ProblemKind = "Forbidden"
	ProblemNotInstalled ProblemKind = "NotInstalled" // the CRD is missing
	ProblemNotFound     ProblemKind = "NotFound"     // one named object is missing
	ProblemTimeout      ProblemKind = "Timeout"
	ProblemOther        ProblemKind = "Other"
)

// Error returns Message.
func (p Problem) Error() string { return p.Message }

// Unwrap returns the API's error.
func (p Problem) Unwrap() error { return p.Err }

// Resources as in RBAC rules.
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

// SortProblems sorts problems in place and removes duplicates.
func SortProblems(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Resource == b.Resource && a.Name == b.Name && a.Verb == b.Verb && a.Namespace == b.Namespace &&
			a.Kind == b.Kind
	})
}

// Incomplete joins the problems that leave something unknown, nil if there are none. A CRD that is
// not installed and an object that does not exist hide no data.
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

// Partial returns the Problems that make a display of the cluster partial. A CRD that is not
// installed, an object that does not exist and the controller's Lease hide no data. A node's
// missing answer counts only with SourceLive.
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

// OnPod sets the texts of p that several Pods may share: "no answer from Pod demo-rack1-0:
// connection refused".
func (p Problem) OnPod(lead, reason string) Problem {
	p.Lead, p.Reason, p.Message = lead, reason, lead+" Pod "+p.Name+": "+reason
	return p
}

// mayNotAsk reports whether a port-forward was forbidden.
func (o *Objects) mayNotAsk() bool {
	return slices.ContainsFunc(o.Problems, func(p Problem) bool {
		return p.Resource == ResourcePortForward &&
			p.Kind == ProblemForbidden
	})
}
