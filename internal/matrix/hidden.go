// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// Hides reports whether the member is possibly in no row although it was not removed. Up to 2025.2
// ScyllaDB lists one host ID per address. A complete row lists each member that owns tokens, and in
// 2025.2, whose gossip has each host ID, also each member without tokens. A member owns tokens if a
// node of its rack does: its StatefulSet has one configuration.
func (m *Matrix) Hides(member Ref) bool {
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
		if v.ListsSharedAddresses() == release.No {
			unproven = unproven || !says.Complete
			ownersOnly = ownersOnly || v.GossipsByHostID() == release.No
		}
	}
	return unproven || ownersOnly && !owns
}
