// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

// back makes the old node's peers report that it has returned.
func (w *world) back() {
	w.rows([]api.ObservedNodeStatusReport{{HostID: hostOld, Status: api.NodeStatusUp}})
}

// steps reconciles n times and advances the clock by each after every reconciliation.
func (w *world) steps(r process, n int, each time.Duration) {
	w.t.Helper()
	for range n {
		_, _, _ = w.reconcile(r)
		w.clock.Step(each)
	}
}

// untouched checks that a live node has lost neither its Pod nor its claim.
func (w *world) untouched() {
	w.t.Helper()
	_, pod, pvc := w.get()
	if len(w.deleted)+len(w.evicted) > 0 || pvc == nil || pvc.UID != "pvc-1" || pvc.DeletionTimestamp != nil || pod == nil || pod.UID != "pod-1" || pod.DeletionTimestamp != nil {
		w.t.Errorf("deleted %v, evicted %v, pod %v, claim %v", w.deleted, w.evicted, pod, pvc)
	}
}

// heldBack is a replacement whose first deletion of the claim is in transit, with its controller.
func heldBack(t *testing.T) (*world, process) {
	t.Helper()
	w := newWorld(t)
	w.ask()
	w.hold = true
	r := w.controller()
	for len(w.late) == 0 {
		w.steps(r, 1, time.Second)
	}
	return w, r
}

// A DELETE that is delayed by five or thirty seconds arrives after the node has returned.
func TestAttack8ADeletionThatIsHeldBackDoesNotHitANodeThatHasReturned(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"the same controller": false, "its successor": true} {
		t.Run(name, func(t *testing.T) {
			w, r := heldBack(t)
			w.steps(r, 3, 2*time.Second) // the controller keeps reconciling
			w.back()
			if restarted {
				r = w.controller()
			}
			w.steps(r, 3, 2*time.Second)
			for i, arrives := range w.late {
				if err := arrives(); !apierrors.IsConflict(err) {
					t.Errorf("deletion %d of %d: %v, want a conflict", i+1, len(w.late), err)
				}
			}
			w.untouched()
			_, _, pvc := w.get()
			if at, marked := pvc.Annotations[api.AnnotationReplaceDeleting]; marked {
				t.Errorf("the mark stays: %s", at)
			}
			// It goes down again for good: the replacement goes on.
			w.hold = false
			w.rows(nil)
			w.run(turns)
			w.replaced()
		})
	}
}

// TestNoHarm28ADelayedDeletionDoesNotHitTheNewNode: the claim was empty, and its Pod, created again,
// has replaced the node on it while the deletion of the claim was in transit.
func TestNoHarm28ADelayedDeletionDoesNotHitTheNewNode(t *testing.T) {
	t.Parallel()
	w, r := heldBack(t)
	anew, yes := hostid.ID(newID(1)), true
	w.volumes["pvc-1"], w.phase = newID(1), 4
	w.rows([]api.ObservedNodeStatusReport{{HostID: anew, Status: api.NodeStatusUp}})
	w.annotate(target, &api.NodeStatusReport{HostID: anew, OperationMode: "NORMAL", OwnsTokens: &yes})
	w.updatePod(target, ready)
	w.members()
	w.steps(r, 4, 2*time.Second)
	for i, arrives := range w.late {
		if err := arrives(); !apierrors.IsConflict(err) {
			t.Errorf("deletion %d of %d: %v, want a conflict", i+1, len(w.late), err)
		}
	}
	w.untouched()
}

// A target that returns shortly after the replacement was requested keeps its claim.
func TestAttack8ATargetThatReturnsRightAfterTheLabelKeepsItsClaim(t *testing.T) {
	t.Parallel()
	for after := 100 * time.Millisecond; after <= 3*time.Second; after += 300 * time.Millisecond {
		w := newWorld(t)
		w.ask()
		r := w.controller()
		w.steps(r, int(after/(100*time.Millisecond)), 100*time.Millisecond)
		w.back()
		w.steps(r, 100, 100*time.Millisecond)
		if w.untouched(); t.Failed() {
			t.Fatalf("it returned after %s", after)
		}
		if got := w.events(replace.EventRefused); len(got) == 0 || !strings.Contains(got[0], "UP") {
			t.Errorf("events %q", got)
		}
	}
}

// TestNoHarm47TheControllerJudgesAgainWhenItIsBack: while no controller runs, a node whose replacement is requested, or recorded, comes back. What was judged before counts for nothing.
func TestNoHarm47TheControllerJudgesAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"requested": 0, "recorded": 1, "marked for deletion": 2} {
		for how, returns := range map[string]func(*world){"its peers see it": (*world).back, "its Pod is Ready": func(w *world) { w.updatePod(target, ready) }} {
			t.Run(name+", "+how, func(t *testing.T) {
				w := newWorld(t)
				w.ask()
				w.steps(w.controller(), before, 0)
				w.clock.Step(10 * time.Minute) // no controller runs
				returns(w)
				w.steps(w.controller(), 20, 2*time.Second)
				w.untouched()
				if got := w.events(replace.EventRefused); len(got) == 0 {
					t.Error("no Event tells why")
				}
			})
		}
	}
}

// The mark of a process that has died proves nothing about requests in transit: it is set anew, and counts only then.
func TestAnOldMarkIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Duration{"long ago": -time.Hour, "by a clock that is ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ask()
			r := w.controller()
			w.steps(r, 1, 0) // recorded
			svc, _, pvc := w.get()
			request := replace.ReadRecord(svc.Labels, svc.Annotations).Accepted
			pvc.Annotations = map[string]string{api.AnnotationReplaceDeleting: request + " " + w.clock.Now().Add(at).UTC().Format(time.RFC3339Nano)}
			w.must(w.raw.Update(context.Background(), pvc))
			w.calls = nil
			w.steps(r, 1, 0)
			if got := w.calls[len(w.calls)-1]; got != "patch PersistentVolumeClaim" || len(w.deleted) != 0 {
				t.Errorf("last request %s, deleted %v", got, w.deleted)
			}
			w.run(turns)
			w.replaced()
		})
	}
}

// The claim is Terminating when the node comes back: its Pod is left alone, Ready or not, and an Event tells how to save the data.
func TestAttack8TheNodeReturnsAfterItsClaimWasDeleted(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]func(*world){
		"its peers see it":     (*world).back,
		"its Pod is Ready":     func(w *world) { w.updatePod(target, ready) },
		"between two requests": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, _, pvc := w.get()
			pvc.Spec.VolumeName = "pv-7"
			w.must(w.raw.Update(context.Background(), pvc))
			w.ask()
			r := w.controller()
			if returns == nil {
				w.onCall = func(_ int, verb, what string) error {
					if verb+" "+what == "create eviction" {
						w.updatePod(target, ready)
					}
					return nil
				}
				returns = func(*world) {}
			}
			for len(w.deleted) == 0 {
				w.steps(r, 1, time.Second)
			}
			returns(w)
			w.steps(r, 10, 2*time.Second)
			if len(w.evicted) > 0 {
				t.Fatalf("evicted %v", w.evicted)
			}
			in := w.input()
			step := replace.Next(in)
			if step.Action != replace.ActionHoldEviction || len(step.Cure.Commands) != 2 || !strings.Contains(fmt.Sprint(step.Cure.Commands[0]), "pv-7") {
				t.Errorf("step %s, cure %+v", step.Action, step.Cure)
			}
		})
	}
}

// input is the controller's present input.
func (w *world) input() replace.Input {
	w.t.Helper()
	r := w.controller()
	svc := &corev1.Service{}
	w.must(w.raw.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: target}, svc))
	reading, err := r.read(context.Background(), clusterKey(svc))
	w.must(err)
	return *reading.Input(target, w.clock.Now(), "x")
}

func clusterKey(svc *corev1.Service) cluster.Key {
	return cluster.Key{Namespace: svc.Namespace, Name: svc.Labels[api.LabelCluster]}
}
