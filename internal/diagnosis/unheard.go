// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// unheardAfter is how long ScyllaDB may run without any node listing it before that is reported.
const unheardAfter = 5 * time.Minute

// modeStarting is ScyllaDB's operation mode of a node whose join request the topology coordinator
// has not processed.
const modeStarting = "STARTING"

// unheard reports new nodes whose ScyllaDB has run for unheardAfter and that no node lists: the
// addresses of its seeds may belong to deleted Pods.
//
// A first join has no shadow round and begins with discovery. Its peers are on disk and take
// precedence over the seeds of a new Pod (raft_group0.cc:531, persistent_discovery::make). So
// deleting the Pod does not help, and only the log shows whether the volume has more than these
// peers: the step shows how to check.
//
// The task manager lists an operation for a new node whose request is stored; that node is not
// reported. Nothing is reported if the task manager was not queried, or a node is not UP. A rollout
// does not suppress the report: a StatefulSet that creates its Pods in order continues only when
// this new node is Ready.
func (s *scene) unheard() {
	w := maintenance.UnderWay(s.c)
	if !w.Known || len(w.Operations) > 0 || s.c.TakenAt.IsZero() || !s.h.Healthy && !s.onlyRollouts() {
		return
	}
	members := s.c.Members()
	for i := range members {
		mb := &members[i]
		since := s.runsSince(mb)
		if since.IsZero() || s.c.TakenAt.Sub(since) < unheardAfter {
			continue
		}
		s.remark(Finding{
			Kind: NodeUnheard, Scope: Scope{Nodes: []matrix.Ref{mb.Ref}}, Since: since,
			Message:  words.New(words.FindingNodeUnheard, "node", mb.Name()),
			Evidence: words.New(words.NumbersUnheard, "mode", modeStarting),
			Step:     s.do(words.SeeDiscovery, s.asker.factsOf(mb.Member)),
		})
	}
}

// slowStart is how long a Pod may be without a ready ScyllaDB before that is reported: longer than
// an image and a volume need on most clusters. A join takes longer, and is reported as one.
const slowStart = cluster.LimitStart

// newNodes reports new nodes that do not start, with the step for what Kubernetes says of their
// Pods. A node that waits in its barrier has the barrier's reasons. A member whose node was removed
// and whose volume no longer exists is a new node, whatever its Service records.
func (s *scene) newNodes() {
	members := s.c.Members()
	for i := range members {
		m := &members[i]
		isNew := m.State == cluster.MemberNewcomer || m.Removed(s.m) && !s.c.VolumeGone(m.Member).IsZero()
		if !isNew || m.Service == nil || m.ReplaceRequested || m.Replacing != "" ||
			s.explained(m) || (m.Pod == nil || m.Pod.DeletionTimestamp != nil) && s.c.Trouble(m.Member).IsZero() {
			continue
		}
		if f := s.newNode(m); !f.Message.IsZero() {
			f.Kind, f.Scope = NodeNotStarted, Scope{Nodes: []matrix.Ref{m.Ref}}
			s.remark(f)
		}
	}
}

// explained reports whether a finding about the member exists.
func (s *scene) explained(m *cluster.Member) bool {
	return slices.ContainsFunc(s.findings, func(f *Finding) bool {
		return slices.ContainsFunc(f.Scope.Nodes, func(n matrix.Ref) bool { return n.Member == m.Member })
	})
}

// newNode returns why a new node does not start, without Kind and Scope. The exit code of its
// container shows nothing: the image's entrypoint ends with 0 after SIGTERM and after an error of
// its own, whatever ScyllaDB ended with (dist/docker/docker-entrypoint.py).
func (s *scene) newNode(m *cluster.Member) Finding {
	name, facts := m.Name(), s.asker.factsOf(m.Member)
	notReady := func(since time.Time, why, step words.Message) Finding {
		return Finding{Message: words.New(words.FindingNodeNotServing, "node", name, "why", why),
			Since: since, Step: step}
	}
	if m.Pod == nil {
		return notReady(m.Created(), s.c.Trouble(m.Member), replace.WhileCause(s.c, m.Member, cluster.CausePod, ""))
	}
	made := m.Pod.CreationTimestamp.Time
	if on := m.Pod.Spec.NodeName; s.c.NodeLost(m.Pod) {
		return Finding{
			Message: words.New(words.FindingKubernetesNodeDown, "kubernetesNode", on, "nodes", []string{name}),
			Step:    replace.WhileCause(s.c, m.Member, cluster.CauseKubernetesNode, on),
		}
	}
	if gone := s.c.VolumeGone(m.Member); !gone.IsZero() &&
		(m.RecordedID() == "" || s.m.NoneLists(m.Recorded())) {
		facts["claim"] = m.PVC.Name
		return notReady(made, gone, s.do(words.DiscardClaim, facts, "claim", m.PVC.Name))
	}
	if m.WaitsInBarrier() {
		return Finding{}
	}
	if v, err := bootstrap.VerdictOf(s.c, m.Member); err == nil && v.Decision == bootstrap.DecisionRefuse {
		return Finding{}
	}
	why, end := s.c.Trouble(m.Member), cluster.LastEnd(m.Pod)
	switch {
	case end != nil && (why.IsZero() || why.Code == words.PodExits):
		return Finding{Message: words.New(words.FindingNodeEnded, "node", name, "code", int(end.ExitCode)),
			Since: end.FinishedAt.Time, Step: s.do(words.SeeWhyEnded, facts)}
	case cluster.Unschedulable(m.Pod):
		cause, object, _ := s.c.Unscheduled(m.Member)
		if cause == cluster.CauseNone {
			cause = cluster.CauseUnscheduled
		}
		if why.IsZero() {
			why = words.New(words.BecauseNoPlace, "waits", cluster.PodWaiting(m.Pod))
		}
		return notReady(made, why, replace.WhileCause(s.c, m.Member, cause, object))
	case !why.IsZero():
		return notReady(made, why, replace.WhileCause(s.c, m.Member, cluster.CausePod, ""))
	}
	since, slow := made, s.do(words.SeePodEvents, facts)
	if st := cluster.ScyllaDBStatus(m.Pod); st != nil && st.State.Running != nil {
		since, slow = st.State.Running.StartedAt.Time, s.do(words.SeeSlowStart, facts)
	}
	if s.c.TakenAt.IsZero() || since.IsZero() || s.c.TakenAt.Sub(since) < slowStart {
		return Finding{}
	}
	return notReady(since,
		words.New(words.BecauseNotJoined, "joining", m.Joining(), "waits", cluster.PodWaiting(m.Pod)), slow)
}

// onlyRollouts reports whether all nodes see each other UP, and rollouts of StatefulSets are the
// only blockers.
func (s *scene) onlyRollouts() bool {
	return len(s.h.Blockers) > 0 &&
		!slices.ContainsFunc(s.h.Blockers, func(b matrix.Blocker) bool { return !ofStatefulSet(b.Reason) })
}

// runsSince returns since when ScyllaDB runs on a new node that no node lists and that lists no
// node; zero for any other member. A row that is not kept up to date shows neither: the node may
// have joined since.
func (s *scene) runsSince(mb *cluster.Member) time.Time {
	said := s.c.Said(mb.Member)
	if mb.Service == nil || mb.RowFrozen() || mb.HasJoined() || mb.ReplaceRequested || mb.Replacing != "" ||
		said == nil ||
		said.OperationMode != modeStarting || said.HostID == "" || len(said.ObservedNodes) > 0 {
		return time.Time{}
	}
	if i, ok := s.m.Index(said.HostID); ok {
		if n := &s.m.Nodes()[i]; n.SeenUp+n.SeenDown+n.SeenUnknown > 0 {
			return time.Time{}
		}
	}
	st := cluster.ScyllaDBStatus(mb.Pod)
	if st == nil || st.State.Running == nil {
		return time.Time{}
	}
	return st.State.Running.StartedAt.Time
}
