// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// modeNormal is the operation mode of a node that serves requests.
const modeNormal = "NORMAL"

// SaysJoined returns whether a node has joined by its own row; nil if the row is not evidence. A
// node has joined if it owns tokens, or if it is NORMAL and lists itself UP. A zero-token node,
// such as an arbiter, never owns tokens. All callers use this rule.
func SaysJoined(row *api.NodeStatusReport) *bool {
	if row == nil || row.HostID == "" {
		return nil
	}
	itself := func(o api.ObservedNodeStatusReport) bool {
		return o.HostID == row.HostID && o.Status == api.NodeStatusUp &&
			matrix.ParseState(string(o.State)) == matrix.StateNormal
	}
	if row.OperationMode != modeNormal {
		return row.OwnsTokens
	}
	// Rows are usually sorted; then a binary search finds the node's own cell.
	at, _ := slices.BinarySearchFunc(row.ObservedNodes, row.HostID,
		func(o api.ObservedNodeStatusReport, id hostid.ID) int { return cmp.Compare(o.HostID, id) })
	if at < len(row.ObservedNodes) && itself(row.ObservedNodes[at]) || slices.ContainsFunc(row.ObservedNodes, itself) {
		return new(true)
	}
	return row.OwnsTokens
}

// servesUnsaid reports whether a node has joined by its readiness, if its row has neither tokens
// nor mode (rows of the Scylla Operator's sidecar). Its ScyllaDB is ready, which there means that
// it lists itself UP and NORMAL and serves CQL (facts 2.5); its row also lists itself UP. The
// operator's annotation of a zero-token node never records a join.
func servesUnsaid(pod *corev1.Pod, s *statement) bool {
	if s.said == nil || s.said.OperationMode != "" || s.said.OwnsTokens != nil || !s.trouble.IsZero() ||
		s.ref.HostID == "" || !serving(pod) || !PodReady(pod) || nodeLost(pod) {
		return false
	}
	return slices.ContainsFunc(s.said.ObservedNodes, func(o api.ObservedNodeStatusReport) bool {
		return o.HostID == s.ref.HostID && o.Status == api.NodeStatusUp
	})
}

// leftOut reports whether the Scylla Operator's report omits such a node although all rows of the
// report list it UP.
func (c *Cluster) leftOut(member string) bool {
	svc := c.ix.services[member]
	if j := joined(svc); !c.Operator || c.Source != SourceReport || j == nil || *j {
		return false
	}
	s := c.statement(member, c.annotations[member])
	if !s.joined {
		return false
	}
	seen := false
	for i := range c.rows {
		if c.rows[i].Reporter.HostID == s.ref.HostID {
			return false // it has a row
		}
		for o := range c.rows[i].Each() {
			if o.HostID != s.ref.HostID {
				continue
			}
			if seen = o.Status == matrix.Up; !seen {
				return false
			}
		}
	}
	return seen
}
