// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// claims explains the nodes that live and whose volume goes when their Pod ends: restarting one is what a person would do next, and must not.
func (s *scene) claims() {
	for k := range s.h.Blockers {
		b := &s.h.Blockers[k]
		if b.Reason != matrix.ReasonClaimDeleting {
			continue
		}
		s.add(Finding{
			Kind: ClaimDeleting, Scope: Scope{Level: LevelNode, Nodes: []matrix.Ref{b.Observed}},
			Message: code.New(sayClaimDeleting, "claim", b.Cause.Params["claim"], "node", b.Observed.Name(), "pod", b.Cause.Params["pod"]), Step: b.Step,
		}, k)
	}
}
