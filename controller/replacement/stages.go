// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

// stages are the stages of the replacements in progress, by member. They may be lost: a new process
// computes each again.
type stages map[types.NamespacedName]staged

type staged struct {
	cluster string
	phase   replace.Phase
}

// at records the stage of a member's replacement, PhaseNone if none is in progress, and calls
// Options.Stages for its cluster at a change.
func (r *reconciler) at(member types.NamespacedName, cluster string, phase replace.Phase) {
	if r.o.Stages == nil {
		return
	}
	switch phase {
	case replace.PhaseDone, replace.PhaseCancel:
		phase = replace.PhaseNone // a failed one is open: a user must resume or cancel it
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
