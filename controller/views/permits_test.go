// SPDX-License-Identifier: Apache-2.0

package views_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// permitted are the members with a permit in the view that is written now.
func (b *bench) permitted() []string {
	b.t.Helper()
	stored := &api.ScyllaDBStatusReportStatus{View: b.stored.DeepCopy(), Initialized: !b.founding}
	claims := map[string]types.UID{}
	for name := range b.stage.Pods {
		claims["data-"+name] = types.UID("claim-" + name)
	}
	b.Scene(key, b.stored.DeepCopy(), view.SceneOf(b.cluster(), stored, claims, b.MaxPermits()))
	var out []string
	for _, p := range b.assemble().Permits {
		out = append(out, p.Member)
	}
	return out
}

func (b *bench) newcomer(rack, ordinal int) string {
	name := b.stage.Newcomer(rack, ordinal)
	b.stage.Pods[name].UID = types.UID("pod-" + name)
	b.stage.Services[name].CreationTimestamp = metav1.NewTime(stage.Start)
	return name
}

// The gap that permits close: all rows have UP for as long as no reporter can write another row. The reporters are cut off and a node dies: a waiting member gets no permit, and
// one that was given is withdrawn.
func TestNoPermitWhileAllRowsSayUPAndReportersAreCutOff(t *testing.T) {
	b := newBench(t)
	name := b.newcomer(2, 1)
	b.permitted()
	b.look(2)
	if got := b.permitted(); !slices.Equal(got, []string{name}) {
		t.Fatalf("all are UP, and permits are of %v; queue %+v", got, b.stored.Queue)
	}
	b.stage.Pods["demo-rack3-0"].Status.InitContainerStatuses[0].Ready = false // its reporter is heard of no more, and its row still says UP
	b.permitted()
	b.look(3)
	if got := b.permitted(); len(got) > 0 {
		t.Errorf("permits of %v, and nobody can say that demo-rack3-0 is UP: %+v", got, b.stored.Members)
	}
	if w := b.stored.Queue[0]; w.Member != name || w.Reason != "PermitWaitsForMembers" || !slices.Equal(w.Nodes, []string{"demo-rack3-0"}) {
		t.Errorf("queue %+v", b.stored.Queue)
	}
	// Another process takes over: it gives none either.
	b.epoch++
	b.restart()
	b.permitted()
	b.look(5)
	if got := b.permitted(); len(got) > 0 {
		t.Errorf("permits of %v by the controller that has taken over", got)
	}
}

// Nodes have joined, and the cluster does not count as initialised yet: no other node begins, however long all are UP. A member of a cluster that began elsewhere, or whose rows
// have no mode, does not wait for that: it could never be known here that the first node is well.
func TestNobodyJoinsBeforeTheClusterIsInitialised(t *testing.T) {
	b := newBench(t)
	b.founding = true
	name := b.newcomer(2, 1)
	for range 10 {
		b.permitted()
		b.look(1)
	}
	if got := b.permitted(); len(got) > 0 || b.stored.Queue[0].Reason != "PermitWaitsForFirstNode" {
		t.Fatalf("permits of %v before the cluster is initialised; queue %+v", got, b.stored.Queue)
	}
	b.founding = false
	if got := b.permitted(); !slices.Equal(got, []string{name}) {
		t.Errorf("permits of %v once it is: the time ran beside; queue %+v", got, b.stored.Queue)
	}

	b = newBench(t)
	b.founding = true
	for _, m := range []string{"demo-rack1-0", "demo-rack2-0", "demo-rack3-0"} {
		b.edit(m, func(r *api.NodeStatusReport) { r.OperationMode = "" })
	}
	name = b.newcomer(2, 1)
	b.permitted()
	b.look(2)
	if got := b.permitted(); !slices.Equal(got, []string{name}) {
		t.Errorf("permits of %v, and no row tells a mode; queue %+v", got, b.stored.Queue)
	}
}

// Two newcomers of two racks: one after the other, rack by rack, also across a change of controllers.
func TestNewcomersGoRackByRack(t *testing.T) {
	b := newBench(t)
	later, first := b.newcomer(3, 1), b.newcomer(1, 1)
	b.permitted()
	b.look(2)
	if got := b.permitted(); !slices.Equal(got, []string{first}) {
		t.Fatalf("permits of %v, want %s; queue %+v", got, first, b.stored.Queue)
	}
	// Its barrier has opened, and another controller leads: no other node begins.
	pod := b.stage.Pods[first]
	pod.Status.InitContainerStatuses[2] = b.stage.Pods["demo-rack1-0"].Status.InitContainerStatuses[2]
	b.epoch++
	b.restart()
	b.permitted()
	b.look(5)
	if got := b.permitted(); !slices.Equal(got, []string{first}) {
		t.Errorf("permits of %v while %s is on its way in", got, first)
	}
	if w := b.stored.Queue; len(w) != 1 || w[0].Member != later || w[0].Reason != "PermitWaitsForNewcomer" {
		t.Errorf("queue %+v", w)
	}
}

// While a member may start, the view advances without a change; otherwise it does not.
func TestTheViewAdvancesWhileSomebodyMayStart(t *testing.T) {
	b := newBench(t)
	b.permitted()
	b.look(2)
	b.permitted()
	writes := b.writes
	for range 10 {
		b.look(1)
		b.permitted()
	}
	if b.writes != writes {
		t.Errorf("%d views were written, and nobody waits", b.writes-writes)
	}
	b.newcomer(2, 1)
	b.permitted()
	b.look(1)
	b.permitted()
	from, at := b.writes, b.clock.Now()
	for range 15 {
		b.look(1)
		b.permitted()
	}
	if n, want := b.writes-from, int(b.clock.Since(at)/(view.Renewal+view.Interval)); n < want {
		t.Errorf("%d views in %v, want one every %v", n, b.clock.Since(at), view.Renewal.Round(time.Second))
	}
}
