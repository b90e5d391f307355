// SPDX-License-Identifier: Apache-2.0

package rules

import "slices"

// State of a host ID in system.topology (service/topology_state_machine.hh node_state).
type State string

// The states. A host ID that group 0 has never heard of is Absent; one whose request is queued,
// or accepted and without tokens, is None; Left is for ever. BeingReplaced is token metadata's
// alone (locator/topology.hh): in system.topology a replaced node is Normal until it has left.
const (
	Absent          State = ""
	None            State = "none"
	Bootstrapping   State = "bootstrapping"
	Replacing       State = "replacing"
	Normal          State = "normal"
	Decommissioning State = "decommissioning"
	Removing        State = "removing"
	BeingReplaced   State = "being_replaced"
	Left            State = "left"
)

// Kind of a topology request, as the task manager prints it (node_ops/task_manager_module.cc).
type Kind string

const (
	Join    Kind = "bootstrap"
	Replace Kind = "replace"
	Leave   Kind = "decommission"
	Remove  Kind = "remove node"
)

// Topology is what group 0 has agreed on, as far as a rule reads it.
type Topology interface {
	State(hostID string) State
	// Normal are the host IDs in state Normal, always in the same order.
	Normal() []string
	// Ignored is true for a host ID in ignored_nodes: one that a stored replacement or removal, or
	// exclude_node, has named as dead. It stays there when that request fails.
	Ignored(hostID string) bool
}

// Alive is what the gossip of the node that decides says of a host ID. No other node's view counts.
type Alive func(hostID string) bool

// Banned is true where every member refuses a host ID's connections. There is no way back.
// SS:790; in 6.0 SS:798.
func Banned(t Topology, hostID string) bool {
	return t.State(hostID) == Left || t.Ignored(hostID)
}

// Bans are the host IDs that are ignored, and so banned, from the moment at which a request is
// stored, whatever comes of it. SS:2860, SS build_mutation_from_join_params; since 6.0.
func Bans(target string, ignore []string) []string {
	return append([]string{target}, ignore...)
}

// Dead are the normal nodes that the topology coordinator sees DOWN, since whenever that is so:
// there is no grace. TC:253; since 6.0.
func Dead(t Topology, alive Alive) []string {
	return slices.DeleteFunc(slices.Clone(t.Normal()), alive)
}

// InTheWay are those of the dead nodes that keep a request from beginning, and that fail its
// barriers and its streaming later on. A join waits for ignored nodes too. TC:510; since 6.0.
func InTheWay(t Topology, k Kind, dead ...string) []string {
	return slices.DeleteFunc(slices.Clone(dead), func(id string) bool {
		return (k == Replace || k == Remove) && t.Ignored(id)
	})
}

// order in which requests begin. service/topology_state_machine.hh topology_request; since 6.0.
var order = []Kind{Replace, Join, Remove, Leave}

// Next is the position of the queued request that begins. It is -1 when none can: then every one
// of them is cancelled, and who has asked to join or to replace is Left. TC:301-333, TC:3132; since
// 6.0. Assumed: of two of one kind the one that was queued first begins.
func Next[R any](t Topology, queue []R, of func(R) Kind, dead []string) int {
	next, first := -1, len(order)
	for i, r := range queue {
		k := of(r)
		if at := slices.Index(order, k); at < first && len(InTheWay(t, k, dead...)) == 0 {
			next, first = i, at
		}
	}
	return next
}
