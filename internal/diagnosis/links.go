// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// link is a pair of running nodes: from sees to DOWN.
type link struct{ from, to int }

// links explains the remaining pairs: both nodes run, so the network between them is at fault.
func (s *scene) links() {
	bad := map[link][]int{}
	for k := range s.h.Blockers {
		i, j := s.pair(k)
		if s.taken[k] || i < 0 || j < 0 || i == j || s.h.Blockers[k].Reason != words.NodeDown {
			continue
		}
		bad[link{i, j}] = append(bad[link{i, j}], k)
	}
	s.groups(bad, func(n *node) string { return n.Datacenter })
	s.groups(bad, func(n *node) string {
		if n.Rack == "" {
			return ""
		}
		return n.Datacenter + "\x00" + n.Rack
	})
	s.oneWay(bad, "datacenter ", func(n *node) string { return n.Datacenter })
	s.oneWay(bad, "rack ", func(n *node) string { return strings.TrimPrefix(n.Datacenter+"/"+n.Rack, "/") })
	for len(bad) > 0 {
		s.star(bad)
	}
}

// oneWay finds places that all other nodes see DOWN, or whose nodes see all other nodes DOWN.
func (s *scene) oneWay(bad map[link][]int, kind string, place func(*node) string) {
	in := map[string][]int{}
	var reporting []int
	for i := range s.nodes {
		if n := &s.nodes[i]; n.Reports && n.HostID != "" {
			reporting = append(reporting, i)
			in[place(n)] = append(in[place(n)], i)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(in)) {
		nodes, others := in[p], len(reporting)-len(in[p])
		inside := make([]bool, len(s.nodes))
		for _, i := range nodes {
			inside[i] = true
		}
		if len(nodes) < 2 || others < 2 || len(bad) < len(nodes)*others {
			continue
		}
		for _, way := range []struct {
			code words.Code
			of   func(i, j int) link
		}{
			{words.FindingPlaceNotHeard, func(i, j int) link { return link{j, i} }},
			{words.FindingPlaceHearsNot, func(i, j int) link { return link{i, j} }},
		} {
			var links []link
			for _, i := range nodes {
				for _, j := range reporting {
					if l := way.of(i, j); !inside[j] && bad[l] != nil {
						links = append(links, l)
					}
				}
			}
			if len(links) < len(nodes)*others {
				continue
			}
			f := s.add(Finding{Kind: LinkDown, Scope: Scope{Level: LevelLink, Nodes: s.refs(nodes)},
				Message: words.New(way.code, "place", kind+p, "nodes", len(nodes), "observers", others),
				Evidence: words.New(words.NumbersPairs, "down", len(links), "pairs", len(links), "nodes",
					len(reporting)),
				Step: words.New(words.MendLinksOfPlace, "place", kind+p)})
			for _, l := range links {
				s.explain(f, bad[l]...)
				delete(bad, l)
			}
		}
	}
}

// groups finds pairs of places whose nodes do not see each other while other nodes see both.
func (s *scene) groups(bad map[link][]int, place func(*node) string) {
	in := map[string][]int{}
	var order []string
	for i := range s.nodes {
		n := &s.nodes[i]
		if p := place(n); p != "" && n.Reports && n.HostID != "" {
			if in[p] == nil {
				order = append(order, p)
			}
			in[p] = append(in[p], i)
		}
	}
	for x, a := range order {
		for _, b := range order[x+1:] {
			if n := len(in[a]) * len(in[b]); n < 2 || len(bad) < 2*n {
				continue
			}
			var pairs []link
			for _, i := range in[a] {
				for _, j := range in[b] {
					pairs = append(pairs, link{i, j}, link{j, i})
				}
			}
			if !slices.ContainsFunc(pairs, func(l link) bool { return bad[l] == nil }) {
				s.apartButSeen(bad, pairs, [][]int{in[a], in[b]})
			}
		}
	}
}

func (s *scene) apartButSeen(bad map[link][]int, pairs []link, parts [][]int) {
	names := s.partNames(parts)
	f := s.add(Finding{
		Kind: LinkDown, Scope: Scope{Level: LevelLink, Nodes: s.refs(slices.Concat(parts...))},
		Message: words.New(words.FindingLinkDownGroups, "parts", names),
		Evidence: words.New(words.NumbersPairs, "down", len(pairs), "pairs", len(pairs), "nodes",
			len(parts[0])+len(parts[1])),
		Step: words.New(words.MendLinkBetween, "a", names[0], "b", names[1]),
	})
	for _, l := range pairs {
		s.explain(f, bad[l]...)
		delete(bad, l)
	}
}

// star explains the pairs of the node that has the most, or a single pair.
//
//nolint:funlen // the choice of the centre, the evidence about it, and its sentence
func (s *scene) star(bad map[link][]int) {
	counterparts := map[int]map[int]bool{}
	for l := range bad {
		for _, e := range []link{l, {l.to, l.from}} {
			if counterparts[e.from] == nil {
				counterparts[e.from] = map[int]bool{}
			}
			counterparts[e.from][e.to] = true
		}
	}
	centre := -1
	for i := range s.nodes {
		if len(counterparts[i]) > 0 && (centre < 0 || len(counterparts[i]) > len(counterparts[centre])) {
			centre = i
		}
	}
	others := make([]int, 0, len(counterparts[centre]))
	heard, hears, total := false, false, 0
	var blockers []int
	for i := range s.nodes {
		if !counterparts[centre][i] {
			continue
		}
		others = append(others, i)
		for _, l := range []link{{i, centre}, {centre, i}} {
			ks, isBad := bad[l]
			if !isBad {
				continue
			}
			heard, hears = heard || l.to == centre, hears || l.from == centre
			blockers = append(blockers, ks...)
			for _, k := range ks {
				total += s.h.Blockers[k].Count()
			}
			delete(bad, l)
		}
	}
	c, o := &s.nodes[centre], &s.nodes[others[0]]
	f := Finding{
		Kind: LinkDown, Scope: Scope{Level: LevelLink, Nodes: s.refs(append([]int{centre}, others...))},
		Evidence: s.numbers(c), Step: words.New(words.MendLinksOf, "node", c.Name()),
	}
	switch {
	case len(others) > 1 && heard && !hears:
		f.Message = words.New(words.FindingNodeNotHeard, "node", c.Name(), "count", total)
	case len(others) > 1:
		f.Message = words.New(words.FindingNodeHearsNot, "node", c.Name(), "count", len(others))
	case heard && hears:
		if o.Name() < c.Name() {
			c, o = o, c
		}
		f.Message, f.Evidence = words.New(words.FindingLinkDown, "a", c.Name(), "b", o.Name()), s.ends(c, o, c)
		f.Step = words.New(words.MendLinkBetween, "a", c.Name(), "b", o.Name())
	default:
		from, to := c, o
		if heard {
			from, to = o, c
		}
		f.Message, f.Evidence = words.New(words.FindingLinkDownOneWay, "observer", from.Name(), "observed", to.Name()),
			s.ends(from, to, to)
		f.Step = words.New(words.MendLinkBetween, "a", from.Name(), "b", to.Name())
	}
	s.add(f, blockers...)
}

// ends returns the states of one end of a link in the rows of other nodes, and the locations of
// both ends.
func (s *scene) ends(a, b, seen *node) words.Message {
	m := s.numbers(seen)
	return words.New(words.NumbersLink, "up", m.Params["up"], "rows", m.Params["rows"], "a", a.where(), "b", b.where())
}

// where returns the address of a node's Pod and its Kubernetes node; empty if neither is known.
func (n *node) where() words.Message {
	pod := n.pod()
	if pod == nil || pod.Status.PodIP == "" || pod.Spec.NodeName == "" {
		return words.Message{}
	}
	return words.New(words.WhereItIs, "ip", pod.Status.PodIP, "kubernetesNode", pod.Spec.NodeName)
}

// reporters explains missing rows of running nodes: one finding for each cause.
func (s *scene) reporters() {
	type cause struct {
		reason words.Code
		code   words.Code
	}
	byCause := map[cause][]int{}
	var order []cause
	for k, b := range s.h.Blockers {
		if s.taken[k] {
			continue
		}
		switch b.Reason {
		case words.RowError, words.RowMissing, words.RowStale, words.HostIDMissing:
			key := cause{b.Reason, b.Cause.Code}
			if byCause[key] == nil {
				order = append(order, key)
			}
			byCause[key] = append(byCause[key], k)
		}
	}
	for _, key := range order {
		ks := byCause[key]
		b := &s.h.Blockers[ks[0]]
		var refs []matrix.Ref
		var names []string
		for _, k := range ks {
			who := s.h.Blockers[k].Observed
			if who == (matrix.Ref{}) {
				who = s.h.Blockers[k].Observer
			}
			if !slices.Contains(names, who.Name()) {
				refs, names = append(refs, who), append(names, who.Name())
			}
		}
		var why any
		if !b.Cause.IsZero() && len(names) == 1 {
			why = b.Cause
		}
		if rights := s.rights(); len(rights) > 0 && (key.code == words.NotAsked || key.code == words.PodUnreachable) {
			s.add(Finding{Kind: RightsMissing, Scope: Scope{Level: LevelNode, Nodes: refs},
				Message: words.New(words.FindingRightsMissing, "rights", rights), Step: words.New(words.GetRights)},
				ks...)
			continue
		}
		s.add(Finding{
			Kind: ReporterSilent, Scope: Scope{Level: LevelNode, Nodes: refs},
			Message: words.New(words.FindingReporterSilent, "nodes", names, "why", why), Step: b.Step,
			Evidence: words.New(words.NumbersSilent, "silent", len(names), "rows", s.m.Reporting()),
		}, ks...)
	}
}

// rest explains the remaining blockers: a rollout that only lacks Ready Pods, nodes whose state is
// unknown, and datacenters without a reachable node. All others are explained by their own texts.
func (s *scene) rest() {
	unsure := map[int][]int{}
	var order []int
	for k := range s.h.Blockers {
		b := &s.h.Blockers[k]
		_, j := s.pair(k)
		switch {
		case s.taken[k], s.c.Updating(b):
		case ofStatefulSet(b.Reason):
			s.notReady(k)
		case b.Reason == words.DatacenterNotVerified && b.Observed.Datacenter != "":
			s.add(Finding{
				Kind: NobodyAsked, Scope: Scope{Level: LevelDatacenter, Datacenter: b.Observed.Datacenter},
				Message: words.New(words.FindingDatacenterNotAsked, "datacenter", b.Observed.Datacenter), Step: b.Step,
			}, k)
		case j >= 0 && (b.Reason == words.NodeUnknown || b.Reason == words.NodeNotSeen):
			if unsure[j] == nil {
				order = append(order, j)
			}
			unsure[j] = append(unsure[j], k)
		case j >= 0 && b.Reason == words.NodeDown && b.Observer.HostID == b.Observed.HostID:
			s.add(Finding{Kind: LinkDown, Scope: Scope{Level: LevelNode, Nodes: s.refs([]int{j})},
				Message:  words.New(words.FindingNodeSeesItselfDown, "node", s.nodes[j].Name()),
				Evidence: s.numbers(&s.nodes[j]), Step: b.Step}, k)
		default:
			s.add(Finding{Kind: ofReason(b.Reason), Scope: Scope{Level: LevelCluster},
				Message: words.New(words.FindingUnclear, "fact", b.Message()), Step: b.Step}, k)
		}
	}
	for _, j := range order {
		n := &s.nodes[j]
		observers, code := 0, words.FindingNodeNotListed
		for _, k := range unsure[j] {
			observers += s.h.Blockers[k].Count()
			if s.h.Blockers[k].Reason == words.NodeUnknown {
				code = words.FindingNodeNotSure
			}
		}
		s.add(Finding{
			Kind: unclear, Scope: Scope{Level: LevelNode, Nodes: s.refs([]int{j})},
			Message:  words.New(code, "node", n.Name(), "observers", observers),
			Evidence: s.numbers(n), Step: s.h.Blockers[unsure[j][0]].Step,
		}, unsure[j]...)
	}
	s.updating()
}

// updating explains a report that its controller is about to write by the first finding; without
// one, by itself.
func (s *scene) updating() {
	for k := range s.h.Blockers {
		b := &s.h.Blockers[k]
		switch {
		case s.taken[k]:
		case len(s.findings) > 0:
			s.explain(s.findings[0], k)
		default:
			s.add(Finding{Kind: ofReason(b.Reason), Scope: Scope{Level: LevelCluster},
				Message: words.New(words.FindingUnclear, "fact", b.Message()), Step: b.Step}, k)
		}
	}
}

// ofReason returns the kind of a blocker that is a cause by itself.
func ofReason(r words.Code) Kind {
	switch r {
	case words.ReportOutdated:
		return ReportOutdated
	case words.OperatorDegraded:
		return OperatorDegraded
	}
	return unclear
}

// notReady adds the blocker of a StatefulSet that lacks Ready Pods to the findings about its nodes;
// without any, it becomes its own finding.
func (s *scene) notReady(k int) {
	set, _ := s.rolloutOf(k)
	for i := range s.nodes {
		if n := &s.nodes[i]; n.finding != nil && n.set() == set {
			s.explain(n.finding, k)
		}
	}
	if b := &s.h.Blockers[k]; !s.taken[k] {
		kind, message := PodsNotReady, b.Cause
		if b.Reason == words.RolloutInProgress {
			kind, message = RolloutInProgress, words.New(words.FindingRollout, "why", b.Cause, "nodes", nil)
		}
		s.add(Finding{Kind: kind, Scope: Scope{Level: LevelCluster}, Message: message, Step: b.Step}, k)
	}
}

// forced reports the forced members: their next start skips the barrier. A copy is reported with
// its origin.
func (s *scene) forced() {
	var objects, blocked []string // blocked: members that their force does not start
	undo := "--cluster " + s.c.Name
	for i := range s.c.StatefulSets {
		if set := &s.c.StatefulSets[i]; cluster.Forces(set) {
			objects = append(objects, "StatefulSet "+set.Name)
		}
	}
	for _, m := range s.c.Members() {
		if !m.ForceVoid(m.VolumeUID()).IsZero() {
			continue
		}
		if _, recorded := m.ForceOverrides(); recorded && m.Forced() {
			if v, err := bootstrap.VerdictOf(s.c, m.Member); err == nil && v.Summary.Code == words.ForceDoesNotCover {
				blocked = append(blocked, m.Member)
			}
		}
		if !m.Forced() || m.Annotation(api.AnnotationForcePropagatedFrom) != "" && len(objects) > 0 {
			continue
		}
		if objects = append(objects, m.Name()); len(objects) == 1 && m.Member != "" {
			undo = m.Member
			continue
		}
		undo = "--cluster " + s.c.Name
	}
	if len(objects) > 0 {
		step := s.do(words.TakeForceBack, evidence.Facts{"target": undo})
		if len(blocked) > 0 { // who wants that start needs another force
			step = s.do(words.SeeBarrier, evidence.Facts{"member": blocked[0]})
		}
		s.remark(Finding{Kind: Forced, Step: step,
			Message: words.New(words.FindingForced, "objects", objects, "blocked", blocked)})
	}
}

// mix reports that nodes run different versions.
func (s *scene) mix() {
	count := map[string]int{}
	for i := range s.nodes {
		if n := &s.nodes[i]; n.member != nil && n.member.Version != "" && n.HostID != "" && !n.Removed {
			count[n.member.Version]++
		}
	}
	// The tag of an image has no package release, which the report of another node may add.
	all := slices.Sorted(maps.Keys(count))
	for _, tag := range all {
		if i := slices.IndexFunc(all, func(v string) bool { return strings.HasPrefix(v, tag+"-0.") }); i >= 0 {
			count[all[i]] += count[tag]
			delete(count, tag)
		}
	}
	if len(count) < 2 {
		return
	}
	var names []string
	for v := range count {
		names = append(names, v)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	counts := make([]string, len(names))
	for i, v := range names {
		counts[i] = fmt.Sprintf("%s (%d)", v, count[v])
	}
	s.remark(Finding{Kind: VersionMix, Message: words.New(words.FindingVersionMix, "versions", names),
		Evidence: words.New(words.NumbersVersions, "counts", counts), Step: words.New(words.FinishUpgrade)})
}
