// SPDX-License-Identifier: Apache-2.0

package simulation

// Long: the simulated ScyllaDB: gossip, joins and replacements share one state.

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// What is modelled of ScyllaDB. Numbers in brackets are sections of the facts that the model follows.

const (
	joining = rules.Bootstrapping // accepted, tokens chosen
	normal  = rules.Normal
)

// printed are the states of members as rows have them.
var printed = map[rules.State]api.NodeState{joining: "JOINING", rules.Replacing: "REPLACING", rules.BeingReplaced: "BEING_REPLACED", rules.Removing: "LEAVING", rules.Decommissioning: "LEAVING"}

// group is one cluster: a group 0 with its topology.
type group struct {
	name     int
	members  map[string]rules.State
	order    []string        // host IDs in members, sorted
	left     map[string]bool // banned for ever (4.3)
	banned   map[string]bool // still a member, and never comes back (5.3)
	queue    []*request
	current  *request
	leader   *process
	noLead   time.Time // until then there is no leader
	down     map[string]time.Time
	seen     *topology
	features string
	// completed: one of its nodes has been COMPLETED.
	completed bool
	failed    []api.NodeOperation // of a story: those that the task manager still lists
}

// topology is what a node knows of the members.
type topology struct {
	ids    []string
	states map[string]rules.State
	left   map[string]bool
}

// request is a topology operation, queued or under way (4.2).
type request struct {
	kind   rules.Kind
	id     string // the node that joins, or is removed
	target string // the replaced node
	ignore []string
	proc   *process
	opened *opening
	stage  rules.Stage
	next   time.Time // when the phase ends
	until  time.Time // how long the joiner may take to be seen alive
}

func newGroup(name int) *group {
	return &group{name: name, members: map[string]rules.State{}, left: map[string]bool{}, banned: map[string]bool{}, down: map[string]time.Time{}}
}

func (g *group) State(id string) rules.State {
	if g.left[id] {
		return rules.Left
	}
	if s, member := g.members[id]; member {
		return s
	}
	if g.current != nil && g.current.id == id || slices.ContainsFunc(g.queue, func(r *request) bool { return r.id == id }) {
		return rules.None
	}
	return rules.Absent
}

func (g *group) Normal() []string {
	return slices.DeleteFunc(slices.Clone(g.order), func(id string) bool { return g.members[id] != normal })
}

func (g *group) Ignored(id string) bool { return g.banned[id] }

func (g *group) set(id string, s rules.State) {
	g.members[id] = s
	g.changed()
}

func (g *group) drop(id string) {
	delete(g.members, id)
	g.left[id] = true
	g.changed()
}

func (g *group) changed() {
	g.order = sortedKeys(g.members)
	t := &topology{states: map[string]rules.State{}, left: map[string]bool{}}
	for _, id := range g.order {
		t.ids = append(t.ids, id)
		t.states[id] = g.members[id]
	}
	for id := range g.left {
		t.left[id] = true
	}
	g.seen = t
}

// process of ScyllaDB.
type process struct {
	pod     *pod
	disk    *disk
	id      string
	seeds   []string
	replace string
	ignore  []string
	group   *group // it is a member of, or has asked to join
	gossips bool
	mode    string
	serves  bool // CQL
	ended   bool
	since   time.Time
	version rules.Version
	seen    *topology
	links   map[*process]*link // what its gossip thinks of the others
}

// disk is what ScyllaDB keeps on a volume.
type disk struct {
	id       string    // host ID, empty while nothing was ever written
	group    *group    // whose group 0 it has joined
	asked    bool      // its request was stored once (4.3)
	complete bool      // system.local.bootstrapped, durable in the commit log
	flushed  bool      // and in an SSTable (3.4)
	seen     *topology // as it last knew it
	row      bool      // there is an SSTable of system.local at all
	// decommissioned: its node has left in order, and never comes back (3.4).
	decommissioned bool
	copied         bool // of another member's volume
}

func (w *world) running(id string) *process {
	for _, p := range w.bearers[id] {
		if p.gossips {
			return p
		}
	}
	return nil
}

// boot starts ScyllaDB's process in a Pod.
func (w *world) boot(p *pod, seeds []string, replace string, ignore []string) {
	d := p.claim.disk
	s := &process{pod: p, disk: d, seeds: seeds, replace: replace, ignore: ignore, mode: rules.ModeStarting, since: w.now, version: versions[p.version], links: map[*process]*link{}}
	p.proc = s
	w.procs = append(w.procs, s)
	w.observeStart(s)
	broken := w.breaks(p)
	if broken != nil && !broken.writes {
		w.failEarly(s, broken)
		return
	}
	if d.id == "" {
		d.id = w.hostID()
		w.places[d.id] = p.set.place
	} else {
		d.row, d.flushed = true, d.complete // replay flushes (3.4)
	}
	s.id = d.id
	w.bearers[s.id] = append(w.bearers[s.id], s)
	if at := w.wider.at; at != nil {
		at[s.id] = home{p.obj.Status.PodIP, p.set.tokens, w.now}
	}
	w.tracef("%s: ScyllaDB starts, host ID %s, seeds %v replace %s", p.name, short(s.id), seeds, short(replace))
	if broken != nil {
		w.failEarly(s, broken)
		return
	}
	w.after(w.between(2*time.Second, 4*time.Second)+p.slowly(), func() { w.arrive(s) })
}

// arrive is the moment at which a process finds out what it is, and looks for group 0 (10).
func (w *world) arrive(s *process) {
	if s.ended {
		return
	}
	d, own := s.disk, s.pod.obj.Status.PodIP
	st := rules.Start{
		Version: s.version, Disk: rules.Disk{Decommissioned: d.decommissioned, Completed: d.complete, Group0: d.group != nil},
		Replaces: s.replace, ZeroToken: !s.pod.set.tokens, Alone: !slices.ContainsFunc(s.seeds, func(a string) bool { return a != own }),
	}
	if d.seen != nil && d.seen.left[s.id] {
		st.State = rules.Left
	}
	q := w.contact(s)
	if q != nil && (d.group == nil || d.group == q.group) {
		st.Found, st.Gathered, st.Known = true, true, q.group.members[s.replace] != ""
	}
	path, why := st.Next()
	if q != nil && path == rules.Asks && rules.Banned(q.group, s.id) && s.version.BanNotice() {
		path, why = rules.Ends, rules.BannedBy(q.id) // its request failed before
	}
	switch path {
	case rules.Ends:
		w.exit(s, why)
	case rules.Rejoins:
		w.comeBack(s)
	case rules.Unfinished:
		w.exit(s, rules.NoRequest(s.id)) // 4.3, 5.4
	case rules.Discovers, rules.Gathers:
		w.after(time.Second, func() { w.arrive(s) })
	case rules.Founds:
		w.found(s)
	case rules.Asks:
		s.group, s.seen = q.group, &topology{}
		w.gossip(s)
		w.after(w.between(200*time.Millisecond, time.Second), func() { w.ask(s) })
	}
}

// contact is a member that answers at one of a process' seeds.
func (w *world) contact(s *process) *process {
	for _, q := range w.procs {
		if q != s && q.group != nil && q.mode == rules.ModeNormal && slices.Contains(s.seeds, q.pod.obj.Status.PodIP) && w.connected(s, q) {
			return q
		}
	}
	return nil
}

// comeBack is the restart of a member. A banned one goes on until another one tells it (5.3).
func (w *world) comeBack(s *process) {
	g := s.disk.group
	s.group = g
	if rules.Banned(g, s.id) {
		w.tellBanned(s)
		return
	}
	s.seen = g.seen
	if s.disk.seen != nil {
		s.seen = s.disk.seen
	}
	w.gossip(s)
	w.after(w.between(3*time.Second, 10*time.Second), func() {
		if !s.ended {
			s.mode = rules.ModeNormal
			w.after(time.Second, func() { s.serves = !s.ended })
		}
	})
}

// tellBanned ends a banned process when a member reaches it.
func (w *world) tellBanned(s *process) {
	if s.ended {
		return
	}
	for _, q := range w.procs {
		if q.group == s.group && !q.banned() && w.reach(s, q) {
			w.exit(s, rules.BannedBy(q.id))
			return
		}
	}
	w.after(time.Second, func() { w.tellBanned(s) })
}

// found makes a new cluster.
func (w *world) found(s *process) {
	// One whose only node was stopped before it had COMPLETED is no cluster: that node never comes back (5.4), and no other has joined.
	w.groups = slices.DeleteFunc(w.groups, func(g *group) bool { return !g.completed && len(g.order) == 1 && w.running(g.order[0]) == nil })
	g := newGroup(len(w.groups))
	g.features = s.version.Features()
	w.groups = append(w.groups, g)
	w.tracef("%s founds cluster %d", s.pod.name, g.name)
	if len(w.groups) > 1 {
		w.violate(&w.result.SecondClusters, "%s founds a second cluster: it started with seeds %v, let through as %s", s.pod.name, s.seeds, s.pod.decision())
	}
	s.disk.group, s.disk.asked, s.group, s.mode = g, true, g, rules.Accept.Mode()
	g.set(s.id, joining)
	s.seen = g.seen
	w.gossip(s)
	w.after(w.between(2*time.Second, 5*time.Second), func() {
		if s.ended {
			return
		}
		g.set(s.id, normal)
		s.seen = g.seen
		w.joined(s, time.Second)
	})
}

// joined: the topology has it as a member; completed comes later (5.4), and CQL after that.
func (w *world) joined(s *process, completes time.Duration) {
	w.tracef("%s: %s is a NORMAL member", s.pod.name, short(s.id))
	w.after(completes, func() {
		if s.ended {
			return
		}
		s.disk.complete, s.mode, s.group.completed = true, rules.ModeNormal, true
		delete(w.lost, s.pod.name)
		w.after(time.Second, func() { s.serves = !s.ended })
	})
}

// ask places the request to join or to replace (4.2, 5.2); it needs a quorum.
func (w *world) ask(s *process) {
	g := s.group
	if s.ended {
		return
	}
	l := g.leader
	if l == nil || !w.reach(s, l) {
		w.after(time.Second, func() { w.ask(s) })
		return
	}
	if why := rules.AskedBefore(g.State(s.id)); why != "" {
		w.exit(s, why)
		return
	}
	r := &request{kind: rules.Join, id: s.id, proc: s, opened: s.pod.opened}
	if s.replace != "" {
		r.kind, r.target, r.ignore = rules.Replace, s.replace, s.ignore
		why := rules.Replacement{Target: s.replace, Ignore: s.ignore, OtherDown: l.version.OtherDown()}.Refused(g, func(id string) bool { return w.alive(l, id) })
		if why != "" {
			w.exit(s, why)
			return
		}
		for _, id := range rules.Bans(s.replace, s.ignore) {
			w.ban(g, id)
		}
	}
	s.disk.asked = true
	g.queue = append(g.queue, r)
	w.tracef("%s: request to %s placed by %s", s.pod.name, r.kind, short(s.id))
}

// ban: no node talks to it any more, and there is no way back (5.3).
func (w *world) ban(g *group, id string) {
	w.harmOfBan(g, id)
	g.banned[id] = true
	for _, q := range slices.Clone(w.bearers[id]) {
		w.tellBanned(q)
	}
	w.reconnect()
}

// removeNode is nodetool removenode, asked for by a person.
func (w *world) removeNode(g *group, id string, ignore []string) bool {
	if g.leader == nil || slices.ContainsFunc(g.queue, func(r *request) bool { return r.id == id }) {
		return false
	}
	q := rules.Removal{Target: id, Ignore: ignore, LastOwner: len(g.Normal()) == 1, OtherDown: g.leader.version.OtherDown()}
	if q.Refused(g, func(id string) bool { return w.alive(g.leader, id) }) != "" {
		return false
	}
	w.tracef("removenode %s ignoring %q", short(id), shorts(ignore))
	for _, x := range rules.Bans(id, ignore) {
		w.ban(g, x)
	}
	g.queue = append(g.queue, &request{kind: rules.Remove, id: id, ignore: ignore})
	return true
}

// coordinate is one second of every topology coordinator.
func (w *world) coordinate() {
	for _, g := range w.groups {
		w.elect(g)
		w.watchDown(g)
		if g.leader == nil {
			continue
		}
		for _, s := range w.procs {
			if s.group == g && (s == g.leader || w.connected(g.leader, s)) && (g.members[s.id] != "") {
				s.seen, s.disk.seen = g.seen, g.seen
			}
		}
		if g.current != nil {
			w.advance(g)
		} else {
			w.nextTask(g)
		}
		if l := g.leader; l != nil { // what it has committed it has applied
			l.seen, l.disk.seen = g.seen, g.seen
		}
	}
}

// elect: the leader needs a majority of the voters.
func (w *world) elect(g *group) {
	voters := slices.DeleteFunc(slices.Clone(g.order), func(id string) bool { return !rules.Voter(g, id) })
	ok := func(s *process) bool {
		return !s.ended && s.gossips && s.group == g && rules.Leads(voters, s.id, func(id string) bool {
			q := w.running(id)
			return q != nil && w.connected(s, q)
		})
	}
	if g.leader != nil {
		if ok(g.leader) {
			return
		}
		g.leader, g.noLead = nil, w.now.Add(w.between(time.Second, 5*time.Second))
	}
	if w.now.Before(g.noLead) {
		return
	}
	var can []*process
	for _, s := range w.procs {
		if ok(s) {
			can = append(can, s)
		}
	}
	if len(can) > 0 {
		g.leader = pick(w, can)
		w.tracef("%s leads cluster %d", g.leader.pod.name, g.name)
	}
}

// watchDown notes since when a member cannot be reached from the leader, whatever gossip has noticed.
func (w *world) watchDown(g *group) {
	for _, id := range g.order {
		s := w.running(id)
		if g.members[id] == normal && (s == nil || g.leader != nil && s != g.leader && !w.connected(g.leader, s)) {
			if g.down[id].IsZero() {
				g.down[id] = w.now
			}
			continue
		}
		delete(g.down, id)
	}
}

// dead are the nodes that are in a request's way (4.2).
func (w *world) dead(g *group, r *request) []string {
	return rules.InTheWay(g, r.kind, rules.Dead(g, func(id string) bool { return w.alive(g.leader, id) })...)
}

// nextTask takes the first request that can proceed; when none can, all are cancelled (4.2).
func (w *world) nextTask(g *group) {
	if len(g.queue) == 0 {
		w.enable(g)
		return
	}
	dead := rules.Dead(g, func(id string) bool { return w.alive(g.leader, id) })
	i := rules.Next(g, g.queue, func(r *request) rules.Kind { return r.kind }, dead)
	if w.now.Before(w.wider.drains) && (i < 0 || !g.leader.version.Passes(g.queue[i].kind)) {
		return // tablets migrate (4.4, 13)
	}
	if i >= 0 {
		r := g.queue[i]
		g.queue = slices.Delete(g.queue, i, i+1)
		w.begun(g, r)
		return
	}
	queue := g.queue
	g.queue = nil
	for _, r := range queue {
		w.cancelled(g, r, rules.InTheWay(g, r.kind, dead...))
	}
}

func (w *world) begun(g *group, r *request) {
	g.current, r.stage = r, r.kind.First()
	w.tracef("the coordinator %s begins %s of %s", g.leader.pod.name, r.kind, short(r.id))
	switch r.kind {
	case rules.Remove:
		g.set(r.id, r.kind.Begins())
		r.next = w.now.Add(w.between(5*time.Second, 20*time.Second))
		return
	case rules.Leave:
		g.set(r.id, r.kind.Begins())
		r.proc.mode, r.next = rules.ModeLeaving, w.now.Add(w.between(20*time.Second, 4*time.Minute))
		return
	}
	if why := rules.TurnedAway(g, r.kind, r.target, r.proc.version.Features(), g.features); why != "" {
		w.rollBack(g, r, why)
		return
	}
	r.until = w.now.Add(rules.AliveWait)
}

// advance moves the operation one second on (11).
func (w *world) advance(g *group) {
	r, s := g.current, g.current.proc
	switch r.stage {
	case rules.Accept:
		switch {
		case !s.ended && w.alive(g.leader, s.id):
			s.disk.group, s.mode = g, r.stage.Mode()
			if r.stage = r.kind.After(r.stage, !s.pod.set.tokens); r.stage == rules.Done {
				w.done(g, r)
				return
			}
			if r.kind == rules.Replace {
				g.set(r.target, rules.BeingReplaced)
			}
			g.set(s.id, r.kind.Begins())
			s.seen, s.mode, r.next = g.seen, r.stage.Mode(), w.now.Add(w.between(5*time.Second, 60*time.Second))
		case !w.now.Before(r.until):
			w.rollBack(g, r, rules.NotAlive)
		}
	case rules.ReadOld:
		if s != nil && s.ended || rules.Breaks(g, r.kind, r.id, func(id string) bool { return w.alive(g.leader, id) }) {
			w.rollBack(g, r, rules.StreamFailed("nodes {"+shorts(w.dead(g, r))+"} are dead"))
			return
		}
		if !w.now.Before(r.next) { // the barriers that follow need the same nodes, at once
			w.done(g, r)
		}
	}
}

// done: the operation has succeeded.
func (w *world) done(g *group, r *request) {
	g.current = nil
	s := r.proc
	switch r.kind {
	case rules.Remove:
		g.drop(r.id)
		w.forgetLoss(r.id)
		w.tracef("%s is removed from cluster %d", short(r.id), g.name)
		return
	case rules.Leave:
		w.left(g, r)
		return
	}
	completes := w.between(500*time.Millisecond, 3*time.Second)
	if r.kind == rules.Replace {
		g.drop(r.target)
		if s.version.AwaitsTablets() && s.pod.set.tokens {
			completes = w.between(5*time.Second, time.Minute) // (5.4)
		}
	}
	g.set(s.id, r.kind.Ends())
	s.seen = g.seen
	w.result.Joined++
	w.observeEnd(r, false, nil)
	w.joined(s, completes)
}

// rollBack: the joiner is left for ever, a replaced or removed node stays banned and a member.
func (w *world) rollBack(g *group, r *request, why string) {
	g.current = nil
	w.tracef("%s of %s is rolled back: %s", r.kind, short(r.id), why)
	if r.kind.RolledBack() != rules.Left {
		if g.set(r.id, r.kind.RolledBack()); r.proc != nil && !r.proc.ended {
			r.proc.mode = rules.ModeNormal
		}
		return
	}
	w.observeEnd(r, true, w.dead(g, r))
	if r.kind == rules.Replace && g.members[r.target] != "" {
		g.set(r.target, normal)
	}
	g.drop(r.id)
	if w.Story != nil {
		g.failed = append(g.failed, api.NodeOperation{Type: string(r.kind), State: "failed", HostID: hostid.ID(r.id), Error: why})
	}
	w.result.Lost++
	if !r.proc.ended {
		w.exit(r.proc, why)
	}
}

// cancelled: the newcomer is left for ever (4.2, 4.3). This is where a join turns out to have been unsafe.
func (w *world) cancelled(g *group, r *request, dead []string) {
	w.tracef("%s of %s is cancelled, dead nodes %s", r.kind, short(r.id), shorts(dead))
	if r.kind.Cancelled() != rules.Left {
		return
	}
	g.left[r.id] = true
	g.changed()
	w.result.Lost++
	w.observeEnd(r, true, dead)
	if !r.proc.ended {
		w.exit(r.proc, rules.RequestCancelled)
	}
}

// exit ends a process by its own decision; its supervisor starts it again on the same data, where it fails again (4.3).
func (w *world) exit(s *process, why string) {
	if s.ended {
		return
	}
	w.tracef("%s: ScyllaDB exits: %s", s.pod.name, why)
	if first, _ := scylla.Recognise(s.pod.failed); !first.Lost() {
		s.pod.failed = why
	}
	if w.Story != nil {
		s.pod.fails(why, w.now)
	}
	w.end(s, false)
}

// end stops a process, cleanly or not.
func (w *world) end(s *process, clean bool) {
	if s.ended {
		return
	}
	if w.Story != nil && !clean {
		s.pod.ended = &api.ScyllaDBProcess{State: api.ProcessFatal, ExitStatus: new(int32(1)), Ended: ptr.To(metav1.NewTime(w.now.Truncate(time.Second)))}
	}
	gossiped := s.gossips
	s.ended, s.gossips, s.serves = true, false, false
	gone := func(p *process) bool { return p == s }
	w.procs, w.bearers[s.id] = slices.DeleteFunc(w.procs, gone), slices.DeleteFunc(w.bearers[s.id], gone)
	if s.pod.proc == s {
		s.pod.proc = nil
	}
	if clean {
		s.disk.row, s.disk.flushed = true, s.disk.complete
	}
	if s.group != nil && s.group.members[s.id] == normal && !s.disk.complete {
		w.lost[s.pod.name] = true // it is a member, and has not noted it: it never comes back (5.4)
	}
	w.unlink(s, clean && s.group != nil && rules.Announces(s.group.State(s.id), s.version.LeavingAnnounces()))
	if gossiped && s.group != nil {
		w.after(rules.OrphanInterval, func() { w.orphan(s) })
	}
}

// orphan is what the coordinator does with a host that has ended, while its host ID does not run again.
func (w *world) orphan(s *process) {
	g := s.group
	if g.State(s.id) != rules.Absent || w.running(s.id) != nil {
		return
	}
	if g.leader != nil && rules.Orphan(rules.Absent, w.alive(g.leader, s.id), w.now.Sub(s.since)) {
		g.left[s.id] = true
		return
	}
	w.after(rules.OrphanInterval, func() { w.orphan(s) })
}

func short(id string) string { return id[:min(8, len(id))] }

func shorts(ids []string) string {
	var out []string
	for _, id := range ids {
		out = append(out, short(id))
	}
	return strings.Join(out, ",")
}
