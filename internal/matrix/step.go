// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// nextStep is the next step for a finding. Facts about the node from outside the rows come first; then that it is DOWN, because the cause that keeps a node DOWN keeps its row away
// too, and one cause has one step.
func (m *Matrix) nextStep(f *finding) words.Message {
	if f.observed < 0 {
		return words.New(words.RestartReporter, "node", m.nodes[f.observer].Name())
	}
	n := &m.nodes[f.observed]
	fate := m.opts.Fates[n.HostID]
	switch {
	case m.clusters != nil || m.strays != nil:
		return words.New(words.TellClustersApartFirst) // nothing is replaced or removed before each node's cluster is known
	case n.HostID == "":
		return words.New(words.StartMember, "node", n.Name())
	case !fate.OrReplace.IsZero() && m.dead(n):
		return fate.OrReplace
	case !fate.Step.IsZero():
		return fate.Step
	case fate.Open:
		return words.New(words.ReplacementOpen).Do(words.Scylla(m.opts.Namespace, "replace", "status", fate.Member))
	case fate.Member != "":
		return words.New(words.ReplacementRequested).Do(words.Scylla(m.opts.Namespace, "replace", "status", fate.Member))
	case m.opts.Self != nil && n.HostID == m.opts.Self.HostID && fate.Joining && m.mayRollBack(n):
		return words.New(words.WaitForRollback).Do(m.logs(n, m.scyllaDB(n)))
	case m.opts.Self != nil && n.HostID == m.opts.Self.HostID:
		return words.New(words.ReplaceFormerNode).Do(words.Scylla(m.opts.Namespace, "replace", string(n.HostID)))
	case fate.Joining:
		return words.New(words.WaitForJoin).Do(m.logs(n, m.scyllaDB(n)))
	case f.reason == words.NodeUnknown:
		return words.New(words.WaitForGossip)
	case f.reason == words.NodeNotSeen:
		return words.New(words.WaitForMembership)
	case n.SeenDown > 0:
		return m.downStep(n)
	case f.reason == words.RowError:
		return m.errorStep(n, f.trouble.Fault(m.scyllaDB(n)))
	case n.Member == "" && n.Row == nil:
		return words.New(words.BringReport).Do(m.status())
	case n.Member == "" && f.reason == words.RowStale:
		return words.New(words.KeepDatacenterReport, "datacenter", n.Datacenter)
	case f.reason == words.RowStale:
		return words.New(words.RunMemberAndReporter).Do(m.getPod(n))
	}
	return words.New(words.RunMemberAndWriteRow, "node", n.Name())
}

// mayRollBack is true for a node that may still be joining, so that ScyllaDB rolls its join back when it stops. Rows with states that list it as a plain member prove that its join
// is over: a member is DOWN then. A row that could not be made has no states, and proves nothing.
func (m *Matrix) mayRollBack(n *Node) bool {
	return n.State != StateNormal || slices.ContainsFunc(m.nodes, func(o Node) bool {
		return o.Row != nil && o.Row.NoStates && o.Row.Reported && o.Row.Trouble.IsZero()
	})
}

func (m *Matrix) downStep(n *Node) words.Message {
	if m.parted {
		return words.New(words.MendNetwork)
	}
	if step := m.PlaceAway(n.HostID); !step.IsZero() {
		return step
	}
	switch few := 2*n.SeenDown <= n.SeenUp+n.SeenDown+n.SeenUnknown+n.NotSeen; {
	case few && n.Reports:
		return words.New(words.MendLink)
	case n.Reports && n.Member != "" && n.State == StateNormal:
		return words.New(words.ReachCutOffNode) // its own row proves that it runs
	case few && n.Member != "" && n.State == StateNormal:
		return words.New(words.ReachPod).Do(m.getPod(n)) // most rows do not have it DOWN
	}
	switch n.State {
	case StateJoining, StateReplacing:
		return words.New(words.WaitForJoin).Do(m.logs(n, m.scyllaDB(n)))
	case StateLeaving:
		// ScyllaDB refuses to remove a node that is leaving (storage_service.cc:2804): it has to come back.
		return words.New(words.FinishLeavingOrRemove).Do(m.logs(n, api.ContainerScyllaDB))
	case StateBeingReplaced:
		return words.New(words.WaitForReplacement)
	}
	switch {
	case n.Member == "" && n.Row == nil:
		return words.New(words.StartElsewhere).Do(m.status())
	case n.Member == "" && n.Datacenter != "" && m.isElsewhere(n):
		return words.New(words.StartInItsDatacenter, "datacenter", n.Datacenter)
	}
	faulty := n.Row != nil && !n.Row.Trouble.IsZero() && n.Row.Trouble.Fault(m.scyllaDB(n)) == FaultScyllaDB
	replace := words.Scylla(m.namespace(n), "replace", string(n.HostID))
	switch may := m.replaceable(n); {
	case n.Member == "":
		return words.New(words.BringReport).Do(m.status()) // only a member is replaced
	case may && faulty:
		return words.New(words.ReadLogOrReplace).Do(m.logs(n, m.scyllaDB(n)), replace)
	case may:
		return words.New(words.RunOrReplace).Do(replace)
	case faulty: // it may come back without help
		return words.New(words.ReadScyllaDBLog).Do(m.logs(n, m.scyllaDB(n)))
	}
	return words.New(words.ReachPod).Do(m.getPod(n))
}

// errorStep is for an unusable row of a node that no row has DOWN.
func (m *Matrix) errorStep(n *Node, fault Fault) words.Message {
	switch fault {
	case FaultScyllaDB:
		return words.New(words.ReadScyllaDBLog).Do(m.logs(n, m.scyllaDB(n)))
	case FaultPod:
		return words.New(words.ReachPod).Do(m.getPod(n))
	case FaultReport:
		return words.New(words.RunController)
	}
	return words.New(words.ReadReporterLog).Do(m.logs(n, api.ContainerReporter))
}

// forceStep is for a datacenter whose nodes cannot be asked from here.
func (m *Matrix) forceStep() words.Message {
	member := "MEMBER"
	if m.opts.Self != nil {
		member = cmp.Or(m.opts.Self.Member, member)
	}
	return words.New(words.CheckElsewhereThenForce).Do(words.Scylla(m.opts.Namespace, "force-proceed", member))
}

func (m *Matrix) scyllaDB(n *Node) string { return m.opts.Containers.Container(n.Member) }

func (m *Matrix) logs(n *Node, container string) words.Command {
	return words.Kubectl(m.namespace(n), "logs", cmp.Or(n.Member, "POD"), "-c", container)
}

func (m *Matrix) getPod(n *Node) words.Command {
	return words.Kubectl(m.namespace(n), "get", "pod", cmp.Or(n.Member, "POD"))
}

// status is the command that judges a host ID without a member: the rows alone do not distinguish a ghost from a node of another datacenter.
func (m *Matrix) status() words.Command { return words.Scylla(m.opts.Namespace, "status") }

// isElsewhere is true for a node of a datacenter none of whose nodes is a member here.
func (m *Matrix) isElsewhere(n *Node) bool {
	return !slices.ContainsFunc(m.nodes, func(o Node) bool { return o.Member != "" && o.Datacenter == n.Datacenter })
}

// namespace is that of commands about a node. It is empty for a node without a member's name: such a node is not of this namespace, or its namespace
// is not known.
func (m *Matrix) namespace(n *Node) string {
	if n.Member == "" {
		return ""
	}
	if n.Row != nil {
		return cmp.Or(n.Row.Namespace, m.opts.Namespace)
	}
	return m.opts.Namespace
}

// podName is "namespace/name" of a node's Pod, or as much of it as is known.
func (m *Matrix) podName(n *Node) string {
	namespace := m.opts.Namespace
	if n.Row != nil {
		namespace = cmp.Or(n.Row.Namespace, namespace)
	}
	if namespace == "" {
		return n.Name()
	}
	return namespace + "/" + n.Name()
}
