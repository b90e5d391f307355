// SPDX-License-Identifier: Apache-2.0

package rules

import "time"

// Stage of the request that is under way. service/topology_state_machine.hh transition_state.
type Stage string

const (
	Accept   Stage = "join_group0"         // its node is told, and is to see every normal node UP
	ReadOld  Stage = "write_both_read_old" // a barrier of every node, and streaming
	ReadNew  Stage = "write_both_read_new" // a barrier of every node
	LeftRing Stage = "left_token_ring"     // the leaving node is told
	Rollback Stage = "rollback_to_normal"
	Done     Stage = ""
)

// RingDelay is ring_delay_ms. db/config.cc.
const RingDelay = 30 * time.Second

// First is the stage with which a request begins. TC:4082-4172; since 6.0.
func (k Kind) First() Stage {
	if k == Join || k == Replace {
		return Accept
	}
	return ReadOld
}

// After is the stage that follows one that went well. A zero-token node is a member once it is
// accepted. TC:3282, TC:3612-3740; since 6.0.
func (k Kind) After(s Stage, zeroToken bool) Stage {
	switch {
	case s == Accept && !zeroToken:
		return ReadOld
	case s == ReadOld:
		return ReadNew
	case s == ReadNew && k.Ends() == Left:
		return LeftRing
	}
	return Done
}

// Failed is the stage that follows one that failed. The barrier of ReadNew may fail: the request
// goes on after RingDelay. TC:3255-3270, TC:3545-3605, TC:3647, TC:4931; since 6.0.
func (k Kind) Failed(s Stage) Stage {
	switch {
	case s == Accept || s == ReadOld && k.RolledBack() == Left:
		return Rollback
	case s == ReadOld:
		return Done
	}
	return s
}

// Breaks is true where ReadOld fails, its barrier or its streaming: one of the dead is in the way, or
// the node itself is DOWN, unless it is being removed. TC:495-535, TC:3590, TC:3596; since 6.0.
func Breaks(t Topology, k Kind, id string, alive Alive) bool {
	return len(InTheWay(t, k, Dead(t, alive)...)) > 0 || k != Remove && !alive(id)
}

// Modes of a node, as REST names them. SS:2550.
const (
	ModeStarting       = "STARTING"
	ModeJoining        = "JOINING"
	ModeBootstrap      = "BOOTSTRAP"
	ModeNormal         = "NORMAL"
	ModeLeaving        = "LEAVING"
	ModeDecommissioned = "DECOMMISSIONED"
)

// Mode of a node that joins or replaces, until it is COMPLETED: it is JOINING from its acceptance
// on, and BOOTSTRAP from the beginning of its streaming on, which a zero-token node has not.
// SS:1682, SS:4960; since 6.0.
func (s Stage) Mode() string {
	if s == ReadOld || s == ReadNew {
		return ModeBootstrap
	}
	return ModeJoining
}

// Begins is the state of a node from the moment at which its request begins. One that joins or
// replaces has it once it is accepted, and is None until then. TC:4082-4172; since 6.0.
func (k Kind) Begins() State {
	return map[Kind]State{Join: Bootstrapping, Replace: Replacing, Leave: Decommissioning, Remove: Removing}[k]
}

// Ends is the state of a node whose request is done. A replaced node is Left in the same step.
// TC:3674, TC:3690-3740; since 6.0.
func (k Kind) Ends() State {
	if k == Leave || k == Remove {
		return Left
	}
	return Normal
}

// RolledBack is the state of a node whose request began and failed. A replaced node stays Normal,
// and banned. TC:3264, TC:4931-4950; since 6.0.
func (k Kind) RolledBack() State {
	if k == Join || k == Replace {
		return Left
	}
	return Normal
}

// Cancelled is the state of a node whose queued request is cancelled, for dead nodes or because
// its turn was refused: a member stays one. TC:301-333, TC:4045; since 6.0.
func (k Kind) Cancelled() State { return k.RolledBack() }
