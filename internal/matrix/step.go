// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
)

// Next steps: the actions that cure a blocker. {node} is the node's name.
const (
	StepRestartReporter   code.Code = "RestartReporter"      // node
	StepStartMember       code.Code = "StartMember"          // node
	StepReplacementOpen   code.Code = "ReplacementOpen"      // command: how far it is
	StepReplacementAsked  code.Code = "ReplacementRequested" // command: how far it is
	StepReplaceFormerNode code.Code = "ReplaceFormerNode"    // command: replace
	StepWaitForRollback   code.Code = "WaitForRollback"      // command: its log
	StepWaitForGossip     code.Code = "WaitForGossip"        //
	StepWaitForMembership code.Code = "WaitForMembership"    //
	StepReportElsewhere   code.Code = "BringReport"          // command: status, which tells a ghost
	StepKeepReport        code.Code = "KeepDatacenterReport" // datacenter, empty when not known
	StepRunWithReporter   code.Code = "RunMemberAndReporter" // command: get the Pod
	StepWriteRow          code.Code = "RunMemberAndWriteRow" // node
	// StepMendNetwork is for every node that is DOWN while the cluster is partitioned: "replace it" is the wrong advice for a node that is only unreachable. A display that shows
	// the parts need not repeat it.
	StepMendNetwork code.Code = "MendNetwork" //
	// StepMendLink is for a node that has a row and that most rows have UP: the connection to it is broken.
	StepMendLink            code.Code = "MendLink"      //
	StepSeeDatacenter       code.Code = "SeeDatacenter" // datacenter
	StepSeeRack             code.Code = "SeeRack"       // datacenter, rack
	StepReachCutOff         code.Code = "ReachCutOffNode"
	StepWaitForJoin         code.Code = "WaitForJoin"             // command: its log
	StepFinishLeaving       code.Code = "FinishLeavingOrRemove"   // command: its log
	StepWaitForReplacement  code.Code = "WaitForReplacement"      //
	StepStartElsewhere      code.Code = "StartElsewhere"          // command: status, which tells a ghost
	StepStartThere          code.Code = "StartInItsDatacenter"    // datacenter
	StepReadLogOrReplace    code.Code = "ReadLogOrReplace"        // commands: its log, replace
	StepRunOrReplace        code.Code = "RunOrReplace"            // command: replace
	StepReadScyllaDBLog     code.Code = "ReadScyllaDBLog"         // command: its log
	StepReachPod            code.Code = "ReachPod"                // command: get the Pod
	StepRunController       code.Code = "RunController"           //
	StepReadReporterLog     code.Code = "ReadReporterLog"         // command: its log
	StepCheckElsewhereForce code.Code = "CheckElsewhereThenForce" // command: force-proceed
)

// nextStep is the next step for a finding. Facts about the node from outside the rows come first; then that it is DOWN, because the cause that keeps a node DOWN keeps its row away
// too, and one cause has one step.
func (m *Matrix) nextStep(f *finding) code.Message {
	if f.observed < 0 {
		return code.New(StepRestartReporter, "node", m.nodes[f.observer].Name())
	}
	n := &m.nodes[f.observed]
	fate := m.opts.Fates[n.HostID]
	switch {
	case m.clusters != nil || m.strays != nil:
		return code.New(StepSplitFirst) // nothing is replaced or removed before each node's cluster is known
	case n.HostID == "":
		return code.New(StepStartMember, "node", n.Name())
	case !fate.OrReplace.IsZero() && m.dead(n):
		return fate.OrReplace
	case !fate.Step.IsZero():
		return fate.Step
	case fate.Open:
		return code.New(StepReplacementOpen).Do(code.Scylla(m.opts.Namespace, "replace", "status", fate.Member))
	case fate.Member != "":
		return code.New(StepReplacementAsked).Do(code.Scylla(m.opts.Namespace, "replace", "status", fate.Member))
	case m.opts.Self != nil && n.HostID == m.opts.Self.HostID && fate.Joining && m.mayRollBack(n):
		return code.New(StepWaitForRollback).Do(m.logs(n, m.scyllaDB(n)))
	case m.opts.Self != nil && n.HostID == m.opts.Self.HostID:
		return code.New(StepReplaceFormerNode).Do(code.Scylla(m.opts.Namespace, "replace", string(n.HostID)))
	case fate.Joining:
		return code.New(StepWaitForJoin).Do(m.logs(n, m.scyllaDB(n)))
	case f.reason == ReasonNodeUnknown:
		return code.New(StepWaitForGossip)
	case f.reason == ReasonNodeNotSeen:
		return code.New(StepWaitForMembership)
	case n.SeenDown > 0:
		return m.downStep(n)
	case f.reason == ReasonRowError:
		return m.errorStep(n, f.trouble.Fault(m.scyllaDB(n)))
	case n.Member == "" && n.Row == nil:
		return code.New(StepReportElsewhere).Do(m.status())
	case n.Member == "" && f.reason == ReasonRowStale:
		return code.New(StepKeepReport, "datacenter", n.Datacenter)
	case f.reason == ReasonRowStale:
		return code.New(StepRunWithReporter).Do(m.getPod(n))
	}
	return code.New(StepWriteRow, "node", n.Name())
}

// mayRollBack is true for a node that may still be joining, so that ScyllaDB rolls its join back when it stops. Rows with states that list it as a plain member prove that its join
// is over: a member is DOWN then. A row that could not be made has no states, and proves nothing.
func (m *Matrix) mayRollBack(n *Node) bool {
	return n.State != StateNormal || slices.ContainsFunc(m.nodes, func(o Node) bool {
		return o.Row != nil && o.Row.NoStates && o.Row.Reported && o.Row.Trouble.IsZero()
	})
}

func (m *Matrix) downStep(n *Node) code.Message {
	if m.parted {
		return code.New(StepMendNetwork)
	}
	if step := m.PlaceAway(n.HostID); !step.IsZero() {
		return step
	}
	switch few := 2*n.SeenDown <= n.SeenUp+n.SeenDown+n.SeenUnknown+n.NotSeen; {
	case few && n.Reports:
		return code.New(StepMendLink)
	case n.Reports && n.Member != "" && n.State == StateNormal:
		return code.New(StepReachCutOff) // its own row proves that it runs
	case few && n.Member != "" && n.State == StateNormal:
		return code.New(StepReachPod).Do(m.getPod(n)) // most rows do not have it DOWN
	}
	switch n.State {
	case StateJoining, StateReplacing:
		return code.New(StepWaitForJoin).Do(m.logs(n, m.scyllaDB(n)))
	case StateLeaving:
		// ScyllaDB refuses to remove a node that is leaving (storage_service.cc:2804): it has to come back.
		return code.New(StepFinishLeaving).Do(m.logs(n, api.ContainerScyllaDB))
	case StateBeingReplaced:
		return code.New(StepWaitForReplacement)
	}
	switch {
	case n.Member == "" && n.Row == nil:
		return code.New(StepStartElsewhere).Do(m.status())
	case n.Member == "" && n.Datacenter != "" && m.isElsewhere(n):
		return code.New(StepStartThere, "datacenter", n.Datacenter)
	}
	faulty := n.Row != nil && !n.Row.Trouble.IsZero() && n.Row.Trouble.Fault(m.scyllaDB(n)) == FaultScyllaDB
	replace := code.Scylla(m.namespace(n), "replace", string(n.HostID))
	switch may := m.replaceable(n); {
	case n.Member == "":
		return code.New(StepReportElsewhere).Do(m.status()) // only a member is replaced
	case may && faulty:
		return code.New(StepReadLogOrReplace).Do(m.logs(n, m.scyllaDB(n)), replace)
	case may:
		return code.New(StepRunOrReplace).Do(replace)
	case faulty: // it may come back without help
		return code.New(StepReadScyllaDBLog).Do(m.logs(n, m.scyllaDB(n)))
	}
	return code.New(StepReachPod).Do(m.getPod(n))
}

// errorStep is for an unusable row of a node that no row has DOWN.
func (m *Matrix) errorStep(n *Node, fault Fault) code.Message {
	switch fault {
	case FaultScyllaDB:
		return code.New(StepReadScyllaDBLog).Do(m.logs(n, m.scyllaDB(n)))
	case FaultPod:
		return code.New(StepReachPod).Do(m.getPod(n))
	case FaultReport:
		return code.New(StepRunController)
	}
	return code.New(StepReadReporterLog).Do(m.logs(n, api.ContainerReporter))
}

// forceStep is for a datacenter whose nodes cannot be asked from here.
func (m *Matrix) forceStep() code.Message {
	member := "MEMBER"
	if m.opts.Self != nil {
		member = cmp.Or(m.opts.Self.Member, member)
	}
	return code.New(StepCheckElsewhereForce).Do(code.Scylla(m.opts.Namespace, "force-proceed", member))
}

func (m *Matrix) scyllaDB(n *Node) string { return m.opts.Containers.Container(n.Member) }

func (m *Matrix) logs(n *Node, container string) code.Command {
	return code.Kubectl(m.namespace(n), "logs", cmp.Or(n.Member, "POD"), "-c", container)
}

func (m *Matrix) getPod(n *Node) code.Command {
	return code.Kubectl(m.namespace(n), "get", "pod", cmp.Or(n.Member, "POD"))
}

// status is the command that judges a host ID without a member: the rows alone do not distinguish a ghost from a node of another datacenter.
func (m *Matrix) status() code.Command { return code.Scylla(m.opts.Namespace, "status") }

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
