// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Operations of people and of ScyllaDB beside joins and replacements.

// tabletsDelay: requests wait until tablets have migrated, and are judged when their turn comes (4.4, 13).
func tabletsDelay(w *world, rng *rand.Rand) bool {
	w.wider.drains = w.now.Add(lasts(rng, time.Minute, 10*time.Minute))
	return true
}

// scaledDown: nodetool decommission of the last node of a rack, then kubectl scale and the deletion of its claim, as the Scylla Operator does (2.3).
func scaledDown(w *world, rng *rand.Rand) bool {
	s := pickBy(rng, w.sets)
	p := w.pods[podName(s, s.replicas-1)]
	if s.away || s.replicas < 2 || p == nil || p.proc == nil || !p.proc.serves {
		return false
	}
	g := p.proc.group
	if g.leader == nil || len(g.Normal()) < 4 || g.members[p.proc.id] != normal {
		return false
	}
	g.queue = append(g.queue, &request{kind: rules.Leave, id: p.proc.id, proc: p.proc})
	return true
}

// left: a decommissioned node goes on without gossip (1.2, 1.5).
func (w *world) left(g *group, r *request) {
	s := r.proc
	g.drop(r.id)
	s.disk.decommissioned, s.mode, s.gossips, s.serves = true, rules.ModeDecommissioned, false, false
	w.reconnect()
	w.tracef("%s is decommissioned", short(r.id))
	w.after(30*time.Second, func() { w.scaleDown(s.pod) })
}

// scaleDown removes the last replica of a StatefulSet and its claim.
func (w *world) scaleDown(p *pod) {
	s := p.set
	if s.replicas-1 != p.ordinal || s.away {
		w.after(10*time.Second, func() { w.scaleDown(p) })
		return
	}
	w.setReplicas(s, p.ordinal)
	if q := w.pods[p.name]; q != nil {
		w.deleteClaim(q.claim)
		w.deletePod(q, false)
	}
	w.after(20*time.Second, func() { w.retire(p) })
}

// retire deletes the member Service of an ordinal that is no more, as package members does, when no row lists its node.
func (w *world) retire(p *pod) {
	if p.ordinal < p.set.replicas || w.service[p.name] == nil {
		return
	}
	lists := func(name string) bool {
		q := w.pods[name]
		return q.row != nil && slices.ContainsFunc(q.row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool {
			return string(o.HostID) == p.claim.disk.id
		})
	}
	if w.pods[p.name] != nil || slices.ContainsFunc(w.podNames.of(w.pods), lists) {
		w.after(10*time.Second, func() { w.retire(p) })
		return
	}
	delete(w.service, p.name)
	w.serviceNames.changed()
	w.wrote(cluster.KindServices)
}

// removedMeanwhile: a machine is lost for good while a new node waits, and a person removes its node instead of replacing it.
func removedMeanwhile(w *world, rng *rand.Rand) bool {
	p := w.one(rng)
	if p == nil || w.someRemoved() || !w.machineLost(p) {
		return false
	}
	w.scaleUpAny()
	w.after(2*time.Minute, func() {
		if g := p.claim.disk.group; g != nil && g.members[p.claim.disk.id] == normal {
			w.removeNode(g, p.claim.disk.id, w.otherLost(p.name))
		}
	})
	return true
}

// addressTaken: a machine is off, and the Pod of a member there is deleted. The others get new Pods meanwhile, the first of them its address, and the cluster is scaled up.
func (w *world) addressTaken(rng *rand.Rand) {
	p := w.one(rng)
	if p == nil || p.proc == nil || p.proc.mode != rules.ModeNormal || !w.mayStopAll(p.machine) {
		w.after(10*time.Second, func() { w.addressTaken(rng) })
		return
	}
	m, others := p.machine, slices.Clone(w.podNames.of(w.pods))
	w.tracef("FAULT the address of %s is taken", p.name)
	w.off(m)
	w.deletePod(p, true)
	w.wider.freed = []string{p.obj.Status.PodIP}
	var last *pod
	var next func()
	next = func() {
		switch q := w.pods[others[0]]; {
		case !m.off:
			return
		case last != nil && (w.pods[last.name] == last || w.pods[last.name] == nil || !w.pods[last.name].isReady()):
		case q != nil && q.machine != m && q.proc != nil && q.proc.disk.complete:
			last = q
			w.deletePod(q, false)
			fallthrough
		default:
			if others = others[1:]; len(others) == 0 {
				w.scaleUpAny()
				return
			}
		}
		w.after(5*time.Second, next)
	}
	next()
	w.after(12*time.Minute, func() { w.on(m) })
}

// upgraded rolls one StatefulSet after the other to the next version.
func upgraded(w *world, rng *rand.Rand) bool {
	todo := slices.Clone(w.sets)
	if todo[0].image >= byIP {
		return false
	}
	w.wider.upgraded = true
	rng.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	var next func()
	next = func() {
		if len(todo) == 0 {
			return
		}
		s := todo[0]
		todo, s.image = todo[1:], min(s.image+1, newest)
		s.obj = s.obj.DeepCopy()
		s.obj.Spec.Template.Spec.Containers[0].Image = image(s.image)
		w.changeTemplate(s)
		w.after(lasts(rng, 30*time.Second, 4*time.Minute), next)
	}
	next()
	return true
}

// versions of ScyllaDB that clusters are upgraded through, and last those that the world "wide" may have throughout; all have Raft topology.
var versions = []rules.Version{{Major: 2026, Minor: 2}, {Major: 2026, Minor: 2, Patch: 4}, {Major: 2026, Minor: 3, Patch: 1}, {Major: 2025, Minor: 1, Patch: 4}, {Major: 2025, Minor: 2, Patch: 4}}

const (
	newest = 2
	byIP   = 3 // they list one host ID for each address
)

func image(of int) string { return "docker.io/scylladb/scylla:" + versions[of].String() }

// enable is what the coordinator does when no request is queued.
func (w *world) enable(g *group) {
	if !w.wider.upgraded {
		return
	}
	var have, dead []string
	for _, id := range g.Normal() {
		if q := w.running(id); q == nil || !w.alive(g.leader, id) {
			dead = append(dead, id)
		} else {
			have = append(have, q.version.Features())
		}
	}
	g.features = rules.Enabled(g.features, have, dead)
}
