// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func (s *scene) down() {
	for k := range s.h.Blockers {
		if b := &s.h.Blockers[k]; b.Reason == words.ScyllaDBHalted { // a new node, which no row has
			s.add(Finding{Kind: NodeDown, Scope: Scope{Level: LevelNode, Nodes: []matrix.Ref{b.Observed}},
				Message: words.New(words.FindingNodeNotServing, "node", b.Observed.Name(), "why", b.Cause),
				Step:    b.Step}, k)
		}
	}
	for _, i := range s.inFate(down) {
		n := &s.nodes[i]
		f := Finding{
			Kind: NodeDown, Scope: Scope{Level: LevelNode, Nodes: s.refs([]int{i})},
			Evidence: words.New(words.NumbersRows, "down", n.down, "up", n.up, "rows", n.rows, "machine", s.machine(n)),
		}
		f.Message, f.Step = s.downMessage(n)
		if n.rows == 0 || n.down+n.up == 0 {
			f.Evidence = words.Message{}
		}
		made := s.add(f)
		s.give(made, []int{i})
		// One row may have had the state long before the others. Rows without times have the Pod's.
		if since := s.m.DownSince(n.HostID); !n.DownSince.IsZero() {
			made.Since = n.DownSince
		} else if !since.IsZero() {
			made.Since = since
		}
	}
}

// machine is the state of a node's Kubernetes node; empty if that does not exist, which is then the
// cause.
func (s *scene) machine(n *node) words.Message {
	on := s.c.KubernetesNode(n.pod())
	if on.State == cluster.KubernetesNodeGone {
		return words.Message{}
	}
	return on.Fact()
}

// downMessage returns why a node is DOWN, and what to do.
func (s *scene) downMessage(n *node) (message, step words.Message) {
	pod := n.pod()
	step = s.step(n)
	why := words.Message{}
	switch {
	case pod == nil && s.c.KnowsPods():
		if why = s.c.Trouble(n.Member); !why.IsZero() {
			break
		}
		why = words.New(words.BecauseNoPod)
		if step.Code == words.ApplyParallel || step.Code == words.LowerOrdinalFirst {
			break // the reason is known
		}
		step = s.do(words.SeeStatefulSet, evidence.Facts{"statefulSet": n.set()})
	case pod == nil:
	case s.c.DataGone(n.Member):
		why = words.New(words.DataIsGone, "member", n.Name())
	case s.c.KubernetesNode(pod).State == cluster.KubernetesNodeGone:
		why = words.New(words.BecauseKubernetesNodeGone, "kubernetesNode", pod.Spec.NodeName)
	case !s.c.Trouble(n.Member).IsZero():
		why = s.c.Trouble(n.Member)
	// containers with a status were on a Kubernetes node
	case pod.Spec.NodeName == "" && len(pod.Status.ContainerStatuses) == 0:
		why = words.New(words.BecauseNoPlace, "waits", cluster.PodWaiting(pod))
		if step.IsZero() {
			step = s.do(words.SeeSchedule, evidence.Facts{"pod": n.Name()})
		}
	default:
		if why = s.c.Halted(n.Member); !why.IsZero() {
			break
		}
		why = cluster.BecausePod(pod)
		for _, k := range n.about {
			// A Pod without trouble explains nothing; the reason for its missing row does.
			if b := &s.h.Blockers[k]; cluster.Serving(pod) && b.Reason == words.RowError && !b.Cause.IsZero() {
				why = b.Cause
			}
		}
	}
	if n.down == 0 && !why.IsZero() {
		return words.New(words.FindingNodeNotServing, "node", n.Name(), "why", why), step
	}
	return words.New(words.FindingNodeDown, "node", n.Name(), "why", why), step
}

// MayReplace reports whether the step names a replacement.
func MayReplace(step words.Message) bool {
	return slices.ContainsFunc(step.Commands, func(c words.Command) bool {
		return slices.Contains(c, "replace") &&
			!slices.Contains(c, "status") && !slices.Contains(c, "cancel")
	})
}
