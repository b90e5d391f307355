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

// precondition returns the blockers of Self, and notes with its own added.
func (in *Input) precondition(m *matrix.Matrix, notes []words.Message) ([]matrix.Blocker, []words.Message) {
	blockers := slices.Clone(m.Blockers())
	if m.Empty() {
		blockers = append(blockers, in.genesis(m)...)
	}
	blockers = append(blockers, outdated(m, in.Peers, in.self.HostID, in.ControllerSilent, in.ControllerSilentSince)...)
	blockers = append(blockers, in.Doubts...)
	blockers = append(blockers, rolloutBlockers(in.Rollouts)...)
	blockers = append(blockers, in.tooOld(m)...)
	blockers = append(blockers, in.oneAtATime(m)...)
	if in.Volume == VolumeUnreadable && in.self.HostID != "" && in.hasJoined(m) {
		// It is unknown whether the member restarts or has lost its disk.
		blockers = append(blockers, matrix.Blocker{
			Reason: words.VolumeUnreadable, Observed: in.self,
			Cause: words.New(words.VolumeNotLooked, "why", in.VolumeDetail),
		})
	}
	if !in.replaces().IsZero() {
		blockers = in.butReplaced(m, blockers)
		if uid := in.Member.Annotation(api.AnnotationReplacePodUID); uid != "" && in.Member.Pod != nil &&
			uid == string(in.Member.Pod.UID) {
			// The replacement is about to evict this Pod, with its volume. A start now would be
			// interrupted, or create a member whose volume is deleted.
			blockers = append(blockers, matrix.Blocker{Reason: words.PodToBeReplaced, Observed: in.self})
		}
	}
	if in.Ran != "" && in.Volume != VolumeEmpty {
		// A request that ScyllaDB placed before its container ended is decided without this start.
		// An empty volume, or possibly an unreadable one, would start as another node instead.
		blockers = slices.DeleteFunc(blockers, func(b matrix.Blocker) bool {
			return b.Observed.HostID == in.Ran && b.Reason != words.VolumeUnreadable
		})
	}
	matrix.SortBlockers(blockers)
	if in.JudgedBy != "" {
		notes = append(notes, words.New(words.JudgedByOverride, "report", in.JudgedBy, "annotation",
			api.AnnotationStatusReportOverrideRef))
	}
	notes = append(notes, in.perhapsItself(m)...)
	notes = append(notes, in.newRack(m)...)
	return blockers, append(notes, remarks(m, in.Peers, in.self.HostID)...)
}

// genesis returns the blockers of a node while no other node has a row. Either the cluster is not
// new, or another member is its first node. Only one first node is allowed: two that start at once
// create two clusters.
func (in *Input) genesis(m *matrix.Matrix) []matrix.Blocker {
	if why := in.notNew(m); !why.IsZero() {
		if in.otherDatacenter(m) && !in.anyJoined() {
			// The first Pod of an additional datacenter is not the first node.
			return []matrix.Blocker{{Reason: words.DatacenterNotVerified, Cause: why}}
		}
		if in.lostAlone() && !in.otherDatacenter(m) {
			return []matrix.Blocker{
				{Reason: words.ReportMissing, Observed: in.self,
					Cause: words.New(words.DataIsGone, "member", in.self.Name())}}
		}
		return []matrix.Blocker{{Reason: words.ReportMissing, Cause: why}}
	}
	first := in.first()
	if first.Member == in.self.Member {
		return nil
	}
	return []matrix.Blocker{
		{Reason: words.FirstNodePending, Observed: first, Cause: words.New(words.FirstNodeIs, "first", first.Name())}}
}

// lostAlone reports whether this is the only member that has ever joined, on a volume without any
// file: no other node has its data.
func (in *Input) lostAlone() bool {
	return in.Volume == VolumeEmpty && in.Member.HasJoined() && in.replaces().IsZero() &&
		!slices.ContainsFunc(in.Peers, recorded)
}

// first returns the member that may be the first node, by the same rule as the launcher's choice of
// seeds.
func (in *Input) first() matrix.Ref {
	if first := First(append(slices.Clip(in.Peers), in.Member), in.FormHolder); first != in.Member {
		return first.Recorded()
	}
	return in.self
}

// butReplaced removes the blockers about the nodes that Self replaces or that ScyllaDB ignores.
// They must be DOWN, and all other nodes UP: ScyllaDB cancels a replacement like a join, after it
// has banned the target.
func (in *Input) butReplaced(m *matrix.Matrix, blockers []matrix.Blocker) []matrix.Blocker {
	dead := map[hostid.ID]bool{}
	for _, id := range in.Member.MustBeDown() {
		dead[id] = true
	}
	blockers = slices.DeleteFunc(blockers, func(b matrix.Blocker) bool {
		return dead[b.Observed.HostID] ||
			dead[b.Observer.HostID]
	})
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
				Reason: words.ReplacedNodeUp, Observed: nodes[at].Ref,
				Cause: words.New(words.SeenUpBy, "observers", by[:min(3, len(by))]),
			})
		}
	}
	return blockers
}

// outdated returns why rows with UP may be out of date: members that have joined since, except but,
// and a controller that no longer updates the reports. silent and since are as in Input.
func outdated(m *matrix.Matrix, members []*cluster.Member, but hostid.ID, silent words.Message,
	since time.Time) []matrix.Blocker {
	return append(behind(m, members, but), silence(silent, since)...)
}

// RolloutBlockers returns the blockers of the cluster's StatefulSets that are not at rest.
func RolloutBlockers(c *cluster.Cluster) []matrix.Blocker {
	return rolloutBlockers(maintenance.Rollouts(c, nil))
}

func rolloutBlockers(rollouts []maintenance.Rollout) []matrix.Blocker {
	var list []matrix.Blocker
	for _, r := range rollouts {
		b := matrix.Blocker{Reason: words.RolloutInProgress, Cause: r.Cause}
		if r.Cause.Code == words.FewerPodsReady && !r.Rolling {
			// its Pods do not change, so `rollout status` might wait indefinitely
			b.Reason = words.PodsNotReady
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

// behind returns the members that have joined by their Services while the rows are older. Either no
// row mentions them, or the rows still have them as joining and they have no row of their own. The
// observations of such a member are unknown. The list is empty for an empty matrix: that no member
// has a row is one finding, not many.
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
		if at, ok := m.Index(id); ok && !m.Nodes()[at].Removed { // else it has just joined, and the rows are older
			n := &m.Nodes()[at]
			if n.Reports || !n.State.NewNode() || m.Lenient() {
				continue // it has a row, or the matrix itself has the blocker for its missing row
			}
			cause = words.New(words.JoinedAndReportedAsNewcomer, "state", strings.ToLower(n.State.String()))
		}
		list = append(list, matrix.Blocker{Reason: words.RowMissing, Observed: p.Recorded(), Cause: cause})
	}
	return list
}

// remarks returns the notes: what was not verified, and what must be cleaned up.
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
			id, code := p.Recorded(), words.RecordedHostIDRemoved
			if p.Label(api.LabelDecommissioned) != api.DecommissionedDone && (!m.NoneLists(id) || m.MayHide(id)) {
				code = words.RecordedHostIDNotListed
			}
			notes = append(notes, words.New(code, "member", p.Name(), "hostID", p.RecordedID()))
		}
	}
	return notes
}
