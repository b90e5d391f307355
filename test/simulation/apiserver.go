// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/keep"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

// The controller's way to the API server, as package controller/keep, internal/kube's Progress and controller/replacement's claims know it.
const (
	leaseDuration = 15 * time.Second
	renewInterval = 2 * time.Second
	watchSilence  = 70 * time.Second
	settleClaim   = 3 * time.Second
	claimMarked   = 30 * time.Second
)

// way is what goes wrong between the controller and the API server: the four faults of test/e2e/faultproxy.
type way struct {
	dice
	// dropped: no request arrives. stalled: watches deliver nothing, requests work. rejected: admission refuses reports; all of them, or those of datacenters alone.
	dropped, stalled, rejected time.Time
	rejectsAll                 bool
	// A delayed request arrives at that time, even where its client has given up.
	heldReports, heldLease, heldDeletes time.Time

	read    time.Time // when the cache was last filled
	since   time.Time // since when no request arrives
	reports int       // version of the reports
	lease   int       // and of the Lease
}

// apiFaults draws what goes wrong on the controller's way in the half hour of a seed.
func (w *world) apiFaults() {
	y := &w.control.way
	y.dice = newDice(&w.Options, 0xfa17)
	for range y.IntN(4) {
		w.after(y.between(20*time.Second, healAt-2*time.Minute), w.apiFault)
	}
}

func (w *world) apiFault() {
	y := &w.control.way
	w.result.Faults++
	until := w.now.Add(y.between(5*time.Second, 4*time.Minute))
	var what string
	switch y.IntN(4) {
	case 0:
		what, y.dropped = "the controller's requests are dropped", until
	case 1:
		what, y.stalled, y.read = "the controller's watches stall", until, w.now
	case 2:
		what, y.rejected, y.rejectsAll = "the reports are rejected", until, y.IntN(2) == 0
	default:
		switch y.IntN(4) {
		case 0:
			what, y.heldReports = "reports are held back", until
		case 1:
			what, y.heldLease = "the Lease is held back", until
		case 2:
			what, y.heldReports, y.heldLease = "reports and Lease are held back", until, until
		default:
			what, y.heldDeletes = "deletions are held back", until
		}
	}
	w.tracef("FAULT %s until %s", what, until.Sub(start).Round(time.Second))
}

// clear ends all faults; a delayed request arrives at its time.
func (y *way) clear() { y.dropped, y.stalled, y.rejected = time.Time{}, time.Time{}, time.Time{} }

// hears is true when the controller's cache is of now.
func (w *world) hears() bool {
	y := &w.control.way
	if w.now.Before(y.stalled) && w.now.Sub(y.read) < watchSilence {
		return false
	}
	y.read = w.now
	return true
}

// sameObject is what our controllers write by. Mostly nothing has changed: where package reflect finds no difference there is none, and it is quicker to say so.
func sameObject(a, b any) bool { return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) }

// writeReports writes what was assembled, and is false when the API server did not say that it did.
func (w *world) writeReports(reports []api.ScyllaDBDatacenterNodesStatusReport, status *api.ScyllaDBStatusReport) bool {
	y := &w.control.way
	write := func() {
		y.reports++
		if w.status != nil {
			status.UID, status.CreationTimestamp = w.status.UID, w.status.CreationTimestamp
		} else {
			w.reportsMade++
			status.UID, status.CreationTimestamp = types.UID(fmt.Sprintf("report-%d", w.reportsMade)), metav1.NewTime(w.now.Truncate(time.Second))
		}
		w.note(reports, status)
		kinds := cluster.KindStatusReport
		if !sameObject(w.reports, reports) {
			kinds |= cluster.KindReports
		}
		w.reports, w.status = reports, status
		w.published(status)
		w.remember()
		w.wrote(kinds)
	}
	switch {
	case w.now.Before(y.rejected):
		if !y.rejectsAll {
			reports = w.reports
			write() // of the cluster report
		}
		return false
	case w.now.Before(y.heldReports):
		base := y.reports
		w.after(y.heldReports.Sub(w.now), func() {
			if y.reports == base {
				w.tracef("reports of a while ago are written")
				write()
			}
		})
		return false
	}
	write()
	return true
}

// errRefused is why an assembly was not written.
var errRefused = errors.New("refused")

// prove is a second of the election, with what package keep adds: a renewal lists the cluster while its reports are kept. A leader that cannot renew ends.
func (w *world) prove(p *keep.Proof, q *queued) {
	c := &w.control
	if w.now.Sub(c.renewed) < renewInterval {
		return
	}
	c.renewed = w.now
	proven, due, err := p.Of([]types.NamespacedName{clusterKey}, w.now)
	q.is = q.is || len(due) > 0
	switch {
	case w.putLease(c.name(), len(proven) > 0):
		c.answered = w.now
		if err == nil {
			p.Renewed(w.now)
		}
	case c.leads != nil && w.now.Sub(c.answered) > renewDeadline:
		w.cannotRenew()
	}
}

// putLease writes the Lease with that holder. It is false when the API server did not say that it did.
func (w *world) putLease(holder string, keeps bool) bool {
	y := &w.control.way
	l := w.lease.DeepCopy()
	l.Spec.HolderIdentity, l.Spec.RenewTime = &holder, new(metav1.NewMicroTime(w.clock(w.control.name())))
	if delete(l.Annotations, api.AnnotationKeeps); keeps && !w.now.Before(w.control.keepsNone) {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationKeeps, api.KeepMark(namespace, clusterName))
	}
	base := y.lease
	write := func() {
		if y.lease != base {
			return // another writer was first: the object has another version
		}
		y.lease++
		w.lease = l
	}
	if held := y.heldLease.Sub(w.now); held > 0 {
		w.after(held, write)
		return false
	}
	write()
	return true
}

// deletion is a claim that a replacement has marked.
type deletion struct {
	at      time.Time
	version int // counts marks, and that they were taken off
}

// deleteMarked marks a claim, looks again, and asks for its deletion by the version that the mark gave it.
func (w *world) deleteMarked(step *replace.Step) {
	c := w.claims[step.Claim.Name]
	if c == nil || c.obj.UID != step.Claim.UID || c.deleting {
		return
	}
	stood := w.now.Sub(c.mark.at)
	if c.mark.at.IsZero() || stood > claimMarked {
		c.mark = deletion{w.now, c.mark.version + 1}
		w.wrote(cluster.KindPVCs)
		return
	}
	if stood < settleClaim {
		w.replaceSeen = -1 // looks again
		return
	}
	y, version := &w.control.way, c.mark.version
	arrive := func() {
		if c.deleting || w.claims[c.obj.Name] != c || c.mark.version != version {
			return
		}
		w.judgeDeletion(c)
		w.harmOfDeletion(c)
		w.deleteClaim(c)
	}
	if held := y.heldDeletes.Sub(w.now); held > 0 {
		w.tracef("the deletion of claim %s is held back", c.obj.Name)
		w.replaceSeen = -1
		w.after(held, arrive)
		return
	}
	arrive()
}

// recall takes the mark off a member's claim, so that no deletion that is under way takes effect.
func (w *world) recall(member string) {
	if c := w.claims["data-"+member]; c != nil && !c.mark.at.IsZero() && !c.deleting {
		c.mark = deletion{version: c.mark.version + 1}
		w.wrote(cluster.KindPVCs)
	}
}

// judgeDeletion: the claim of a node that has been well for longer than any report of it takes is never deleted.
func (w *world) judgeDeletion(c *claim) {
	for _, name := range w.podNames.of(w.pods) {
		p := w.pods[name]
		if p.claim == c && p.isReady() && p.proc != nil && p.proc.serves && w.now.Sub(p.proc.since) > bound {
			w.violate(&w.result.WrongDeletions, "the claim of %s is deleted, whose ScyllaDB serves and was started at %s", name, p.proc.since.Sub(start).Round(time.Second))
		}
	}
}
