// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Ghost is an orphaned host ID: nodes list it, and no member has it. A failed replacement or join
// leaves it.
type Ghost struct {
	HostID hostid.ID
	// Evidence lists the nodes that list it, with its status there.
	Evidence words.Message
	// Command removes it; nil if it must not be removed, for the reason Why. With a Command, Why is
	// what to do first.
	Command words.Command
	Why     words.Message
}

// ghosts returns the host IDs that fresh rows mention and that no member has or replaces. The
// result is the same for the Input of any member of the cluster. It excludes joining nodes, which
// rows list before the Service does, and nodes of other Kubernetes clusters' datacenters. The
// callback returns why a host ID must not be removed (it then gets no command), zero if it may be.
func ghosts(in Input, stranger func(hostID hostid.ID) words.Message) []Ghost {
	known := map[hostid.ID]bool{}
	here := map[string]bool{}
	for _, m := range append(slices.Clone(in.Others), in.Self) {
		here[m.Datacenter] = true
		for _, id := range []hostid.ID{m.RecordedID(), m.Says().HostID, RecordOf(m).Original} {
			known[id] = true
		}
	}
	arrives := arriving(&in)
	// here the member counts like any other
	in.Others, in.Self = append(slices.Clone(in.Others), in.Self), &cluster.Member{}
	v := newOpinions(&in, "", "", nil)
	nodes := v.m.Nodes()
	var out []Ghost
	var up []hostid.ID
	for _, id := range v.expected() {
		i, _ := v.m.Index(id)
		if known[id] || nodes[i].Row != nil && nodes[i].Row.Reported {
			continue
		}
		if nodes[i].Row != nil && !here[nodes[i].Datacenter] {
			continue
		}
		t := v.of(id)
		if t.Listing() == 0 || len(t.States[matrix.StateJoining])+len(t.States[matrix.StateReplacing]) > 0 {
			continue
		}
		g := Ghost{HostID: id, Evidence: words.New(words.GhostListed, "by", v.labels(t.Listers()), "hostID", id)}
		if g.Why = stranger(id); g.Why.IsZero() {
			g.Command, g.Why = v.removeNode(id, stranger)
		}
		if len(t.Up) > 0 {
			up = append(up, id)
		}
		out = append(out, g)
	}
	if len(up) <= arrives {
		out = slices.DeleteFunc(out, func(g Ghost) bool { return slices.Contains(up, g.HostID) })
	}
	return out
}

// arriving returns the number of new nodes whose host ID no object records yet, of replacements by
// the Scylla Operator. Its reports have no states: such a node is only UP in them.
func arriving(in *Input) int {
	n := 0
	for _, m := range append(slices.Clone(in.Others), in.Self) {
		rec, one := RecordOf(m), Input{Self: m}
		if in.Operator && rec.Requested && rec.HasOriginal && newcomerID(&one, rec.Original) == "" {
			n++
		}
	}
	return n
}

// removeNode returns the exact command, to run on a member that every row has UP. It names every
// other dead node. Otherwise it returns the reason. ScyllaDB permanently bans each named node. A
// node that is DOWN in one row only, or restarts, is therefore not named, and while there is one,
// nothing is removed. The same applies to a node that is not DOWN for the health policy's time, or
// since an unknown time, or whose data may be intact.
func (v *rowEvidence) removeNode(id hostid.ID, stranger func(hostID hostid.ID) words.Message) (words.Command,
	words.Message) {
	dead, from, why := v.banned(id, func(other hostid.ID) bool { return stranger(other).IsZero() })
	switch {
	case !why.IsZero():
		return nil, why
	case !v.dead(id):
		return nil, words.New(words.GhostNotDead, "least", v.leastDown())
	}
	c := v.nodetool(from, "removenode")
	if len(dead) > 0 {
		c = append(c, "--ignore-dead-nodes", hostid.Join(dead))
	}
	return append(c, string(id)), words.Message{}
}

// ExcludeDead is the remedy for dead nodes other than the replaced one: an ignore list or, under
// the Scylla Operator, which cannot pass one to a single member, `nodetool excludenode` (from
// 2026.1). Both ban like removenode, on the same evidence, and only nodes with a member here. named
// are the members or host IDs that the user says are lost.
func ExcludeDead(in Input, named []string) words.Message {
	rec := RecordOf(in.Self)
	in.Gone = slices.Clone(in.Gone)
	for _, o := range in.Others {
		if slices.Contains(named, o.Member) || slices.Contains(named, string(o.RecordedID())) {
			in.Gone = append(in.Gone, o.Member)
		}
	}
	target := cmp.Or(rec.Original, in.Self.RecordedID())
	return newOpinions(&in, target, "", nil).excludeDead(target)
}

func (v *rowEvidence) excludeDead(target hostid.ID) words.Message {
	dead, from, why := v.banned(target, func(hostid.ID) bool { return true })
	unrecorded := slices.ContainsFunc(dead, func(id hostid.ID) bool {
		return !slices.ContainsFunc(v.in.Others, func(o *cluster.Member) bool { return o.RecordedID() == id })
	})
	manager := ""
	if v.in.Operator {
		manager = "the Scylla Operator"
	}
	switch {
	case why.IsZero() && unrecorded && !v.in.Elsewhere: // it cannot be brought back: it was a member here
		return words.New(words.OrphansFirst).Do(words.Scylla(v.in.Namespace, "status"))
	case !why.IsZero() || len(dead) == 0 || unrecorded || v.in.Operator && !v.in.Excludes:
		return words.New(words.OthersBringBackOnly, "manager",
			manager).Do(words.Scylla(v.in.Namespace, "status", v.in.Cluster))
	}
	names, ids := v.named(dead)
	if !v.in.Operator {
		return words.New(words.OthersBringBack, "nodes", names).Do(replaceCommand(v.in, v.ignoring(dead)))
	}
	return words.New(words.OthersExclude, "nodes", names, "check",
		CheckOthersUp).Do(append(v.nodetool(from, "excludenode"), ids...))
}

// ignoring returns the list of ignored nodes with these, which replaces the present list.
func (v *rowEvidence) ignoring(dead []hostid.ID) []hostid.ID {
	return slices.Concat(slices.Sorted(maps.Keys(v.ignored)), dead)
}

// named returns the names and the host IDs of nodes.
func (v *rowEvidence) named(nodes []hostid.ID) (names, ids []string) {
	for _, id := range nodes {
		names, ids = append(names, v.name(id)), append(ids, string(id))
	}
	return names, ids
}

// nodetool returns the beginning of a nodetool command that runs on a member, and asks first.
func (v *rowEvidence) nodetool(member, command string) words.Command {
	return append(words.Scylla(v.in.Namespace, "nodetool", member), "--", command)
}

// banned returns the sorted nodes, other than id, that a command may ban, and a member that every
// row has UP, to run it on. Else it returns why no node may be banned. orphan reports whether a
// host ID that no member here has may be banned.
func (v *rowEvidence) banned(id hostid.ID, orphan func(hostid.ID) bool) (dead []hostid.ID, from string,
	why words.Message) {
	dead, living := v.down(id, orphan)
	if len(living) > 0 {
		names, _ := v.named(living)
		return nil, "", words.New(words.GhostOthersMayReturn, "least", v.leastDown(), "nodes", names)
	}
	for _, other := range v.expected() {
		if t := v.of(other); other != id && t.Total() == len(t.Up) && v.names[other].Member != "" {
			return dead, v.names[other].Member, words.Message{}
		}
	}
	return nil, "", words.New(words.GhostNoNodeToRemoveFrom)
}

// down returns the nodes, other than id, that a row has DOWN: the dead ones, which a command may
// ban, and those that may return. Both are sorted.
func (v *rowEvidence) down(id hostid.ID, orphan func(hostid.ID) bool) (dead, living []hostid.ID) {
	for _, other := range v.expected() {
		switch {
		case other == id || len(v.of(other).Down) == 0:
		case v.dead(other) && v.lost(other, orphan):
			dead = append(dead, other)
		default:
			living = append(living, other)
		}
	}
	return dead, living
}

// lost reports whether something shows that the node cannot come back: no member has it, a user has
// requested its replacement, its member's barrier found an empty volume, or its volume is gone.
// That it is DOWN shows nothing about its data.
func (v *rowEvidence) lost(id hostid.ID, orphan func(hostid.ID) bool) bool {
	for _, o := range v.in.Others {
		if rec := RecordOf(o); o.RecordedID() == id || rec.Original == id {
			return rec.Requested || o.EmptyVolume() || slices.Contains(v.in.Gone, o.Member)
		}
	}
	return orphan(id)
}

// dead reports whether a command may ban a node: DOWN in a majority of rows for the health policy's
// time, and UP in none.
func (v *rowEvidence) dead(id hostid.ID) bool {
	t := v.of(id)
	since, known := t.DownSince() // rows only: a Pod that is not Ready is no evidence about gossip
	return len(t.Up)+len(t.Contradict) == 0 && t.MajorityDown() && known && v.in.Now.Sub(since) >= v.leastDown()
}

// deadIn reports whether a new node has been DOWN for as long as its own replacement requires.
func deadIn(in *Input, newcomer hostid.ID) bool {
	return newOpinions(in, newcomer, "", nil).dead(newcomer)
}

func (v *rowEvidence) leastDown() time.Duration { return cmp.Or(v.in.Dead, healthpolicy.Dead) }
