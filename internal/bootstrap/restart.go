// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// restart returns the summary for a member that only restarts; zero without evidence of that.
//
// ScyllaDB does not flush system.local when a node has joined. So after a hard crash the disk may
// have "no" for a node that all others list as a member. Such a node must not wait: only its start
// makes it UP again. Three things are required:
//   - the member has joined by its Service or by its own last row, or ScyllaDB has run in its Pod
//   - every fresh row lists its host ID as a member, normal or leaving; or as a new node, if the
//     Service records the join of this host ID; or no row lists it, and each one can hide it
//   - its volume was read, is not empty, and does not belong to another node, as far as known; one
//     that was empty at the Pod's barrier belongs to the node that has run in the Pod
//
// A member whose recorded node is to be replaced never qualifies: its data is deleted, or about to
// be. Nor does one with the host ID of another member.
func (in *Input) restart(m *matrix.Matrix) words.Message {
	id := cmp.Or(in.Ran, in.self.HostID)
	if id == "" || in.ownerOf(id) != "" || in.Volume == VolumeEmpty || in.Volume == VolumeUnreadable ||
		in.VolumeHostID != "" && in.VolumeHostID != id {
		return words.Message{}
	}
	target := in.Member.Label(api.LabelReplacingNodeHostID)
	if _, requested := in.service().Labels[api.LabelReplace]; hostid.Known(target) == id ||
		requested && hostid.Known(target) == "" {
		return words.Message{}
	}
	joined := in.hasJoined(m)
	if in.Ran == "" && (!joined || in.WasEmpty) {
		return words.Message{}
	}
	said := knownBy(m, id, joined && in.Member.Joined != nil)
	switch {
	case said.against:
		return words.Message{}
	case said.peer != (matrix.Ref{}):
		summary := words.StartsAsMemberKnownToPeer
		if in.Volume == VolumeNotLooked {
			summary = words.StartsAsMemberIfVolumeHolds // from outside its Pod
		}
		return words.New(summary, "peer", said.peer.Name(), "hostID", id)
	case said.fresh && joined && in.Volume == VolumeUsed && in.Member.Joined != nil:
		// No fresh row lists it, and each can hide a member whose address another node has.
		return words.New(words.StartsAsHiddenMember, "hostID", id)
	case said.fresh, !joined && in.first().Member != in.self.Member:
		return words.Message{}
	case joined && in.Volume == VolumeUsed && in.VolumeHostID == id:
		// The whole cluster restarts at once, and no row is fresh: the host ID in the volume proves
		// that the volume belongs to the member.
		return words.New(words.StartsWithWholeCluster, "hostID", id)
	case in.LastListedBy != (matrix.Ref{}) && in.Volume == VolumeUsed && in.Member.HasJoined():
		// As above, but the volume's host ID is unknown. Last rows list this node as a member, and
		// membership does not age.
		return words.New(words.StartsAsMemberByLastRow, "peer", in.LastListedBy.Name(), "hostID", id)
	case m.Empty() && in.alone() && !in.otherDatacenter(m):
		return words.New(words.StartsAsOnlyMember)
	}
	return words.Message{}
}

// alone reports whether no other member has ever joined, as far as known: a Service that records a
// host ID must also record that ScyllaDB had not joined with it. If there are other members, the
// volume must have ScyllaDB's own files.
func (in *Input) alone() bool {
	joined := func(m *cluster.Member) bool { return recorded(m) && (m.Joined == nil || *m.Joined) }
	return len(in.Peers) == 0 || in.Volume == VolumeUsed && !slices.ContainsFunc(in.Peers, joined)
}

// recorded reports whether the member's Service records a node: its host ID, or that it has joined.
func recorded(m *cluster.Member) bool { return m.RecordedID() != "" || m.HasJoined() }

// hasJoined reports whether the member has joined by its Service, or if that does not record it, by
// its own last row.
func (in *Input) hasJoined(m *matrix.Matrix) bool {
	if in.Member.Joined != nil {
		return *in.Member.Joined
	}
	i, ok := m.Index(in.self.HostID)
	if !ok {
		return false
	}
	row := m.Nodes()[i].Row
	return row != nil && row.Reported && !row.NoStates && row.State == matrix.StateNormal &&
		strings.EqualFold(row.Says().OperationMode, modeNormal)
}

// modeNormal is a node's operation mode after its join. A node in mode STARTING may be a member or
// not.
const modeNormal = "NORMAL"

// known is the evidence of the rows about one host ID.
type known struct {
	peer    matrix.Ref // lists it as a full member
	against bool       // a usable row that cannot hide it does not list it, or lists it as joining, replaced or gone
	fresh   bool       // there is a fresh row
}

// knownBy collects every row except the node's own. Fresh rows decide, and all must agree. Only if
// there are none, as when the whole cluster restarts, old rows that mention the node decide:
// membership does not age as UP does. A row without states does not distinguish a member from a new
// node, so it counts only if the Service records the join (joined). Then it also counts if it has
// the node as joining or replacing: the node owned its tokens, and the row has not been renewed.
func knownBy(m *matrix.Matrix, hostID hostid.ID, joined bool) known {
	self, listed := m.Index(hostID)
	nodes := m.Nodes()
	var k known
	for i := range nodes {
		if n := &nodes[i]; n.Reports && n.HostID != hostID && !n.Self {
			k.fresh = true
			k.against = k.against || !listed && (!hidesNodes(*n) || n.Row.Says().Complete)
		}
	}
	if !listed {
		return k
	}
	for i := range nodes {
		n := &nodes[i]
		if i == self || n.Self || n.Row == nil || n.Reports != k.fresh {
			continue
		}
		c := m.Cell(i, self)
		if c.Status == matrix.Missing {
			k.against = k.against || k.fresh && !m.Hides(nodes[self].Ref)
			continue
		}
		isMember := c.State == matrix.StateNormal || c.State == matrix.StateLeaving || joined && c.State.NewNode()
		if !isMember || n.Row.NoStates && !joined {
			k.against = true
			continue
		}
		if k.peer == (matrix.Ref{}) {
			k.peer = n.Ref
		}
	}
	return k
}
