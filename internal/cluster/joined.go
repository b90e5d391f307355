// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// modeNormal is ScyllaDB's word for a node that serves.
const modeNormal = "NORMAL"

// SaysJoined is whether a node has joined by its own word; nil where that does not tell. It has when it owns tokens, or when it is NORMAL and finds itself UP
// among its members: a zero-token node, an arbiter for one, never owns any. It is the one rule for everybody who asks.
func SaysJoined(row *api.NodeStatusReport) *bool {
	if row == nil || row.HostID == "" {
		return nil
	}
	itself := func(o api.ObservedNodeStatusReport) bool {
		return o.HostID == row.HostID && o.Status == api.NodeStatusUp && matrix.ParseState(string(o.State)) == matrix.StateNormal
	}
	if row.OperationMode == modeNormal && slices.ContainsFunc(row.ObservedNodes, itself) {
		return new(true)
	}
	return row.OwnsTokens
}
