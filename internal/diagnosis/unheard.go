// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
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

// ended reports new nodes whose container ended before they joined, without a ScyllaDB log or a
// node's answer that shows why. Its exit code is the exit code of the image's entrypoint: 0 after
// SIGTERM and after an error of its own, whatever ScyllaDB ended with
// (dist/docker/docker-entrypoint.py).
func (s *scene) ended() {
	for _, name := range s.c.Newcomers() {
		end := cluster.LastEnd(s.c.Pod(name))
		if v, err := bootstrap.VerdictOf(s.c, name); end == nil ||
			err == nil && v.Decision == bootstrap.DecisionRefuse {
			continue
		}
		self := s.c.Place(name)
		s.remark(Finding{
			Kind: NodeEnded, Scope: Scope{Nodes: []matrix.Ref{self}}, Since: end.FinishedAt.Time,
			Message: words.New(words.FindingNodeEnded, "node", self.Name(), "code", int(end.ExitCode)),
			Step:    s.do(words.SeeWhyEnded, s.asker.factsOf(name)),
		})
	}
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
