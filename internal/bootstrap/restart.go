// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// restart is the summary for a member that only comes back; zero when there is no evidence of that.
//
// ScyllaDB does not flush system.local when a node has joined, so after a hard crash the disk may say "no" about a node that
// everybody else has as a member, and holding that one back would hold back the only thing that can end its being DOWN. It takes three things: the
// member has joined by its Service's word or its own last row, every fresh row lists its host ID as a plain member, and its volume is not known to
// be anything but its own. A member whose recorded node is to be replaced is none: its data are taken away, or about to be.
func (in *Input) restart(m *matrix.Matrix) code.Message {
	id := in.Self.HostID
	if id == "" || in.Volume == VolumeEmpty || in.Volume == VolumeUnreadable || in.VolumeHostID != "" && in.VolumeHostID != id {
		return code.Message{}
	}
	target := in.ServiceLabels[api.LabelReplacingNodeHostID]
	if _, requested := in.ServiceLabels[api.LabelReplace]; hostid.Known(target) == id || requested && hostid.Known(target) == "" {
		return code.Message{}
	}
	if !in.hasJoined(m) {
		return code.Message{}
	}
	said := knownBy(m, id, in.SelfJoined != nil)
	switch {
	case said.against:
		return code.Message{}
	case said.peer != (matrix.Ref{}):
		summary := SummaryKnownToPeer
		if in.Volume == VolumeNotLooked {
			summary = SummaryLikelyRestart // from outside its Pod
		}
		return code.New(summary, "peer", said.peer.Name(), "hostID", id)
	case said.fresh:
		return code.Message{}
	case in.Volume == VolumeUsed && in.VolumeHostID == id:
		// The whole cluster comes back at once, and no row is fresh: the volume itself says whose it is.
		return code.New(SummaryColdStart, "hostID", id)
	case in.LastListedBy != (matrix.Ref{}) && in.Volume == VolumeUsed && in.SelfJoined != nil && *in.SelfJoined:
		// The same where the volume could not be asked whose it is: nodes that are no longer heard listed this one as a member, and membership does not age.
		return code.New(SummaryLastListed, "peer", in.LastListedBy.Name(), "hostID", id)
	case m.Empty() && in.alone() && !in.otherDatacenter(m):
		return code.New(SummaryOnlyMember)
	}
	return code.Message{}
}

// alone is true where no other member is known to have joined, ever. Where there are others at all, the volume has to hold ScyllaDB's own files.
func (in *Input) alone() bool {
	return len(in.Peers) == 0 || in.Volume == VolumeUsed &&
		!slices.ContainsFunc(in.Peers, func(p Peer) bool { return p.HostID != "" || p.Joined != nil && *p.Joined })
}

// hasJoined is true for a member by its Service's word, or where that says nothing by its own last row.
func (in *Input) hasJoined(m *matrix.Matrix) bool {
	if in.SelfJoined != nil {
		return *in.SelfJoined
	}
	i, ok := m.Index(in.Self.HostID)
	if !ok {
		return false
	}
	row := m.Nodes()[i].Row
	return row != nil && row.Reported && !row.NoStates && row.State == matrix.StateNormal && strings.EqualFold(row.OperationMode, modeNormal)
}

// modeNormal is what a node says of itself once it has joined. One that is STARTING may be a member or not.
const modeNormal = "NORMAL"

// known is what the rows say of one host ID.
type known struct {
	peer    matrix.Ref // lists it as a full member
	against bool       // a row that counts does not list it, or lists it as a newcomer, as replaced or as gone
	fresh   bool       // there is a fresh row
}

// knownBy asks every row but the node's own. Fresh rows decide, and all of them must agree; only where there is none at all, as when the whole
// cluster comes back at once, old rows that mention the node do, because membership does not age as liveness does. A row
// without states cannot tell a member from a newcomer: it counts only where the Service says that the node has joined.
func knownBy(m *matrix.Matrix, hostID hostid.ID, joined bool) known {
	self, listed := m.Index(hostID)
	nodes := m.Nodes()
	var k known
	for i := range nodes {
		k.fresh = k.fresh || nodes[i].Reports && nodes[i].HostID != hostID && !nodes[i].Self
	}
	if !listed {
		k.against = k.fresh
		return k
	}
	for i := range nodes {
		n := &nodes[i]
		if i == self || n.Self || n.Row == nil || n.Reports != k.fresh {
			continue
		}
		c := m.Cell(i, self)
		if c.Status == matrix.Missing {
			k.against = k.against || k.fresh
			continue
		}
		if c.State != matrix.StateNormal && c.State != matrix.StateLeaving || n.Row.NoStates && !joined {
			k.against = true
			continue
		}
		if k.peer == (matrix.Ref{}) {
			k.peer = n.Ref
		}
	}
	return k
}
