// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Checks of all other nodes.

func (v *verifier) checkIgnoreList() finding {
	var good []string
	seen := map[hostid.ID]bool{}
	for _, raw := range v.rec.IgnoreDead {
		id, err := hostid.Parse(raw)
		switch {
		case err != nil:
			return failed(code.New(saysIgnoredMalformed, "value", raw, "why", hostid.Why(err)),
				code.New(saysIgnoredListHostIDs).Do(code.Scylla(v.in.Namespace, "status", "-o", "wide")))
		case id == v.target:
			return failed(code.New(saysIgnoredIsTarget, "node", v.name(id)), code.New(saysIgnoredTakeOff))
		case seen[id]:
			continue
		}
		seen[id] = true
		t, name := v.of(id), v.name(id)
		switch {
		case len(t.Up) > 0:
			return failed(code.New(saysIgnoredIsUp, "by", v.labels(t.Up), "node", name), code.New(saysIgnoredWouldBeBanned))
		case t.Total() > 0 && t.Listing() == 0:
			return failed(code.New(saysIgnoredNoMember, "node", name), code.New(saysIgnoredTakeOff))
		case !t.MajorityDown() || len(t.Contradict) > 0:
			return unknown(code.New(saysIgnoredNoMajority, "down", len(t.Down), "total", t.Total(), "node", name), code.New(saysReplaceWaitMajority))
		}
		good = append(good, name)
	}
	return ok(code.New(saysIgnoredAreDown, "nodes", good))
}

func (v *verifier) checkRows() finding {
	expected := v.expected()
	var missing []code.Message
	for _, id := range expected {
		if why := v.silence(id); !why.IsZero() {
			missing = append(missing, why)
		}
	}
	for i := range v.m.Nodes() {
		if n := &v.m.Nodes()[i]; n.HostID == "" && n.Row != nil {
			missing = append(missing, code.New(saysNodeHasNoHostID, "node", refName(n.Row.Reporter)))
		}
	}
	for _, dc := range v.in.NotVerified {
		missing = append(missing, code.New(saysDatacenterCannotBeAsked, "datacenter", dc))
	}
	if len(missing) == 0 && !v.heard() {
		missing = append(missing, code.New(saysNoOtherRow))
	}
	if len(missing) > 0 {
		return unknown(code.New(saysReplaceFacts, "facts", missing), code.New(saysReplaceWaitRows))
	}
	if len(expected) == 1 {
		return ok(code.New(saysRowFreshOne))
	}
	return ok(code.New(saysRowsFresh, "others", len(expected)))
}

func (v *verifier) checkOthersUp() finding {
	if split := v.m.SplitFact(); !split.IsZero() {
		return failed(split, seeStatus(v.in))
	}
	if !v.in.Away.IsZero() && !v.placeGivenUp() {
		return failed(code.New(saysPlaceAway, "datacenter", v.in.Self.Datacenter, "rack", v.in.Away.Params["rack"]), v.in.Away)
	}
	expected := v.expected()
	var down, unsure []code.Message
	for _, id := range expected {
		t := v.of(id)
		switch {
		case len(t.Down) > 0:
			down = append(down, code.New(saysNodeSeenDownBy, "by", v.labels(t.Down), "node", v.name(id)))
		case len(t.Unknown)+len(t.NotListed) > 0:
			unsure = append(unsure, code.New(saysNodeNotSaidUp, "by", v.labels(t.Unknown, t.NotListed), "node", v.name(id)))
		}
	}
	switch {
	case len(down) > 0:
		return failed(code.New(saysReplaceFacts, "facts", append(down, unsure...)), v.excludeDead(v.target))
	case len(unsure) > 0:
		return unknown(code.New(saysReplaceFacts, "facts", unsure), code.New(saysOthersWait))
	case !v.heard():
		return unknown(code.New(saysNoOtherFreshRow), seeStatus(v.in))
	case len(expected) == 1:
		return ok(code.New(saysOtherIsUp))
	}
	return ok(code.New(saysOthersAreUp, "others", len(expected)))
}

// placeGivenUp is true where the list of nodes to ignore names every other node of the member's datacenter, or rack, that is away: the person has said that they do not return.
func (v *verifier) placeGivenUp() bool {
	_, rack := v.in.Away.Params["rack"]
	self := v.in.Self
	return !slices.ContainsFunc(v.m.Nodes(), func(n matrix.Node) bool {
		return n.Datacenter == self.Datacenter && (!rack || n.Rack == self.Rack) && !n.Removed && !v.apart(n.HostID)
	})
}

// checkQuorum: the request is a write of group 0, which needs a majority of its voters. Since 2025.2 at most five nodes vote, so a count of members proves nothing: a leader that fresh rows
// name has a majority, because a leader of group 0 that does not hear one steps down. Only where no row names one, as before 6.0, members are counted, and the check can be skipped.
func (v *verifier) checkQuorum() finding {
	expected := v.expected()
	if c := v.m.Coordinator(); v.leads(c, expected) {
		return ok(code.New(saysQuorumLed, "node", v.name(c.HostID)))
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
		return unknown(code.New(saysNoOtherFreshRow), seeStatus(v.in))
	case up*2 > total:
		return ok(code.New(saysQuorumAlive, "up", up, "total", total))
	}
	return failed(code.New(saysQuorumLost, "up", up, "total", total), code.New(saysQuorumBringBack))
}

// leads is true for a coordinator that most fresh rows name, its own among them, and that most rows do not see DOWN. Nodes that have not heard of an election name the former one.
func (v *verifier) leads(c matrix.Coordinator, expected []hostid.ID) bool {
	at, known := v.m.Index(c.HostID)
	if !known || c.HostID == "" || 2*c.Named <= c.Rows || !slices.Contains(expected, c.HostID) {
		return false
	}
	n, t := &v.m.Nodes()[at], v.of(c.HostID)
	return n.Reports && n.Row.Coordinator == c.HostID && 2*len(t.Down) <= t.Total()
}

// checkNoOperation: an open operation without a host ID is one all the same; released versions do not say which node it is about.
func (v *verifier) checkNoOperation() finding {
	found := v.memberOperations()
	for _, op := range v.in.Operations {
		if cluster.OperationOpen(op) && (op.HostID == "" || op.HostID != v.newcomer) {
			found = append(found, cluster.OperationFact(op, v.name(op.HostID)))
		}
	}
	nodes := v.m.Nodes()
	for i := range nodes {
		if nodes[i].HostID == "" || nodes[i].HostID == v.target || nodes[i].HostID == v.newcomer {
			continue
		}
		states := v.of(nodes[i].HostID).States
		for _, s := range []matrix.State{matrix.StateJoining, matrix.StateLeaving, matrix.StateReplacing, matrix.StateBeingReplaced} {
			if len(states[s]) > 0 {
				found = append(found, code.New(saysNodeIsInState, "node", v.name(nodes[i].HostID), "state", stateName(s)))
				break
			}
		}
	}
	slices.SortFunc(found, compareMessages)
	found = slices.CompactFunc(found, func(a, b code.Message) bool { return compareMessages(a, b) == 0 })
	switch {
	case len(found) > 0:
		return failed(code.New(saysReplaceFacts, "facts", found), code.New(saysOperationWait))
	case !v.in.OperationsKnown:
		return unknown(code.New(saysOperationsNotAsked), code.New(saysOperationsLookYourself, "check", CheckNoOperation))
	}
	return ok(code.New(saysNoOperation))
}

// memberOperations are those that labels tell of.
func (v *verifier) memberOperations() []code.Message {
	var found []code.Message
	for _, o := range v.in.Others {
		if o.ReplacingOpen && !laterThan(o, v.in, v.rec) {
			found = append(found, code.New(saysMemberIsReplaced, "member", o.Member, "original", o.Replacing))
		}
		if o.Decommissioning {
			found = append(found, code.New(saysMemberDecommissioned, "node", refName(o.Ref), "label", api.LabelDecommissioned))
		}
	}
	if value := v.in.Service.Labels[api.LabelDecommissioned]; value != "" {
		found = append(found, code.New(saysTargetDecommissioned, "member", v.in.Self.Member, "label", api.LabelDecommissioned, "value", value))
	}
	return found
}

// laterThan reports whether the other's replacement must wait for ours instead of the other way round: both were accepted, neither has
// deleted anything, and ours was first.
func laterThan(o Other, in *Input, rec Record) bool {
	if rec.Accepted == "" || o.ReplacingDeleted {
		return false
	}
	if !o.ReplacingSince.Equal(rec.StartedAt) {
		return o.ReplacingSince.After(rec.StartedAt)
	}
	return o.Member > in.Self.Member
}
