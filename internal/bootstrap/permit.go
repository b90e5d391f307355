// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Permission is the known state of a member's permit.
type Permission struct {
	// View is the newest known view; nil if there is none.
	View *api.StatusReportView
	// Override is the report that an override names instead of the cluster's own; empty without
	// one. It is another cluster's report, with another cluster's permits.
	Override string
	// Old is why the view is too old to be used; zero if it is fresh or its age is unknown, as
	// outside the Pod. OldSince is since when it has not advanced; zero if unknown.
	Old      words.Message
	OldSince time.Time
	// Back is set while the API server still returns an older view than View; zero otherwise.
	Back words.Message
	// Claim is the name of the member's data PVC, ClaimUID its UID, empty if there is no such PVC.
	// Both count only if ClaimKnown is true: a caller outside the Pod possibly has not read them.
	Claim      string
	ClaimKnown bool
	ClaimUID   types.UID
	// PodUID is the UID of the member's Pod; empty if the caller is outside the Pod and has not
	// read it.
	PodUID types.UID
}

// From takes the view of a cluster's report; r is nil if there is none.
func (p *Permission) From(r *api.ScyllaDBStatusReport, cluster string) {
	switch {
	case r == nil:
	case r.Name != cluster:
		p.Override = r.Name
	default:
		p.View = r.Status.View
	}
}

// kindOf returns the kind of permit that a start needs.
func kindOf(replaces words.Message, m *matrix.Matrix) api.PermitKind {
	switch {
	case !replaces.IsZero():
		return api.PermitReplace
	case m.Empty():
		return api.PermitForm
	}
	return api.PermitJoin
}

// Permit returns the kind of permit that a start by this decision needs; empty if it needs none: a
// restart, or a forced start.
func (d Decision) Permit() api.PermitKind {
	switch d {
	case DecisionGenesis:
		return api.PermitForm
	case DecisionAllUp:
		return api.PermitJoin
	case DecisionReplacing:
		return api.PermitReplace
	}
	return ""
}

// Blockers returns why the view does not let the member start in this way, or in any way if kind is
// empty; nil if it does. dead are the host IDs that must be DOWN; all others must be UP.
func (p *Permission) Blockers(self matrix.Ref, kind api.PermitKind, dead []hostid.ID) []matrix.Blocker {
	pending := func(cause words.Message) []matrix.Blocker {
		return []matrix.Blocker{{Reason: words.PermitPending, Observed: self, Cause: cause}}
	}
	switch v := p.View; {
	case p.Override != "":
		return pending(words.New(words.ViewOfAnOverride, "report", p.Override))
	case v == nil:
		return pending(words.New(words.NoViewYet))
	case v.Policy != api.PolicyPermits:
		return pending(words.New(words.ControllerGivesNoPermits))
	case !p.Back.IsZero():
		return pending(p.Back)
	}
	at := slices.IndexFunc(p.View.Permits, func(x api.StatusReportViewPermit) bool { return x.Member == self.Member })
	if at < 0 {
		return pending(p.queued(self.Member))
	}
	if !p.Old.IsZero() {
		// The controller renews a view while it has an open permit. A view without a permit may be
		// unchanged for hours: its age does not show that the controller is not responding.
		return []matrix.Blocker{{Reason: words.ControllerSilent, Cause: p.Old, Since: p.OldSince}}
	}
	var list []matrix.Blocker
	other := func(cause words.Message) {
		list = append(list, matrix.Blocker{Reason: words.PermitForOther, Observed: self, Cause: cause})
	}
	permit := &p.View.Permits[at]
	if p.ClaimKnown && permit.PVCUID != p.ClaimUID {
		other(words.New(words.PermitForOtherClaim, "claim", p.Claim, "uid", string(p.ClaimUID), "permitted",
			string(permit.PVCUID)))
	}
	if p.PodUID != "" && permit.PodUID != p.PodUID {
		// The controller judged the Pod that waited then. It withdraws the permit when it sees the
		// new Pod.
		other(words.New(words.PermitForOtherPod, "uid", string(p.PodUID), "permitted", string(permit.PodUID)))
	}
	if kind != "" && permit.Kind != kind {
		other(words.New(words.PermitForOtherKind, "kind", string(kind), "permitted", string(permit.Kind)))
	}
	held := func(cause words.Message) {
		list = append(list, matrix.Blocker{Reason: words.ViewHeld, Cause: cause})
	}
	if p.View.Hold != "" {
		held(words.New(words.ViewHolds, "reason", p.View.Hold))
	}
	if bad := NotUp(p.View.Members, dead); len(bad) > 0 {
		held(words.New(words.ViewHasNotUp, "nodes", bad[:min(3, len(bad))]))
	}
	return list
}

// queued returns the member's place in the queue, with the reason why it waits.
func (p *Permission) queued(member string) words.Message {
	at := slices.IndexFunc(p.View.Queue, func(w api.StatusReportViewWaiting) bool { return w.Member == member })
	if at < 0 {
		return words.New(words.PermitNotQueued)
	}
	return words.New(words.PermitQueued, "place", at+1, "waiting", max(len(p.View.Queue), int(p.View.Waiting)), "why",
		Waits(p.View.Queue[at]))
}

// Waits returns the reason why a member in the queue waits.
func Waits(w api.StatusReportViewWaiting) words.Message {
	reason := words.Code(w.Reason)
	switch reason {
	case words.PermitWaitsForPod, words.PermitWaitsForTurn, words.PermitWaitsForNewcomer, words.PermitWaitsForMembers,
		words.PermitWaitsForTargetDown, words.PermitWaitsForStability, words.PermitOfFounder,
		words.PermitWaitsForFirstNode, words.PermitWaitsForCredential, words.PermitWaitsForLeaving,
		words.PermitWaitsForReading, words.PermitWaitsForSchema, words.PermitUnused:
		return words.Message{Code: reason, Params: words.Params{"nodes": w.Nodes}}
	}
	if reason == words.PermitWaitsForLog && len(w.Nodes) > 0 {
		m := words.New(reason, "node", w.Nodes[0])
		if len(w.Nodes) > 1 {
			m.Params["leader"] = w.Nodes[1]
		}
		if w.Entries > 0 {
			m.Params["entries"] = int(w.Entries)
		}
		return m
	}
	if slices.Contains(matrix.Reasons(), words.Code(w.Reason)) {
		return words.New(words.PermitWaitsForReason, "reason", w.Reason, "nodes", w.Nodes)
	}
	return words.New(words.PermitWaitsForUnknownReason, "reason", w.Reason) // of a newer controller
}

// NotUp returns the members of a view that are not in the state that a start needs: UP, or DOWN if
// their host ID is in dead.
func NotUp(members []api.StatusReportViewMember, dead []hostid.ID) []string {
	var bad []string
	for i := range members {
		m := &members[i]
		want := api.NodeStatusUp
		if slices.Contains(dead, hostid.Known(m.HostID)) {
			want = api.NodeStatusDown
		}
		if m.State != want {
			bad = append(bad, matrix.Ref{Member: m.Name, HostID: hostid.Known(m.HostID)}.Name())
		}
	}
	return bad
}
