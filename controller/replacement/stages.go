// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

// stages are where the replacements that are under way have come to, by their members. They may be lost: each is looked at again when a process begins.
type stages map[types.NamespacedName]staged

type staged struct {
	cluster string
	phase   replace.Phase
}

// at notes where a member's replacement has come to, PhaseNone where none is under way any more, and tells of its cluster where that is news.
func (r *Reconciler) at(member types.NamespacedName, cluster string, phase replace.Phase) {
	if r.o.Stages == nil {
		return
	}
	switch phase {
	case replace.PhaseDone, replace.PhaseCancel:
		phase = replace.PhaseNone // one that has failed is under way: a person has to go on, or to cancel it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was, had := r.stages[member]
	switch is := (staged{cluster, phase}); {
	case phase == replace.PhaseNone && !had, had && was == is:
		return
	case phase == replace.PhaseNone:
		cluster = was.cluster
		delete(r.stages, member)
	default:
		if r.stages == nil {
			r.stages = stages{}
		}
		r.stages[member] = is
	}
	counts := map[string]int{}
	for key, s := range r.stages {
		if key.Namespace == member.Namespace && s.cluster == cluster {
			counts[string(s.phase)]++
		}
	}
	r.o.Stages(member.Namespace, cluster, counts)
}
