// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// fate is the diagnosed state of a node.
type fate uint8

const (
	well     fate = iota // it runs, as far as known
	down                 // it is DOWN, and nothing shows that this passes
	lost                 // its Kubernetes node is not responding
	starting             // it is starting
	replaced             // it is being replaced, or a replacement is requested
	ghost                // no member here has it, and it may be removed
	away                 // no member here has it, and it may run elsewhere
)

// node is a node of the matrix with its Kubernetes objects.
type node struct {
	matrix.Node
	member *cluster.Member
	// index into scene.parts, -1 if it is in none, for example because it does not report
	part int
	fate fate
	// up, down and rows count the rows of the other nodes of its part.
	up, down, rows int
	// about are the blockers about it that are not between two parts.
	about []int
	// finding is the finding that explains them.
	finding *Finding
}

func (n *node) pod() *corev1.Pod {
	if n.member == nil {
		return nil
	}
	return n.member.Pod
}

// here reports whether the node has a Service or a Pod here.
func (n *node) here() bool {
	return n.member != nil && (n.member.Service != nil || n.member.Pod != nil)
}

func (n *node) set() string {
	if n.member == nil || n.member.StatefulSet == nil {
		return ""
	}
	return n.member.StatefulSet.Name
}

// scene is the work of one diagnosis.
type scene struct {
	c        *cluster.Cluster
	m        *matrix.Matrix
	h        bootstrap.Health
	known    Known
	nodes    []node
	nameless map[string]int // by member, nodes without a host ID
	parts    [][]hostid.ID
	isSplit  bool // the parts are separate clusters
	findings []*Finding
	taken    []bool // blockers that are explained
	asker    *asker
	causes   [][]int // nodes that are DOWN for one reason
}

func newScene(c *cluster.Cluster, h bootstrap.Health, known Known) *scene {
	s := &scene{c: c, m: c.Matrix(), h: h, known: known, nameless: map[string]int{},
		taken: make([]bool, len(h.Blockers)), asker: newAsker(c, Asks{Known: known})}
	members := c.Members()
	byHost, byName := map[hostid.ID]*cluster.Member{}, map[string]*cluster.Member{}
	for i := range members {
		mb := &members[i]
		if mb.HostID != "" {
			byHost[mb.HostID] = mb
		}
		if mb.Ref.Member != "" {
			byName[mb.Ref.Member] = mb
		}
	}
	s.nodes = make([]node, len(s.m.Nodes()))
	for i, n := range s.m.Nodes() {
		s.nodes[i] = node{Node: n, part: -1, member: byHost[n.HostID]}
		if n.HostID == "" {
			s.nodes[i].member = byName[n.Member]
			s.nameless[n.Member] = i
		}
	}
	if h.Healthy {
		return s
	}
	s.parts = s.m.Partition()
	if split := s.m.Split(); split != nil {
		s.parts, s.isSplit = split, true
	} else if !s.m.SplitFact().IsZero() {
		s.parts, s.isSplit = nil, true
	}
	for k, part := range s.parts {
		for _, id := range part {
			if i, ok := s.m.Index(id); ok {
				s.nodes[i].part = k
			}
		}
	}
	s.look()
	return s
}

// index returns the node that a blocker names, -1 for none.
func (s *scene) index(r matrix.Ref) int {
	if r.HostID != "" {
		if i, ok := s.m.Index(r.HostID); ok {
			return i
		}
		return -1
	}
	if i, ok := s.nameless[r.Member]; ok && r.Member != "" {
		return i
	}
	return -1
}

// apart reports whether two nodes are in different parts.
func (s *scene) apart(i, j int) bool {
	return i >= 0 && j >= 0 && s.nodes[i].part >= 0 && s.nodes[j].part >= 0 && s.nodes[i].part != s.nodes[j].part
}

// pair returns the indexes of the observer and the observed node of a blocker, -1 for none.
func (s *scene) pair(k int) (observer, observed int) {
	b := &s.h.Blockers[k]
	return s.index(b.Observer), s.index(b.Observed)
}

// ofStatefulSet reports whether the reason is about all Pods of a StatefulSet, not about one node.
func ofStatefulSet(r words.Code) bool {
	return r == words.RolloutInProgress || r == words.PodsNotReady
}

// look collects the blockers about each node, and decides the node's fate.
func (s *scene) look() {
	for k := range s.h.Blockers {
		r := s.h.Blockers[k].Reason
		if i, j := s.pair(k); j >= 0 && !s.apart(i, j) && !ofStatefulSet(r) && r != words.ClaimDeleting &&
			r != words.DecommissionLabel && r != words.DecommissionStuck && r != words.ScyllaDBHalted {
			s.nodes[j].about = append(s.nodes[j].about, k)
		}
	}
	for j := range s.nodes {
		if n := &s.nodes[j]; len(n.about) > 0 {
			s.count(j)
			n.fate = s.fateOf(n)
		}
	}
}

// count counts the states of a node in the rows of the other nodes of its part.
func (s *scene) count(j int) {
	n := &s.nodes[j]
	if len(s.parts) == 0 {
		by := n.ByOthers()
		n.up, n.down, n.rows = by.Up, by.Down, by.Rows()
		return
	}
	for i := range s.nodes {
		if i == j || !s.nodes[i].Reports || s.apart(i, j) {
			continue
		}
		n.rows++
		switch s.m.At(i, j) {
		case matrix.Up:
			n.up++
		case matrix.Down:
			n.down++
		}
	}
}

// fateOf returns the fate of a node that blockers are about.
func (s *scene) fateOf(n *node) fate {
	pod := n.pod()
	switch {
	case !s.isDown(n):
		return well
	case s.m.Options().Fates[n.HostID].Member != "" || s.known.Newcomers[n.HostID] != "":
		return replaced
	case !n.here() && n.HostID != "" && maintenance.Removable(s.c, n.HostID).IsZero():
		return ghost
	case !n.here():
		return away
	case pod != nil && s.c.NodeLost(pod):
		return lost
	case s.c.DataGone(n.Member):
		return down
	}
	if s.c.Halted(n.Member).IsZero() && s.c.Trouble(n.Member).IsZero() && cluster.Starting(pod) {
		return starting
	}
	return down
}

// isDown reports whether most rows see the node DOWN, or its Pod is not ready. A node with a row
// and a ready Pod runs: the network to it is at fault.
func (s *scene) isDown(n *node) bool {
	pod := n.pod()
	serves := cluster.Serving(pod) && !s.c.NodeLost(pod)
	switch {
	case serves && n.Reports:
		return false
	case pod != nil && !s.runs(pod):
		return true
	case n.member != nil && n.member.Service != nil && pod == nil && s.c.KnowsPods():
		return true
	case n.down == 0:
		return n.SeenDown > 0 && n.rows == 0 // by its own row
	case pod == nil && n.Reports && n.up > 0:
		return false
	}
	return 2*n.down > n.rows || !n.Reports && !serves
}

// runs reports whether ScyllaDB runs in the Pod, ready or not, on a Kubernetes node that responds.
func (s *scene) runs(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || s.c.NodeLost(pod) || pod.Status.Phase == corev1.PodFailed ||
		pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	if pod.Status.Phase == "" {
		return true // saved without its status: nothing is known
	}
	st := cluster.ScyllaDBStatus(pod)
	return st == nil && pod.Status.Phase == corev1.PodRunning || st != nil && st.State.Running != nil
}

// add adds a finding that explains blockers.
func (s *scene) add(f Finding, blockers ...int) *Finding {
	p := &f
	s.findings = append(s.findings, p)
	s.explain(p, blockers...)
	return p
}

func (s *scene) explain(f *Finding, blockers ...int) {
	for _, k := range blockers {
		s.taken[k] = true
		f.Blockers = append(f.Blockers, k)
		if since := s.h.Blockers[k].Since; !since.IsZero() && (f.Since.IsZero() || since.Before(f.Since)) {
			f.Since = since
		}
	}
}

// refs returns the nodes with these indexes.
func (s *scene) refs(nodes []int) []matrix.Ref {
	out := make([]matrix.Ref, len(nodes))
	for k, i := range nodes {
		out[k] = s.nodes[i].Ref
	}
	return out
}

func (s *scene) names(nodes []int) []string {
	out := make([]string, len(nodes))
	for k, i := range nodes {
		out[k] = s.nodes[i].Name()
	}
	return out
}

// counts reports whether the node counts as a node of its datacenter.
func (n *node) counts() bool {
	return !n.Removed && (n.HostID != "" && n.Joined || len(n.about) > 0)
}

// rolloutOf returns the StatefulSet of a rollout blocker, and whether its Pods change; empty for
// other blockers.
func (s *scene) rolloutOf(k int) (set string, changing bool) {
	b := &s.h.Blockers[k]
	if !ofStatefulSet(b.Reason) {
		return "", false
	}
	set, _ = b.Cause.Params["statefulSet"].(string)
	return cmp.Or(set, "?"), b.Cause.Code != words.FewerPodsReady
}

// inFate returns the nodes with one of the fates that no finding explains yet.
func (s *scene) inFate(fates ...fate) []int {
	var out []int
	for i := range s.nodes {
		if n := &s.nodes[i]; n.finding == nil && slices.Contains(fates, n.fate) {
			out = append(out, i)
		}
	}
	return out
}

// give lets a finding explain nodes.
func (s *scene) give(f *Finding, nodes []int) {
	for _, i := range nodes {
		s.nodes[i].finding = f
		s.explain(f, s.nodes[i].about...)
	}
}
