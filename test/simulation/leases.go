// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
)

// --heartbeat=lease: reporters write their number to a Lease of their Pod, where they may not be asked. Package heartbeat defines its content and meaning.

// heartbeatLease is the duration in such a Lease; no reader uses it.
const heartbeatLease = 15

// byLease is true in a world whose reporters do that.
func (w *world) byLease() bool { return w.permits() && w.Seed%8 == 3 }

// ownBeat is what a reporter knows of its own Lease.
type ownBeat struct {
	is       *coordinationv1.Lease // as it was written last; nil where that is not known
	renewing bool
}

// renewLease is one renewal, as package reporter makes it: by the version that it knows, or, where it knows none, by the present one. It may be lost, or arrive late.
func (w *world) renewLease(p *pod) {
	b := &p.reporter.beat
	if !w.byLease() || b.row == "" || b.own.renewing {
		return
	}
	base := b.own.is
	if base == nil {
		base = w.leases[p.name]
	}
	next := &coordinationv1.Lease{}
	if base != nil {
		next = base.DeepCopy()
	}
	heartbeat.Fill(next, heartbeat.Owner{Pod: types.NamespacedName{Namespace: namespace, Name: p.name}, UID: types.UID(p.uid), Cluster: clusterName}, b.number, b.digest, metav1.NewMicroTime(p.clock(w)), heartbeatLease)
	arrives := func() bool {
		if p.removed || w.leases[p.name] != base {
			return false // it has another version
		}
		w.leases[p.name] = next
		return true
	}
	x := 1.0
	if !w.healed {
		x = w.extra.Float64()
	}
	starts := b.starts
	b.own.renewing = true
	w.after(lasts(w.extra, 50*time.Millisecond, time.Second)+p.reporter.slow, func() {
		late := func() { arrives() }
		arrived := !w.away(p) && x >= 0.03 && arrives()
		if !w.away(p) && x >= 0.02 && x < 0.03 {
			w.after(lasts(w.extra, time.Second, 40*time.Second), late)
		}
		if b.starts != starts {
			return // of the process before
		}
		b.own = ownBeat{}
		if arrived {
			b.own.is = next
		}
	})
}

// collect is the garbage collector of Kubernetes, which takes a Lease after its Pod.
func (w *world) collect(p *pod) {
	if !w.byLease() {
		return
	}
	w.after(lasts(w.extra, time.Second, 20*time.Second), func() {
		if l := w.leases[p.name]; l != nil && l.OwnerReferences[0].UID == types.UID(p.uid) {
			delete(w.leases, p.name)
		}
	})
}

// onLease is the number of a member's Lease as the controller's watch has delivered it; false for none that confirms the row.
func (w *world) onLease(t *heartbeats.Target) (int64, bool) {
	l := w.control.leases[t.Pod.Name]
	if l == nil {
		return 0, false
	}
	answer, err := heartbeat.Read(l, t.UID, t.Digest)
	number := answer.Number
	if w.without(OffLeaseBeats) {
		number = int64(w.now.Sub(start))
	}
	return number, err == nil
}
