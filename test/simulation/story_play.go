// SPDX-License-Identifier: Apache-2.0

package simulation

import "time"

// EmptyVolume deletes a member's PVC and Pod: it starts on an empty volume.
func (p Play) EmptyVolume(member string) {
	q := p.w.pods[member]
	p.w.deleteClaim(q.claim)
	p.w.deletePod(q, true)
}

// EmptyVolumeWhileReplacing does so as soon as its new node joins.
func (p Play) EmptyVolumeWhileReplacing(member string) {
	for _, g := range p.w.groups {
		if r := g.current; r != nil && r.proc != nil && r.proc.pod.name == member {
			p.EmptyVolume(member)
			return
		}
	}
	p.w.after(time.Second, func() { p.EmptyVolumeWhileReplacing(member) })
}

// Restart deletes a member's Pod.
func (p Play) Restart(member string) { p.w.deletePod(p.w.pods[member], false) }

// Stop ends ScyllaDB of a member, which nobody starts again.
func (p Play) Stop(member string) {
	q := p.w.pods[member]
	p.w.kill(q, true)
	q.next = p.w.now.Add(p.w.Story.Lasts)
}
