// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Checks of all other nodes.

func (v *verifier) checkIgnoreList() finding {
	var good []string
	seen := map[hostid.ID]bool{}
	for _, raw := range v.rec.IgnoreDead {
		id, err := hostid.Parse(raw)
		switch {
		case err != nil:
			return failed(words.New(words.IgnoredMalformed, "value", raw, "why", hostid.Why(err)),
				words.New(words.IgnoredListHostIDs).Do(words.Scylla(v.in.Namespace, "status", "-o", "wide")))
		case id == v.target:
			return failed(words.New(words.IgnoredIsTarget, "node", v.name(id)), words.New(words.IgnoredTakeOff))
		case seen[id]:
			continue
		}
		seen[id] = true
		t, name := v.of(id), v.name(id)
		switch {
		case len(t.Up) > 0:
			return failed(words.New(words.IgnoredIsUp, "by", v.labels(t.Up), "node", name),
				words.New(words.IgnoredWouldBeBanned))
		case v.noMember(id):
			return failed(words.New(words.IgnoredNoMember, "node", name), words.New(words.IgnoredTakeOff))
		case !t.MajorityDown() || len(t.Contradict) > 0:
			return unknown(words.New(words.IgnoredNoMajority, "down", len(t.Down), "total", t.Total(), "node", name),
				words.New(words.ReplaceWaitMajority).Do(v.statusCommand()))
		}
		good = append(good, name)
	}
	return ok(words.New(words.IgnoredAreDown, "nodes", good))
}

func (v *verifier) checkRows() finding {
	expected := v.expected()
	var missing []words.Message
	for _, id := range expected {
		if why := v.silence(id); !why.IsZero() {
			missing = append(missing, why)
		}
	}
	for i := range v.m.Nodes() {
		if n := &v.m.Nodes()[i]; n.HostID == "" && n.Row != nil {
			missing = append(missing, words.New(words.NodeHasNoHostID, "node", refName(n.Row.Reporter)))
		}
	}
	for _, dc := range v.in.NotVerified {
		missing = append(missing, words.New(words.DatacenterCannotBeAsked, "datacenter", dc))
	}
	if len(missing) == 0 && !v.heard() {
		missing = append(missing, words.New(words.NoOtherRow))
	}
	if len(missing) > 0 {
		return unknown(words.New(words.ReplaceFacts, "facts", missing),
			words.New(words.ReplaceWaitRows).Do(v.statusCommand()))
	}
	if len(expected) == 1 {
		return ok(words.New(words.RowFreshOne))
	}
	return ok(words.New(words.RowsFresh, "others", len(expected)))
}

func (v *verifier) checkOthersUp() finding {
	if split := v.m.SplitFact(); !split.IsZero() {
		return failed(split, seeStatus(v.in))
	}
	if !v.in.Away.IsZero() && !v.placeGivenUp() {
		return failed(words.New(words.PlaceAway, "datacenter", v.in.Self.Datacenter, "rack", v.in.Away.Params["rack"]),
			v.in.Away)
	}
	expected := v.expected()
	var down, unsure []words.Message
	for _, id := range expected {
		t := v.of(id)
		switch {
		case len(t.Down) > 0:
			down = append(down, words.New(words.NodeSeenDownBy, "by", v.labels(t.Down), "node", v.name(id)))
		case len(t.Unknown)+len(t.NotListed) > 0:
			unsure = append(unsure, words.New(words.NodeNotSaidUp, "by", v.labels(t.Unknown, t.NotListed), "node",
				v.name(id)))
		}
	}
	switch {
	case len(down) > 0:
		return failed(words.New(words.ReplaceFacts, "facts", append(down, unsure...)), v.excludeDead(v.target))
	case len(unsure) > 0:
		return unknown(words.New(words.ReplaceFacts, "facts", unsure),
			words.New(words.OthersWait).Do(v.statusCommand()))
	case !v.heard():
		return unknown(words.New(words.NoOtherFreshRow), seeStatus(v.in))
	case len(expected) == 1:
		return ok(words.New(words.OtherIsUp))
	}
	return ok(words.New(words.OthersAreUp, "others", len(expected)))
}

// placeGivenUp reports whether the ignore list names all other nodes of the member's datacenter, or
// rack, that is DOWN: a user has declared that they will not return.
func (v *verifier) placeGivenUp() bool {
	_, rack := v.in.Away.Params["rack"]
	self := v.in.Self
	for i, n := range v.m.Nodes() {
		if v.m.Appears(i) && n.Datacenter == self.Datacenter && (!rack || n.Rack == self.Rack) && !n.Removed &&
			!v.apart(n.HostID) {
			return false
		}
	}
	return true
}

// checkQuorum checks group 0: the request is a write to it, which needs a majority of its voters.
// Since 2025.2 at most five nodes vote, so a count of members proves nothing. A leader that fresh
// rows name has a majority, because a leader that loses it steps down. If no row names a leader, as
// before 6.0, members are counted, and the check can be skipped.
func (v *verifier) checkQuorum() finding {
	expected := v.expected()
	if c := v.m.Coordinator(); v.leads(c, expected) {
		return ok(words.New(words.QuorumLed, "node", v.name(c.HostID)))
	}
	up := 0
	for _, id := range expected {
		if t := v.of(id); 2*len(t.Down) <= t.Total() {
			up++
		}
	}
	total := len(expected) + 1 + len(v.ignored)
	switch {
	case !v.heard():
		return unknown(words.New(words.NoOtherFreshRow), seeStatus(v.in))
	case up*2 > total:
		return ok(words.New(words.QuorumAlive, "up", up, "total", total))
	}
	return failed(words.New(words.QuorumLost, "up", up, "total", total), words.New(words.QuorumBringBack))
}

// leads reports whether most fresh rows name the coordinator, its own row included, and no majority
// sees it DOWN. Nodes that missed an election name the former one.
func (v *verifier) leads(c matrix.Coordinator, expected []hostid.ID) bool {
	at, known := v.m.Index(c.HostID)
	if !known || c.HostID == "" || 2*c.Named <= c.Rows || !slices.Contains(expected, c.HostID) {
		return false
	}
	n, t := &v.m.Nodes()[at], v.of(c.HostID)
	return n.Reports && n.Row.Says().Coordinator == c.HostID && 2*len(t.Down) <= t.Total()
}

// checkNoOperation also fails for an open operation without a host ID: released versions do not
// report the node of an operation.
func (v *verifier) checkNoOperation() finding {
	found := v.memberOperations()
	for _, op := range maintenance.Open(v.in.Operations) {
		if op.HostID == "" || op.HostID != v.newcomer {
			found = append(found, cluster.OperationFact(op, v.name(op.HostID)))
		}
	}
	nodes := v.m.Nodes()
	for i := range nodes {
		if nodes[i].HostID == "" || nodes[i].HostID == v.target || nodes[i].HostID == v.newcomer {
			continue
		}
		states := v.of(nodes[i].HostID).States
		for _, s := range []matrix.State{matrix.StateJoining, matrix.StateLeaving, matrix.StateReplacing,
			matrix.StateBeingReplaced} {
			if len(states[s]) > 0 {
				found = append(found, words.New(words.NodeIsInState, "node", v.name(nodes[i].HostID), "state",
					stateName(s)))
				break
			}
		}
	}
	slices.SortFunc(found, compareMessages)
	found = slices.CompactFunc(found, func(a, b words.Message) bool { return compareMessages(a, b) == 0 })
	switch {
	case len(found) > 0:
		return failed(words.New(words.ReplaceFacts, "facts", found),
			words.New(words.OperationWait).Do(v.statusCommand()))
	case !v.in.OperationsKnown:
		return unknown(words.New(words.OperationsNotAsked),
			words.New(words.OperationsLookYourself, "check", CheckNoOperation))
	}
	return ok(words.New(words.NoOperation))
}

// memberOperations returns the operations that labels and records of members show.
func (v *verifier) memberOperations() []words.Message {
	var found []words.Message
	for _, o := range v.in.Others {
		if rec := RecordOf(o); rec.Open() && !laterThan(o, v.in, v.rec) {
			found = append(found, words.New(words.MemberIsReplaced, "member", o.Member, "original", rec.target()))
		}
		if o.Decommissioning() {
			found = append(found, words.New(words.MemberDecommissioned, "node", refName(o.Recorded()), "label",
				api.LabelDecommissioned))
		}
	}
	if value := v.in.Self.Service.Labels[api.LabelDecommissioned]; value != "" {
		found = append(found, words.New(words.TargetDecommissioned, "member", v.in.Self.Member, "label",
			api.LabelDecommissioned, "value", value))
	}
	return found
}

// laterThan reports whether the replacement of o must wait for ours, not ours for it. Both are
// accepted, neither has deleted anything, and ours was first.
func laterThan(o *cluster.Member, in *Input, rec Record) bool {
	other := RecordOf(o)
	if rec.Accepted == "" || !other.cancelable(o.Claim) {
		return false
	}
	if !other.StartedAt.Equal(rec.StartedAt) {
		return other.StartedAt.After(rec.StartedAt)
	}
	return o.Member > in.Self.Member
}

// statusCommand is the command that shows the cluster.
func (v *rowEvidence) statusCommand() words.Command { return words.Scylla(v.in.Namespace, "status") }
