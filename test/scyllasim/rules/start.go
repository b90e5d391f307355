// SPDX-License-Identifier: Apache-2.0

package rules

import "fmt"

// Disk is what a process finds on its volume at its start.
type Disk struct {
	Decommissioned bool // system.local.bootstrapped is DECOMMISSIONED
	Completed      bool // it is COMPLETED
	Group0         bool // the ID of group 0 is there: the coordinator has accepted it
}

// Start is what decides how a process starts.
type Start struct {
	Version   Version
	Disk      Disk
	State     State  // what group 0, as the disk has it, says of the host ID
	Replaces  string // the host ID that it is told to replace
	ZeroToken bool
	Alone     bool // it has no other node's address to contact
	// What it learns on its way: the cluster to join, and whether gossip there tells of Replaces.
	Found, Gathered, Known bool
}

// Path is what a process does next.
type Path int

// The paths. A shell that has discovered or gathered asks again.
const (
	Ends       Path = iota // with a text
	Rejoins                // as the member that it is
	Discovers              // looks for a group 0 at the addresses that it has
	Gathers                // asks for the members in a shadow round, before it replaces one
	Founds                 // a new cluster
	Asks                   // to join, or to replace
	Unfinished             // is JOINING, and ends: see NoRequest
)

// Next is what the process does next, and why it ends. Discovery comes before the shadow round
// (SS:2085), up to 5.4 after it. SS:2002-2106, SS:1535-1560, SS:1697, SS:2400-2428; since 6.0.
func (s Start) Next() (Path, string) {
	d := s.Disk
	discovers := !d.Group0 && !s.Found && !s.Alone
	switch {
	case d.Decommissioned:
		return Ends, "This node was decommissioned and will not rejoin the ring unless all existing data is removed and the node is bootstrapped again"
	case d.Completed && s.State == Left:
		return Ends, "A node that already left the cluster cannot be restarted"
	case d.Completed:
		return Rejoins, ""
	case discovers && (s.Replaces == "" || s.Version.RaftTopology()):
		return Discovers, ""
	case s.Replaces != "" && s.Alone && !d.Group0:
		return Ends, NoSeedReached("{}")
	case s.Replaces != "" && !s.Gathered:
		return Gathers, ""
	case s.Replaces != "" && !s.Known:
		return Ends, UnknownTarget(s.Replaces)
	case d.Group0:
		return Unfinished, ""
	case discovers:
		return Discovers, ""
	case s.Found:
		return Asks, ""
	case s.ZeroToken:
		return Ends, FirstZeroToken
	}
	return Founds, ""
}

// NoRequest ends a process that has joined group 0 at an earlier start and was not COMPLETED, whatever
// became of its request: it waits for one that it has never made. SS:1634, SS:1718, SK:3553; in 6.0
// SS:1808. Its mode is JOINING then.
func NoRequest(id string) string { return fmt.Sprintf("no entry for request id %s", id) }

// BannedBy is the end, with code 0, of a process whose host ID a member has banned: that member tells
// it. It does not end so when its own group 0 has it as Left. SS:6981; since 2026.1. Earlier ones
// find their connections closed, and wait.
func BannedBy(member string) string {
	return fmt.Sprintf("received notification of being banned from the cluster from %s, terminating.", member)
}
