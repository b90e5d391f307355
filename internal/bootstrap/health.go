// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Health is the health of the cluster for every display, condition and metric: a cluster in which a newcomer's barrier has to wait is not healthy.
type Health struct {
	// Healthy is true when there is at least one node, every one is UP in every row, a newcomer would have nothing to wait for, and no node's volume is deleted with its Pod.
	Healthy bool
	// Nodes is how many nodes are judged, Up how many of them every row has UP, Total how many blockers there are, including those that one blocker stands for.
	Nodes, Up, Total int
	// Blockers, the gravest first.
	Blockers []matrix.Blocker
}

// HealthOf judges the cluster. The list of blockers is the caller's own.
func HealthOf(c *cluster.Cluster) Health {
	m := c.Matrix()
	silent, since := c.ControllerSilent()
	outdated := slices.Concat(Outdated(m, c.Serviced(), "", silent, since), RolloutBlockers(maintenance.Rollouts(c, nil)), c.Doubts(""))
	beside := slices.Concat(banned(c), c.Beside())
	h := m.Health()
	out := Health{Healthy: h.AllUp && len(outdated)+len(beside) == 0, Nodes: h.Nodes, Up: h.Up, Total: h.Total + len(outdated) + len(beside)}
	out.Blockers = slices.Concat(h.Blockers, outdated, beside)
	matrix.SortBlockers(out.Blockers)
	for _, b := range outdated {
		if _, ok := m.Index(b.Observed.HostID); !ok && b.Observed.HostID != "" {
			out.Nodes++ // it is no node of the matrix
		}
	}
	return out
}

// banned are the newcomers that can never join as they are.
func banned(c *cluster.Cluster) []matrix.Blocker {
	var out []matrix.Blocker
	for _, name := range c.Newcomers() {
		if c.Member(name).Banned().IsZero() {
			continue
		}
		if v, err := VerdictOf(c, name); err == nil && v.Decision == DecisionRefuse {
			out = append(out, v.Blockers...)
		}
	}
	return out
}
