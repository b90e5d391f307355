// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// AgainstReset returns the reasons why the cluster must not be bootstrapped again; empty if it may
// be. A node that runs or is UP and the new first node would be in different clusters with the same
// name.
func (c *Cluster) AgainstReset() []words.Message {
	if c.Operator {
		return []words.Message{words.New(words.ResetOfOperator)}
	}
	var out []words.Message
	if err := c.Incomplete(); err != nil {
		out = append(out, words.New(words.ResetNotKnown, "why", err.Error()))
	}
	var run, up, elsewhere, permitted []string
	for i := range c.Services {
		name := c.Services[i].Name
		pod := c.ix.pods[name]
		if pod == nil {
			continue
		}
		if st := ScyllaDBStatus(pod); st != nil && st.State.Running != nil {
			run = append(run, name)
		}
	}
	nodes := c.all.Nodes()
	for i := range nodes {
		n := &nodes[i]
		switch {
		case !n.Joined || n.Removed || slices.Contains(run, n.Member):
		case n.SeenUp > 0:
			up = append(up, n.Name())
		case n.Member == "" || c.ix.services[n.Member] == nil:
			elsewhere = append(elsewhere, n.Name())
		}
	}
	if r := c.StatusReport; r != nil && r.Status.View != nil {
		for _, p := range r.Status.View.Permits {
			if !slices.Contains(run, p.Member) {
				permitted = append(permitted, p.Member)
			}
		}
	}
	if len(run) > 0 {
		out = append(out, words.New(words.ResetMembersRun, "members", run))
	}
	if len(up) > 0 {
		out = append(out, words.New(words.ResetNodesUp, "nodes", up))
	}
	if len(elsewhere) > 0 {
		out = append(out, words.New(words.ResetOtherNodes, "nodes", elsewhere))
	}
	if len(permitted) > 0 {
		out = append(out, words.New(words.ResetPermitGiven, "members", permitted))
	}
	return out
}

// Recorded returns the member Services that record a node: its host ID, or that it has joined.
func (c *Cluster) Recorded() []*corev1.Service {
	var out []*corev1.Service
	for i := range c.Services {
		if a := c.Services[i].Annotations; a[api.AnnotationHostID] != "" || a[api.AnnotationNodeJoined] != "" {
			out = append(out, &c.Services[i])
		}
	}
	return out
}

// MayHoldData returns the existing PVCs of the members of Recorded.
func (c *Cluster) MayHoldData() []string {
	var out []string
	for _, v := range c.Recorded() {
		if claim := c.ix.pvcName(v.Name); c.ix.pvcs[claim] != nil {
			out = append(out, claim)
		}
	}
	return out
}
