// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// groupObservers is how many observers Group.Text names before it counts.
const groupObservers = 3

// gravity lists every reason, the gravest first: what waiting cannot help, what a person typed wrong, who is down, who is silent,
// what time heals.
var gravity = [...]Reason{
	ReasonDataDirectory,
	ReasonForceInvalid,
	ReasonReplaceInvalid,
	ReasonLabelMissing,
	ReasonControllerSilent,
	ReasonReportMissing,
	ReasonNodeDown,
	ReasonRowError,
	ReasonRowMissing,
	ReasonHostIDMissing,
	ReasonRowStale,
	ReasonNodeUnknown,
	ReasonNodeNotSeen,
	ReasonDatacenterUnverified,
}

// Rank orders reasons by gravity: the smaller, the graver. Unknown reasons come last.
func (r Reason) Rank() int {
	for i, known := range gravity {
		if r == known {
			return i
		}
	}
	return len(gravity)
}

// Reasons lists every reason, the gravest first.
func Reasons() []Reason { return slices.Clone(gravity[:]) }

// gravity orders statuses by what they mean for a newcomer.
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

// String gives the wire's word: UP, DOWN, UNKNOWN; MISSING for Missing.
func (s Status) String() string {
	switch s {
	case Up:
		return string(api.NodeStatusUp)
	case Down:
		return string(api.NodeStatusDown)
	case Missing:
		return "MISSING"
	}
	return string(api.NodeStatusUnknown)
}

// ParseStatus knows exactly "UP" and "DOWN"; everything else is Unknown.
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

// String gives the wire's word: NORMAL, JOINING, LEAVING, REPLACING, BEING_REPLACED, DECOMMISSIONED.
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

// Short is the host ID cut to what tells it apart: the first group of a UUID, and other texts whole.
func (r Ref) Short() string {
	const uuid = 36
	if len(r.HostID) == uuid && r.HostID[8] == '-' {
		return r.HostID[:8]
	}
	return r.HostID
}

// Name is how the node is called in a sentence: member, else place, else host ID. Never empty.
func (r Ref) Name() string {
	switch {
	case r.Member != "":
		return r.Member
	case r.Ordinal != nil:
		return cmp.Or(r.Datacenter, "?") + "/" + cmp.Or(r.Rack, "?") + "/" + strconv.Itoa(int(*r.Ordinal))
	case r.HostID != "":
		return "host ID " + r.HostID
	}
	return "a node without a name"
}

// String is Name with the first characters of the host ID: "demo-rack3-0 (1ffac2bb)".
func (r Ref) String() string {
	if r.HostID == "" || (r.Member == "" && r.Ordinal == nil) {
		return r.Name()
	}
	return r.Name() + " (" + r.Short() + ")"
}

func (r Ref) equal(other Ref) bool { return compareRefs(&r, &other) == 0 && r.Member == other.Member }

// Text says the blocker in one line: "demo-rack2-0 (35d0f1aa) sees demo-rack3-0 (1ffac2bb) DOWN since 12s". With a zero now the
// age is left out.
func (b Blocker) Text(now time.Time) string {
	text := b.fact()
	if b.Detail != "" && b.Reason != ReasonForceInvalid && b.Reason != ReasonReplaceInvalid {
		text += ": " + b.Detail
	}
	if b.More > 0 {
		text += fmt.Sprintf(" (and so do %d more nodes)", b.More)
	}
	return text + since(b.Since, now)
}

func (b Blocker) fact() string {
	switch b.Reason {
	case ReasonNodeDown:
		if b.Observer.equal(b.Observed) {
			return b.Observer.String() + " sees itself DOWN"
		}
		return b.Observer.String() + " sees " + b.Observed.String() + " DOWN"
	case ReasonNodeUnknown:
		return b.Observer.String() + " cannot say whether " + b.Observed.String() + " is UP"
	case ReasonNodeNotSeen:
		return b.Observer.String() + " does not list " + b.Observed.String()
	case ReasonRowMissing:
		return "nothing is known of whom " + b.Observed.String() + " sees"
	case ReasonRowError:
		return "the report of " + b.Observed.String() + " cannot be used"
	case ReasonRowStale:
		return "the report of " + b.Observed.String() + " is old"
	case ReasonHostIDMissing:
		if b.Observed == (Ref{}) {
			return b.Observer.String() + " lists a node without a host ID"
		}
		return "the host ID of " + b.Observed.String() + " is not known yet"
	case ReasonDatacenterUnverified:
		return "datacenter " + b.Observed.Datacenter + " was not verified: nobody here can ask its nodes"
	case ReasonReportMissing:
		return "there is no report of who sees whom, and the cluster is not new"
	case ReasonForceInvalid:
		return fmt.Sprintf("annotation %s on the Service of %s is %q; only %q opens", api.AnnotationForceProceed, b.Observed.Name(), b.Detail, api.ForceProceedValue)
	case ReasonReplaceInvalid:
		return fmt.Sprintf("label %s on the Service of %s is empty, so nobody knows which node to replace", api.LabelReplacingNodeHostID, b.Observed.Name())
	case ReasonLabelMissing:
		return "the place of " + b.Observed.Name() + " is not known"
	case ReasonDataDirectory:
		return "the data directory of " + b.Observed.Name() + " cannot be used again"
	case ReasonControllerSilent:
		return "the controller that keeps the reports is silent"
	}
	return string(b.Reason)
}

// Count is 1 and what More stands for.
func (b Blocker) Count() int { return 1 + b.More }

// SortBlockers puts blockers in their one order: gravity, then the observed node's place, then the observer's.
func SortBlockers(blockers []Blocker) {
	slices.SortStableFunc(blockers, func(x, y Blocker) int {
		return cmp.Or(
			cmp.Compare(x.Reason.Rank(), y.Reason.Rank()),
			strings.Compare(string(x.Reason), string(y.Reason)),
			compareRefs(&x.Observed, &y.Observed),
			compareRefs(&x.Observer, &y.Observer),
			strings.Compare(x.Detail, y.Detail),
		)
	})
}

// Group is every blocker with one reason about one observed node.
type Group struct {
	Reason   Reason    `json:"reason"`
	Observed Ref       `json:"observed,omitzero"`
	Since    time.Time `json:"since,omitzero"` // the earliest
	// Observers say it; empty when the blockers are not about pairs.
	Observers []Ref `json:"observers,omitempty"`
	// Total is how many blockers the group stands for, those that Blocker.More counts among them.
	Total    int    `json:"total"`
	Detail   string `json:"detail,omitempty"` // of the first
	NextStep string `json:"nextStep,omitempty"`

	first Blocker
}

// GroupBlockers collapses what several observers say of the same node, in the order of their first appearance, so that a screen stays
// short; total is how many blockers they stand for.
func GroupBlockers(blockers []Blocker) (groups []Group, total int) {
	type key struct {
		reason Reason
		hostID string
		place  place
		detail string // of blockers that are not about a pair
	}
	index := map[key]int{}
	for _, b := range blockers {
		total += b.Count()
		k := key{reason: b.Reason, hostID: b.Observed.HostID, place: b.Observed.place()}
		if b.Observer == (Ref{}) {
			k.detail = b.Detail
		}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, Group{
				Reason: b.Reason, Observed: b.Observed, Since: b.Since, Detail: b.Detail, NextStep: b.NextStep, first: b,
			})
		}
		g := &groups[i]
		g.Total += b.Count()
		if earlier(b.Since, g.Since) {
			g.Since = b.Since
		}
		if b.Observer != (Ref{}) {
			g.Observers = append(g.Observers, b.Observer)
		}
	}
	return groups, total
}

// Count is how many blockers the group stands for.
func (g Group) Count() int { return g.Total }

// Text says the group in one line: "rack3-0 (1ffac2bb) is seen DOWN by rack1-0, rack2-0, rack2-1 and 7 more since 12s". With a zero
// now the age is left out.
func (g Group) Text(now time.Time) string {
	if g.Total == 1 {
		return g.first.Text(now)
	}
	who := g.who()
	switch {
	case g.Reason == ReasonNodeDown:
		who = g.Observed.String() + " is seen DOWN by " + who
	case g.Reason == ReasonNodeUnknown:
		who = "whether " + g.Observed.String() + " is UP cannot be said by " + who
	case g.Reason == ReasonNodeNotSeen:
		who = g.Observed.String() + " is not listed by " + who
	case len(g.Observers) > 0:
		who = "a node without a host ID is listed by " + who
	default:
		return fmt.Sprintf("%s (%d times)", g.first.Text(now), g.Total)
	}
	return who + since(g.Since, now)
}

func (g Group) who() string {
	names := make([]string, 0, groupObservers)
	for _, o := range g.Observers[:min(groupObservers, len(g.Observers))] {
		names = append(names, o.Name())
	}
	text := strings.Join(names, ", ")
	if rest := g.Total - len(names); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// since is " since 12s", or nothing when either time is not known.
func since(from, now time.Time) string {
	if from.IsZero() || now.IsZero() {
		return ""
	}
	d := max(0, now.Sub(from))
	switch {
	case d < time.Minute:
		return fmt.Sprintf(" since %ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf(" since %dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf(" since %dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf(" since %dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}
