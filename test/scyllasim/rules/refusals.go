// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"
)

// Each of these returns ScyllaDB's text, or "" when it refuses nothing. What is refused is not
// stored: nobody is banned and no volume is lost, but for TurnedAway.

// AskedBefore refuses a join of a host ID that group 0 knows in this state. SS:6535; since 6.0.
func AskedBefore(s State) string {
	switch s {
	case Absent:
		return ""
	case Left:
		return "The node has already been removed from the cluster"
	}
	return "The node requested to join before but didn't finish the procedure. Please clear the data directory and restart."
}

// UnknownTarget is what a new node ends with that gossip does not tell of the node that it is to
// replace. It has asked for nothing yet. SS:2428; since 5.2.
func UnknownTarget(target string) string {
	return fmt.Sprintf("Replaced node with Host ID %s not found", target)
}

// Place of a node, and whether it owns no token.
type Place struct {
	DC, Rack  string
	ZeroToken bool
}

// Replacement is a request to replace a node.
type Replacement struct {
	Target   string
	Ignore   []string
	Old, New Place
	// OtherDown: the version refuses it for another node that is DOWN. Since 2026.3 (e9abb31e);
	// earlier ones store the request, and with it the ban, and cancel it then.
	OtherDown bool
}

// Refused by the member that the request reaches. SS:6554-6617; the place since 2025.1, 6.0 asks
// only whether the target is alive (6.0 SS:6444).
func (r Replacement) Refused(t Topology, alive Alive) string {
	switch {
	case alive(r.Target):
		return fmt.Sprintf("tried to replace alive node %s", r.Target)
	case t.State(r.Target) != Normal:
		return notNormal(r.Target)
	case r.Old.DC != r.New.DC || r.Old.Rack != r.New.Rack:
		return fmt.Sprintf("Cannot replace node in %s/%s with node in %s/%s", r.Old.DC, r.Old.Rack, r.New.DC, r.New.Rack)
	case r.Old.ZeroToken && !r.New.ZeroToken:
		return fmt.Sprintf("Cannot replace the zero-token node %s with a token-owning node", r.Target)
	case !r.Old.ZeroToken && r.New.ZeroToken:
		return fmt.Sprintf("Cannot replace the token-owning node %s with a zero-token node", r.Target)
	case !r.OtherDown:
		return ""
	}
	if up, down := others(t, alive, r.Target, r.Ignore); up != "" {
		return fmt.Sprintf("Cannot replace node %s because ignored node %s is alive", r.Target, up)
	} else if down != "" {
		return fmt.Sprintf("Cannot replace node %s because node %s is down and not ignored; %s", r.Target, down, cure("replacement"))
	}
	return ""
}

func notNormal(target string) string {
	return fmt.Sprintf("Cannot replace node %s because it is not in the 'normal' state", target)
}

// TurnedAway is why the coordinator ends a join or a replacement whose turn has come: it has been
// stored, so the newcomer is Left. Two nodes may ask to replace the same one. have are its
// features, enabled those of the cluster. TC:4233, TC:4250; since 6.0.
func TurnedAway(t Topology, k Kind, target, have, enabled string) string {
	switch {
	case k == Replace && t.State(target) != Normal:
		return notNormal(target)
	case (k == Join || k == Replace) && !Supports(have, enabled):
		return FeaturesLacking("{" + enabled + "}")
	}
	return ""
}

// others are an ignored node that is UP and a normal one that is DOWN and not ignored.
func others(t Topology, alive Alive, target string, ignore []string) (up, down string) {
	if i := slices.IndexFunc(ignore, alive); i >= 0 {
		up = ignore[i]
	}
	for _, id := range Dead(t, alive) {
		if id != target && !slices.Contains(ignore, id) && !t.Ignored(id) {
			down = id
		}
	}
	return up, down
}

func cure(what string) string {
	return "if the node is down, restart it before retrying " + what +
		"; if the node is unrecoverable, retry " + what + " with the node added to the ignore list"
}

// Removal is a request to remove a node. LastOwner: no other one owns tokens.
type Removal struct {
	Target    string
	Ignore    []string
	LastOwner bool
	OtherDown bool // as of a Replacement
}

// Refused by the member that the request reaches. SS:2789-2857; since 6.0.
func (r Removal) Refused(t Topology, alive Alive) string {
	rejected := fmt.Sprintf("removenode: Rejected removenode operation for node %s", r.Target)
	switch s := t.State(r.Target); {
	case s == Absent || s == Left:
		return fmt.Sprintf("removenode: host id %s is not found in the cluster", r.Target)
	case s != Normal:
		return fmt.Sprintf("removenode: node %s is in '%s' state. Wait for it to be in 'normal' state", r.Target, s)
	case r.LastOwner:
		return fmt.Sprintf("removenode: node %s cannot be removed because it is the last token-owning node in the cluster", r.Target)
	case alive(r.Target):
		return rejected + "; the node being removed is alive, maybe you should use decommission instead?"
	case !r.OtherDown:
		return ""
	}
	if up, down := others(t, alive, r.Target, r.Ignore); up != "" {
		return rejected + fmt.Sprintf("; ignored node %s is alive", up)
	} else if down != "" {
		return rejected + fmt.Sprintf(" because node %s is down and not ignored; %s", down, cure("removenode"))
	}
	return ""
}

const (
	// RequestCancelled is told to a queued newcomer whose request is cancelled. TC:3170; since 6.0.
	RequestCancelled = "request canceled because some required nodes are dead"
	// FirstZeroToken ends a zero-token node that finds no cluster. SS:1372; since 6.2.
	FirstZeroToken = "Cannot start the first node in the cluster as zero-token"
	// NotAlive begins the error of AliveWait. G:2255; since 6.0.
	NotAlive = "Failed to mark node as alive in 30000 ms"
)

// NoSeedReached ends a replacing node that reaches none of these, "{a,b}". G:1996; since 5.2.
func NoSeedReached(nodes string) string {
	return fmt.Sprintf("Unable to gossip with any nodes=%s (ShadowRound).", nodes)
}

// StreamFailed is the error of a request that is rolled back. TC:3605; since 6.0.
func StreamFailed(why string) string { return "Rolled back: Failed stream ranges: " + why }

// FeaturesLacking is why a newcomer is turned away that lacks features. TC:4250; since 6.0.
func FeaturesLacking(features string) string {
	return "Feature check failed. The node does not support some features that are enabled by the cluster: " + features
}
