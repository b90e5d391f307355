// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// leftReplacing returns the replaced host ID in the label of a replacement that has ended, and how
// many rows show its end; empty if a row may still list it. The evidence is complete: each joined
// node has a usable row, no row lists the replaced node, and all rows, also its own, list the
// member's node as a normal member. Absence alone is none.
func (c *Cluster) leftReplacing(mb *Member) (original hostid.ID, rows int) {
	v := mb.Service
	if v == nil {
		return "", 0
	}
	original = hostid.Known(v.Labels[api.LabelReplacingNodeHostID])
	_, requested := v.Labels[api.LabelReplace]
	if original == "" || requested || v.Annotations[api.AnnotationReplaceAccepted] != "" ||
		v.Annotations[api.AnnotationReplaceOriginalHostID] != "" {
		return "", 0 // its controller continues it
	}
	id := recordedHostID(v)
	if id == "" || id == original || !mb.HasJoined() || !mb.Ready() ||
		mb.Says().HostID != "" && mb.Says().HostID != id {
		return "", 0
	}
	nodes := c.all.Nodes()
	for i := range nodes {
		switch n := &nodes[i]; {
		case n.HostID == original && c.all.Appears(i):
			return "", 0
		case n.Removed || !n.Joined:
		case !c.all.HasUsableRow(i):
			return "", 0
		default:
			rows++
		}
	}
	if len(c.normalIn(id)) != rows || rows == 0 {
		return "", 0
	}
	return original, rows
}
