// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func (b *bench) permitted() []string {
	b.t.Helper()
	var out []string
	for _, p := range b.status().Status.View.Permits {
		out = append(out, p.Member+" "+string(p.PVCUID))
	}
	return out
}

// A permit stays while more new members than one reconciliation reads PVCs of come before its member: with the same controller, and with one that takes over.
func TestNoHarm25APermitStaysWhenManyMembersSortBeforeIt(t *testing.T) {
	const name = "demo-r2-0"
	o := append(one(), set("demo-r2", "dc1", "r2", 1))
	o = append(o, waiting("r2", 0, time.Hour)...)
	o = append(o, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + name, UID: "claim"}})
	b := newBench(t, o...)
	tracker := b.withViews(1)
	b.reconcile()
	b.join()
	b.pass(tracker, 4*view.Stabilisation)
	want := []string{name + " claim"}
	if got := b.permitted(); !slices.Equal(got, want) {
		t.Fatalf("permits of %q, want %q: %+v", got, want, b.status().Status.View)
	}

	for i := range claimsAtOnce + 1 {
		for _, obj := range waiting("r1", i+1, 0) {
			if err := b.client.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.reconcile()
	if got := b.permitted(); !slices.Equal(got, want) {
		t.Errorf("more members wait, and permits are of %q, want %q", got, want)
	}

	// Its barrier has opened, and another controller leads.
	b.podStatus(name, past(waiting("r2", 0, time.Hour))[1].(*corev1.Pod).Status)
	again, _ := b.nextLeader()
	again.reconcile()
	if got := again.permitted(); !slices.Equal(got, want) {
		t.Errorf("another controller leads, and permits are of %q, want %q", got, want)
	}
}

func (b *bench) podStatus(name string, is corev1.PodStatus) {
	b.t.Helper()
	pod := &corev1.Pod{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: name}, pod); err != nil {
		b.t.Fatal(err)
	}
	pod.Status = is
	if err := b.client.Status().Update(b.t.Context(), pod); err != nil {
		b.t.Fatal(err)
	}
}

// nextLeader is another process on the same objects.
func (b *bench) nextLeader() (*bench, *views.Tracker) {
	b.t.Helper()
	next := newBench(b.t)
	next.client, next.clock = b.client, b.clock
	next.reconciler.o.Client, next.reconciler.o.Live, next.reconciler.o.Clock = b.client, b.client, b.clock
	return next, next.withViews(2)
}

// again deletes these objects of a member and makes them anew, with a PVC of another UID.
func (b *bench) again(name, claim string, o []client.Object) {
	b.t.Helper()
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + name, UID: types.UID(claim)}}
	for _, obj := range append(o, pvc) {
		if err := client.IgnoreNotFound(b.client.Delete(b.t.Context(), obj.DeepCopyObject().(client.Object))); err != nil {
			b.t.Fatal(err)
		}
		obj.SetResourceVersion("")
		if err := b.client.Create(b.t.Context(), obj); err != nil {
			b.t.Fatal(err)
		}
	}
}

// The member with the Form permit stays the first node when its Service is created again, and is then younger than the others': the two waited for each
// other, and so it is for a rack that is scaled to none and back.
func TestTheFounderStaysTheFirstNode(t *testing.T) {
	t.Parallel()
	o := []client.Object{set("demo-r1", "dc1", "r1", 1), set("demo-r2", "dc1", "r2", 1)}
	b := newBench(t, o...)
	tracker := b.withViews(1)
	b.again("demo-r1-0", "claim-1", waiting("r1", 0, time.Hour))
	b.again("demo-r2-0", "claim-2", waiting("r2", 0, time.Minute))
	b.reconcile()
	b.pass(tracker, 2*view.Stabilisation)
	if got, want := b.permitted(), []string{"demo-r1-0 claim-1"}; !slices.Equal(got, want) {
		t.Fatalf("permits of %q, want %q", got, want)
	}

	recreated := waiting("r1", 0, 0)
	recreated[1].SetUID("pod-2")
	b.again("demo-r1-0", "claim-3", recreated)
	b.reconcile()
	b.pass(tracker, 2*view.Stabilisation)
	if got, want := b.permitted(), []string{"demo-r1-0 claim-3"}; !slices.Equal(got, want) {
		t.Errorf("permits of %q, want %q: queue %+v", got, want, b.status().Status.View.Queue)
	}
	c := b.cluster()
	for member, want := range map[string]words.Code{"demo-r1-0": words.SeedsFirstNode, "demo-r2-0": words.SeedsFirstNodePending} {
		in := bootstrap.StartOf(c, member)
		in.Address = "10.0.0.1"
		if got := bootstrap.Seeds(in); got.Code != want {
			t.Errorf("launch of %s: %s %q, want %s", member, got.Code, got.Names, want)
		}
	}
}

func (b *bench) cluster() *cluster.Cluster {
	b.t.Helper()
	o, err := kube.Load(b.t.Context(), b.client, cluster.Key{Namespace: ns, Name: "demo"}, kube.LoadOptions{Source: cluster.SourceAuto, StatusReport: true})
	if err != nil {
		b.t.Fatal(err)
	}
	return cluster.New(o, cluster.SourceAuto, b.clock.Now())
}

// A PVC is bound to a Pod once its barrier runs with it. A Pod that was not scheduled may get another one, with the same controller and with the next.
func TestAPermitIsForThePVCWithWhichTheBarrierRuns(t *testing.T) {
	t.Parallel()
	const name = "demo-r2-0"
	for what, leader := range map[string]bool{"the same controller": false, "another controller": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o := waiting("r2", 0, time.Hour)
			pending := o[1].(*corev1.Pod)
			ready := pending.Status.DeepCopy()
			pending.Status = corev1.PodStatus{Phase: corev1.PodPending}
			b := newBench(t, append(one(), set("demo-r2", "dc1", "r2", 1))...)
			tracker := b.withViews(1)
			b.again(name, "claim-1", o)
			b.reconcile()
			b.join()
			b.pass(tracker, 2*view.Stabilisation)
			// Its PVC is deleted, made again, and then it is scheduled.
			b.again(name, "claim-2", nil)
			if leader {
				b, tracker = b.nextLeader()
			}
			b.podStatus(name, *ready)
			b.reconcile()
			b.pass(tracker, 4*view.Stabilisation)
			if got, want := b.permitted(), []string{name + " claim-2"}; !slices.Equal(got, want) {
				t.Errorf("permits of %q, want %q", got, want)
			}
		})
	}
}

// A stored permit that names another PVC than the one with which the barrier waits is corrected by the next leader.
func TestAPermitForAnotherPVCEndsWithItsLeader(t *testing.T) {
	t.Parallel()
	const name = "demo-r2-0"
	b := newBench(t, append(one(), set("demo-r2", "dc1", "r2", 1))...)
	tracker := b.withViews(1)
	b.again(name, "claim-1", waiting("r2", 0, time.Hour))
	b.reconcile()
	b.join()
	b.pass(tracker, 4*view.Stabilisation)
	b.again(name, "claim-2", nil)
	again, tracker := b.nextLeader()
	again.reconcile()
	again.pass(tracker, 4*view.Stabilisation)
	if got, want := again.permitted(), []string{name + " claim-2"}; !slices.Equal(got, want) {
		t.Errorf("permits of %q, want %q", got, want)
	}
}

// Kubernetes keeps a PVC that is being deleted only while its Pod exists: a node would lose its volume with the Pod.
func TestNoPermitForAPVCThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	const name = "demo-r2-0"
	b := newBench(t, append(one(), append(waiting("r2", 0, time.Hour), waiting("r3", 0, 0)...)...)...)
	for claim, finalizers := range map[string][]string{name: {"kubernetes.io/pvc-protection"}, "demo-r3-0": nil} {
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + claim, UID: types.UID("claim-" + claim), Finalizers: finalizers}}
		if err := b.client.Create(t.Context(), pvc); err != nil {
			t.Fatal(err)
		}
		if finalizers == nil {
			continue
		}
		if err := b.client.Delete(t.Context(), pvc); err != nil {
			t.Fatal(err)
		}
	}
	tracker := b.withViews(1)
	b.reconcile()
	b.join()
	b.pass(tracker, 4*view.Stabilisation)
	if got, want := b.permitted(), []string{"demo-r3-0 claim-demo-r3-0"}; !slices.Equal(got, want) {
		t.Errorf("permits of %q, want %q", got, want)
	}
}

// A barrier that cannot open lets the next member join after some minutes.
func TestABarrierThatCannotOpenDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	o := append(one(), set("demo-r2", "dc1", "r2", 1), set("demo-r3", "dc1", "r3", 1))
	refused := waiting("r2", 0, time.Hour)
	refused[1].SetAnnotations(map[string]string{api.AnnotationBarrier: `{"refusals":[{"reason":"NoOtherSeed"}]}`})
	o = append(append(o, refused...), waiting("r3", 0, time.Hour)...)
	b := newBench(t, o...)
	tracker := b.withViews(1)
	b.reconcile()
	b.join()
	b.pass(tracker, 4*view.Stabilisation)
	if got, want := b.permitted(), []string{"demo-r2-0 "}; !slices.Equal(got, want) {
		t.Fatalf("permits of %q, want %q", got, want)
	}
	b.pass(tracker, 4*time.Minute)
	if got, want := b.permitted(), []string{"demo-r3-0 "}; !slices.Equal(got, want) {
		t.Errorf("permits of %q, want %q", got, want)
	}
	q := b.status().Status.View.Queue
	if len(q) != 1 || q[0].Member != "demo-r2-0" || q[0].Reason != string(words.PermitUnused) {
		t.Errorf("queue %+v", q)
	}
}
