// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// claims explains running nodes whose volume is deleted when their Pod ends, or when the Scylla
// Operator acts on a wrong label. Such a node must not be restarted, which an administrator would
// otherwise try next.
func (s *scene) claims() {
	for k := range s.h.Blockers {
		b := &s.h.Blockers[k]
		if b.Reason == words.HostIDShared {
			explained := []int{k}
			for i := range s.h.Blockers {
				o := &s.h.Blockers[i]
				members, _ := b.Cause.Params["members"].([]string)
				// the member's row is missing because of the shared host ID
				if (o.Reason == words.RowError || o.Reason == words.RowMissing) &&
					slices.Contains(members, o.Observed.Member) {
					explained = append(explained, i)
				}
			}
			s.add(Finding{Kind: HostIDShared, Scope: Scope{Level: LevelCluster},
				Message: words.New(words.FindingHostIDShared, "why", b.Cause), Step: b.Step}, explained...)
		}
		if b.Reason == words.DecommissionLabel {
			s.add(Finding{
				Kind: DecommissionLabel, Scope: Scope{Level: LevelNode, Nodes: []matrix.Ref{b.Observed}},
				Message: words.New(words.FindingDecommissionLabel, "service", b.Cause.Params["service"], "node",
					b.Observed.Name(), "rows", b.Cause.Params["rows"]), Step: b.Step,
			}, k)
		}
		if b.Reason != words.ClaimDeleting {
			continue
		}
		s.add(Finding{
			Kind: ClaimDeleting, Scope: Scope{Level: LevelNode, Nodes: []matrix.Ref{b.Observed}},
			Message: words.New(words.FindingClaimDeleting, "claim", b.Cause.Params["claim"], "node", b.Observed.Name(),
				"pod", b.Cause.Params["pod"]), Step: b.Step,
		}, k)
	}
}
