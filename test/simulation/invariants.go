// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

const (
	reportInterval = 5 * time.Second
	// bound is how long a node may be out of reach without the barrier knowing: the longest detection, and the longest way of a row: a poll, a slow
	// write, the controller, or the 30 s for which a controller that has stopped passes for one that lives.
	bound = rules.LastDownOfTwo + 30*time.Second + reportInterval

	healAt   = 30 * time.Minute
	patience = 3 * time.Hour
)

// known: a host ID that a group has, as on the restored volume of a member, or has removed can ask for nothing (ask), so no node that is DOWN costs it anything.
func (w *world) known(id string) bool {
	return slices.ContainsFunc(w.groups, func(g *group) bool { return g.State(id) != rules.Absent })
}

func (w *world) removed(id string) bool {
	return slices.ContainsFunc(w.groups, func(g *group) bool { return g.left[id] })
}

// watchdog ends the run as soon as everything is well.
func (w *world) watchdog() {
	if w.healed && len(w.unwell()) == 0 {
		w.tracef("everything is well")
		w.over = true
	}
}

// unwell lists the members that should run and do not.
func (w *world) unwell() []string {
	var out []string
	for _, s := range w.sets {
		for o := range s.replicas {
			if name := podName(s, o); !w.well(name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// giveUp: a node that has not started by now waits for ever.
func (w *world) giveUp() {
	w.over = true
	if w.follower.done != nil {
		w.leaveUnhealed()
	}
	for _, name := range w.unwell() {
		if w.result.Unhealed > 0 && (!waitsOrRuns(w.pods[name]) || !w.couldJoin(w.pods[name])) {
			continue // a person did what is printed, in vain
		}
		w.violate(&w.result.EndlessWaits, "endless wait: %s: %s", name, w.why(name))
	}
}

// needsAPerson is true where a node has joined whose volume is gone, or does not show that it has
// joined: somebody has to replace it, or to force its start, and in this world there is nobody.
func (w *world) needsAPerson() bool {
	for _, g := range w.groups {
		for _, id := range g.order {
			shows := func(name string) bool { return w.claims[name].disk.id == id && w.claims[name].disk.complete }
			if g.members[id] == normal && !slices.ContainsFunc(w.claimNames.of(w.claims), shows) {
				return true
			}
		}
	}
	return false
}

// joinFailed is true where a new node's volume can never be used again: somebody has to delete it.
func (w *world) joinFailed() bool {
	for _, p := range w.pods { // one is enough: the order does not matter
		if !p.claim.disk.complete && p.failed != "" {
			return true
		}
	}
	return false
}

func (w *world) why(name string) string {
	p, svc := w.pods[name], w.service[name]
	text := ""
	if svc != nil {
		text = fmt.Sprintf(" [Service %v %v]", svc.Labels, svc.Annotations)
		if step := w.replacementStep(name); step != nil {
			text = fmt.Sprintf("; replacement %s %s%s", step.Action, step.Message.Key(), text)
		}
	}
	switch {
	case p == nil:
		return "it has no Pod" + text
	case p.machine == nil || p.machine.off:
		return "it has no machine" + text
	case p.waits():
		why := p.barrier.verdict.Summary.Key()
		for _, b := range p.printed().Blockers {
			why += fmt.Sprintf("\n      %s %s about %s: %s; step %s", b.Reason, b.Observer.Name(), b.Observed.Name(), b.Cause.Key(), b.Step.Key())
		}
		return fmt.Sprintf("its barrier waits, its disk is COMPLETED %v, flushed %v: %s%s", p.claim.disk.complete, p.claim.disk.flushed, why, text)
	case p.stage == launching:
		return "its launcher waits: " + p.launcher.why + text
	}
	return fmt.Sprintf("stage %d, ScyllaDB said %q, runs %v, status %+v", p.stage, p.failed, p.proc != nil, p.status) + text
}
