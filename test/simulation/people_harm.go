// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Followed is what came of the commands that people ran.
type Followed struct {
	// Harmful commands: each is a violation, and says which.
	Harmful int
	// Steps of status that a person followed, StepsLate an hour after they were printed. Void are those of which nothing applied any more.
	Steps, StepsLate, Void int
	// Healed troubles, in which a person did something, HealSteps in all, and how long each took.
	Healed, HealSteps int
	HealTimes         []time.Duration
	// Unhealed troubles at the end. Of these Unsaid: status still prints a command that heals nothing, instead of saying that none does.
	Unhealed, Unsaid int
	// Codes counts steps by what was printed.
	Codes map[string]int
}

func (f *Followed) add(b *Followed) {
	f.Harmful += b.Harmful
	f.Steps += b.Steps
	f.StepsLate += b.StepsLate
	f.Void += b.Void
	f.Healed += b.Healed
	f.HealSteps += b.HealSteps
	f.Unhealed += b.Unhealed
	f.Unsaid += b.Unsaid
	f.HealTimes = append(f.HealTimes, b.HealTimes...)
	for code, n := range b.Codes { // sums: the order does not matter
		if f.Codes == nil {
			f.Codes = map[string]int{}
		}
		f.Codes[code] += n
	}
}

// harm is what a person did by a printed command and should never have been told to do.
func (w *world) harm(format string, args ...any) {
	if w.careless || w.Rule == Operator {
		return
	}
	w.result.Harmful++
	w.violate("a person's step harms: "+format, args...)
}

// harmOfDeletion: the claim holds the data of a member that could start with it.
func (w *world) harmOfDeletion(c *claim) {
	d := c.disk
	if d.group == nil || c.deleting || !w.intact(c) || d.group.banned[d.id] {
		return
	}
	switch d.group.members[d.id] {
	case normal, rules.BeingReplaced, rules.Removing:
		w.harm("claim %s is deleted, with the data of %s, which is a member", c.obj.Name, short(d.id))
	}
}

// intact is true for a volume with which its node can start.
func (w *world) intact(c *claim) bool {
	return c.disk.complete && !c.disk.copied && (c.machine == nil || !c.machine.gone)
}

// harmOfBan: the node lives, or could start with its volume.
func (w *world) harmOfBan(g *group, id string) {
	if g.banned[id] || g.left[id] {
		return
	}
	if s := w.running(id); s != nil {
		w.harm("%s is banned, which runs in %s", short(id), s.pod.name)
		return
	}
	for _, name := range w.claimNames.of(w.claims) {
		if c := w.claims[name]; c.disk.id == id && !c.deleting && w.intact(c) {
			w.harm("%s is banned, whose data is on %s", short(id), name)
		}
	}
}

// harmOfForgetting: nothing shows any more that this node, a member, must be UP. One that has joined since the step was printed is recorded again at once.
func (w *world) harmOfForgetting(member string) {
	id := w.service[member].Annotations[api.AnnotationHostID]
	if !slices.ContainsFunc(w.groups, func(g *group) bool { return g.members[id] == normal }) {
		return
	}
	w.after(time.Minute, func() {
		if s := w.service[member]; s != nil && s.Annotations[api.AnnotationHostID] != id {
			w.harm("the host ID of %s is forgotten, %s, which is a member", member, short(id))
		}
	})
}

// harmOfForce: a person opened a barrier, and the join is lost because of a node that the
// coordinator had as DOWN already. The barrier does not open over one that the force does not name.
func (w *world) harmOfForce(r *request, b began, dead []string) {
	if o := r.opened; o == nil || o.decision != bootstrap.DecisionForced {
		return
	}
	if i := slices.IndexFunc(dead, func(id string) bool { return b.known[id] > knowable }); i >= 0 {
		w.harm("%s was forced, and its join is lost because of %s, which was out of reach for %s", r.proc.pod.name, short(dead[i]), b.away[dead[i]])
	}
}
