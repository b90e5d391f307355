// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ControllerSilent returns the name of our controller, and since when it is not responding, if the
// rows are its reports and it no longer updates them. Zero otherwise, even if its Lease could not
// be read.
func (c *Cluster) ControllerSilent() (controller words.Message, since time.Time) {
	if c.Source != SourceReport || !c.Ours() || c.Lease == nil || c.TakenAt.IsZero() {
		return words.Message{}, time.Time{}
	}
	l := c.LeaseState()
	switch {
	case !l.Silent:
		return words.Message{}, time.Time{}
	case l.NotKept:
		return words.New(words.ReportsNotKept, "controller", l.Holder, "lease", c.Lease.Namespace+"/"+c.Lease.Name),
			time.Time{}
	}
	return words.New(words.ControllerNamed, "controller", cmp.Or(l.Holder, c.Lease.Name)), l.Since
}

// KnowsEnough returns an error if there is no evidence of a cluster and a resource that could have
// held some was not readable. Without it, missing evidence would look like a new cluster.
func (c *Cluster) KnowsEnough(self matrix.Ref) error {
	for i := range c.rows {
		if placeKey(c.rows[i].Reporter) != placeKey(self) {
			return nil
		}
	}
	var errs []error
	for _, p := range c.Problems {
		switch p.Resource {
		case ResourceServices, ResourceReports, ResourceStatusReports:
			if p.Kind != ProblemNotInstalled {
				errs = append(errs, p)
			}
		}
	}
	return errors.Join(errs...)
}

// Ours reports whether our controller writes the reports, or will: there is none yet, and our
// controller creates the member Services. A new cluster has no other sign of our controller. A
// report that was copied here proves nothing about the controller here.
func (c *Cluster) Ours() bool {
	if c.StatusReport != nil && c.StatusReport.Labels[api.LabelManagedBy] == api.ManagedByUs {
		return true
	}
	local := func(r *api.ScyllaDBDatacenterNodesStatusReport) bool { return !isRemote(r) }
	if c.StatusReport == nil && !anyOf(c.Reports, local) {
		return anyOf(c.Services, func(s *corev1.Service) bool { return Managed(s) })
	}
	return anyOf(c.Reports, func(r *api.ScyllaDBDatacenterNodesStatusReport) bool { return local(r) && Managed(r) })
}
