// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// MendNetwork is the step for every node that is DOWN while the cluster is in parts: "replace it" is the wrong advice for a node that is only
// out of sight. Who shows the parts themselves need not repeat it.
const MendNetwork = "mend the network first: the cluster has fallen into parts that do not see each other"

// nextStep says what a person can do about a finding. What is known of the node beside the rows comes first; then that it is DOWN, because
// what keeps a node DOWN keeps its row away too, and one cause has one step.
func (m *Matrix) nextStep(f *finding) string {
	if f.observed < 0 {
		return "restart the reporter of " + m.nodes[f.observer].Name() + " if this lasts; a node always has a host ID"
	}
	n := &m.nodes[f.observed]
	fate := m.opts.Fates[n.HostID]
	switch {
	case n.HostID == "":
		return "see that " + n.Name() + " starts; its host ID is recorded on its Service once ScyllaDB has one"
	case fate.Step != "":
		return fate.Step
	case fate.Open:
		return "its replacement is under way; how far it is: " + inNamespace("kubectl scylla replace --status "+fate.Member, m.opts.Namespace)
	case fate.Member != "":
		return "its replacement is asked for; how far it is: " + inNamespace("kubectl scylla replace --status "+fate.Member, m.opts.Namespace)
	case m.opts.Self != nil && n.HostID == m.opts.Self.HostID:
		return "the cluster still counts the former node of this very member: replace it: " + inNamespace("kubectl scylla replace "+n.HostID, m.opts.Namespace)
	case f.reason == ReasonNodeUnknown:
		return "gossip has not settled; if this lasts, compare nodetool status on both nodes"
	case f.reason == ReasonNodeNotSeen:
		return "membership has not spread yet; if this lasts, compare nodetool status on both nodes"
	case n.SeenDown > 0:
		return m.downStep(n)
	case f.reason == ReasonRowError:
		return m.errorStep(n, f.fault)
	case n.Member == "" && n.Row == nil:
		return "if it runs in another datacenter, bring that one's report here; if it is gone for good, remove it: nodetool removenode " + n.HostID
	case n.Member == "" && f.reason == ReasonRowStale:
		return "see that the report of datacenter " + cmp.Or(n.Datacenter, "it belongs to") + " is kept and can be read"
	case f.reason == ReasonRowStale:
		return "see that it and its reporter run: " + m.command(n, "kubectl get pod "+n.Member)
	}
	return "see that " + n.Name() + " runs and that its reporter writes the Pod's annotation"
}

func (m *Matrix) downStep(n *Node) string {
	if m.parted {
		return MendNetwork
	}
	switch n.State {
	case StateJoining, StateReplacing:
		return "wait until it has joined; if it stopped, its log says why: " + m.logs(n, api.ContainerScyllaDB)
	case StateLeaving:
		return "start it again so that it can finish leaving, or remove it from another node: nodetool removenode " + n.HostID
	case StateBeingReplaced:
		return "wait until its replacement has joined"
	}
	if n.Member == "" && n.Row == nil {
		return "if it runs in another datacenter, start it there; if it is gone for good, remove it: nodetool removenode " + n.HostID
	}
	replace := m.command(n, "kubectl scylla replace "+n.HostID)
	if n.Member != "" && n.Row != nil && n.Row.Error != "" && n.Row.Fault == FaultScyllaDB {
		return "its log says why: " + m.logs(n, api.ContainerScyllaDB) + "; if it is lost: " + replace
	}
	return "see that it runs and is reached; if it is lost, replace it: " + replace
}

// errorStep is for a row that cannot be used of a node that nobody sees DOWN.
func (m *Matrix) errorStep(n *Node, fault Fault) string {
	switch fault {
	case FaultScyllaDB:
		return "look at that ScyllaDB, its log says why: " + m.logs(n, api.ContainerScyllaDB)
	case FaultPod:
		return "see that its Pod runs and can be reached: " + m.command(n, "kubectl get pod "+cmp.Or(n.Member, "POD"))
	case FaultReport:
		return "see that the controller runs: it writes the report anew"
	}
	return "the row heals with its next report; if not, the reporter's log says why: " + m.logs(n, api.ContainerReporter)
}

// forceStep is for a datacenter that nobody here can ask.
func (m *Matrix) forceStep() string {
	member := "MEMBER"
	if m.opts.Self != nil {
		member = cmp.Or(m.opts.Self.Member, member)
	}
	return "check there by hand that every node sees every node UP, then let the newcomer through: " +
		inNamespace("kubectl scylla force-proceed "+member, m.opts.Namespace)
}

func (m *Matrix) logs(n *Node, container string) string {
	return m.command(n, "kubectl logs "+cmp.Or(n.Member, "POD")+" -c "+container)
}

// command is a command about a node, in its namespace. A node without a member's name is not of this namespace, or nobody knows.
func (m *Matrix) command(n *Node, text string) string {
	namespace := ""
	if n.Member != "" {
		namespace = m.opts.Namespace
		if n.Row != nil {
			namespace = cmp.Or(n.Row.Namespace, namespace)
		}
	}
	return inNamespace(text, namespace)
}

func inNamespace(command, namespace string) string {
	if namespace == "" {
		return command
	}
	return command + " -n " + namespace
}
