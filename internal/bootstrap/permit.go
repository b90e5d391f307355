// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Permission is the known state of a member's permit.
type Permission struct {
	// View is the newest known view; nil where there is none.
	View *api.StatusReportView
	// Override is the report that an override names in place of the cluster's own; empty without one. It is another cluster's report, with another cluster's permits.
	Override string
	// Old is the reason why the view is too old to be used; zero where it is fresh, and where its age is not known, as outside the Pod.
	Old code.Message
	// Back is set while the API server keeps showing an older view than View; zero otherwise.
	Back code.Message
	// Claim is the name of the member's data claim, ClaimUID its UID, empty where there is no such claim. Both count only where ClaimKnown is true: a caller outside the Pod may
	// not know them.
	Claim      string
	ClaimKnown bool
	ClaimUID   types.UID
	// PodUID is the UID of the member's Pod; empty where the caller is outside the Pod and has not read it.
	PodUID types.UID
}

// From takes the view of a cluster's report, which is nil where there is none.
func (p *Permission) From(r *api.ScyllaDBStatusReport, cluster string) {
	switch {
	case r == nil:
	case r.Name != cluster:
		p.Override = r.Name
	default:
		p.View = r.Status.View
	}
}

// Why a member waits for its permit: reasons of a view's queue, beside those of package matrix.
const (
	QueuePod           code.Code = "PermitWaitsForPod"           // nodes
	QueueTurn          code.Code = "PermitWaitsForTurn"          // nodes
	QueueOnItsWay      code.Code = "PermitWaitsForNewcomer"      // nodes
	QueueMembersNotUp  code.Code = "PermitWaitsForMembers"       // nodes
	QueueTargetNotDown code.Code = "PermitWaitsForTargetDown"    // nodes
	QueueStabilising   code.Code = "PermitWaitsForStability"     // nodes
	QueueFounder       code.Code = "PermitOfFounder"             // nodes
	QueueFirstNode     code.Code = "PermitWaitsForFirstNode"     // nodes
	QueueLeaving       code.Code = "PermitWaitsForLeaving"       // nodes
	QueueOld           code.Code = "PermitWaitsForReading"       // nodes
	QueueTrailing      code.Code = "PermitWaitsForLog"           // nodes: the member and the leader; entries
	QueueSchema        code.Code = "PermitWaitsForSchema"        // nodes
	QueueRefused       code.Code = "PermitWaitsForReason"        // nodes, reason: one of package matrix
	queueUnknown       code.Code = "PermitWaitsForUnknownReason" // reason
)

// Causes and steps of permits.
const (
	CauseNoView       code.Code = "NoViewYet"
	CauseNoPermits    code.Code = "ControllerGivesNoPermits"
	CauseNotQueued    code.Code = "PermitNotQueued"
	CauseQueued       code.Code = "PermitQueued"        // place, waiting, why
	CauseOtherClaim   code.Code = "PermitForOtherClaim" // claim, uid, permitted
	CauseOtherKind    code.Code = "PermitForOtherKind"  // kind, permitted
	CauseOtherPod     code.Code = "PermitForOtherPod"   // uid, permitted
	CauseHold         code.Code = "ViewHolds"           // reason
	CauseViewNotUp    code.Code = "ViewHasNotUp"        // nodes
	CauseViewUnseen   code.Code = "ViewNotSeenToAdvance"
	CauseViewOld      code.Code = "ViewTooOld"       // age, limit
	CauseViewBack     code.Code = "ViewWentBack"     // shown, seen, limit
	CauseOverride     code.Code = "ViewOfAnOverride" // report
	StepMakeView      code.Code = "MakeView"         // command: install --upgrade
	StepGoByReports   code.Code = "GoByReports"
	StepWaitForPermit code.Code = "WaitForPermit"     // command: status
	StepPermitKinds   code.Code = "UpgradeForPermits" // command: install --upgrade
	StepOtherFounder  code.Code = "StartFounder"      // founder
	StepForgetViews   code.Code = "ForgetViews"       // command: delete the Pod
)

// kindOf is the kind of permit that a start needs.
func kindOf(replaces code.Message, m *matrix.Matrix) api.PermitKind {
	switch {
	case !replaces.IsZero():
		return api.PermitReplace
	case m.Empty():
		return api.PermitForm
	}
	return api.PermitJoin
}

// Permit is the kind of permit that a start by this decision needs; empty for one that needs none: a restart, or a forced start.
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

// Blockers are the reasons why the view does not let the member start in this way; none where it does. dead are the host IDs that must be DOWN; all others must be UP.
func (p *Permission) Blockers(self matrix.Ref, namespace string, kind api.PermitKind, dead []hostid.ID) []matrix.Blocker {
	pending := func(cause, step code.Message) []matrix.Blocker {
		return []matrix.Blocker{{Reason: matrix.ReasonPermitPending, Observed: self, Cause: cause, Step: step}}
	}
	see := code.New(StepWaitForPermit).Do(code.Scylla(namespace, "status"))
	upgrade := code.Scylla("", "install", "--upgrade")
	switch v := p.View; {
	case p.Override != "":
		step := code.New(StepGoByReports)
		return []matrix.Blocker{{Reason: matrix.ReasonPermitPending, Observed: self, Cause: code.New(CauseOverride, "report", p.Override), Step: step}}
	case v == nil:
		step := code.New(StepMakeView).Do(upgrade)
		return []matrix.Blocker{{Reason: matrix.ReasonPermitPending, Observed: self, Cause: code.New(CauseNoView), Step: step}}
	case v.Policy != api.PolicyPermits:
		step := code.New(StepPermitKinds).Do(upgrade)
		return []matrix.Blocker{{Reason: matrix.ReasonPermitPending, Observed: self, Cause: code.New(CauseNoPermits), Step: step}}
	case !p.Back.IsZero():
		step := code.New(StepForgetViews).Do(code.Kubectl(namespace, "delete", "pod", self.Member))
		return []matrix.Blocker{{Reason: matrix.ReasonPermitPending, Observed: self, Cause: p.Back, Step: step}}
	}
	at := slices.IndexFunc(p.View.Permits, func(x api.StatusReportViewPermit) bool { return x.Member == self.Member })
	if at < 0 {
		if founder := p.View.Founder; kind == api.PermitForm && founder != "" && founder != self.Member {
			see = code.New(StepOtherFounder, "founder", founder)
		}
		return pending(p.queued(self.Member), see)
	}
	if !p.Old.IsZero() {
		// A view is written again for as long as it has an open permit. A view without a permit may stay the same for hours: its age is no sign of a silent controller.
		return []matrix.Blocker{{Reason: matrix.ReasonControllerSilent, Cause: p.Old, Step: code.New(StepStartController)}}
	}
	var list []matrix.Blocker
	other := func(cause code.Message) {
		list = append(list, matrix.Blocker{Reason: matrix.ReasonPermitOther, Observed: self, Cause: cause, Step: see})
	}
	permit := &p.View.Permits[at]
	if p.ClaimKnown && permit.PVCUID != p.ClaimUID {
		other(code.New(CauseOtherClaim, "claim", p.Claim, "uid", string(p.ClaimUID), "permitted", string(permit.PVCUID)))
	}
	if p.PodUID != "" && permit.PodUID != p.PodUID {
		// The controller has judged the Pod that waited then. It withdraws the permit once it sees the new one.
		other(code.New(CauseOtherPod, "uid", string(p.PodUID), "permitted", string(permit.PodUID)))
	}
	if permit.Kind != kind {
		other(code.New(CauseOtherKind, "kind", string(kind), "permitted", string(permit.Kind)))
	}
	held := func(cause code.Message) {
		list = append(list, matrix.Blocker{Reason: matrix.ReasonViewHeld, Cause: cause, Step: see})
	}
	if p.View.Hold != "" {
		held(code.New(CauseHold, "reason", p.View.Hold))
	}
	if bad := NotUp(p.View.Members, dead); len(bad) > 0 {
		held(code.New(CauseViewNotUp, "nodes", bad[:min(3, len(bad))]))
	}
	return list
}

// queued is the member's place in the queue, with the reason why it waits.
func (p *Permission) queued(member string) code.Message {
	at := slices.IndexFunc(p.View.Queue, func(w api.StatusReportViewWaiting) bool { return w.Member == member })
	if at < 0 {
		return code.New(CauseNotQueued)
	}
	return code.New(CauseQueued, "place", at+1, "waiting", max(len(p.View.Queue), int(p.View.Waiting)), "why", Waits(p.View.Queue[at]))
}

// Waits is the reason why a member in the queue waits.
func Waits(w api.StatusReportViewWaiting) code.Message {
	reason := code.Code(w.Reason)
	switch reason {
	case QueuePod, QueueTurn, QueueOnItsWay, QueueMembersNotUp, QueueTargetNotDown, QueueStabilising, QueueFounder, QueueFirstNode, QueueLeaving, QueueOld, QueueSchema:
		return code.Message{Code: reason, Params: code.Params{"nodes": w.Nodes}}
	}
	if reason == QueueTrailing && len(w.Nodes) > 0 {
		m := code.New(reason, "node", w.Nodes[0])
		if len(w.Nodes) > 1 {
			m.Params["leader"] = w.Nodes[1]
		}
		if w.Entries > 0 {
			m.Params["entries"] = int(w.Entries)
		}
		return m
	}
	if slices.Contains(matrix.Reasons(), matrix.Reason(w.Reason)) {
		return code.New(QueueRefused, "reason", w.Reason, "nodes", w.Nodes)
	}
	return code.New(queueUnknown, "reason", w.Reason) // of a newer controller
}

// NotUp are the members of a view that are not in the state that a start needs: UP, or DOWN where their host ID is among dead.
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
