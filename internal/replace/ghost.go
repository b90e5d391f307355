// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Ghost is a host ID that the cluster still lists and that belongs to no member, left by a failed replacement or join.
type Ghost struct {
	HostID hostid.ID
	// Evidence is the list of nodes that list it, with its status there.
	Evidence words.Message
	// Command removes it; nil while it must not be removed, and Why is then the reason. Beside a command it is what has to be done first.
	Command words.Command
	Why     words.Message
}

// ghosts returns the host IDs that fresh rows mention and that no member has or replaces: the same for the input of any member of a cluster. A
// joining newcomer is no ghost, though its peers list it before its Service does, and neither is a node of another Kubernetes cluster's datacenter.
// stranger returns why a host ID must not be removed, zero when it may be: then no command is given.
func ghosts(in Input, stranger func(hostID hostid.ID) words.Message) []Ghost {
	known := map[hostid.ID]bool{}
	here := map[string]bool{}
	for _, m := range append(slices.Clone(in.Others), in.Self) {
		here[m.Datacenter] = true
		for _, id := range []hostid.ID{m.RecordedID(), m.Says().HostID, RecordOf(m).Original} {
			known[id] = true
		}
	}
	in.Self = &cluster.Member{} // here the member is a witness like any other
	v := newOpinions(&in, "", "", nil)
	nodes := v.m.Nodes()
	var out []Ghost
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
			g.Command, g.Why = v.removeNode(id)
		}
		out = append(out, g)
	}
	return out
}

// removeNode returns the exact command, run on a member that every row has UP, with every other dead node named, or excluded first where the version can; else why there is none. ScyllaDB bans each
// node that is named, and never takes it back. One that is DOWN in a single row, or only while it restarts, is therefore not named, and nothing is
// removed while there is one. Neither is a node that has not been DOWN for the health policy's time, or whose rows do not tell since when.
func (v *opinions) removeNode(id hostid.ID) (words.Command, words.Message) {
	dead, from, why := v.banned(id)
	switch {
	case !why.IsZero():
		return nil, why
	case !v.dead(id):
		return nil, words.New(words.GhostNotDead, "least", v.leastDown())
	}
	c := v.nodetool(from, "removenode")
	switch {
	case len(dead) == 0:
	case v.in.Excludes:
		names, ids := v.named(dead)
		return append(c, string(id)), words.New(words.GhostExcludeFirst, "nodes", names).Do(append(v.nodetool(from, "excludenode"), ids...))
	default:
		c = append(c, "--ignore-dead-nodes", hostid.Join(dead))
	}
	return append(c, string(id)), words.Message{}
}

// ExcludeDead is the remedy for dead nodes beside the one that is replaced, where there is `nodetool excludenode`, from 2026.1 on, or where the Scylla Operator replaces, which can
// pass no list of them to one member. It bans like removenode, and is given on the same evidence, for nodes that have their member here.
func ExcludeDead(in Input) words.Message {
	rec := RecordOf(in.Self)
	target := cmp.Or(rec.Original, in.Self.RecordedID())
	return newOpinions(&in, target, "", nil).excludeDead(target)
}

func (v *opinions) excludeDead(target hostid.ID) words.Message {
	dead, from, why := v.banned(target)
	elsewhere := func(id hostid.ID) bool {
		return !slices.ContainsFunc(v.in.Others, func(o *cluster.Member) bool { return o.RecordedID() == id })
	}
	manager := ""
	if v.in.Operator {
		manager = "the Scylla Operator"
	}
	switch {
	case !why.IsZero() || len(dead) == 0 || slices.ContainsFunc(dead, elsewhere) || v.in.Operator && !v.in.Excludes:
		return words.New(words.OthersBringBackOnly, "manager", manager).Do(words.Scylla(v.in.Namespace, "status", v.in.Cluster))
	case !v.in.Excludes:
		return words.New(words.OthersBringBack)
	}
	names, ids := v.named(dead)
	return words.New(words.OthersExclude, "nodes", names, "check", CheckOthersUp).Do(append(v.nodetool(from, "excludenode"), ids...))
}

// named are the names of nodes, and their host IDs.
func (v *opinions) named(nodes []hostid.ID) (names, ids []string) {
	for _, id := range nodes {
		names, ids = append(names, v.name(id)), append(ids, string(id))
	}
	return names, ids
}

// nodetool is the start of a nodetool command that runs on a member.
func (v *opinions) nodetool(member, command string) words.Command {
	return append(words.Kubectl(v.in.Namespace, "exec", member), "-c", v.in.Containers.Container(member), "--", "nodetool", command)
}

// banned are the nodes other than id that a command may ban, sorted, and a member that every row has UP, to run it on; else why nothing is to be banned.
func (v *opinions) banned(id hostid.ID) (dead []hostid.ID, from string, why words.Message) {
	var living []string
	for _, other := range v.expected() {
		if other == id {
			continue
		}
		t := v.of(other)
		switch {
		case len(t.Down) > 0 && v.dead(other):
			dead = append(dead, other)
		case len(t.Down) > 0:
			living = append(living, v.name(other))
		case from == "" && t.Total() == len(t.Up) && v.names[other].Member != "":
			from = v.names[other].Member
		}
	}
	slices.Sort(dead)
	switch {
	case len(living) > 0:
		slices.Sort(living)
		return nil, "", words.New(words.GhostOthersMayReturn, "least", v.leastDown(), "nodes", living)
	case from == "":
		return nil, "", words.New(words.GhostNoNodeToRemoveFrom)
	}
	return dead, from, words.Message{}
}

// dead is what a node has to be before a command may ban it: DOWN for a majority for the health policy's time, and UP for nobody.
func (v *opinions) dead(id hostid.ID) bool {
	t := v.of(id)
	since, known := t.DownSince() // rows alone: a Pod that is not ready tells nothing about gossip
	return len(t.Up)+len(t.Contradict) == 0 && t.MajorityDown() && known && v.in.Now.Sub(since) >= v.leastDown()
}

func (v *opinions) leastDown() time.Duration { return cmp.Or(v.in.Dead, healthpolicy.Dead) }
