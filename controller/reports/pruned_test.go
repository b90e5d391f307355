// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/test/stage"
)

// older simulates an API server whose definition of our kind lacks states, ages, faults and memberships: it removes them from every write.
type older struct{ on bool }

func (o *older) prune(obj client.Object) {
	switch obj := obj.(type) {
	case *api.ScyllaDBStatusReport:
		if !o.on {
			return
		}
		obj.Membership = nil
		for i := range obj.Datacenters {
			for j := range obj.Datacenters[i].Nodes {
				n := &obj.Datacenters[i].Nodes[j]
				n.MembershipDigest, n.Fault, n.Stale = "", nil, nil
				n.ObservedNodes = api.AppendCells(nil, api.Plain(n.ObservedNodes))
			}
		}
		for i := range obj.Status.Members {
			obj.Status.Members[i].State = ""
		}
	case *unstructured.Unstructured:
		var r api.ScyllaDBStatusReport
		if obj.GetKind() != "ScyllaDBStatusReport" || runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &r) != nil {
			return
		}
		o.prune(&r)
		obj.Object, _ = runtime.DefaultUnstructuredConverter.ToUnstructured(&r)
		obj.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBStatusReport"))
	}
}

// under makes the bench's API server remove the fields that an older definition of the kind lacks. The object that was sent keeps them, because the
// answer is decoded into it.
func under(b *bench, o *older) {
	c := interceptor.NewClient(b.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			sent := obj.DeepCopyObject().(client.Object)
			o.prune(sent)
			err := c.Create(ctx, sent, opts...)
			obj.SetResourceVersion(sent.GetResourceVersion())
			return err
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			o.prune(obj)
			return c.Update(ctx, obj, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			o.prune(obj)
			return c.SubResource(sub).Update(ctx, obj, opts...)
		},
	})
	b.o.Client, b.o.Live = c, c
}

// TestBesideOperator2WhatIsPrunedOfOurKindIsSaid: the remaining rows have no states, none that may be old looks fresh, and the condition stays until
// the kind is updated.
func TestBesideOperator2WhatIsPrunedOfOurKindIsSaid(t *testing.T) {
	objects := two()
	joining := strings.Replace(allUp, `"UP"}]`, stage.UUIDs(`"UP"},{"hostID":"h2","status":"UP","state":"JOINING"}]`), 1)
	joining = strings.Replace(joining, `{"observedNodes"`, stage.UUIDs(`{"operationMode":"NORMAL","hostID":"h0","observedNodes"`), 1)
	b := newBench(t, objects...)
	server := &older{on: true}
	under(b, server)
	b.say("demo-r1-0", joining)
	b.reconcile()

	c := b.condition(api.ConditionFieldsKept)
	if c.Status != metav1.ConditionFalse || c.Reason != "Pruned" || !strings.Contains(c.Message, "datacenters.nodes.observedNodes.state") ||
		!strings.Contains(c.Message, "kubectl scylla install --upgrade") {
		t.Errorf("condition %+v", c)
	}
	rows := matrix.FromStatusReport(b.status())
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if !r.NoStates || !r.Reported || r.Base != nil {
			t.Errorf("row %+v: want one of a reporter that says no states", r)
		}
	}
	for range 3 {
		if got := b.reconcile(); len(got) > 0 {
			t.Errorf("nothing has changed, and written were %q", got)
		}
	}

	// A reporter that is gone: its last row must not look fresh.
	p := objects[3].DeepCopyObject().(client.Object)
	if err := b.client.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	for _, r := range matrix.FromStatusReport(b.status()) {
		if r.Reporter.Member == p.GetName() && r.Reported {
			t.Errorf("the row of a Pod that is gone: %+v", r)
		}
	}
	if !b.blocked() {
		t.Error("nothing blocks")
	}

	// The kind is updated: a dry-run request detects it within ten minutes.
	server.on = false
	b.clock.Step(lookAgain)
	b.reconcile()
	if c := b.condition(api.ConditionFieldsKept); c.Type != "" {
		t.Errorf("condition %+v", c)
	}
	if s := b.status(); s.Datacenters[0].Nodes[0].Fault == nil {
		t.Errorf("the report is not whole again: %+v", s.Datacenters)
	}
}

// TestBesideOperator2ADatacenterThatNobodyCanAskBlocksWithoutItsMark: the API server may remove notVerified.
func TestBesideOperator2ADatacenterThatNobodyCanAskBlocksWithoutItsMark(t *testing.T) {
	want := &api.ScyllaDBStatusReport{
		Datacenters: []api.StatusReportDatacenter{
			{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: stage.UUID("h0"), ObservedNodes: sees("UP", stage.UUID("h0"))}}}, {Name: "dc2", NotVerified: true},
			{Name: "dc3", Stale: true, Nodes: []api.StatusReportNode{{HostID: stage.UUID("h3"), ObservedNodes: sees("UP", stage.UUID("h0"), stage.UUID("h3"))}}},
		},
	}
	got := withoutStates(want, []string{"datacenters.notVerified"}, time.Unix(0, 0))
	got.Datacenters[1].NotVerified, got.Datacenters[2].Stale = false, false
	blocks := map[string]bool{}
	for _, blocker := range matrix.New(matrix.FromStatusReport(got), matrix.Options{Reports: 3}).Blockers() {
		blocks[string(blocker.Reason)] = true
	}
	if diff := cmp.Diff(map[string]bool{"HostIDMissing": true, "NodeNotSeen": true, "RowMissing": true}, blocks); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
	if want.Datacenters[2].Nodes[0].ObservedNodes == nil {
		t.Error("what was given is changed")
	}
}
