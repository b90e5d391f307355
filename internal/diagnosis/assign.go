// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// unasked explains a cluster without any information: no usable row, and no node known to be DOWN.
func (s *scene) unasked() {
	if s.m.Reporting() > 0 || len(s.inFate(down, lost, starting, replaced)) > 0 {
		return
	}
	rights := s.rights()
	switch silent, _ := s.c.ControllerSilent(); {
	case !silent.IsZero():
	case len(rights) > 0:
		s.add(Finding{Kind: RightsMissing, Scope: Scope{Level: LevelCluster},
			Message: words.New(words.FindingRightsMissing, "rights", rights), Step: words.New(words.GetRights)},
			s.all()...)
	case s.h.Nodes == 0 && len(s.h.Blockers) == 0 && s.newcomers() > 0 && !s.anyJoined():
		s.add(Finding{Kind: NoNodes, Scope: Scope{Level: LevelCluster},
			Message: words.New(words.FindingNoNodes, "newcomers", s.newcomers()),
			Step:    s.do(words.FirstJoins, nil)})
	default:
		f := s.allStarting()
		if f.Message.IsZero() {
			f = Finding{Kind: NobodyAsked, Scope: Scope{Level: LevelCluster},
				Message: words.New(words.FindingNobodyAsked, "why", s.silence()), Step: s.ask()}
		}
		s.add(f, s.all()...)
	}
}

// anyJoined reports whether Kubernetes records a joined member, even if no row lists it.
func (s *scene) anyJoined() bool {
	return slices.ContainsFunc(s.c.Members(), func(m cluster.Member) bool { return m.State == cluster.MemberJoined })
}

// silence returns why no row is usable, if the reason is the same for all; empty otherwise.
func (s *scene) silence() words.Message {
	var why words.Message
	for _, b := range s.h.Blockers {
		if b.Reason != words.RowError && b.Reason != words.RowStale || b.Cause.IsZero() {
			continue
		}
		if !why.IsZero() && why.Params["words"] != b.Cause.Params["words"] ||
			!why.IsZero() && why.Code != b.Cause.Code {
			return words.Message{}
		}
		why = b.Cause
	}
	return why
}

// ask returns the step for a cluster without a usable row: where each ScyllaDB has refused its
// reporter's query, the plugin's query is refused as well.
func (s *scene) ask() words.Message {
	if s.silence().Code == words.ScyllaDBNoAnswer {
		for _, b := range s.h.Blockers {
			if b.Reason == words.RowError && b.Observed.Member != "" {
				return evidence.Do(words.New(words.SeeSilentLog, "node", b.Observed.Name()),
					s.asker.factsOf(b.Observed.Member))
			}
		}
	}
	return s.do(words.AskNodes, nil)
}

// rights returns the missing permissions, such as "list pods", without those that hide no data.
func (s *scene) rights() []string {
	var out []string
	for _, p := range s.c.Partial() {
		if right := p.Verb + " " + p.Resource; p.Kind == cluster.ProblemForbidden && !slices.Contains(out, right) {
			out = append(out, right)
		}
	}
	return out
}

func (s *scene) newcomers() int {
	n := 0
	for _, m := range s.c.Members() {
		if m.State == cluster.MemberNewcomer {
			n++
		}
	}
	return n
}

func (s *scene) all() []int {
	out := make([]int, len(s.h.Blockers))
	for k := range out {
		out[k] = k
	}
	return out
}

// assign gives every blocker to the finding that explains it: wide findings first, then narrow
// ones, then the rest.
func (s *scene) assign() {
	s.split()
	s.partition()
	s.controller()
	s.claims()
	s.decommissions()
	s.rolling()
	s.replaced()
	s.findCauses()
	s.elsewhere()
	s.places()
	s.kubernetesNodes()
	s.sharedCauses()
	s.restarted()
	s.starting()
	s.down()
	s.strangers()
	s.links()
	s.reporters()
	s.rest()
}

// split explains nodes of two clusters: it takes every blocker between the two.
func (s *scene) split() {
	if !s.isSplit {
		return
	}
	var explained []int
	var step words.Message
	for k := range s.h.Blockers {
		if s.h.Blockers[k].Reason == words.SplitCluster {
			step = s.h.Blockers[k].Step
			explained = append(explained, k)
		} else if i, j := s.pair(k); s.apart(i, j) {
			explained = append(explained, k)
		}
	}
	if len(s.parts) == 0 {
		s.add(Finding{Kind: SplitCluster, Scope: Scope{Level: LevelCluster},
			Message: words.New(words.FindingSplitCluster, "why", s.m.SplitFact()), Step: step}, explained...)
		return
	}
	sizes := make([]string, len(s.parts))
	for i, part := range s.parts {
		sizes[i] = strconv.Itoa(len(part))
	}
	s.add(Finding{
		Kind: SplitCluster, Scope: Scope{Level: LevelCluster},
		Message:  words.New(words.FindingSplitCluster, "why", s.m.SplitFact()),
		Evidence: words.New(words.NumbersSplit, "sizes", sizes), Step: step,
	}, explained...)
}

func (s *scene) partition() {
	if len(s.parts) == 0 || s.isSplit {
		return
	}
	var cross []int
	downPairs := 0
	for k := range s.h.Blockers {
		if i, j := s.pair(k); s.apart(i, j) {
			cross = append(cross, k)
			downPairs += s.h.Blockers[k].Count()
		}
	}
	reporting, same := 0, 0
	for _, part := range s.parts {
		reporting += len(part)
		same += len(part) * len(part)
	}
	parts := make([][]int, len(s.parts))
	for i := range s.nodes {
		if p := s.nodes[i].part; p >= 0 {
			parts[p] = append(parts[p], i)
		}
	}
	f := Finding{
		Kind: Partition, Scope: Scope{Level: LevelCluster},
		Message: words.New(words.FindingPartition, "parts", s.partNames(parts)),
		Evidence: words.New(words.NumbersPairs, "down", downPairs, "pairs", reporting*reporting-same, "nodes",
			reporting), Step: words.New(words.MendNetwork),
	}
	if len(parts) == reporting && reporting > 2 {
		f.Message = words.New(words.FindingNoneSeesAny, "nodes", reporting)
		if s.newServices() {
			f.Message.Params["why"] = words.New(words.VolumesOlderThanServices)
			f.Step = s.do(words.SeeFormerAddresses, nil)
		}
	}
	s.add(f, cross...)
}

// partNames names groups of nodes by datacenters if none is in two groups, else by racks, else by
// nodes: "us-east-1 + us-west-2 (18)".
func (s *scene) partNames(parts [][]int) []string {
	byDatacenter := func(n *node) string { return n.Datacenter }
	byRack := func(n *node) string {
		if n.Rack == "" {
			return ""
		}
		return strings.TrimPrefix(n.Datacenter+"/"+n.Rack, "/")
	}
	name := func(n *node) string { return n.Name() }
	for _, by := range []func(*node) string{byDatacenter, byRack} {
		if s.splits(parts, by) {
			name = by
			break
		}
	}
	const most = 4
	out := make([]string, len(parts))
	for p, part := range parts {
		var names []string
		for _, i := range part {
			if n := name(&s.nodes[i]); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		if len(names) > most {
			names = append(names[:most-1], "…")
		}
		out[p] = strings.Join(names, " + ") + " (" + strconv.Itoa(len(part)) + ")"
	}
	return out
}

// splits reports whether no place has nodes of two groups.
func (s *scene) splits(parts [][]int, by func(*node) string) bool {
	in := map[string]int{}
	for p, part := range parts {
		for _, i := range part {
			place := by(&s.nodes[i])
			if other, known := in[place]; place == "" || known && other != p {
				return false
			}
			in[place] = p
		}
	}
	return true
}

func (s *scene) controller() {
	for k, b := range s.h.Blockers {
		if b.Reason == words.ControllerSilent {
			s.add(Finding{
				Kind: ControllerSilent, Scope: Scope{Level: LevelCluster},
				Message: words.New(words.FindingControllerSilent, "controller", b.Cause), Step: b.Step,
			}, k)
		}
	}
}

// rolling explains the nodes that restart because of a rollout of their StatefulSet.
func (s *scene) rolling() {
	for k := range s.h.Blockers {
		set, changing := s.rolloutOf(k)
		if !changing || s.stuck(set) {
			continue
		}
		var restart []int
		for _, i := range s.inFate(starting) {
			if s.nodes[i].set() == set {
				restart = append(restart, i)
			}
		}
		b := &s.h.Blockers[k]
		f := s.add(Finding{
			Kind: RolloutInProgress, Scope: Scope{Level: LevelNode, Nodes: s.refs(restart)},
			Message: words.New(words.FindingRollout, "why", b.Cause, "nodes", s.names(restart)), Step: b.Step,
		}, k)
		s.give(f, restart)
	}
}

// stuck reports whether Kubernetes does not run the Pod of a node of the StatefulSet: its rollout
// does not end by waiting, and that node is its cause.
func (s *scene) stuck(set string) bool {
	return slices.ContainsFunc(s.nodes, func(n node) bool {
		return n.fate == down && n.set() == set && !s.c.Trouble(n.Member).IsZero()
	})
}

func (s *scene) replaced() {
	fates := s.m.Options().Fates
	for _, i := range s.inFate(replaced) {
		n := &s.nodes[i]
		old := cmp.Or(s.known.Newcomers[n.HostID], n.HostID)
		f := Finding{Kind: ReplacementOpen, Scope: Scope{Level: LevelNode, Nodes: s.refs([]int{i})},
			Message: words.New(words.FindingReplacementOpen, "node", n.Name()), Step: s.step(n)}
		if known, recorded := fates[old]; recorded && !known.Open && n.member != nil && n.member.ReplaceRequested {
			f.Message.Code = words.FindingReplacementRequested
		}
		if by := n.member.ReplaceAsker(); !by.IsZero() {
			f.Message.Params["by"] = by
		}
		if why := s.known.Failed[old]; !why.IsZero() {
			f.Kind, f.Message = ReplacementFailed,
				words.New(words.FindingReplacementFailed, "node", cmp.Or(fates[old].Member, n.Name()), "why", why)
		} else if why, step := s.replacementStuck(cmp.Or(fates[old].Member, n.Member)); !why.IsZero() {
			f.Message.Params["why"] = why
			// the replacement knows more: a lost Kubernetes node
			if s.known.Steps[old].IsZero() {
				f.Step = step
			}
		}
		f.Evidence = s.numbers(n)
		s.give(s.add(f), []int{i})
	}
}

// replacementStuck returns why Kubernetes does not run the new Pod of a replacement, and the step:
// it does not continue by waiting. The claim of the former node is deleted first, so a claim that
// is gone is no reason.
func (s *scene) replacementStuck(member string) (why, step words.Message) {
	m := s.c.Member(member)
	if m == nil || m.Replacing == "" {
		return why, step
	}
	switch why = s.c.Trouble(member); {
	case why.IsZero(), why.Code == words.PodExits, why.Code == words.PodSays, why.Params["first"] == words.PlaceNoClaim,
		why.Params["first"] == words.PlaceClaimEnds:
		return words.Message{}, words.Message{}
	}
	return why, replace.WhileCause(s.c, member, cluster.CausePod, "")
}

// step returns the step of the most severe blocker about a node.
func (s *scene) step(n *node) words.Message {
	for _, k := range n.about {
		if step := s.h.Blockers[k].Step; !step.IsZero() {
			return step
		}
	}
	return words.Message{}
}

// numbers returns the counts of a node's states in the rows of other nodes.
func (s *scene) numbers(n *node) words.Message {
	return words.New(words.NumbersRows, "down", n.down, "up", n.up, "rows", n.rows)
}

// places finds datacenters, then racks, without a node that is UP.
func (s *scene) places() {
	whole := func(i int) string { return s.nodes[i].Datacenter }
	rack := func(i int) string {
		if s.nodes[i].Rack == "" {
			return ""
		}
		return s.nodes[i].Datacenter + "\x00" + s.nodes[i].Rack
	}
	s.wholly(whole, func(nodes []int) Finding {
		dc := s.nodes[nodes[0]].Datacenter
		return Finding{
			Kind: DatacenterDown, Scope: Scope{Level: LevelDatacenter, Datacenter: dc, Nodes: s.refs(nodes)},
			Message: words.New(words.FindingDatacenterDown, "datacenter", dc, "nodes", len(nodes)),
			Step:    words.New(words.SeeDatacenter, "datacenter", dc),
		}
	})
	s.wholly(rack, func(nodes []int) Finding {
		n := &s.nodes[nodes[0]]
		return Finding{
			Kind: RackDown, Scope: Scope{Level: LevelRack, Datacenter: n.Datacenter, Rack: n.Rack,
				Nodes: s.refs(nodes)},
			Message: words.New(words.FindingRackDown, "rack", n.Rack, "datacenter", n.Datacenter, "nodes", len(nodes)),
			Step:    words.New(words.SeeRack, "datacenter", n.Datacenter, "rack", n.Rack),
		}
	})
}

// wholly makes a finding of each place with at least two nodes, all of them gone. It skips a place
// whose nodes were all on one Kubernetes node that is not responding: that is the cause. It also
// skips a place whose nodes are all starting, because no action is needed, or are each DOWN for a
// reason of its own.
func (s *scene) wholly(place func(int) string, made func([]int) Finding) {
	total, gone := map[string]int{}, map[string][]int{}
	var order []string
	for i := range s.nodes {
		n, p := &s.nodes[i], place(i)
		if p == "" || !n.counts() {
			continue
		}
		if total[p]++; total[p] == 1 {
			order = append(order, p)
		}
		if n.finding == nil && (n.fate == down || n.fate == lost || n.fate == starting || n.fate == away) {
			gone[p] = append(gone[p], i)
		}
	}
	for _, p := range order {
		nodes := gone[p]
		if total[p] < 2 || len(nodes) < total[p] {
			continue
		}
		machines, startingNow, rows := map[string]bool{}, 0, 0
		onOne, together := true, false
		for _, i := range nodes {
			n := &s.nodes[i]
			together = together || !s.m.Explained(n.HostID)
			rows = max(rows, n.rows)
			switch n.fate {
			case starting:
				startingNow++
			case lost:
				machines[n.pod().Spec.NodeName] = true
			}
			onOne = onOne && n.fate == lost
		}
		alone, one := s.causeOf(nodes)
		if !together || startingNow == len(nodes) || onOne && len(machines) == 1 || one && !alone {
			continue
		}
		f := made(nodes)
		if one {
			s.explainPlace(&f, nodes)
		}
		numbers := words.NumbersGroup
		if rows == 0 {
			numbers = words.NumbersNoGroup
		}
		f.Evidence = words.New(numbers, "rows", rows, "starting", numberOrNone(startingNow),
			"kubernetesNodes", numberOrNone(len(machines)))
		s.give(s.add(f), nodes)
	}
}

// numberOrNone leaves a zero out of a sentence.
func numberOrNone(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func (s *scene) kubernetesNodes() {
	on := map[string][]int{}
	var order []string
	for _, i := range s.inFate(lost) {
		machine := s.nodes[i].pod().Spec.NodeName
		if on[machine] == nil {
			order = append(order, machine)
		}
		on[machine] = append(on[machine], i)
	}
	for _, machine := range order {
		nodes := on[machine]
		s.give(s.add(Finding{
			Kind: KubernetesNodeDown, Scope: Scope{Level: LevelKubernetesNode, KubernetesNode: machine,
				Nodes: s.refs(nodes)},
			Message:  words.New(words.FindingKubernetesNodeDown, "kubernetesNode", machine, "nodes", s.names(nodes)),
			Evidence: s.numbers(&s.nodes[nodes[0]]),
			Step: s.do(words.MendKubernetesNode, evidence.Facts{"kubernetesNode": machine}, "kubernetesNode",
				machine),
		}), nodes)
	}
}

// starting makes one finding of all nodes that are starting.
func (s *scene) starting() {
	nodes := s.inFate(starting)
	if len(nodes) == 0 {
		return
	}
	n := &s.nodes[nodes[0]]
	waits := cluster.PodWaiting(n.pod())
	f := s.add(Finding{
		Kind: NodeStarting, Scope: Scope{Level: LevelNode, Nodes: s.refs(nodes)},
		Message: words.New(words.FindingNodeStarting, "nodes", s.names(nodes), "waits", waits), Evidence: s.numbers(n),
		Step: replace.StartStep(s.c, n.Member),
	})
	s.give(f, nodes)
}
