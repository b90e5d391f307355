// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ControllerSilent names our controller, and since when it has been silent, where the rows are its reports and it no longer updates them; zero otherwise, also where its Lease
// could not be read.
func (c *Cluster) ControllerSilent() (controller words.Message, since time.Time) {
	if c.Source != SourceReport || !c.Ours() || c.Lease == nil || c.TakenAt.IsZero() {
		return words.Message{}, time.Time{}
	}
	l := c.LeaseState()
	switch {
	case !l.Silent:
		return words.Message{}, time.Time{}
	case l.NotKept:
		return words.New(words.ReportsNotKept, "controller", l.Holder, "lease", c.Lease.Namespace+"/"+c.Lease.Name), time.Time{}
	}
	return words.New(words.ControllerNamed, "controller", cmp.Or(l.Holder, c.Lease.Name)), l.Since
}

// KnowsEnough is an error when there is no evidence of a cluster and something that could have held some was not readable: then a decision would take ignorance for a new cluster.
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

// Ours is true when our controller writes the reports, or will: where there is none yet, and our controller makes the member Services. A new cluster has no other sign of that.
func (c *Cluster) Ours() bool {
	if len(c.Reports) == 0 && c.StatusReport == nil {
		return slices.ContainsFunc(c.Services, func(s corev1.Service) bool { return Managed(&s) })
	}
	return slices.ContainsFunc(c.Reports, func(r api.ScyllaDBDatacenterNodesStatusReport) bool {
		return r.Labels[api.LabelManagedBy] == api.ManagedByUs
	}) || c.StatusReport != nil && c.StatusReport.Labels[api.LabelManagedBy] == api.ManagedByUs
}
