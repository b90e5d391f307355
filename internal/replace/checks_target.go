// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Checks of the request and of the node that is replaced.

func (v *verifier) checkRequest() finding {
	in, rec := v.in, v.rec
	if rec.Requested && rec.Value != "" {
		if _, valid := rec.Address(); !valid {
			return failed(words.New(words.ReplaceLabelMalformed, "label", api.LabelReplace, "value", rec.Value),
				emptyLabel(in))
		}
	}
	for _, name := range rec.SkipChecks {
		i := slices.IndexFunc(checks(), func(c check) bool { return c.name == name })
		cure := words.New(words.ReplaceSkippableChecks, "checks", CheckNames())
		switch {
		case i < 0:
			return failed(words.New(words.ReplaceCheckUnknown, "annotation", api.AnnotationReplaceSkipChecks, "check",
				name), cure)
		case checks()[i].fixed:
			return failed(words.New(words.ReplaceCheckNotSkippable, "annotation", api.AnnotationReplaceSkipChecks,
				"check", name), cure)
		}
	}
	if len(rec.Problems) > 0 {
		return failed(words.New(words.ReplaceRecordMalformed, "problems", rec.Problems),
			words.New(words.ReplaceCorrectRecord, "namespace", in.Namespace, "member", in.Self.Member))
	}
	return ok(words.New(words.ReplaceRequestReadable))
}

func emptyLabel(in *Input) words.Message {
	if alive(in, in.Self.RecordedID()) {
		return words.New(words.WithdrawRequest).Do(words.Scylla(in.Namespace, "replace", "cancel", in.Self.Member))
	}
	return words.New(words.ReplaceEmptyLabel).Do(words.Kubectl(in.Namespace, "label", "--overwrite", "service",
		in.Self.Member, api.LabelReplace+"="))
}

func (v *verifier) checkHostID() finding {
	in, rec, member := v.in, v.rec, v.in.Self.Member
	switch {
	case rec.HasOriginal && !rec.OriginalError.IsZero():
		give := words.Scylla(in.Namespace, "replace", "resume", member, "--host-id", "HOSTID")
		if in.Operator {
			give = words.Kubectl(in.Namespace, "label", "--overwrite", "service", member, api.LabelReplacingNodeHostID+
				"=HOSTID")
		}
		return failed(rec.OriginalError, words.New(words.CureGiveHostID).Do(words.Scylla(in.Namespace, "status"), give))
	case rec.HasOriginal:
		return ok(words.New(words.ReplaceOriginalRecorded, "hostID", v.target, "member", member))
	}
	if in.Self.RecordedID() == "" {
		evidence := words.New(words.ReplaceHostIDMissing, "annotation", api.AnnotationHostID, "member", member)
		lost := in.Self.HasJoined()
		if recorded := in.Self.Service.Annotations[api.AnnotationHostID]; recorded != "" {
			_, err := hostid.Parse(recorded)
			evidence = words.New(words.ReplaceHostIDMalformed, "annotation", api.AnnotationHostID, "value", recorded,
				"member", member, "why", hostid.Why(err))
			lost = true
		}
		// the volume may have the only replica of its data: suggest no command that deletes it
		if lost {
			return failed(evidence, words.New(words.ReplaceHostIDLost).Do(words.Scylla(in.Namespace, "status"),
				words.Kubectl(in.Namespace, "annotate", "--overwrite", "service", member, api.AnnotationHostID+
					"=HOSTID")))
		}
		return failed(evidence, words.New(words.ReplaceNeverHadHostID).Do(words.Scylla(in.Namespace, "status")))
	}
	return ok(words.New(words.ReplaceHostIDRecorded, "hostID", v.target, "member", member))
}

func (v *verifier) checkBootstrapped() finding {
	name, joined := v.name(v.target), v.in.Self.Joined
	switch {
	case joined != nil && *joined:
		return ok(words.New(words.ReplaceHasJoined, "node", name, "annotation", api.AnnotationNodeJoined))
	case v.member.result == OK:
		// The annotation shows the newest process; the rows of other nodes show the cluster.
		return ok(words.New(words.ReplaceMemberOfPeers, "node", name))
	case joined != nil:
		return failed(words.New(words.ReplaceNeverJoined, "node", name, "annotation", api.AnnotationNodeJoined),
			words.New(words.ReplaceLetJoinAnew, "member", v.in.Self.Member))
	}
	return unknown(words.New(words.ReplaceJoinUnconfirmed, "member", v.in.Self.Member, "annotation",
		api.AnnotationNodeJoined), words.New(words.ReplaceOnlyWithData))
}

func (v *verifier) checkMember() finding {
	t, name := v.of(v.target), v.name(v.target)
	var odd []words.Message
	for _, s := range []matrix.State{
		matrix.StateJoining, matrix.StateLeaving, matrix.StateReplacing, matrix.StateBeingReplaced,
		matrix.StateDecommissioned,
	} {
		if s == matrix.StateBeingReplaced && v.resume {
			continue // the failed attempt may still be listed; check attempt-ended judges it
		}
		if by := v.labels(t.States[s]); len(by) > 0 {
			odd = append(odd, words.New(words.NodeListedAs, "by", by, "node", name, "state", stateName(s)))
		}
	}
	switch {
	case t.Total() == 0:
		return unknown(words.New(words.ReplaceMemberNobodySays), seeStatus(v.in))
	case t.Listing() == 0:
		return failed(words.New(words.ReplaceNoMember, "by", v.labels(t.NotListed), "hostID", v.target),
			v.nothingToReplace())
	case len(odd) > 0:
		return failed(words.New(words.ReplaceFacts, "facts", odd), words.New(words.ReplaceOnlyNormal))
	case len(t.NotListed) > 0:
		return unknown(words.New(words.ReplaceMemberDisputed, "by", v.labels(t.Listers()), "not",
			v.labels(t.NotListed)), words.New(words.ReplaceWaitAgreement))
	}
	return ok(words.New(words.ReplaceNormalMember, "listing", t.Listing(), "total", t.Total(), "node", name))
}

func seeStatus(in *Input) words.Message {
	return words.New(words.ReplaceSeeStatus).Do(words.Scylla(in.Namespace, "status"))
}

// checkDown requires a majority of DOWN in fresh rows of other members (invariant 5). Rows of
// ignored nodes do not count, and a row that contradicts itself never counts as DOWN.
func (v *rowEvidence) checkDown() finding {
	t, name := v.of(v.target), v.name(v.target)
	switch {
	case t.Total() == 0:
		return unknown(words.New(words.ReplaceNobodySees, "node", name), seeStatus(v.in))
	case len(t.Up) > 0:
		return failed(words.New(words.NodeSeenUp, "by", v.labels(t.Up), "node", name),
			words.New(words.ReplaceAliveCannot))
	case !t.MajorityDown():
		return unknown(words.New(words.ReplaceNoMajority, "down", len(t.Down), "total", t.Total(), "node", name,
			"unsure", v.labels(t.Unknown), "not", v.labels(t.NotListed)),
			words.New(words.ReplaceWaitMajority).Do(v.statusCommand()))
	case len(t.Contradict) > 0:
		return unknown(words.New(words.ReplaceContradicted, "by", v.labels(t.Contradict), "node", name),
			words.New(words.ReplaceWaitAgreement))
	}
	return ok(words.New(words.NodeSeenDown, "by", v.labels(t.Down), "node", name, "down", len(t.Down), "total",
		t.Total()))
}

// checkDownFor requires that a majority has reported DOWN long enough: a restarting Pod is DOWN
// only briefly, and its data is intact.
func (v *verifier) checkDownFor() finding {
	t, name, now, dead := v.of(v.target), v.name(v.target), v.in.Now, cmp.Or(v.in.Dead, healthpolicy.Dead)
	since, known := t.DownSince()
	least, bounded := v.downAtLeast(t)
	switch {
	case !known && !v.in.VolumeGone.IsZero():
		return ok(v.in.VolumeGone) // a restart does not bring it back
	case !known && bounded && now.Sub(least) >= dead:
		return ok(words.New(words.ReplaceDownAtLeast, "node", name, "since", clock(least, now)))
	case !known && bounded:
		return unknown(words.New(words.ReplaceDownSinceUnknown, "node", name),
			words.New(words.ReplaceWaitUntil, "until", clock(least.Add(dead), now)))
	case !known:
		return unknown(words.New(words.ReplaceDownSinceUnknown, "node", name),
			words.New(words.ReplaceCheckYourself, "check", CheckDownFor))
	case now.Sub(since) < floorDown:
		f := failed(words.New(words.ReplaceDownTooShort, "node", name, "since", clock(since, now), "minimum",
			floorDown),
			words.New(words.ReplaceWaitUntil, "until", clock(since.Add(dead), now)))
		f.hard = true
		return f
	case now.Sub(since) < dead:
		return failed(words.New(words.ReplaceDownTooShort, "node", name, "since", clock(since, now), "minimum", dead),
			words.New(words.ReplaceWaitUntil, "until", clock(since.Add(dead), now)))
	}
	return ok(words.New(words.ReplaceDownSince, "node", name, "since", clock(since, now)))
}

// downAtLeast returns a time before which a majority saw the node DOWN, for rows without times, as
// the Scylla Operator's: since a row was written, it has not changed. False if too few write times
// are known.
func (v *verifier) downAtLeast(t matrix.Opinion) (least time.Time, known bool) {
	var times []time.Time
	nodes := v.m.Nodes()
	for _, o := range v.in.Others {
		down := slices.ContainsFunc(t.Down, func(i int) bool { return nodes[i].Member == o.Ref.Member })
		if at := o.RowUnchangedSince(); down && !at.IsZero() {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	if majority := t.Total()/2 + 1; len(times) >= majority {
		return times[majority-1], true
	}
	return time.Time{}, false
}

// checkNotAlive cannot be skipped: the eviction, after the deletion of the PVC, repeats it.
func (v *rowEvidence) checkNotAlive() finding {
	p, id := v.in.Self.Pod, v.in.Self.Says().HostID
	switch {
	case p == nil:
		return ok(words.New(words.PodAbsent))
	case v.in.Self.Ready() && !v.in.Self.Deleting():
		return failed(words.New(words.PodServes, "pod", p.Name), words.New(words.ReplaceCutOff))
	case !v.in.Paused.IsZero() && (id == "" || id == v.target):
		// a restart recovers it, or shows that it is dead
		return failed(words.New(words.PodAlive, "pod", p.Name, "why", v.in.Paused), v.in.Resume)
	}
	return ok(words.New(words.PodNotReady, "pod", p.Name))
}

// containerYoung reports whether ScyllaDB was started a moment ago, unless it is in a crash loop.
func (v *verifier) containerYoung() bool {
	m := v.in.Self
	started := m.StartedAt()
	return !started.IsZero() && m.ScyllaDB().RestartCount < manyRestarts && v.in.Now.Sub(started) < startingTime
}

// manyRestarts is the restart count from which a Pod is in a crash loop, not starting.
const manyRestarts = 3

// checkJustStarted fails while a Pod starts on an intact volume, or its ScyllaDB runs and is not
// Ready: a restart, not a dead node. A rolling update waits for the Pod that the scheduler finds no
// Kubernetes node for: a requested replacement of it does not wait for the update.
func (v *verifier) checkJustStarted() finding {
	m, p, now := v.in.Self, v.in.Self.Pod, v.in.Now
	intact := len(v.in.Claims) > 0 && !slices.ContainsFunc(v.in.Claims, goes) &&
		v.in.VolumeGone.IsZero() && !m.EmptyVolume()
	wait := words.New(words.ReplaceStartingWait, "check", CheckJustStarted)
	switch started := m.StartedAt(); {
	case p == nil || m.Deleting():
		if m.Rolling() && intact {
			return failed(words.New(words.StatefulSetRolling, "set", m.StatefulSet.Name), wait)
		}
		return ok(words.New(words.PodAbsent))
	case !intact:
		return ok(words.New(words.PodWithoutVolume, "pod", p.Name))
	case v.in.VolumeUsable:
		return failed(words.New(words.PodUnscheduled, "pod", p.Name, "waits", m.Waiting), v.in.Unscheduled)
	case m.KubernetesNodeLost():
		return ok(words.New(words.PodNodeLost, "pod", p.Name, "node", p.Spec.NodeName))
	case m.Scheduled() && cluster.Initialising(p) && !v.heldForEviction():
		return failed(words.New(words.PodInitialising, "pod", p.Name, "waits", m.Waiting), wait)
	case now.Sub(p.CreationTimestamp.Time) < startingTime:
		return failed(words.New(words.PodYoung, "pod", p.Name, "since", clock(p.CreationTimestamp.Time, now)), wait)
	case v.containerYoung():
		return failed(words.New(words.ContainerYoung, "pod", p.Name, "since", clock(started, now)), wait)
	case m.Rolling() && (!v.rec.Requested || !cluster.Unschedulable(p)):
		return failed(words.New(words.StatefulSetRolling, "set", m.StatefulSet.Name), wait)
	case !started.IsZero() && now.Sub(started) >= startingTime && !m.Ready() && !v.in.Ended && v.in.VolumeGone.IsZero():
		return failed(words.New(words.ContainerUnready, "pod", p.Name, "since", clock(started, now)),
			words.New(words.ReplaceReadLog, "check", CheckJustStarted).Do(logOf(v.in)))
	}
	return ok(words.New(words.PodNotStarting, "pod", p.Name))
}

// heldForEviction reports whether the barrier has blocked the recorded Pod for startingTime, until
// this replacement evicts it: the two would wait for each other. A node that has joined passes its
// barrier at once, so a Pod that is blocked that long does not recover.
func (v *verifier) heldForEviction() bool {
	uid, since := v.in.Self.Pod.UID, v.in.Self.BarrierSince()
	return v.rec.Accepted != "" && uid != "" && string(uid) == v.rec.PodUID &&
		!since.IsZero() && v.in.Now.Sub(since) >= startingTime &&
		slices.ContainsFunc(v.in.Barrier, func(m words.Message) bool { return m.Code == words.PodToBeReplaced })
}

func (v *verifier) checkAttempt() finding {
	if v.newcomer == "" {
		return ok(words.New(words.AttemptNoNewcomer))
	}
	wait, name := words.New(words.AttemptWait).Do(words.Scylla(v.in.Namespace, "replace", "status")),
		short(v.newcomer)
	for _, op := range maintenance.Open(v.in.Operations) {
		// Released versions report the new node of a replacement, later ones the replaced node.
		if op.HostID == v.newcomer || op.HostID == v.target && op.Type == "replace" {
			return failed(words.New(words.AttemptOperation, "operation", op.Type, "node", name), wait)
		}
	}
	t := v.of(v.newcomer)
	if by := v.labels(t.States[matrix.StateReplacing]); len(by) > 0 {
		return failed(words.New(words.AttemptReplacing, "by", by, "node", name), wait)
	}
	if joined := cluster.SaysJoined(v.in.Self.Report); joined != nil && *joined &&
		v.in.Self.Report.HostID == v.newcomer {
		return failed(words.New(words.AttemptJoined, "node", name),
			words.New(words.AttemptGoesOn).Do(words.Scylla(v.in.Namespace, "replace", "status")))
	}
	if by := v.labels(t.States[matrix.StateNormal]); len(by) > 0 {
		return unknown(words.New(words.AttemptMember, "by", by, "node", name),
			words.New(words.AttemptMayHaveJoined).Do(words.Scylla(v.in.Namespace, "status")))
	}
	return ok(words.New(words.AttemptNoMember, "node", name))
}

func stateName(s matrix.State) string {
	if s == matrix.StateNormal {
		return "NORMAL"
	}
	return s.String()
}
