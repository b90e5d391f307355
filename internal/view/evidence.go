// SPDX-License-Identifier: Apache-2.0

package view

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Evidence is what a cluster, taken once, says of a member.
type Evidence struct {
	matrix.Ref
	Look Look
	// Report is the annotation of its Pod; empty where there is none here.
	Report string
}

// Key tells members apart: the host ID, or the name while there is none.
func (e *Evidence) Key() string { return key(e.HostID, e.Member) }

func key(hostID, name string) string {
	if hostID != "" {
		return hostID
	}
	return "/" + name
}

// Of is what the cluster says of each member that has joined, in the order of its matrix.
func Of(c *cluster.Cluster) []Evidence {
	var out []Evidence
	nodes := c.Matrix().Nodes()
	for i := range nodes {
		n := &nodes[i]
		if !n.Joined || n.Removed {
			continue
		}
		e := Evidence{Ref: n.Ref, Look: look(n)}
		if pod := c.Pod(n.Member); pod != nil {
			e.Report = pod.Annotations[api.AnnotationNodeStatusReport]
		}
		out = append(out, e)
	}
	return out
}

// look never takes what nobody knows for UP: every fresh row has to say so, the member's own among them.
func look(n *matrix.Node) Look {
	switch {
	case n.SeenDown > 0:
		return SaidDown
	case n.Reports && n.SeenUp > 0 && n.SeenUnknown+n.NotSeen == 0:
		return Heard
	}
	return Missed
}

// Hold is what keeps everybody from joining that is not about single members; empty when there is none.
func Hold(c *cluster.Cluster) string {
	for _, b := range c.Health().Blockers {
		if slices.Contains([]matrix.Reason{matrix.ReasonDatacenterUnverified, matrix.ReasonRollout}, b.Reason) {
			return string(b.Reason)
		}
	}
	return ""
}

// Digest of a member's report.
func Digest(report string) string {
	if report == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(report))
	return hex.EncodeToString(sum[:8])
}

// Same is true when two views of one epoch say the same; when they were made does not matter.
func Same(a, b *api.StatusReportView) bool {
	if a == nil || b == nil || a.Epoch != b.Epoch || a.Hold != b.Hold || !samePermits(a, b) {
		return false
	}
	return slices.EqualFunc(a.Members, b.Members, func(x, y api.StatusReportViewMember) bool {
		since := x.DownSince.Equal(y.DownSince)
		x.DownSince, y.DownSince = nil, nil
		return since && x == y
	})
}
