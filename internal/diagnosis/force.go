// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ForceLoses returns the first blocker about a DOWN node whose step is not a force; nil without
// one. ScyllaDB would reject a new node, and its volume would be lost. A force is printed for other
// blockers, and a node can be DOWN since.
func ForceLoses(v bootstrap.Verdict) *matrix.Blocker {
	i := slices.IndexFunc(v.Blockers, func(b matrix.Blocker) bool {
		return isNodeDown(b) && !slices.ContainsFunc(b.Step.Commands, func(c words.Command) bool {
			return slices.Contains(c, "force-proceed")
		})
	})
	if i < 0 {
		return nil
	}
	return &v.Blockers[i]
}

func isNodeDown(b matrix.Blocker) bool { return b.Reason == words.NodeDown }
