// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Volumes that are slow, or not what they were.

// slowDisk makes every start on one machine take minutes: the commit log is replayed first (3.4).
func slowDisk(w *world, rng *rand.Rand) bool {
	m, d := pickBy(rng, w.machine), lasts(rng, 20*time.Second, 3*time.Minute)
	m.slow = d
	w.after(lasts(rng, 2*time.Minute, 10*time.Minute), func() { m.slow = 0 })
	return !m.gone
}

// slowly is how much longer ScyllaDB takes on the Pod's disk.
func (p *pod) slowly() time.Duration {
	if p.machine == nil {
		return 0
	}
	return p.machine.slow
}

// volumeRestored: a member's volume fails, and a person creates its claim again from a snapshot of the same volume of minutes ago.
func volumeRestored(w *world, rng *rand.Rand) bool {
	p := w.one(rng)
	if p == nil || p.claim.disk.id == "" {
		return false
	}
	of, at := *p.claim.disk, p.name
	w.after(lasts(rng, time.Minute, 6*time.Minute), func() { w.restoreVolume(at, &of, of.complete) })
	return true
}

// volumeCloned: a person restores the volume of a member that was lost from the snapshot of another one. ScyllaDB has no guard against it (12).
func volumeCloned(w *world, rng *rand.Rand) bool {
	p, q := w.one(rng), w.one(rng)
	if p == nil || q == nil || p == q || p.claim.disk.id == "" || !q.claim.disk.flushed || w.silent() || w.isCut(p) {
		return false // of a volume that returns no host ID nobody can tell: docs/internals.md, "Bootstrapped?"
	}
	of := *q.claim.disk
	of.copied = true
	return w.restoreVolume(p.name, &of, false)
}

// restoreVolume has a member's claim and Pod created again, with that on the volume. own: it is what the member had.
func (w *world) restoreVolume(member string, of *disk, own bool) bool {
	p := w.pods[member]
	if p == nil || p.deleting || p.claim.deleting || p.claim.disk.id == "" || !w.mayLose(member) || w.busy() || p.lost() {
		return false
	}
	if !own || p.claim.disk.id != of.id {
		w.noteLoss(p)
		w.after(time.Minute, func() { w.mendVolume(member, of) })
	}
	w.tracef("the volume of %s is restored: it has host ID %s", member, short(of.id))
	old := p.claim
	w.deletePod(p, true)
	o := old.obj.DeepCopy()
	o.UID, o.DeletionTimestamp, o.Spec.VolumeName = types.UID(w.uid()), nil, ""
	w.claims[o.Name] = &claim{obj: o, disk: of}
	w.claimNames.changed()
	w.wrote()
	return true
}

// mendVolume is what the barrier prints of a volume that is another node's: the person who restored it knows that the member's own data is lost.
func (w *world) mendVolume(member string, of *disk) {
	p := w.pods[member]
	if p != nil && p.claim.disk != of {
		return
	}
	if p != nil && p.waits() && slices.ContainsFunc(p.barrier.verdict.Blockers, func(b matrix.Blocker) bool { return b.Reason == words.ForeignVolume }) {
		svc := w.service[member]
		if rec := replace.ReadRecord(svc.Labels, svc.Annotations); !w.member(svc.Annotations[api.AnnotationHostID]) {
			w.wipe(p)
		} else if !rec.Requested && !rec.Open() {
			w.requestReplace(member)
		}
	}
	w.after(time.Minute, func() { w.mendVolume(member, of) })
}

// setAndClaims deletes a StatefulSet and the claim of its last member, and applies it again.
func setAndClaims(w *world, rng *rand.Rand) bool {
	s := pickBy(rng, w.sets)
	p := w.pods[podName(s, s.replicas-1)]
	if s.away || p == nil || p.claim.disk.id == "" || w.busy() || !w.mayLose(p.name) || w.silent() || slices.ContainsFunc(w.podNames.of(w.pods), func(name string) bool { return !w.mayStop(w.pods[name]) }) {
		return false
	}
	w.noteLoss(p)
	w.deleteClaim(p.claim)
	w.deleteSet(s)
	w.after(lasts(rng, 20*time.Second, 3*time.Minute), func() { w.applyAgain(s) })
	return true
}
