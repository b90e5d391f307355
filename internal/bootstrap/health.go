// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Health is the health of the cluster for every display, condition and metric: a cluster in which a
// new node's barrier must wait is not healthy.
type Health struct {
	// Healthy is true if there is at least one node and every row has every node UP. Also, nothing
	// blocks a new node, and no node's volume is deleted with its Pod.
	Healthy bool
	// Nodes is how many nodes are judged, Up how many of them every row has UP. Total is how many
	// blockers there are, including those that Blocker.More counts.
	Nodes, Up, Total int
	// Blockers, the most severe first.
	Blockers []matrix.Blocker
}

// HealthOf judges the cluster. The caller owns the list of blockers.
func HealthOf(c *cluster.Cluster) Health {
	m := c.Matrix()
	silent, since := c.ControllerSilent()
	outdated := slices.Concat(outdated(m, c.Serviced(), "", silent, since),
		RolloutBlockers(c), c.Doubts(""))
	beside := slices.Concat(banned(c), c.Beside())
	h := m.Health()
	if accepted := c.AcceptedUnread(); len(accepted) > 0 { // a new node does not wait for their rows
		h.Blockers = slices.DeleteFunc(slices.Clone(h.Blockers), func(b matrix.Blocker) bool {
			out := b.Reason == words.RowMissing && slices.Contains(accepted, b.Observed.HostID)
			if out {
				h.Total -= b.Count()
			}
			return out
		})
		h.AllUp = h.Nodes > 0 && h.Total == 0
	}
	out := Health{Healthy: h.AllUp && len(outdated)+len(beside) == 0, Nodes: h.Nodes, Up: h.Up,
		Total: h.Total + len(outdated) + len(beside)}
	out.Blockers = slices.Concat(h.Blockers, outdated, beside)
	matrix.SortBlockers(out.Blockers)
	for _, b := range outdated {
		if _, ok := m.Index(b.Observed.HostID); !ok && b.Observed.HostID != "" {
			out.Nodes++ // it is not a node of the matrix
		}
	}
	return out
}

// banned returns the new nodes that can never join with their present host ID.
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
