// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// clocks reports the Kubernetes nodes whose clock differs from the API server's, with the smallest
// difference of them.
func (s *scene) clocks() {
	for _, code := range []words.Code{words.FindingClockAhead, words.FindingClockBehind} {
		var nodes []string
		var least cluster.ClockOff
		for _, off := range s.c.ClocksOff() {
			if off.Ahead != (code == words.FindingClockAhead) {
				continue
			}
			if nodes = append(nodes, cmp.Or(off.KubernetesNode, off.Member)); least.By == 0 || off.By < least.By {
				least = off
			}
		}
		if len(nodes) > 0 {
			s.remark(Finding{Kind: ClockOff,
				Message: words.New(code, "nodes", nodes, "by", least.By.Truncate(time.Second)),
				Step:    evidence.Do(words.New(words.SeeClock), s.asker.factsOf(least.Member))})
		}
	}
}
