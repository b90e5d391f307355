// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// perhapsItself returns the note for a member that may wait for itself. Its volume has a node's
// files. Its Service records no host ID, or one that was removed, because no reporter ran when it
// joined. Exactly one host ID that no member here has or replaces is DOWN. The volume does not
// prove it (system.local is not flushed), so a user must decide. Zero while the Pod or its PVC is
// being deleted: the next Pod may have another volume.
func (in *Input) perhapsItself(m *matrix.Matrix) []words.Message {
	if in.Member.Deleting() || in.Member.PVC != nil && in.Member.PVC.DeletionTimestamp != nil {
		return nil
	}
	if in.unrecorded(m) {
		return in.perhaps(words.JoinNotRecorded, in.self.HostID)
	}
	if in.self.HostID != "" && listed(m, in.self.HostID) || in.self.Member == "" || in.Volume != VolumeUsed ||
		in.stillReplaces(m) {
		return nil
	}
	var nobodys []hostid.ID
	for i := range m.Nodes() {
		n := &m.Nodes()[i]
		recorded := slices.ContainsFunc(in.Peers, func(p *cluster.Member) bool {
			return p.RecordedID() == n.HostID || p.Label(api.LabelReplacingNodeHostID) == string(n.HostID)
		})
		if n.HostID != "" && n.Row == nil && n.Member == "" && n.Joined && !recorded && n.SeenDown > 0 &&
			n.SeenUp == 0 {
			nobodys = append(nobodys, n.HostID)
		}
	}
	if len(nobodys) != 1 {
		return nil
	}
	return in.perhaps(words.MayWaitForItself, nobodys[0])
}

// stillReplaces reports whether the member replaces a node that the rows still list, or whose host
// ID is unknown. If they no longer list it, the replacement has finished: the node in the volume is
// the new one, whose host ID no controller recorded.
func (in *Input) stillReplaces(m *matrix.Matrix) bool {
	original := hostid.Known(in.Member.Label(api.LabelReplacingNodeHostID))
	return !in.replaces().IsZero() && (original == "" || listed(m, original))
}

func (in *Input) perhaps(note words.Code, hostID hostid.ID) []words.Message {
	return []words.Message{words.New(note, "member", in.self.Name(), "hostID", hostID)}
}

// unrecorded reports whether the rows list the member as joined and DOWN under the host ID of its
// Service, while the Service records no join: its machine failed before the join was recorded. Its
// volume has no readable host ID, and may belong to a later attempt. Or it has that host ID, and
// its record of the join is older than what ScyllaDB reads when it starts. So the barrier does not
// open automatically.
func (in *Input) unrecorded(m *matrix.Matrix) bool {
	if in.Member.HasJoined() || in.self.HostID == "" || in.self.Member == "" || in.Volume != VolumeUsed ||
		in.VolumeHostID != "" && in.VolumeHostID != in.self.HostID || !in.replaces().IsZero() {
		return false
	}
	i, ok := m.Index(in.self.HostID)
	if !ok {
		return false
	}
	n := &m.Nodes()[i]
	return n.Joined && n.SeenDown > 0 && n.SeenUp == 0
}
