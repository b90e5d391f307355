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

// modeNormal is the operation mode of a node that serves.
const modeNormal = "NORMAL"

// SaysJoined is whether a node has joined by its own row; nil where the row is no evidence. It has when it owns tokens, or when it is NORMAL and has itself UP among its members: a
// zero-token node, such as an arbiter, never owns any. Every caller uses this rule.
func SaysJoined(row *api.NodeStatusReport) *bool {
	if row == nil || row.HostID == "" {
		return nil
	}
	itself := func(o api.ObservedNodeStatusReport) bool {
		return o.HostID == row.HostID && o.Status == api.NodeStatusUp && matrix.ParseState(string(o.State)) == matrix.StateNormal
	}
	if row.OperationMode != modeNormal {
		return row.OwnsTokens
	}
	// Rows are sorted as a rule, and then a binary search finds the node's own cell.
	at, _ := slices.BinarySearchFunc(row.ObservedNodes, row.HostID, func(o api.ObservedNodeStatusReport, id hostid.ID) int { return cmp.Compare(o.HostID, id) })
	if at < len(row.ObservedNodes) && itself(row.ObservedNodes[at]) || slices.ContainsFunc(row.ObservedNodes, itself) {
		return new(true)
	}
	return row.OwnsTokens
}

// servesUnsaid is true for a node that has joined by its readiness, where its row has neither tokens nor mode, as those of the Scylla Operator's sidecar: its ScyllaDB is ready,
// which there means that it finds itself UP and NORMAL and serves CQL (facts 2.5), and its row lists itself UP. The operator's annotation of a zero-token node never records that
// it has joined.
func servesUnsaid(pod *corev1.Pod, s *statement) bool {
	if s.said == nil || s.said.OperationMode != "" || s.said.OwnsTokens != nil || !s.trouble.IsZero() || s.ref.HostID == "" || !serving(pod) || !PodReady(pod) || nodeLost(pod) {
		return false
	}
	return slices.ContainsFunc(s.said.ObservedNodes, func(o api.ObservedNodeStatusReport) bool {
		return o.HostID == s.ref.HostID && o.Status == api.NodeStatusUp
	})
}

// leftOut is true for such a node that the Scylla Operator's report leaves out for that, while a report has it UP in every row.
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
			return false // it is not left out
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
