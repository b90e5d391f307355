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

// permits compares them with those of a view.
func (b *bench) permits(want ...string) {
	b.t.Helper()
	if got := b.permitted(); !slices.Equal(got, want) {
		b.t.Errorf("permits of %q, want %q: %+v", got, want, b.status().Status.View)
	}
}

func pvc(name, uid string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + name, UID: types.UID(uid)},
	}
}

// oneAnd is the cluster of one with a second member that waits with that PVC, long after the first has joined.
func oneAnd(t *testing.T, name, claim string, o []client.Object, long time.Duration) (*bench, *views.Tracker) {
	t.Helper()
	b := newBench(t, append(one(), set("demo-r2", "dc1", "r2", 1))...)
	tracker := b.withViews(1)
	b.again(name, claim, o)
	b.reconcile()
	b.join()
	b.pass(tracker, long)
	return b, tracker
}

// A permit stays while more new members than one reconciliation reads PVCs of come before its member: with the same controller, and with one that takes over.
func TestNoHarm25APermitStaysWhenManyMembersSortBeforeIt(t *testing.T) {
	const name, want = "demo-r2-0", "demo-r2-0 claim"
	b, _ := oneAnd(t, name, "claim", waiting("r2", 0, time.Hour), 4*view.Stabilisation)
	b.permits(want)
	for i := range claimsAtOnce + 1 {
		b.create(waiting("r1", i+1, 0)...)
	}
	b.reconcile()
	b.permits(want)

	// Its barrier has opened, and another controller leads.
	b.podStatus(name, past(waiting("r2", 0, time.Hour))[1].(*corev1.Pod).Status)
	again, _ := b.nextLeader()
	again.reconcile()
	again.permits(want)
}

func (b *bench) podStatus(name string, is corev1.PodStatus) {
	b.t.Helper()
	updateStatus(b, name, func(p *corev1.Pod) { p.Status = is })
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
	for _, obj := range append(o, pvc(name, claim)) {
		b.must(client.IgnoreNotFound(b.client.Delete(b.t.Context(), obj.DeepCopyObject().(client.Object))))
		obj.SetResourceVersion("")
		b.create(obj)
	}
}

// The member with the Form permit stays the first node when its Service is created again, and is then younger than the others': the two waited for each
// other, and so it is for a rack that is scaled to none and back.
func TestTheFounderStaysTheFirstNode(t *testing.T) {
	t.Parallel()
	b := newBench(t, set("demo-r1", "dc1", "r1", 1), set("demo-r2", "dc1", "r2", 1))
	tracker := b.withViews(1)
	b.again("demo-r1-0", "claim-1", waiting("r1", 0, time.Hour))
	b.again("demo-r2-0", "claim-2", waiting("r2", 0, time.Minute))
	b.reconcile()
	b.pass(tracker, 2*view.Stabilisation)
	b.permits("demo-r1-0 claim-1")
	recreated := waiting("r1", 0, 0)
	recreated[1].SetUID("pod-2")
	b.again("demo-r1-0", "claim-3", recreated)
	b.reconcile()
	b.pass(tracker, 2*view.Stabilisation)
	b.permits("demo-r1-0 claim-3")
	o, err := kube.Load(t.Context(), b.client, cluster.Key{Namespace: ns, Name: "demo"}, kube.LoadOptions{
		Source: cluster.SourceAuto, StatusReport: true,
	})
	b.must(err)
	c := cluster.New(o, cluster.SourceAuto, b.clock.Now())
	for member, want := range map[string]words.Code{"demo-r1-0": words.SeedsFirstNode, "demo-r2-0": words.SeedsFirstNodePending} {
		in := bootstrap.StartOf(c, member)
		in.Address = "10.0.0.1"
		if got := bootstrap.Seeds(in); got.Code != want {
			t.Errorf("launch of %s: %s %q, want %s", member, got.Code, got.Names, want)
		}
	}
}

// A PVC is bound to a Pod once its barrier runs with it. A Pod that was not scheduled may get another one, with the same
// controller and with the next; and a stored permit for another PVC than the one with which the barrier waits is
// corrected by the next leader.
func TestAPermitIsForThePVCWithWhichTheBarrierRuns(t *testing.T) {
	t.Parallel()
	const name = "demo-r2-0"
	for what, c := range map[string]struct{ pending, leader bool }{
		"not scheduled, the same controller":   {true, false},
		"not scheduled, another controller":    {true, true},
		"the barrier runs, another controller": {false, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o := waiting("r2", 0, time.Hour)
			pod := o[1].(*corev1.Pod)
			ready := *pod.Status.DeepCopy()
			if c.pending {
				pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
			}
			b, tracker := oneAnd(t, name, "claim-1", o, 4*view.Stabilisation)
			// Its PVC is deleted, made again, and then it is scheduled.
			b.again(name, "claim-2", nil)
			if c.leader {
				b, tracker = b.nextLeader()
			}
			b.podStatus(name, ready)
			b.reconcile()
			b.pass(tracker, 4*view.Stabilisation)
			b.permits(name + " claim-2")
		})
	}
}

// Kubernetes keeps a PVC that is being deleted only while its Pod exists: a node would lose its volume with the Pod.
func TestNoPermitForAPVCThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	const name = "demo-r2-0"
	b := newBench(t, append(one(), append(waiting("r2", 0, time.Hour), waiting("r3", 0, 0)...)...)...)
	gone := pvc(name, "claim-2")
	gone.Finalizers = []string{"kubernetes.io/pvc-protection"}
	b.create(gone, pvc("demo-r3-0", "claim-3"))
	b.drop(gone)
	tracker := b.withViews(1)
	b.reconcile()
	b.join()
	b.pass(tracker, 4*view.Stabilisation)
	b.permits("demo-r3-0 claim-3")
}

// A barrier that cannot open lets the next member join after some minutes.
func TestABarrierThatCannotOpenDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	o := append(one(), set("demo-r2", "dc1", "r2", 1), set("demo-r3", "dc1", "r3", 1))
	refused := waiting("r2", 0, time.Hour)
	refused[1].SetAnnotations(map[string]string{api.AnnotationBarrier: `{"refusals":[{"reason":"NoOtherSeed"}]}`})
	o = append(append(o, refused...), waiting("r3", 0, time.Hour)...)
	b, tracker := viewed(t, o...)
	b.join()
	b.pass(tracker, 4*view.Stabilisation)
	b.permits("demo-r2-0 ")
	b.pass(tracker, 4*time.Minute)
	b.permits("demo-r3-0 ")
	q := b.status().Status.View.Queue
	if len(q) != 1 || q[0].Member != "demo-r2-0" || q[0].Reason != string(words.PermitUnused) {
		t.Errorf("queue %+v", q)
	}
}
