// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// perhapsItself is for a member that may wait for itself: its volume holds a node's files, no host ID is recorded of it, or one that was removed, because its
// reporter was not there when it joined, and one host ID is DOWN that no member here has. Nothing in the volume can be read that tells (system.local is not flushed), so a person decides.
func (in *Input) perhapsItself(m *matrix.Matrix) []code.Message {
	if in.Self.HostID != "" && listed(m, in.Self.HostID) || in.Self.Member == "" || in.Volume != VolumeUsed || !in.replaces().IsZero() {
		return nil
	}
	var nobodys []hostid.ID
	for i := range m.Nodes() {
		n := &m.Nodes()[i]
		recorded := slices.ContainsFunc(in.Peers, func(p Peer) bool { return p.HostID == n.HostID })
		if n.HostID != "" && n.Row == nil && n.Member == "" && n.Joined && !recorded && n.SeenDown > 0 && n.SeenUp == 0 {
			nobodys = append(nobodys, n.HostID)
		}
	}
	if len(nobodys) != 1 {
		return nil
	}
	return []code.Message{code.New(NotePerhapsItself, "member", in.Self.Name(), "hostID", nobodys[0]).Do(code.Scylla(in.Namespace, "force-proceed", in.Self.Name()))}
}
