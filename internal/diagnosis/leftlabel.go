// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

// leftLabels reports the labels of replacements that have ended.
func (s *scene) leftLabels() {
	for _, m := range s.c.Serviced() {
		if m.LeftReplacing == "" {
			continue
		}
		s.remark(Finding{
			Kind: ReplacingLabelLeft, Scope: Scope{Nodes: []matrix.Ref{m.Ref}},
			Message: replace.LeftLabel(m), Step: replace.RemoveLeftLabel(m),
		})
	}
}
