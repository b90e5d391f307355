// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// Hides reports whether the member is possibly in no row although it was not removed. Up to 2025.2
// ScyllaDB lists one host ID per address. A complete row lists each member that owns tokens, and in
// 2025.2, whose gossip has each host ID, also each member without tokens. A member owns tokens if a
// node of its rack does: its StatefulSet has one configuration.
func (m *Matrix) Hides(member Ref) bool { return m.hides(member, release.Unknown) }

// MayHide is Hides, where a row of unknown version counts as one of up to 2025.2: the operator's
// rows have no version. It is asked before what cannot be undone.
func (m *Matrix) MayHide(member Ref) bool { return m.hides(member, release.No) }

// hides is Hides, where a row of unknown version lists shared addresses or not.
func (m *Matrix) hides(member Ref, unknown release.Support) bool {
	owns, unproven, ownersOnly := false, false, false
	for i := range m.lines {
		l := &m.lines[i]
		says := l.row.Says()
		at := &l.row.Reporter
		owns = owns || says.OwnsTokens != nil && *says.OwnsTokens &&
			at.Datacenter == member.Datacenter && at.Rack == member.Rack
		if !l.reports || l.empty || m.isSelf(at) {
			continue
		}
		v, _ := release.Parse(says.ScyllaVersion)
		shared := v.ListsSharedAddresses()
		if shared == release.Unknown {
			shared = unknown
		}
		if shared == release.No {
			unproven = unproven || !says.Complete
			ownersOnly = ownersOnly || v.GossipsByHostID() == release.No
		}
	}
	return unproven || ownersOnly && !owns
}
