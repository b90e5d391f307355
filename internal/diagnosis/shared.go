// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// together is the time within which several nodes must have ended or started to have one cause.
const together = time.Minute

// lasting are the reasons that are one cause at any time: the same object is missing or too small.
var lasting = []words.Code{words.PodImage, words.PodConfig, words.PodNotCreated, words.PodLacks, words.PodNotAllowed,
	words.PodNoPlace, words.ClaimNotBound}

// whyDown returns the reason that Kubernetes or ScyllaDB's log has for a node that is DOWN, and its
// identity; empty if the reason, or the time that it needs, is unknown.
func (s *scene) whyDown(n *node) (why words.Message, key string, at time.Time) {
	if why = s.c.Trouble(n.Member); why.IsZero() && n.pod() != nil {
		why = s.c.Halted(n.Member)
	}
	step := s.step(n)
	if why.IsZero() || step.IsZero() || MayReplace(step) || evidence.Irreversible(step) {
		return words.Message{}, "", time.Time{}
	}
	key = fmt.Sprint(why.Code, step.Code)
	for _, name := range []string{"first", "reason", "code", "image", "resource", "taint", "class", "quota", "missing",
		"how"} {
		key += fmt.Sprint("\x00", why.Params[name])
	}
	if slices.Contains(lasting, why.Code) {
		return why, key, time.Time{}
	}
	if at = n.DownSince; at.IsZero() {
		at = s.m.DownSince(n.HostID)
	}
	if at.IsZero() {
		key = ""
	}
	return why, key, at
}

// findCauses joins nodes that are DOWN for one reason: at least two, within a minute unless the
// reason lasts.
func (s *scene) findCauses() {
	type ended struct {
		node int
		key  string
		at   time.Time
	}
	var all []ended
	for _, i := range s.inFate(down) {
		if _, key, at := s.whyDown(&s.nodes[i]); key != "" {
			all = append(all, ended{i, key, at})
		}
	}
	slices.SortStableFunc(all, func(a, b ended) int { return a.at.Compare(b.at) })
	last := map[string]int{} // by key, the newest cause
	begun := map[int]time.Time{}
	for _, e := range all {
		k, known := last[e.key]
		if !known || e.at.Sub(begun[k]) > together {
			k = len(s.causes)
			last[e.key], begun[k] = k, e.at
			s.causes = append(s.causes, nil)
		}
		s.causes[k] = append(s.causes[k], e.node)
	}
	s.causes = slices.DeleteFunc(s.causes, func(nodes []int) bool { return len(nodes) < 2 })
	for _, nodes := range s.causes {
		slices.Sort(nodes)
	}
}

// causeOf reports whether the nodes are DOWN for one reason, and whether no other node is.
func (s *scene) causeOf(nodes []int) (alone, one bool) {
	for _, cause := range s.causes {
		in := func(i int) bool { return slices.Contains(cause, i) }
		if in(nodes[0]) {
			return len(cause) == len(nodes), len(slices.DeleteFunc(slices.Clone(nodes), in)) == 0
		}
	}
	return false, false
}

// explainPlace adds the reason of its nodes to the finding about a place. An exit code alone does
// not show that the place is not the cause.
func (s *scene) explainPlace(f *Finding, nodes []int) {
	why, step := s.common(nodes)
	if f.Message.Params["why"] = why; slices.Contains(lasting, why.Code) || why.Code == words.PodSays {
		f.Step = step
	}
}

// common returns the reason and the step of several nodes that are DOWN for one reason.
func (s *scene) common(nodes []int) (why, step words.Message) {
	for k, i := range nodes {
		w, _, _ := s.whyDown(&s.nodes[i])
		if t := s.step(&s.nodes[i]); k == 0 {
			why, step = w, t
		} else {
			why = ofBoth(why, w)
			if t.Code != words.DeleteOldPod {
				step = ofBoth(step, t)
			}
		}
	}
	return why, step
}

// ofBoth returns a message with the names of both where they differ; a number is left out.
func ofBoth(a, b words.Message) words.Message {
	out := words.Message{Code: a.Code, Params: maps.Clone(a.Params), Commands: a.Commands}
	for name, v := range a.Params {
		switch other := b.Params[name]; x := v.(type) {
		case string:
			if y, ok := other.(string); ok && name != "text" && name != "words" &&
				!slices.Contains(strings.Split(x, ", "), y) {
				out.Params[name] = x + ", " + y
			}
		case int:
			if other != v {
				delete(out.Params, name)
			}
		case words.Message:
			if y, ok := other.(words.Message); ok && x.Code == y.Code {
				out.Params[name] = ofBoth(x, y)
			}
		}
	}
	return out
}

// sharedCauses makes one finding of the nodes of each cause.
func (s *scene) sharedCauses() {
	for _, nodes := range s.causes {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(i int) bool { return s.nodes[i].finding != nil })
		if len(nodes) < 2 {
			continue
		}
		f := Finding{Kind: NodeDown, Scope: Scope{Level: LevelNode, Nodes: s.refs(nodes)},
			Evidence: s.numbers(&s.nodes[nodes[0]])}
		why, step := s.common(nodes)
		f.Message, f.Step = words.New(words.FindingNodesDown, "nodes", s.names(nodes), "why", why), step
		if n := &s.nodes[nodes[0]]; n.down == 0 {
			f.Message.Code, f.Evidence = words.FindingNodesNotServing, words.Message{}
		}
		s.give(s.add(f), nodes)
	}
}

// elsewhere makes one finding of the DOWN nodes of another datacenter: of the whole datacenter, if
// no node that may be there is UP.
func (s *scene) elsewhere() {
	gone, whys, up := map[string][]int{}, map[string]words.Message{}, map[string]bool{}
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.here() || n.HostID == "" || n.Row != nil || n.Removed || n.finding != nil {
			continue
		}
		why := maintenance.Removable(s.c, n.HostID)
		dc, _ := why.Params["datacenter"].(string)
		switch {
		case n.fate != away || n.up > 0:
			up[dc] = true
		case why.Code == words.StrangerElsewhere:
			gone[dc], whys[dc] = append(gone[dc], i), why
		}
	}
	for _, dc := range slices.Sorted(maps.Keys(gone)) {
		nodes := gone[dc]
		if len(nodes) < 2 {
			continue
		}
		f := Finding{Kind: NodeDown, Scope: Scope{Level: LevelNode, Datacenter: dc, Nodes: s.refs(nodes)},
			Message: words.New(words.FindingNodesDownElsewhere, "nodes", s.names(nodes), "datacenter", dc,
				"sign", whys[dc].Params["sign"]),
			Evidence: s.numbers(&s.nodes[nodes[0]]), Step: s.do(words.SeeThereTogether, nil, "datacenter", dc)}
		if dc != "" && !up[dc] && !up[""] {
			f.Kind, f.Scope.Level = DatacenterDown, LevelDatacenter
			f.Message = words.New(words.FindingDatacenterAway, "datacenter", dc, "nodes", len(nodes))
		}
		if s.c.Operator { // our controller reads no datacenter of its clusters
			f.Step.Commands = nil
		}
		s.give(s.add(f), nodes)
	}
}

// restarted makes one finding of the nodes whose ScyllaDB ended and was started again within a
// minute: one cause ended them.
func (s *scene) restarted() {
	var nodes []int
	first, last := time.Time{}, time.Time{}
	for _, i := range s.inFate(starting) {
		st := cluster.ScyllaDBStatus(s.nodes[i].pod())
		if st == nil || st.State.Running == nil || st.RestartCount == 0 {
			continue
		}
		at := st.State.Running.StartedAt.Time
		if nodes = append(nodes, i); first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if len(nodes) < 2 || last.Sub(first) > together {
		return
	}
	n := &s.nodes[nodes[0]]
	s.give(s.add(Finding{Kind: NodeStarting, Scope: Scope{Level: LevelNode, Nodes: s.refs(nodes)},
		Message:  words.New(words.FindingNodesRestarted, "nodes", s.names(nodes)),
		Evidence: s.numbers(n),
		Step:     evidence.Do(words.New(words.SeeOneLog, "node", n.Name()), s.asker.factsOf(n.Member)),
	}), nodes)
}

// allStarting returns the finding about a cluster whose nodes all start, so that none answers; its
// message is zero if a node does not start.
func (s *scene) allStarting() Finding {
	var names []string
	var first string
	var oldest, newest time.Time
	restarts := 0
	for _, m := range s.c.Serviced() {
		st := m.ScyllaDB()
		if !m.HasJoined() {
			continue
		}
		if m.Pod == nil || !cluster.Starting(m.Pod) || st.State.Running == nil || !s.c.Trouble(m.Member).IsZero() {
			return Finding{}
		}
		at := st.State.Running.StartedAt.Time
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
		if at.After(newest) {
			newest = at
		}
		if names = append(names, m.Name()); first == "" {
			first = m.Member
		}
		restarts = max(restarts, int(st.RestartCount))
	}
	if len(names) < 2 || newest.Sub(oldest) > together {
		return Finding{}
	}
	f := Finding{Kind: NobodyAsked, Scope: Scope{Level: LevelCluster}, Since: oldest,
		Message: words.New(words.FindingAllStarting, "nodes", len(names), "why", s.silence())}
	facts := s.asker.factsOf(first)
	if restarts > 0 {
		f.Message.Params["restarts"] = restarts
		f.Step = evidence.Do(words.New(words.SeeOneLog, "node", first), facts)
		return f
	}
	age := time.Duration(0)
	if !s.c.TakenAt.IsZero() {
		age = s.c.TakenAt.Sub(oldest)
	}
	facts["node"] = first
	f.Step = replace.Waited(evidence.Do(words.New(words.WaitForAll, "node", first), facts), age, facts)
	return f
}

// newServices reports whether the Services of all members were created within a day, and long after
// their volumes: nodes keep the addresses of the others on disk.
func (s *scene) newServices() bool {
	return !slices.ContainsFunc(s.c.Serviced(), func(m *cluster.Member) bool {
		created := m.Service.CreationTimestamp.Time
		return s.c.TakenAt.IsZero() || s.c.TakenAt.Sub(created) > 24*time.Hour ||
			!slices.ContainsFunc(s.c.Claims(m.Member), func(p *corev1.PersistentVolumeClaim) bool {
				return !p.CreationTimestamp.IsZero() && created.Sub(p.CreationTimestamp.Time) > time.Hour
			})
	})
}

func (s *scene) strangers() {
	for _, i := range s.inFate(ghost, away) {
		n := &s.nodes[i]
		f := Finding{Kind: Ghost, Scope: Scope{Level: LevelNode, Nodes: s.refs([]int{i})},
			Message: words.New(words.FindingGhost, "node", n.Name()), Evidence: s.numbers(n), Step: s.step(n)}
		if n.fate == away && n.up > 0 && n.down > 0 {
			s.seenBoth(&f, n)
		} else if n.fate == away {
			why := maintenance.Removable(s.c, n.HostID)
			f.Kind, f.Message = NodeDown, words.New(words.FindingNodeDownElsewhere, "node", n.Name(), "why", why)
			// a node with a row has its datacenter's reports here
			if replace.IsElsewhere(why) && n.Row == nil {
				if f.Step = s.do(words.SeeThere, nil); s.c.Operator {
					f.Step = words.New(words.CheckThere)
				}
			}
		}
		if MayReplace(f.Step) {
			f.Step = s.do(words.SeeLeftover, nil)
		}
		s.give(s.add(f), []int{i})
	}
}

// seenBoth completes the finding about a node without a member here that some nodes see UP and
// others DOWN.
func (s *scene) seenBoth(f *Finding, n *node) {
	f.Kind, f.Evidence = NodeDown, words.Message{}
	f.Message = words.New(words.FindingSeenBoth, "node", n.Name(), "down", n.down, "up", n.up, "rows", n.rows)
	var by []string
	for _, i := range s.m.Opinion(n.HostID).Down {
		by = append(by, s.nodes[i].Name())
	}
	if f.Step = words.New(words.SeeWhereItRuns); 2*n.down <= n.rows {
		f.Kind, f.Step = LinkDown, words.New(words.MendLinksToward, "observers", by)
	}
}

func firstOf(list any) string {
	if names, ok := list.([]string); ok && len(names) > 0 {
		return names[0]
	}
	return ""
}
