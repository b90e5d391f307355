// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Decide returns whether in.Member may start ScyllaDB. It judges in.Matrix from Self's point of
// view, whatever options the matrix was built with; a nil in.Matrix is one without rows.
//
// The order:
//   - a bootstrapped data directory opens, unless it belongs to another node
//   - a data directory that can never start again refuses
//   - a member that its peers list is a restart, and opens
//   - feature gate BootstrapSynchronisation off opens
//   - force opens, unless a reason is new since it was given, or the volume
//   - every row must have every required node UP; for a replacement, all nodes except the replaced
//     and ignored ones
//   - only the first node of a cluster that never had one opens without such rows
//
// Outside the Pod, the barrier's own reading of the data directory can still change the verdict.
func Decide(in Input) Verdict {
	in.prepare()
	v := in.decide()
	switch {
	case in.Refused != "":
		v.Satisfied, v.Decision, v.Summary = false, DecisionRefuse,
			words.New(words.BarrierRefuses, "message", in.Refused)
		v.Blockers = append(
			[]matrix.Blocker{{Reason: words.DataDirectoryUnusable, Observed: in.self, Detail: in.Refused}},
			v.Blockers...)
	case in.AtBarrier && v.restsOnVolume():
		v.Satisfied, v.Decision = false, DecisionWait
	}
	return v
}

// Unsure reports whether the verdict needs the state of the volume, and the Pod's barrier has not
// reported it.
func (v Verdict) Unsure() bool { return v.restsOnVolume() && !v.Satisfied }

func (v Verdict) restsOnVolume() bool {
	return v.Summary.Code == words.StartsAsMemberIfVolumeHolds || v.Summary.Code == words.StartsAsNewIfVolumeIsEmpty
}

// decide returns the decision.
//
//nolint:funlen // the order of the questions is the decision, and is easiest to read in one piece
func (in Input) decide() Verdict {
	v := Verdict{Self: in.self,
		VolumeLost: in.Volume == VolumeEmpty || in.VolumeHostID != "" && in.VolumeHostID != in.self.HostID}

	if in.Disk == BootstrappedYes && !in.foreignVolume() {
		if !in.Banned.IsZero() {
			v.Notes = append(v.Notes, words.New(words.BannedBefore, "evidence", in.Banned))
		}
		return v.open(DecisionBootstrapped, words.New(words.StartsBootstrapped))
	}
	if blocker := in.unusable(); blocker.Reason != "" {
		v.Decision = DecisionRefuse
		v.Summary = words.New(words.CannotStart, "why", blocker.Cause)
		v.Blockers = []matrix.Blocker{blocker}
		return v
	}

	m := in.judged()
	if in.Disk == BootstrappedUnknown && !in.DiskDetail.IsZero() {
		v.Notes = append(v.Notes, words.New(words.DataDirectoryUnread, "why", in.DiskDetail))
	}
	if why := in.restart(m); !why.IsZero() {
		return v.open(DecisionRestart, why)
	}

	if in.Unprotected != "" {
		return v.open(DecisionUnprotected, words.New(words.StartsUnprotected, "controller", in.Unprotected))
	}
	_, forced := in.service().Annotations[api.AnnotationForceProceed]
	if in.Member.Forced() {
		void := in.Member.ForceVoid(in.VolumeUID)
		if void.IsZero() {
			return in.force(v, m)
		}
		forced, v.Notes = false, append(v.Notes, void)
	}
	v.Blockers, v.Notes = in.precondition(m, v.Notes)
	v.Blockers = append(v.Blockers, in.malformed(forced)...)
	if len(v.Blockers) == 0 {
		// Its step is a force, which must not cover a DOWN node as well.
		v.Blockers = in.unknownVolume(m)
	}
	matrix.SortBlockers(v.Blockers)
	replaces := in.replaces()
	forgotten := replaces.IsZero() && !m.Empty() && in.forgotten(m)
	removed := forgotten && in.Volume == VolumeUsed
	var unpermitted []matrix.Blocker
	if in.Permission != nil && !removed && len(v.Blockers) == 0 {
		unpermitted = in.Permission.Blockers(in.self, kindOf(replaces, m), in.Member.MustBeDown())
	}
	switch {
	case len(v.Blockers) > 0:
		v.Decision = DecisionWait
		v = v.Only(slices.Clip(v.Blockers))
	case len(unpermitted) > 0:
		v.Decision = DecisionWait
		v = v.Only(unpermitted)
	case len(in.Held) > 0:
		held := slices.Clone(in.Held)
		matrix.SortBlockers(held)
		v.Decision = DecisionWait
		v = v.Only(held)
	case !replaces.IsZero():
		return v.open(DecisionReplacing, replaces)
	case m.Empty():
		return v.open(DecisionGenesis, words.New(words.StartsAsFirstNode))
	case removed:
		cause := words.HostIDRemoved
		if m.MayHide(in.self) {
			cause = words.HostIDNotListed
		}
		b := matrix.Blocker{Reason: words.DataDirectoryUnusable, Observed: in.self,
			Cause: words.New(cause, "hostID", in.self.HostID)}
		v.Decision, v.Blockers, v.Summary = DecisionRefuse, []matrix.Blocker{b},
			words.New(words.CannotStart, "why", b.Cause)
	case forgotten && in.Volume == VolumeNotLooked:
		return v.open(DecisionAllUp, words.New(words.StartsAsNewIfVolumeIsEmpty, "hostID", in.self.HostID))
	default:
		return v.open(DecisionAllUp, allUp(m.Health().Nodes))
	}
	return v
}

// prepare sets self, and takes it from its peers.
func (in *Input) prepare() {
	in.self = in.Member.ByService()
	if in.ownerOf(in.Ran) != "" {
		in.Ran = "" // with host networking, another Pod's ScyllaDB may respond
	}
	in.Peers = without(in.Peers, func(p *cluster.Member) bool {
		return p.Ref.Member != "" &&
			p.Ref.Member == in.self.Member
	})
}

// service returns the Service of the member; empty if it has none.
func (in *Input) service() *corev1.Service {
	if in.Member.Service == nil {
		return &corev1.Service{}
	}
	return in.Member.Service
}

// without returns peers without those for which out is true; the same list if there are none.
func without(peers []*cluster.Member, out func(*cluster.Member) bool) []*cluster.Member {
	if !slices.ContainsFunc(peers, out) {
		return peers
	}
	return slices.DeleteFunc(slices.Clone(peers), out)
}

// forgotten reports whether the member joined some time ago and no row lists it, by fresh rows of a
// majority, which can hide none: ScyllaDB will not accept its volume again. It is false if the
// volume has another host ID.
func (in *Input) forgotten(m *matrix.Matrix) bool {
	if !in.Member.HasJoined() || in.self.HostID == "" || in.Member.JustJoined() ||
		in.VolumeHostID != "" && in.VolumeHostID != in.self.HostID {
		return false
	}
	return m.NoneLists(in.self)
}

// hidesNodes reports whether a node has a row, and runs a version that lists one host ID for each
// address: a member whose address another node has is possibly in no row.
func hidesNodes(n matrix.Node) bool {
	if !n.Reports || n.Row == nil {
		return false
	}
	v, _ := release.Parse(n.Row.Says().ScyllaVersion)
	return v.ListsSharedAddresses() == release.No
}

// replaces returns the summary of a replacement: by the recorded original host ID, or in the old
// procedure by the requested address. Zero if Self replaces no node, or no usable value is
// recorded.
func (in *Input) replaces() words.Message {
	if id := in.Member.Label(api.LabelReplacingNodeHostID); id != "" {
		return words.New(words.StartsReplacingHostID, "hostID", id)
	}
	if a, by := in.Member.ReplacedAddress(); by {
		return words.New(words.StartsReplacingAddress, "address", a.String())
	}
	return words.Message{}
}

// notOwnAddress returns why a request to replace by address is refused: the address does not belong
// to this member's dead node, so ScyllaDB would replace another member's node. Zero if it does, or
// if no address is requested.
func (in *Input) notOwnAddress() words.Message {
	asked, by := in.Member.ReplacedAddress()
	switch own := in.Member.DeadAddresses(); {
	case !by || slices.Contains(own, asked):
		return words.Message{}
	case len(own) == 0:
		return words.New(words.ReplacedAddressUnknown, "address", asked.String())
	default:
		return words.New(words.ReplacedAddressIsNotOwn, "address", asked.String(), "own", own[0].String())
	}
}

func (v Verdict) open(d Decision, summary words.Message) Verdict {
	v.Satisfied, v.Decision, v.Summary = true, d, summary
	return v
}

// Only returns a verdict that waits with only these blockers, at least one; the caller knows that
// the others do not matter.
func (v Verdict) Only(blockers []matrix.Blocker) Verdict {
	summary := words.MustWait
	if v.Summary.Code == words.ForceDoesNotCover {
		summary = words.ForceDoesNotCover
	}
	v.Blockers, v.Summary = blockers, words.New(summary, "reasons", reasons(blockers))
	return v
}

// Wait returns the verdict of a member that must wait for one blocker.
func Wait(self matrix.Ref, b matrix.Blocker) Verdict {
	return Verdict{Decision: DecisionWait, Self: self}.Only([]matrix.Blocker{b})
}

func allUp(nodes int) words.Message {
	if nodes == 1 {
		return words.New(words.StartsAsOneNodeIsUp)
	}
	return words.New(words.StartsAsAllNodesAreUp, "nodes", nodes)
}

// reasons returns the most severe group of blockers, and how many more groups there are. It omits
// ages: the same facts give the same message.
func reasons(blockers []matrix.Blocker) words.Message {
	groups, _ := matrix.GroupBlockers(blockers)
	return AndMore(groups[0].Message(), len(groups)-1)
}

// AndMore returns the first of several reasons with the number of the others.
func AndMore(reason words.Message, more int) words.Message {
	switch more {
	case 0:
		return reason
	case 1:
		return words.New(words.AndOneMoreReason, "reason", reason)
	}
	return words.New(words.AndMoreReasons, "reason", reason, "more", more)
}

// foreignVolume reports whether the data directory belongs to another node:
//   - Its host ID is recorded for another member, even if also for this one: the volume is that
//     member's or a copy of it. ScyllaDB does not prevent two processes with one host ID.
//   - The member has joined, rows list its recorded host ID, and no row lists the volume's, which
//     differs.
//
// It is false if unknown: the Service may record the node that this one has replaced, or that was
// removed. The new node of a replacement has a host ID that no member records yet.
func (in *Input) foreignVolume() bool {
	switch {
	case in.VolumeHostID == "":
		return false
	case in.ownerOf(in.VolumeHostID) != "":
		return true
	case in.VolumeHostID == in.self.HostID:
		return false
	}
	joined := in.self.HostID != "" && in.Member.HasJoined() && in.replaces().IsZero()
	return joined && listed(in.Matrix, in.self.HostID) && !listed(in.Matrix, in.VolumeHostID)
}

// ownerOf returns the other member whose Service records a host ID, or whose row has it; empty if
// there is none.
func (in *Input) ownerOf(id hostid.ID) string {
	switch {
	case id == "":
		return ""
	case id == in.self.HostID && len(in.SharedBy) > 0:
		return in.SharedBy[0]
	}
	if i := slices.IndexFunc(in.Peers,
		func(p *cluster.Member) bool { return p.RecordedID() == id }); i >= 0 {
		return in.Peers[i].Name()
	}
	if in.Matrix == nil {
		return ""
	}
	at, ok := in.Matrix.Index(id)
	if !ok {
		return ""
	}
	n := &in.Matrix.Nodes()[at]
	if n.Row == nil || n.Member == in.self.Member && n.Member != "" || n.SamePlace(in.self) {
		return "" // only listed by others, or the member's own last row
	}
	return n.Name()
}

// listed reports whether a usable row has the host ID.
func listed(m *matrix.Matrix, id hostid.ID) bool {
	if m == nil {
		return false
	}
	at, ok := m.Index(id)
	if !ok {
		return false
	}
	n := &m.Nodes()[at]
	return n.SeenUp+n.SeenDown+n.SeenUnknown > 0
}

// unusable returns the blocker for a data directory on which ScyllaDB must not, or will not, start;
// its Reason is empty if there is none.
func (in *Input) unusable() matrix.Blocker {
	b := matrix.Blocker{Reason: words.DataDirectoryUnusable, Observed: in.self}
	switch {
	case in.Disk == BootstrappedDecommissioned:
		b.Cause = words.New(words.Decommissioned)
	case in.foreignVolume() && in.self.HostID == "":
		b.Reason = words.ForeignVolume
		b.Cause = words.New(words.VolumeOfOtherHostID, "volume", in.VolumeHostID, "owner", in.ownerOf(in.VolumeHostID))
	case in.foreignVolume():
		b.Reason = words.ForeignVolume
		b.Cause = words.New(words.VolumeOfOtherHostID, "volume", in.VolumeHostID, "recorded", in.self.HostID, "owner",
			in.ownerOf(in.VolumeHostID))
	case !in.Banned.IsZero():
		b.Cause = words.New(words.HostIDBanned, "evidence", in.Banned)
	default:
		return matrix.Blocker{}
	}
	return b
}

// unknownVolume returns the blocker of a new node whose volume has ScyllaDB's files, while neither
// the volume nor the Service shows their owner. A copy of a running member's volume looks the same
// until system.local is flushed. So do the files of an interrupted first start, so a user must
// decide. None if the owner is known, or if there is no other node whose copy it could be.
func (in *Input) unknownVolume(m *matrix.Matrix) []matrix.Blocker {
	if in.Opened || in.Volume != VolumeUsed || in.VolumeHostID != "" || in.self.HostID != "" ||
		in.Member.HasJoined() || m.Empty() {
		return nil
	}
	return []matrix.Blocker{{Reason: words.VolumeUnreadable, Observed: in.self,
		Cause: words.New(words.VolumeOfUnknownHostID)}}
}

// judged returns the matrix with Self as the new node.
func (in *Input) judged() *matrix.Matrix {
	m := in.Matrix
	if m == nil {
		m = matrix.New(nil, matrix.Options{})
	}
	opts := matrix.Options{
		Self:              &in.self,
		Reports:           in.Reports,
		AllowNonReporting: in.AllowNonReporting,
		NotVerified:       slices.Concat(in.NotVerified, m.Options().NotVerified),
		Namespace:         in.Member.Namespace,
		Fates:             m.Options().Fates,
		Settled:           m.Options().Settled,
		Identity:          m.Options().Identity,
	}
	return m.Judge(opts)
}

// malformed returns the faults of Self's own Service.
func (in *Input) malformed(forced bool) []matrix.Blocker {
	var list []matrix.Blocker
	add := func(reason words.Code, cause words.Message) {
		list = append(list, matrix.Blocker{Reason: reason, Observed: in.self, Cause: cause})
	}
	if forced {
		list = append(list, matrix.Blocker{Reason: words.ForceValueInvalid, Observed: in.self,
			Detail: in.Member.Annotation(api.AnnotationForceProceed)})
	}
	switch target, replacing := in.service().Labels[api.LabelReplacingNodeHostID]; {
	case replacing && target == "":
		add(words.ReplaceRequestInvalid, words.New(words.ReplacingLabelIsEmpty))
	case replacing && hostid.Known(target) == "":
		add(words.ReplaceRequestInvalid, words.New(words.ReplacingLabelIsNone, "value", target))
	}
	if why := in.notOwnAddress(); !why.IsZero() {
		add(words.ReplaceRequestInvalid, why)
	}
	for _, label := range []struct{ key, value string }{
		{api.LabelDatacenter, in.self.Datacenter},
		{api.LabelRack, in.self.Rack},
	} {
		if label.value == "" {
			add(words.LabelMissing, words.New(words.ServiceLabelMissing, "label", label.key))
		}
	}
	if in.self.Ordinal == nil {
		add(words.LabelMissing, words.New(words.ServiceWithoutOrdinal))
	}
	return list
}

// notNew returns the evidence that an empty matrix does not mean a new cluster; zero if there is
// none.
func (in *Input) notNew(m *matrix.Matrix) words.Message {
	var why []words.Message
	if in.Member.HasJoined() {
		why = append(why, words.New(words.MemberItselfHasJoined, "member", in.self.Name()))
	}
	for i := range in.Peers {
		switch p := in.Peers[i]; {
		case p.HasJoined():
			why = append(why, words.New(words.MemberHasJoined, "member", p.Name()))
		case p.Joined == nil && p.RecordedID() != "":
			why = append(why, words.New(words.MemberHasHostID, "member", p.Name()))
		}
	}
	if in.otherDatacenter(m) {
		why = append(why, words.New(words.OtherDatacenterExists))
	}
	if in.Initialized && len(why) == 0 {
		why = append(why, words.New(words.ClusterWasInitialized))
	}
	const enough = 3
	switch more := len(why) - enough; {
	case len(why) == 0:
		return words.Message{}
	case more > 0:
		return words.New(words.ClusterNotNew, "facts", why[:enough], "more", more)
	}
	return words.New(words.ClusterNotNew, "facts", why)
}

// anyJoined reports whether a member here has joined, so that a report of this datacenter should
// exist.
func (in *Input) anyJoined() bool {
	return slices.ContainsFunc(in.Peers, (*cluster.Member).HasJoined)
}

// otherDatacenter reports whether another datacenter is known. The lenient flag is evidence of one:
// it is set if there are external seeds.
func (in *Input) otherDatacenter(m *matrix.Matrix) bool {
	return in.AllowNonReporting || len(m.Options().NotVerified) > 0
}
