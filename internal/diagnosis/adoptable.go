// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// adoptable reports our objects that the Scylla Operator has adopted, or adopts when it next runs.
// The step changes only a label of the StatefulSets, so no Pod restarts.
func (s *scene) adoptable() {
	a, owner := s.c.BesideOperator()
	if owner == "" {
		return
	}
	var objects []string
	for _, name := range a.StatefulSets {
		objects = append(objects, "statefulset "+name)
	}
	for _, name := range a.Services {
		objects = append(objects, "service "+name)
	}
	code, step := words.FindingBesideOperator, words.PartFromOperator
	if a.Owner != "" {
		code, step = words.FindingAdopted, words.PartAdopted
	}
	if len(a.StatefulSets) == 0 {
		step = words.ProtectServices
	}
	s.remark(Finding{Kind: BesideOperator,
		Message: words.New(code, "objects", objects, "owner", owner, "cluster", s.c.Name),
		Step: s.do(step, evidence.Facts{"statefulSets": strings.Join(a.StatefulSets, " "),
			"own": api.OwnCluster(s.c.Name)}, "owner", owner)})
}
