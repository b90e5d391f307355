// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// precondition returns the blockers of Self, and notes with what is worth adding.
func (in *Input) precondition(m *matrix.Matrix, notes []words.Message) ([]matrix.Blocker, []words.Message) {
	blockers := slices.Clone(m.Blockers())
	if m.Empty() {
		blockers = append(blockers, in.genesis(m)...)
	}
	blockers = append(blockers, Outdated(m, in.Peers, in.self.HostID, in.ControllerSilent, in.ControllerSilentSince)...)
	blockers = append(blockers, in.Doubts...)
	blockers = append(blockers, RolloutBlockers(in.Rollouts)...)
	blockers = append(blockers, in.tooOld(m)...)
	blockers = append(blockers, in.oneAtATime(m)...)
	if in.Volume == VolumeUnreadable && in.self.HostID != "" && in.hasJoined(m) {
		// It is not known whether the member comes back or has lost its disk.
		blockers = append(blockers, matrix.Blocker{
			Reason: words.VolumeUnreadable, Observed: in.self, Cause: words.New(words.VolumeNotLooked, "why", in.VolumeDetail),
		})
	}
	if !in.replaces().IsZero() {
		blockers = in.butReplaced(m, blockers)
		if uid := in.Member.Annotation(api.AnnotationReplacePodUID); uid != "" && in.Member.Pod != nil && uid == string(in.Member.Pod.UID) {
			// The replacement is about to evict this Pod, with its volume: a start now would be killed in the middle, or create a member whose volume is deleted.
			blockers = append(blockers, matrix.Blocker{Reason: words.PodToBeReplaced, Observed: in.self})
		}
	}
	matrix.SortBlockers(blockers)
	if in.JudgedBy != "" {
		notes = append(notes, words.New(words.JudgedByOverride, "report", in.JudgedBy, "annotation", api.AnnotationStatusReportOverrideRef))
	}
	notes = append(notes, in.perhapsItself(m)...)
	notes = append(notes, in.newRack(m)...)
	return blockers, append(notes, remarks(m, in.Peers, in.self.HostID)...)
}

// genesis returns the blockers of a node while no other node has a row: the cluster is not new, or it is and another member is its first node. There may be only one first node:
// two that start at once create two clusters.
func (in *Input) genesis(m *matrix.Matrix) []matrix.Blocker {
	if why := in.notNew(m); !why.IsZero() {
		if in.otherDatacenter(m) && !in.anyJoined() {
			// The first Pod of a further datacenter is no first node.
			return []matrix.Blocker{{Reason: words.DatacenterNotVerified, Cause: why}}
		}
		if in.lostAlone() && !in.otherDatacenter(m) {
			return []matrix.Blocker{{Reason: words.ReportMissing, Observed: in.self, Cause: words.New(words.DataIsGone, "member", in.self.Name())}}
		}
		return []matrix.Blocker{{Reason: words.ReportMissing, Cause: why}}
	}
	first := in.first()
	if first.Member == in.self.Member {
		return nil
	}
	return []matrix.Blocker{{Reason: words.FirstNodePending, Observed: first, Cause: words.New(words.FirstNodeIs, "first", first.Name())}}
}

// lostAlone is true for the only member that has ever joined, on a volume without any file: nobody else has its data.
func (in *Input) lostAlone() bool {
	return in.Volume == VolumeEmpty && in.Member.HasJoined() && in.replaces().IsZero() &&
		!slices.ContainsFunc(in.Peers, recorded)
}

// first is the member that may be the first node, by the rule by which the launcher chooses seeds.
func (in *Input) first() matrix.Ref {
	if first := First(append(slices.Clip(in.Peers), in.Member)); first != in.Member {
		return first.Recorded()
	}
	return in.self
}

// butReplaced leaves out the blockers about the nodes that Self replaces or that ScyllaDB is told to ignore: they must be DOWN, and all other nodes UP, because ScyllaDB cancels a
// replacement like a join, after it has banned the target.
func (in *Input) butReplaced(m *matrix.Matrix, blockers []matrix.Blocker) []matrix.Blocker {
	dead := map[hostid.ID]bool{}
	for _, id := range in.Member.MustBeDown() {
		dead[id] = true
	}
	blockers = slices.DeleteFunc(blockers, func(b matrix.Blocker) bool { return dead[b.Observed.HostID] || dead[b.Observer.HostID] })
	nodes := m.Nodes()
	for id := range dead {
		at, ok := m.Index(id)
		if !ok || nodes[at].SeenUp == 0 {
			continue
		}
		var by []string
		for _, i := range m.Opinion(id).Up {
			by = append(by, nodes[i].Name())
		}
		if len(by) > 0 {
			blockers = append(blockers, matrix.Blocker{
				Reason: words.ReplacedNodeUp, Observed: nodes[at].Ref, Cause: words.New(words.SeenUpBy, "observers", by[:min(3, len(by))]),
			})
		}
	}
	return blockers
}

// Outdated lists why rows with UP may no longer be true: members that have joined since, but for one, and a controller that no longer updates the reports. silent and since are as in
// Input.
func Outdated(m *matrix.Matrix, members []*cluster.Member, but hostid.ID, silent words.Message, since time.Time) []matrix.Blocker {
	return append(behind(m, members, but), silence(silent, since)...)
}

// RolloutBlockers are the blockers of StatefulSets that are not at rest.
func RolloutBlockers(rollouts []maintenance.Rollout) []matrix.Blocker {
	var list []matrix.Blocker
	for _, r := range rollouts {
		b := matrix.Blocker{Reason: words.RolloutInProgress, Cause: r.Cause}
		if r.Cause.Code == words.FewerPodsReady && !r.Rolling {
			b.Reason = words.PodsNotReady // its Pods do not change, so that `rollout status` would wait for what may never end
		}
		list = append(list, b)
	}
	return list
}

func silence(why words.Message, since time.Time) []matrix.Blocker {
	if why.IsZero() {
		return nil
	}
	return []matrix.Blocker{{Reason: words.ControllerSilent, Cause: why, Since: since}}
}

// behind lists the members that have joined by their Services while the rows are older than that: no row mentions them, or the rows still have them as joining and they have no row
// of their own. The observations of such a member are not known. For an empty matrix the list is empty: that no member has a row is one finding, not many.
func behind(m *matrix.Matrix, members []*cluster.Member, but hostid.ID) []matrix.Blocker {
	if m.Empty() {
		return nil
	}
	var list []matrix.Blocker
	for _, p := range members {
		id := p.RecordedID()
		if id == "" || id == but || !p.HasJoined() || p.Removed(m) {
			continue
		}
		cause := words.New(words.JoinedAndNotReported)
		if at, ok := m.Index(id); ok {
			n := &m.Nodes()[at]
			newcomer := n.State == matrix.StateJoining || n.State == matrix.StateReplacing
			if n.Reports || !newcomer || m.Lenient() {
				continue // it has a row, or the matrix itself has the blocker for its missing row
			}
			cause = words.New(words.JoinedAndReportedAsNewcomer, "state", strings.ToLower(n.State.String()))
		}
		list = append(list, matrix.Blocker{Reason: words.RowMissing, Observed: p.Recorded(), Cause: cause})
	}
	return list
}

// remarks are the notes: what was not verified, and what is left to clean up.
func remarks(m *matrix.Matrix, others []*cluster.Member, but hostid.ID) []words.Message {
	var notes []words.Message
	nodes := m.Nodes()
	if c := m.Coordinator(); c.HostID != "" && len(m.Blockers()) > 0 {
		notes = append(notes, words.New(words.CoordinatorDecides, "coordinator", c.Message()))
	}
	if m.Lenient() {
		dcs := slices.Clone(m.Options().NotVerified)
		slices.Sort(dcs)
		for _, dc := range slices.Compact(dcs) {
			notes = append(notes, words.New(words.DatacenterTakenOnTrust, "datacenter", dc))
		}
		silent := 0
		for i := range nodes {
			if n := &nodes[i]; n.Row == nil && n.SeenUp > 0 {
				silent++
			}
		}
		switch {
		case silent == 1:
			notes = append(notes, words.New(words.HostIDTakenOnTrust))
		case silent > 1:
			notes = append(notes, words.New(words.HostIDsTakenOnTrust, "count", silent))
		}
	}
	for i := range nodes {
		n := &nodes[i]
		if n.State != matrix.StateNormal && n.SeenUp+n.SeenDown+n.SeenUnknown > 0 {
			notes = append(notes, words.New(words.NodeInState, "node", n.Ref.String(), "state", n.State.String()))
		}
	}
	for _, p := range others {
		if p.HasJoined() && (but == "" || p.RecordedID() != but) && p.Removed(m) {
			notes = append(notes, words.New(words.RecordedHostIDRemoved, "member", p.Name(), "hostID", p.RecordedID()))
		}
	}
	return notes
}
