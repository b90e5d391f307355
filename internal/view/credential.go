// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Attempt is the longest time for which the second node waits for the first attempt at the root
// credential and the first settings.
const Attempt = time.Minute

// credentialOf names the member that acts on the root credential: the member in the stored view,
// else the first healthy member with the container. Nil until the cluster is initialised, or if no
// member can act.
func credentialOf(c *cluster.Cluster, stored *api.ScyllaDBStatusReportStatus) *api.StatusReportViewCredential {
	if !stored.Initialized || !c.Matrix().SplitFact().IsZero() {
		return nil
	}
	out := &api.StatusReportViewCredential{Settings: stored.InitialSettings}
	var before string
	if stored.View != nil && stored.View.Credential != nil {
		before = stored.View.Credential.Member
	}
	for _, m := range c.Members() {
		if (out.Member == "" || m.Name() == before) && m.RootCredential() != api.CredentialOff && well(c, &m) {
			out.Member = m.Name()
		}
	}
	if out.Member == "" {
		return nil
	}
	out.Quiet = bootstrap.HealthOf(c).Healthy
	racks := map[[2]string]bool{}
	nodes := c.Matrix().Nodes()
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.Removed:
			continue
		case n.State != matrix.StateNormal, !n.Joined, n.Datacenter == "" || n.Rack == "":
			out.Quiet = false
		}
		if owns := n.Row; !n.Joined || n.Datacenter == "" ||
			owns != nil && owns.Says().OwnsTokens != nil && !*owns.Says().OwnsTokens {
			continue
		}
		d := out.Datacenters[n.Datacenter]
		d.Nodes++
		if place := [2]string{n.Datacenter, n.Rack}; !racks[place] {
			racks[place] = true
			d.Racks++
		}
		if out.Datacenters == nil {
			out.Datacenters = map[string]api.StatusReportViewDatacenter{}
		}
		out.Datacenters[n.Datacenter] = d
	}
	return out
}

// attempting reports whether the only node has an order and no result yet, or a setting that waits
// for the status to have it, for Attempt at most.
func (s *JoinCandidates) attempting(c *cluster.Cluster, stored *api.ScyllaDBStatusReportStatus) bool {
	if s.Credential == nil || stored.Initialization == nil || len(Of(c)) != 1 {
		return false
	}
	said := c.Said(s.Credential.Member)
	since := c.TakenAt.Sub(stored.Initialization.At.Time)
	return (said == nil || said.Credential == nil || due(said.Credential.Settings)) && since >= 0 && since < Attempt
}

func due(s *api.InitialSettings) bool {
	return s != nil && slices.ContainsFunc(s.Items,
		func(i api.InitialSetting) bool { return i.State == api.SettingDue })
}
