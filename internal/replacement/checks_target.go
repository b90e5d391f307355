// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Checks of the request and of the node that is replaced.

func (v *verifier) checkRequest() finding {
	in, rec := v.in, v.rec
	if rec.Requested && rec.Value != "" {
		if _, valid := rec.Address(); !valid {
			return failed(code.New(saysReplaceLabelMalformed, "label", api.LabelReplace, "value", rec.Value), emptyLabel(in))
		}
	}
	for _, name := range rec.SkipChecks {
		i := slices.IndexFunc(checks(), func(c check) bool { return c.name == name })
		cure := code.New(saysReplaceSkippableChecks, "checks", CheckNames())
		switch {
		case i < 0:
			return failed(code.New(saysReplaceCheckUnknown, "annotation", api.AnnotationReplaceSkipChecks, "check", name), cure)
		case checks()[i].fixed:
			return failed(code.New(saysReplaceCheckNotSkippable, "annotation", api.AnnotationReplaceSkipChecks, "check", name), cure)
		}
	}
	if len(rec.Problems) > 0 {
		return failed(code.New(saysReplaceRecordMalformed, "problems", rec.Problems),
			code.New(saysReplaceCorrectRecord, "namespace", in.Namespace, "member", in.Self.Member))
	}
	return ok(code.New(saysReplaceRequestReadable))
}

func emptyLabel(in *Input) code.Message {
	return code.New(saysReplaceEmptyLabel).Do(code.Kubectl(in.Namespace, "label", "--overwrite", "service", in.Self.Member, api.LabelReplace+"="))
}

func (v *verifier) checkHostID() finding {
	in, rec, member := v.in, v.rec, v.in.Self.Member
	switch {
	case rec.HasOriginal && !rec.OriginalError.IsZero():
		give := code.Scylla(in.Namespace, "replace", "resume", member, "--host-id", "HOSTID")
		if in.Operator {
			give = code.Kubectl(in.Namespace, "label", "--overwrite", "service", member, api.LabelReplacingNodeHostID+"=HOSTID")
		}
		return failed(rec.OriginalError, code.New(CureGiveHostID).Do(code.Scylla(in.Namespace, "status"), give))
	case rec.HasOriginal:
		return ok(code.New(saysReplaceOriginalRecorded, "hostID", v.target, "member", member))
	}
	if in.Self.HostID == "" {
		evidence := code.New(saysReplaceHostIDMissing, "annotation", api.AnnotationHostID, "member", member)
		lost := in.Joined != nil && *in.Joined
		if recorded := in.Service.Annotations[api.AnnotationHostID]; recorded != "" {
			_, err := hostid.Parse(recorded)
			evidence = code.New(saysReplaceHostIDMalformed, "annotation", api.AnnotationHostID, "value", recorded, "member", member, "why", hostid.Why(err))
			lost = true
		}
		if lost { // its volume may hold the only copy of its data, so no command to delete it is given
			return failed(evidence, code.New(saysReplaceHostIDLost).Do(code.Scylla(in.Namespace, "status"),
				code.Kubectl(in.Namespace, "annotate", "--overwrite", "service", member, api.AnnotationHostID+"=HOSTID")))
		}
		return failed(evidence, code.New(saysReplaceNeverHadHostID).Do(code.Scylla(in.Namespace, "status")))
	}
	return ok(code.New(saysReplaceHostIDRecorded, "hostID", v.target, "member", member))
}

func (v *verifier) checkBootstrapped() finding {
	name, joined := v.name(v.target), v.in.Joined
	switch {
	case joined != nil && *joined:
		return ok(code.New(saysReplaceHasJoined, "node", name, "annotation", api.AnnotationNodeJoined))
	case v.member.result == OK:
		// The annotation follows the newest process; the peers' list follows the cluster.
		return ok(code.New(saysReplaceMemberOfPeers, "node", name))
	case joined != nil:
		return failed(code.New(saysReplaceNeverJoined, "node", name, "annotation", api.AnnotationNodeJoined),
			code.New(saysReplaceLetJoinAnew, "member", v.in.Self.Member))
	}
	return unknown(code.New(saysReplaceJoinUnconfirmed, "member", v.in.Self.Member, "annotation", api.AnnotationNodeJoined), code.New(saysReplaceOnlyWithData))
}

func (v *verifier) checkMember() finding {
	t, name := v.of(v.target), v.name(v.target)
	var odd []code.Message
	for _, s := range []matrix.State{
		matrix.StateJoining, matrix.StateLeaving, matrix.StateReplacing, matrix.StateBeingReplaced, matrix.StateDecommissioned,
	} {
		if s == matrix.StateBeingReplaced && v.resume {
			continue // the failed attempt may still show; check attempt-ended judges it
		}
		if by := v.labels(t.States[s]); len(by) > 0 {
			odd = append(odd, code.New(saysNodeListedAs, "by", by, "node", name, "state", stateName(s)))
		}
	}
	switch {
	case t.Total() == 0:
		return unknown(code.New(saysReplaceMemberNobodySays), seeStatus(v.in))
	case t.Listing() == 0:
		return failed(code.New(saysReplaceNoMember, "by", v.labels(t.NotListed), "hostID", v.target), v.nothingToReplace())
	case len(odd) > 0:
		return failed(code.New(saysReplaceFacts, "facts", odd), code.New(saysReplaceOnlyNormal))
	case len(t.NotListed) > 0:
		return unknown(code.New(saysReplaceMemberDisputed, "by", v.labels(t.Listers()), "not", v.labels(t.NotListed)), code.New(saysReplaceWaitAgreement))
	}
	return ok(code.New(saysReplaceNormalMember, "listing", t.Listing(), "total", t.Total(), "node", name))
}

func seeStatus(in *Input) code.Message {
	return code.New(saysReplaceSeeStatus).Do(code.Scylla(in.Namespace, "status"))
}

// checkDown: invariant 5. Only fresh rows of other members count; ignored nodes do not count, and a row that contradicts itself is never DOWN.
func (v *opinions) checkDown() finding {
	t, name := v.of(v.target), v.name(v.target)
	switch {
	case t.Total() == 0:
		return unknown(code.New(saysReplaceNobodySees, "node", name), seeStatus(v.in))
	case len(t.Up) > 0:
		return failed(code.New(saysNodeSeenUp, "by", v.labels(t.Up), "node", name), code.New(saysReplaceAliveCannot))
	case !t.MajorityDown():
		return unknown(code.New(saysReplaceNoMajority, "down", len(t.Down), "total", t.Total(), "node", name,
			"unsure", v.labels(t.Unknown), "not", v.labels(t.NotListed)), code.New(saysReplaceWaitMajority))
	case len(t.Contradict) > 0:
		return unknown(code.New(saysReplaceContradicted, "by", v.labels(t.Contradict), "node", name), code.New(saysReplaceWaitAgreement))
	}
	return ok(code.New(saysNodeSeenDown, "by", v.labels(t.Down), "node", name, "down", len(t.Down), "total", t.Total()))
}

// checkDownFor requires that the majority has reported DOWN for long enough: a Pod that restarts is DOWN for a moment, and its data is intact.
func (v *verifier) checkDownFor() finding {
	t, name, now, dead := v.of(v.target), v.name(v.target), v.in.Now, cmp.Or(v.in.Dead, healthpolicy.Dead)
	since, known := t.DownSince()
	switch {
	case !known:
		return unknown(code.New(saysReplaceDownSinceUnknown, "node", name), code.New(saysReplaceCheckYourself, "check", CheckDownFor))
	case now.Sub(since) < floorDown:
		f := failed(code.New(saysReplaceDownTooShort, "node", name, "since", clock(since, now), "minimum", floorDown),
			code.New(saysReplaceWaitUntil, "until", clock(since.Add(dead), now)))
		f.hard = true
		return f
	case now.Sub(since) < dead:
		return failed(code.New(saysReplaceDownTooShort, "node", name, "since", clock(since, now), "minimum", dead),
			code.New(saysReplaceWaitUntil, "until", clock(since.Add(dead), now)))
	}
	return ok(code.New(saysReplaceDownSince, "node", name, "since", clock(since, now)))
}

func (v *opinions) checkNotAlive() finding {
	p := v.in.Pod
	switch {
	case p == nil:
		return ok(code.New(saysPodAbsent))
	case p.Ready && !p.Deleting:
		return failed(code.New(saysPodServes, "pod", p.Name), code.New(saysReplaceCutOff))
	case !p.Paused.IsZero() && (p.HostID == "" || p.HostID == v.target):
		f := failed(code.New(saysPodAlive, "pod", p.Name, "why", p.Paused), p.Resume)
		f.hard = true // a restart brings it back, or shows that it is dead
		return f
	}
	return ok(code.New(saysPodNotReady, "pod", p.Name))
}

// manyRestarts tells a crash loop, which is no start, from a container that was started again.
const manyRestarts = 3

// checkJustStarted: a Pod that is on its way up on an intact volume is a restart, not a dead node.
func (v *verifier) checkJustStarted() finding {
	p, now := v.in.Pod, v.in.Now
	intact := len(v.in.Claims) > 0 && !slices.ContainsFunc(v.in.Claims, func(c Claim) bool { return c.Deleting })
	wait := code.New(saysReplaceStartingWait, "check", CheckJustStarted)
	switch {
	case p == nil || p.Deleting:
		if ss := v.in.StatefulSet; ss != nil && ss.Rolling && intact {
			return failed(code.New(saysStatefulSetRolling, "set", ss.Name), wait)
		}
		return ok(code.New(saysPodAbsent))
	case !intact:
		return ok(code.New(saysPodWithoutVolume, "pod", p.Name))
	case !p.Unscheduled.IsZero():
		return failed(code.New(saysPodUnscheduled, "pod", p.Name, "waits", p.Waiting), p.Unscheduled)
	case p.KubernetesNodeLost:
		return ok(code.New(saysPodNodeLost, "pod", p.Name, "node", p.KubernetesNode))
	case p.Scheduled && p.Initialising && !v.heldForEviction():
		return failed(code.New(saysPodInitialising, "pod", p.Name, "waits", p.Waiting), wait)
	case now.Sub(p.Created) < startingTime:
		return failed(code.New(saysPodYoung, "pod", p.Name, "since", clock(p.Created, now)), wait)
	case !p.ScyllaDB.Started.IsZero() && p.ScyllaDB.Restarts < manyRestarts && now.Sub(p.ScyllaDB.Started) < startingTime:
		return failed(code.New(saysContainerYoung, "pod", p.Name, "since", clock(p.ScyllaDB.Started, now)), wait)
	case v.in.StatefulSet != nil && v.in.StatefulSet.Rolling:
		return failed(code.New(saysStatefulSetRolling, "set", v.in.StatefulSet.Name), wait)
	}
	return ok(code.New(saysPodNotStarting, "pod", p.Name))
}

// heldForEviction is true for the recorded Pod when its barrier has held it back for as long as a start may take, until this replacement evicts it:
// the two would wait for each other. A node whose volume shows that it has joined passes its barrier at once, so one that is held that long does not
// come back.
func (v *verifier) heldForEviction() bool {
	p := v.in.Pod
	return v.rec.Accepted != "" && p.UID != "" && p.UID == v.rec.PodUID &&
		!p.BarrierSince.IsZero() && v.in.Now.Sub(p.BarrierSince) >= startingTime &&
		slices.ContainsFunc(p.Barrier, func(m code.Message) bool { return m.Code == code.Code(matrix.ReasonPodToGo) })
}

func (v *verifier) checkAttempt() finding {
	if v.newcomer == "" {
		return ok(code.New(saysAttemptNoNewcomer))
	}
	wait, name := code.New(saysAttemptWait), short(v.newcomer)
	for _, op := range v.in.Operations {
		// Released versions name the new node of a replacement, later ones the replaced.
		if (op.HostID == v.newcomer || op.HostID == v.target && op.Type == "replace") && cluster.OperationOpen(op) {
			return failed(code.New(saysAttemptOperation, "operation", op.Type, "node", name), wait)
		}
	}
	t := v.of(v.newcomer)
	if by := v.labels(t.States[matrix.StateReplacing]); len(by) > 0 {
		return failed(code.New(saysAttemptReplacing, "by", by, "node", name), wait)
	}
	if p := v.in.Pod; p != nil && p.HostID == v.newcomer && p.Joined != nil && *p.Joined {
		return failed(code.New(saysAttemptJoined, "node", name), code.New(saysAttemptGoesOn).Do(code.Scylla(v.in.Namespace, "replace", "status")))
	}
	if by := v.labels(t.States[matrix.StateNormal]); len(by) > 0 {
		return unknown(code.New(saysAttemptMember, "by", by, "node", name), code.New(saysAttemptMayHaveJoined).Do(code.Scylla(v.in.Namespace, "status")))
	}
	return ok(code.New(saysAttemptNoMember, "node", name))
}

func stateName(s matrix.State) string {
	if s == matrix.StateNormal {
		return "NORMAL"
	}
	return s.String()
}
