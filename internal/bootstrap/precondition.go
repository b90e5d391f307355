// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// precondition returns the blockers of Self, and notes with what is worth adding.
func (in *Input) precondition(m *matrix.Matrix, notes []words.Message) ([]matrix.Blocker, []words.Message) {
	blockers := slices.Clone(m.Blockers())
	if m.Empty() {
		blockers = append(blockers, in.genesis(m)...)
	}
	others := without(in.Peers, func(p *Peer) bool { return p.HostID == in.Self.HostID })
	blockers = append(blockers, Outdated(m, others, in.ControllerSilent, in.ControllerSilentSince)...)
	blockers = append(blockers, in.Doubts...)
	blockers = append(blockers, RolloutBlockers(in.Rollouts)...)
	blockers = append(blockers, in.tooOld(m)...)
	blockers = append(blockers, in.oneAtATime(m)...)
	if in.Volume == VolumeUnreadable && in.Self.HostID != "" && in.hasJoined(m) {
		// It is not known whether the member comes back or has lost its disk.
		blockers = append(blockers, matrix.Blocker{
			Reason: words.VolumeUnreadable, Observed: in.Self, Cause: words.New(words.VolumeNotLooked, "why", in.VolumeDetail),
		})
	}
	if !in.replaces().IsZero() {
		blockers = in.butReplaced(m, blockers)
		if uid := in.ServiceAnnotations[api.AnnotationReplacePodUID]; uid != "" && uid == in.PodUID {
			// The replacement is about to evict this Pod, with its volume: a start now would be killed in the middle, or create a member whose volume is deleted.
			blockers = append(blockers, matrix.Blocker{Reason: words.PodToBeReplaced, Observed: in.Self})
		}
	}
	matrix.SortBlockers(blockers)
	if in.JudgedBy != "" {
		notes = append(notes, words.New(words.JudgedByOverride, "report", in.JudgedBy, "annotation", api.AnnotationStatusReportOverrideRef))
	}
	notes = append(notes, in.perhapsItself(m)...)
	notes = append(notes, in.newRack(m)...)
	return blockers, append(notes, remarks(m, others)...)
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
			return []matrix.Blocker{{Reason: words.ReportMissing, Observed: in.Self, Cause: words.New(words.DataIsGone, "member", in.Self.Name())}}
		}
		return []matrix.Blocker{{Reason: words.ReportMissing, Cause: why}}
	}
	first := in.first()
	if first.Member == in.Self.Member {
		return nil
	}
	return []matrix.Blocker{{Reason: words.FirstNodePending, Observed: first, Cause: words.New(words.FirstNodeIs, "first", first.Name())}}
}

// lostAlone is true for the only member that has ever joined, on a volume without any file: nobody else has its data.
func (in *Input) lostAlone() bool {
	return in.Volume == VolumeEmpty && in.SelfJoined != nil && *in.SelfJoined && in.replaces().IsZero() &&
		!slices.ContainsFunc(in.Peers, func(p Peer) bool { return p.HostID != "" || p.Joined != nil && *p.Joined })
}

// first is the member that may be the first node, by the rule by which the launcher chooses seeds.
func (in *Input) first() matrix.Ref {
	refs := map[string]matrix.Ref{in.Self.Member: in.Self}
	members := []SeedMember{{Name: in.Self.Member, Created: in.Created}}
	for _, p := range in.Peers {
		refs[p.Member] = p.Ref
		members = append(members, SeedMember{Name: p.Member, Created: p.Created})
	}
	first, _ := First(members) // never empty: Self is among them
	return refs[first.Name]
}

// butReplaced leaves out the blockers about the nodes that Self replaces or that ScyllaDB is told to ignore: they must be DOWN, and all other nodes UP, because ScyllaDB cancels a
// replacement like a join, after it has banned the target.
func (in *Input) butReplaced(m *matrix.Matrix, blockers []matrix.Blocker) []matrix.Blocker {
	dead := map[hostid.ID]bool{}
	for _, id := range in.Dead() {
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
		for i := range nodes {
			if n := &nodes[i]; n.Reports && i != at && m.At(i, at) == matrix.Up {
				by = append(by, n.Name())
			}
		}
		if len(by) > 0 {
			blockers = append(blockers, matrix.Blocker{
				Reason: words.ReplacedNodeUp, Observed: nodes[at].Ref, Cause: words.New(words.SeenUpBy, "observers", by[:min(3, len(by))]),
			})
		}
	}
	return blockers
}

// Dead are the host IDs that must be DOWN: of a member that replaces a node that node and the ignored ones; none for any other.
func (in *Input) Dead() []hostid.ID {
	if in.replaces().IsZero() {
		return nil
	}
	var dead []hostid.ID
	if id := hostid.Known(in.ServiceLabels[api.LabelReplacingNodeHostID]); id != "" {
		dead = append(dead, id)
	} else if in.Self.HostID != "" {
		dead = append(dead, in.Self.HostID) // by address: the Service still records the old node
	}
	return append(dead, IgnoredDead(in.ServiceAnnotations)...)
}

// IgnoredDead returns the host IDs that the annotations of a member Service list as dead nodes for a replacement to ignore.
func IgnoredDead(annotations map[string]string) []hostid.ID {
	var ids []hostid.ID
	for _, text := range api.SplitList(annotations[api.AnnotationReplaceIgnoreDead]) {
		if id, err := hostid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Outdated lists why rows with UP may no longer be true: members that have joined since, and a controller that no longer updates the reports. silent and since are as in Input.
func Outdated(m *matrix.Matrix, members []Peer, silent words.Message, since time.Time) []matrix.Blocker {
	return append(behind(m, members), silence(silent, since)...)
}

// RolloutBlockers are the blockers of StatefulSets that are not at rest.
func RolloutBlockers(rollouts []Rollout) []matrix.Blocker {
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
func behind(m *matrix.Matrix, members []Peer) []matrix.Blocker {
	if m.Empty() {
		return nil
	}
	var list []matrix.Blocker
	for i := range members {
		p := &members[i]
		if p.HostID == "" || p.Joined == nil || !*p.Joined || Removed(m, p) {
			continue
		}
		cause := words.New(words.JoinedAndNotReported)
		if at, ok := m.Index(p.HostID); ok {
			n := &m.Nodes()[at]
			newcomer := n.State == matrix.StateJoining || n.State == matrix.StateReplacing
			if n.Reports || !newcomer || m.Lenient() {
				continue // it has a row, or the matrix itself has the blocker for its missing row
			}
			cause = words.New(words.JoinedAndReportedAsNewcomer, "state", strings.ToLower(n.State.String()))
		}
		list = append(list, matrix.Blocker{Reason: words.RowMissing, Observed: p.Ref, Cause: cause})
	}
	return list
}

// Removed is true for a member whose Service still records a host ID that no fresh row lists: its node was removed. It is false for a member whose ScyllaDB serves, or may: it has
// joined since the rows were written.
func Removed(m *matrix.Matrix, p *Peer) bool {
	at, ok := m.Index(p.HostID)
	if ok {
		return m.Nodes()[at].Removed
	}
	return p.Idle && p.HostID != "" && m.Reporting() > 0
}

// remarks are the notes: what was not verified, and what is left to clean up.
func remarks(m *matrix.Matrix, others []Peer) []words.Message {
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
	for i := range others {
		if p := &others[i]; p.Joined != nil && *p.Joined && Removed(m, p) {
			notes = append(notes, words.New(words.RecordedHostIDRemoved, "member", p.Name(), "hostID", p.HostID))
		}
	}
	return notes
}
