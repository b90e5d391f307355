// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// LeftLabel is why a member's label is no open replacement; zero without such a label.
func LeftLabel(m *cluster.Member) words.Message {
	if m.LeftReplacing == "" {
		return words.Message{}
	}
	return words.New(words.FindingReplacingLabelLeft, "service", m.Service.Name, "rows", m.LeftRows, "original",
		m.LeftReplacing, "node", m.Name())
}

// RemoveLeftLabel is the step for the label of a replacement that has ended (Member.LeftReplacing).
func RemoveLeftLabel(m *cluster.Member) words.Message {
	return evidence.Do(words.New(words.RemoveReplacingLabel, "member", m.Member, "original", m.LeftReplacing),
		evidence.Facts{"namespace": m.Namespace, "member": m.Member, "service": m.Service.ResourceVersion})
}
