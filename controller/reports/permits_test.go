// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
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
	pod := &corev1.Pod{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Status = past(waiting("r2", 0, time.Hour))[1].(*corev1.Pod).Status
	if err := b.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	again := newBench(t)
	again.client, again.clock = b.client, b.clock
	again.reconciler.o.Client, again.reconciler.o.Live, again.reconciler.o.Clock = b.client, b.client, b.clock
	again.withViews(2)
	again.reconcile()
	if got := again.permitted(); !slices.Equal(got, want) {
		t.Errorf("another controller leads, and permits are of %q, want %q", got, want)
	}
}
