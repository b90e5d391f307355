// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"fmt"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// do is the kind of the next action of a roll.
type do string

const (
	DoLabel    do = "label"    // write Running.WithLabels of the StatefulSet
	DoTemplate do = "template" // record every host ID, then write Running.WithTemplate
	DoEvict    do = "evict"    // evict the Pod, with its UID as precondition, once safe
	DoMend     do = "mend"     // evict a Pod whose ScyllaDB does not run, without checks
	DoRelease  do = "release"  // write Released of the StatefulSet once every row has every node UP
	doWait     do = "wait"
	DoEnd      do = "end" // every StatefulSet is done
)

// Step is the next action of a roll.
type Step struct {
	Do do
	// Set is the index of the StatefulSet; Member the member to evict for DoEvict and DoMend, else
	// nil.
	Set    int
	Member *cluster.Member
	// Why is the reason for DoWait.
	Why string
}

// State is the state of one StatefulSet during a roll.
type State struct {
	Name                    string
	Labelled, Written, Held bool
	// Seen is true once Kubernetes has observed the newest template; before that it is unknown
	// which Pods are current.
	Seen bool
	// Undo is true if the injection is being removed: then no member needs a Service.
	Undo bool
	// Members are the desired members in the order of the roll, which is Kubernetes' order: the
	// largest ordinal first.
	Members []*cluster.Member
}

// Next returns the next action. It never evicts a Pod while another one is missing or not Ready,
// and never continues with a second StatefulSet while one is on hold.
func Next(sets []State) Step {
	for i := range sets {
		if !sets[i].Labelled {
			return Step{Do: DoLabel, Set: i}
		}
	}
	if step := waitOrMend(sets); step != nil {
		return *step
	}
	for i := range sets {
		s := &sets[i]
		if !s.Held || !s.Written {
			continue
		}
		for _, m := range s.Members {
			if !m.Current() {
				return Step{Do: DoEvict, Set: i, Member: m}
			}
		}
		return Step{Do: DoRelease, Set: i}
	}
	for i := range sets {
		if sets[i].due() {
			return Step{Do: DoTemplate, Set: i}
		}
	}
	return Step{Do: DoEnd}
}

// due reports whether the StatefulSet's template must be written: it differs from the wanted one,
// or Pods with an older template are left without a roll.
func (s *State) due() bool {
	for _, m := range s.Members {
		if !m.Current() {
			return true
		}
	}
	return !s.Written
}

// waitOrMend returns the step that must finish before the roll continues, or nil. It does not wait
// for a Pod with an older template whose ScyllaDB does not run: that Pod would never become Ready.
func waitOrMend(sets []State) *Step {
	wait := func(i int, format string, args ...any) *Step {
		return &Step{Do: doWait, Set: i, Why: fmt.Sprintf(format, args...)}
	}
	for i := range sets {
		s := &sets[i]
		if !s.Seen {
			return wait(i, "Kubernetes has not observed StatefulSet %s yet", s.Name)
		}
		for _, m := range s.Members {
			switch {
			case m.Serves() && (s.Undo || m.Service != nil && cluster.IsMemberService(m.Service)):
			case m.Serves():
				return wait(i, "the controller has not created Service %s yet", m.Member)
			case m.Pod == nil:
				return wait(i, "Pod %s does not exist", m.Member)
			case m.Stopped() && s.Held && s.Written && !m.Current():
				return &Step{Do: DoMend, Set: i, Member: m}
			case m.Stopped() && !s.Written && (s.Held || s.Undo):
				return &Step{Do: DoTemplate, Set: i}
			default:
				return wait(i, "Pod %s is not Ready", m.Member)
			}
		}
	}
	return nil
}
