// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The actions that a user plans.
const (
	ForRestart      = "restart"
	ForDrain        = "drain"
	ForScale        = "scale"
	ForUpgrade      = "upgrade"
	ForDecommission = "decommission"
)

// Purposes lists them.
func Purposes() []string {
	return []string{ForRestart, ForDrain, ForScale, ForUpgrade, ForDecommission}
}

// Now is the input of the checks whether an action is safe now.
type Now struct {
	For string
	// Cluster holds the nodes' own responses.
	Cluster *cluster.Cluster
	// Stopped are the members that stop at the same time: one for a restart, all on the Kubernetes
	// node for a drain. For a decommission they are the members that leave, one after the other.
	Stopped []cluster.Member
	// Datacenter is the datacenter that is removed as a whole; empty if none is.
	Datacenter string
	// Saved is set for saved objects: no node can be queried.
	Saved bool
	PDBs  []policyv1.PodDisruptionBudget
	// PDBErr is why disruption budgets could not be read, DataErr why the replica placement is
	// unknown.
	PDBErr, DataErr string
	Keyspaces       []maintenance.Keyspace
}

// Safe runs every check for the action. The action is safe if no result is Failed or Unknown.
func Safe(in *Now) []Result {
	c := &checker{}
	s := &safety{checker: c, Now: in, subject: "cluster " + in.Cluster.Key.String()}
	s.nodes()
	s.answers()
	s.underWay()
	switch in.For {
	case ForRestart, ForDrain:
		s.data()
		s.budgets()
	case ForUpgrade:
		s.data()
	case ForDecommission:
		s.leave()
	}
	return c.results
}

type safety struct {
	*checker
	*Now
	subject string
}

// nodes: each cause for which not every node sees every node UP.
func (s *safety) nodes() {
	from, h := len(s.results), bootstrap.HealthOf(s.Cluster)
	for _, f := range diagnosis.From(s.Cluster, h, diagnosis.Known{}) {
		if !f.Remark {
			s.add("nodes", s.subject, Failed, f.Message, f.Step)
		}
	}
	if from == len(s.results) && !h.Healthy {
		s.add("nodes", s.subject, Unknown, words.New(words.NotHealthyNow))
	}
	s.fine(from, "nodes", s.subject, words.New(words.AllNodesUpNow))
}

// answers: each node with a Pod was queried directly.
func (s *safety) answers() {
	if s.Saved {
		s.add("answers", s.subject, Unknown, words.New(words.NotAskedSaved))
		return
	}
	from, asked := len(s.results), 0
	for _, m := range s.Cluster.Members() {
		if m.Pod == nil || m.State != cluster.MemberJoined {
			continue
		}
		switch said := m.Answer(); {
		case said == nil:
			s.add("answers", "member "+m.Namespace+"/"+m.Member, Unknown, words.New(words.NotAskedNow))
		case said.Error != nil:
			s.add("answers", "member "+m.Namespace+"/"+m.Member, Unknown,
				words.New(words.CannotTell, "why", *said.Error))
		default:
			asked++
		}
	}
	s.fine(from, "answers", s.subject, words.New(words.AllAnswerNow, "nodes", asked))
}

// underWay: operations of ScyllaDB, replacements and rollouts in progress.
func (s *safety) underWay() {
	from := len(s.results)
	w := maintenance.UnderWay(s.Cluster)
	for _, op := range w.Operations {
		s.add("operations", s.subject, Failed, cluster.OperationFact(op, s.name(op.HostID)),
			s.waitNow())
	}
	for _, m := range w.Replaced {
		s.add("operations", "member "+m.Namespace+"/"+m.Member, Failed, words.New(words.ReplacementNow),
			s.waitNow())
	}
	for _, set := range w.Rolling {
		s.add("operations", subject(set), Failed, words.New(words.RolloutNow), s.waitNow())
	}
	if s.For == ForDecommission {
		s.joins(w.Operations)
	}
	if from == len(s.results) && !w.Known {
		s.add("operations", s.subject, Unknown, words.New(words.OperationsUnknownNow))
	}
	s.fine(from, "operations", s.subject, words.New(words.NothingUnderWayNow))
}

func (s *safety) name(hostID hostid.ID) string {
	for _, m := range s.Cluster.Members() {
		if m.HostID == hostID && m.Member != "" {
			return m.Member
		}
	}
	return string(hostID)
}

// data: every range keeps a quorum of UP replicas while the nodes are stopped; for an upgrade,
// while any one node is stopped.
func (s *safety) data() {
	if s.DataErr != "" {
		s.add("data", s.subject, Unknown, words.New(words.CannotTell, "why", s.DataErr),
			words.New(words.StepLookAtData))
		return
	}
	from := len(s.results)
	var rounds [][]cluster.Member
	if s.For == ForUpgrade {
		for _, m := range s.Cluster.Members() {
			if m.State == cluster.MemberJoined && m.Pod != nil {
				rounds = append(rounds, []cluster.Member{m})
			}
		}
	} else {
		rounds = [][]cluster.Member{s.Stopped}
	}
	for _, stopped := range rounds {
		var hurt, names []string
		for _, k := range s.Keyspaces {
			if slices.ContainsFunc(k.Replicas, func(set []hostid.ID) bool { return s.losesQuorum(set, stopped) }) {
				hurt = append(hurt, k.Name)
			}
		}
		for _, m := range stopped {
			names = append(names, m.Name())
		}
		if len(hurt) > 0 {
			s.add("data", s.subject, Failed, words.New(words.QuorumLostNow, "nodes", names, "keyspaces", hurt),
				s.oneByOne(words.New(words.StepQuorumNow)))
		}
	}
	s.fine(from, "data", s.subject, words.New(words.QuorumKeptNow, "keyspaces", len(s.Keyspaces)))
}

// oneByOne returns the step for several members on the Kubernetes node: the first that may stop
// alone, and how. Otherwise it returns the given step.
func (s *safety) oneByOne(otherwise words.Message) words.Message {
	if s.For != ForDrain || len(s.Stopped) < 2 || s.DataErr != "" {
		return otherwise
	}
	for _, m := range s.Stopped {
		if m.Pod == nil || slices.ContainsFunc(s.Keyspaces, func(k maintenance.Keyspace) bool {
			return slices.ContainsFunc(k.Replicas,
				func(set []hostid.ID) bool { return s.losesQuorum(set, []cluster.Member{m}) })
		}) {
			continue
		}
		return words.New(words.StepDrainFirst, "node", m.Name()).Do(
			words.Kubectl("", "drain", m.Pod.Spec.NodeName, "--ignore-daemonsets", "--delete-emptydir-data",
				"--pod-selector="+appsv1.StatefulSetPodNameLabel+"="+m.Pod.Name),
			words.Scylla(m.Namespace, "check", "--for=drain", m.Pod.Spec.NodeName))
	}
	return otherwise
}

// losesQuorum reports whether a node of the replica set stops and too few replicas are then UP, in
// the whole set or in the datacenter of that node.
func (s *safety) losesQuorum(set []hostid.ID, stopped []cluster.Member) bool {
	stops := func(id hostid.ID) bool {
		return slices.ContainsFunc(stopped, func(m cluster.Member) bool { return m.HostID == id })
	}
	alive := func(id hostid.ID) bool { return !stops(id) && s.node(id).AllUp() }
	return slices.ContainsFunc(set, func(id hostid.ID) bool {
		near := func(other hostid.ID) bool { return s.node(other).Datacenter == s.node(id).Datacenter }
		return stops(id) && !maintenance.Quorum(set, alive, near)
	})
}

// node returns the node with a host ID from the rows, an empty node if no row lists it.
func (s *safety) node(id hostid.ID) *matrix.Node {
	m := s.Cluster.Matrix()
	if i, known := m.Index(id); known {
		return &m.Nodes()[i]
	}
	return &matrix.Node{}
}

// budgets: the disruption budgets that would refuse an eviction.
func (s *safety) budgets() {
	if s.PDBErr != "" {
		s.add("budget", s.subject, Unknown, words.New(words.CannotTell, "why", s.PDBErr))
		return
	}
	from := len(s.results)
	for i := range s.PDBs {
		p := &s.PDBs[i]
		sel, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
		if err != nil || sel.Empty() {
			continue
		}
		var pods []string
		for _, m := range s.Stopped {
			if m.Pod != nil && m.Pod.Namespace == p.Namespace && sel.Matches(labels.Set(m.Pod.Labels)) {
				pods = append(pods, m.Pod.Name)
			}
		}
		if allowed := int(p.Status.DisruptionsAllowed); len(pods) > allowed {
			step := s.waitNow()
			if allowed > 0 { // waiting does not help a drain of several Pods at once
				step = s.oneByOne(step)
			}
			s.add("budget", "budget "+p.Namespace+"/"+p.Name, Failed,
				words.New(words.BudgetSpentNow, "allowed", allowed, "pods", pods), step)
		}
	}
	s.fine(from, "budget", s.subject, words.New(words.BudgetAllowsNow))
}

// waitNow is the step while something else is in progress.
func (s *safety) waitNow() words.Message {
	return words.New(words.StepWaitNow).Do(words.Scylla(s.Cluster.Namespace, "status"))
}
