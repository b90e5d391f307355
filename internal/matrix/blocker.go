// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// gravity lists every reason, the most severe first: two clusters of one name, states that do not
// pass with time, invalid user input, nodes that are DOWN, missing rows, and states that pass with
// time.
var gravity = [...]words.Code{
	words.SplitCluster,
	words.DataDirectoryUnusable,
	words.ForeignVolume,
	words.HostIDShared,
	words.ClaimDeleting,
	words.DecommissionLabel,
	words.DecommissionStuck,
	words.ScyllaDBHalted,
	words.ForceValueInvalid,
	words.ReplaceRequestInvalid,
	words.LabelMissing,
	words.VolumeUnreadable,
	words.VersionTooOld,
	words.Isolated,
	words.ControllerSilent,
	words.ReportMissing,
	words.ReplacedNodeUp,
	words.PodToBeReplaced,
	words.NodeDown,
	words.NoOtherSeed,
	words.SeedsOfAnotherCluster,
	words.ReportOutdated,
	words.OperatorDegraded,
	words.RolloutInProgress,
	words.PodsNotReady,
	words.FirstNodePending,
	words.OneNewcomerAtATime,
	words.ReporterSilent,
	words.RowError,
	words.RowMissing,
	words.HostIDMissing,
	words.RowStale,
	words.NodeUnknown,
	words.NodeNotSeen,
	words.DatacenterNotVerified,
	words.PermitForOther,
	words.ViewHeld,
	words.PermitPending,
	words.Stabilising,
}

// Rank orders reasons by severity: a smaller rank is more severe. Unknown reasons come last.
func Rank(r words.Code) int {
	for i, known := range gravity {
		if r == known {
			return i
		}
	}
	return len(gravity)
}

// Reasons returns every reason, the most severe first.
func Reasons() []words.Code { return slices.Clone(gravity[:]) }

// gravity orders statuses by how strongly they block a new node.
func (s Status) gravity() int {
	switch s {
	case Down:
		return 3
	case Up:
		return 0
	case Missing:
		return 1
	}
	return 2
}

// Better reports whether the status blocks a new node less than the other.
func (s Status) Better(than Status) bool { return s.gravity() < than.gravity() }

// String returns the wire value: UP, DOWN, UNKNOWN; MISSING for Missing.
func (s Status) String() string {
	switch s {
	case Up:
		return string(api.NodeStatusUp)
	case Down:
		return string(api.NodeStatusDown)
	case Missing:
		return string(api.NodeStatusMissing)
	}
	return string(api.NodeStatusUnknown)
}

// ParseStatus accepts exactly UP and DOWN; everything else is Unknown.
func ParseStatus(text string) Status {
	switch api.NodeStatus(text) {
	case api.NodeStatusUp:
		return Up
	case api.NodeStatusDown:
		return Down
	}
	return Unknown
}

var states = [...]api.NodeState{
	StateNormal:         api.NodeStateNormal,
	StateJoining:        api.NodeStateJoining,
	StateLeaving:        api.NodeStateLeaving,
	StateReplacing:      api.NodeStateReplacing,
	StateBeingReplaced:  api.NodeStateBeingReplaced,
	StateDecommissioned: api.NodeStateDecommissioned,
}

// String returns the wire value: NORMAL, JOINING, LEAVING, REPLACING, BEING_REPLACED,
// DECOMMISSIONED.
func (s State) String() string {
	if int(s) < len(states) {
		return string(states[s])
	}
	return string(api.NodeStateNormal)
}

// ParseState is the reverse of String; everything else is StateNormal, which relaxes nothing.
func ParseState(text string) State {
	return State(max(0, slices.Index(states[:], api.NodeState(text))))
}

// Short returns the first group of the host ID, which distinguishes nodes.
func (r Ref) Short() string { return r.HostID.Short() }

// Name returns the node's name in a sentence: member, else place, else host ID. Never empty.
func (r Ref) Name() string {
	switch {
	case r.Member != "":
		return r.Member
	case r.Ordinal != nil:
		return cmp.Or(r.Datacenter, "?") + "/" + cmp.Or(r.Rack, "?") + "/" + strconv.Itoa(int(*r.Ordinal))
	case r.HostID != "":
		return "host ID " + string(r.HostID)
	}
	return "a node without a name"
}

// String returns Name with the first characters of the host ID: "demo-rack3-0 (1ffac2bb)".
func (r Ref) String() string {
	if r.HostID == "" || (r.Member == "" && r.Ordinal == nil) {
		return r.Name()
	}
	return r.Name() + " (" + r.Short() + ")"
}

func (r Ref) equal(other Ref) bool { return compareRefs(&r, &other) == 0 && r.Member == other.Member }

// Object identifies what the blocker is about: a node by its host ID, else by its name; else a
// StatefulSet or datacenter; empty for the whole cluster.
func (b *Blocker) Object() string {
	ref := b.Observed
	if ref == (Ref{}) {
		ref = b.Observer
	}
	set, _ := b.Cause.Params["statefulSet"].(string)
	switch {
	case ref.HostID != "":
		return string(ref.HostID)
	case ref.Member != "" || ref.Ordinal != nil:
		return ref.Name()
	}
	return cmp.Or(set, ref.Datacenter)
}

// Count returns 1 + More.
func (b Blocker) Count() int { return 1 + b.More }

// FalseFirst orders false before true.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// SortBlockers sorts blockers by severity, then the observed node's place, then the topology
// coordinator before other observers, then the observer's place.
func SortBlockers(blockers []Blocker) {
	slices.SortStableFunc(blockers, func(x, y Blocker) int {
		if x.Reason != y.Reason {
			return cmp.Or(cmp.Compare(Rank(x.Reason), Rank(y.Reason)),
				strings.Compare(string(x.Reason), string(y.Reason)))
		}
		if c := compareRefs(&x.Observed, &y.Observed); c != 0 {
			return c
		}
		return cmp.Or(
			-FalseFirst(x.Coordinator, y.Coordinator),
			compareRefs(&x.Observer, &y.Observer),
			strings.Compare(x.Detail, y.Detail),
			strings.Compare(string(x.Cause.Code), string(y.Cause.Code)),
		)
	})
}

// Group is every blocker with one reason about one observed node.
type Group struct {
	Reason   words.Code `json:"reason"`
	Observed Ref        `json:"observed,omitzero"`
	// Since is the earliest; of a node that is DOWN the latest, as Node.DownSince.
	Since time.Time `json:"since,omitzero"`
	// Observers are the nodes whose rows show it; empty if the blockers are not about pairs.
	Observers []Ref `json:"observers,omitempty"`
	// Total is how many blockers the group stands for, including those that Blocker.More counts.
	Total  int           `json:"total"`
	Detail string        `json:"detail,omitempty"` // of the first
	Step   words.Message `json:"step,omitzero"`    // of the first

	first *Blocker
}

// GroupBlockers joins equal blockers of several observers about one node, in the order of their
// first appearance, so that a screen stays short. total is how many blockers the groups stand for.
func GroupBlockers(blockers []Blocker) (groups []Group, total int) {
	type key struct {
		reason words.Code
		hostID hostid.ID
		place  place
		detail string // of blockers that are not about a pair
		cause  string
	}
	index := map[key]int{}
	for n := range blockers {
		b := &blockers[n]
		total += b.Count()
		k := key{reason: b.Reason, hostID: b.Observed.HostID, place: b.Observed.place()}
		if b.Observer == (Ref{}) {
			k.detail, k.cause = b.Detail, b.Cause.Key()
		}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, Group{
				Reason: b.Reason, Observed: b.Observed, Since: b.Since, Detail: b.Detail, Step: b.Step, first: b,
			})
		}
		g := &groups[i]
		g.Total += b.Count()
		if b.Reason == words.NodeDown && b.Since.After(g.Since) ||
			b.Reason != words.NodeDown && earlier(b.Since, g.Since) {
			g.Since = b.Since
		}
		if b.Observer != (Ref{}) {
			g.Observers = append(g.Observers, b.Observer)
		}
	}
	return groups, total
}

// Count returns how many blockers the group stands for.
func (g Group) Count() int { return g.Total }
