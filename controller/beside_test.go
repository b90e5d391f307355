// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/crds"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
)

// older replaces the definition of our own kind by one that does not know memberships, states, ages, faults and marks of age.
func (p *place) older() {
	p.t.Helper()
	data, err := crds.FS.ReadFile("scylla.scylladb.com_scylladbstatusreports.yaml")
	if err != nil {
		p.t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &crd.Object); err != nil {
		p.t.Fatal(err)
	}
	var forget func(v any)
	forget = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if fields, ok := v["properties"].(map[string]any); ok {
				for _, name := range []string{"membership", "membershipDigest", "since", "fault", "stale", "staleSince", "notVerified"} {
					delete(fields, name)
				}
			}
			for _, f := range v {
				forget(f)
			}
		case []any:
			for _, f := range v {
				forget(f)
			}
		}
	}
	forget(crd.Object)
	text, err := crd.MarshalJSON()
	if err != nil {
		p.t.Fatal(err)
	}
	if out, err := p.KubectlInput(p.t.Context(), string(text), "replace", "-f", "-"); err != nil {
		p.t.Fatal(out, err)
	}
}

// TestBesideOperator2And7OnARealAPIServer: with the Scylla Operator's definition of its kind, an older one of our own, and a report of the operator's that carries our label, as
// its ScyllaDBDatacenter does. While our kind lacks fields the controller leads and writes the datacenter report, but no cluster report, and is not ready; when the cluster is deleted,
// our reports are deleted and the operator's stays.
func TestBesideOperator2And7OnARealAPIServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	p := start(t)
	p.install()
	theirs, err := os.ReadFile(filepath.Join("..", "test", "e2e", "testdata", "operator-crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.KubectlInput(t.Context(), string(theirs), "replace", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	p.older()
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, rack("rack1"), rack("rack2"))
	r := p.run(nil)
	p.say("demo-rack1-0", row(h0, "", h0, h1))
	p.say("demo-rack2-0", row(h1, "", h0, h1))
	own := scope.ObjectName("demo", "dc1")
	p.eventually("both rows in the datacenter report", func(ctx context.Context) error {
		var report api.ScyllaDBDatacenterNodesStatusReport
		if err := p.get(ctx, "demo", own, &report); err != nil {
			return err
		}
		for _, rack := range report.Racks {
			if len(rack.Nodes) != 1 || len(rack.Nodes[0].ObservedNodes) != 2 {
				return fmt.Errorf("rack %+v", rack)
			}
		}
		return nil
	})
	p.eventually("an Event with the command", func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := p.client.List(ctx, &events, client.InNamespace("demo")); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == "ReportNotKept" && strings.Contains(e.Note, "datacenters.nodes.fault") && strings.Contains(e.Note, "kubectl scylla install --upgrade") {
				return nil
			}
		}
		return fmt.Errorf("Events %+v", events.Items)
	})
	if err := r.ready(t.Context()); err == nil || !strings.Contains(err.Error(), "kind failed") {
		t.Errorf("ready: %v", err)
	}
	if err := p.get(t.Context(), "demo", "demo", &api.ScyllaDBStatusReport{}); !apierrors.IsNotFound(err) {
		t.Errorf("the cluster report: %v", err)
	}
	var lead coordinationv1.Lease
	if err := p.get(t.Context(), manifests.Namespace, api.LeaseElection, &lead); err != nil || ptr.Deref(lead.Spec.HolderIdentity, "") == "" {
		t.Errorf("the leader is %v, %v", lead.Spec.HolderIdentity, err)
	}
	p.install()
	p.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "")
	p.eventually("readiness", r.ready)

	operators := &api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: "demo-theirs",
			Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo", api.LabelCluster: "demo"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: api.GroupVersion.String(), Kind: "ScyllaDBDatacenter", Name: "demo", UID: "3abcd4a3-674c-43a7-868b-e270ad632f29",
			}},
		},
		DatacenterName: "dc9",
	}
	// The same without any owner, written by hand.
	byHand := operators.DeepCopy()
	byHand.Name, byHand.DatacenterName, byHand.OwnerReferences = "demo-by-hand", "dc8", nil
	for manager, o := range map[string]client.Object{"scylla-operator": operators, "kubectl-create": byHand} {
		if err := p.client.Create(t.Context(), o, client.FieldOwner(manager)); err != nil {
			t.Fatal(err)
		}
	}

	if err := p.get(t.Context(), "demo", own, &api.ScyllaDBDatacenterNodesStatusReport{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo-rack1", "demo-rack2"} {
		// Without garbage collection only our controller can delete the cluster's objects.
		orphan := client.PropagationPolicy(metav1.DeletePropagationOrphan)
		if err := p.client.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}, orphan); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("our reports to go", func(ctx context.Context) error {
		gone := func(name string, o client.Object) error {
			if err := p.get(ctx, "demo", name, o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s: %w", o, name, errors.Join(err, errors.New("is still there")))
			}
			return nil
		}
		return errors.Join(gone(own, &api.ScyllaDBDatacenterNodesStatusReport{}), gone("demo", &api.ScyllaDBStatusReport{}))
	})
	p.eventually("what is left alone to be named", func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := p.client.List(ctx, &events, client.InNamespace("demo")); err != nil {
			return err
		}
		named := map[string]bool{}
		for _, e := range events.Items {
			if e.Reason == "ReportLeftAlone" {
				named[e.Regarding.Name] = true
			}
		}
		if !named[operators.Name] || !named[byHand.Name] {
			return fmt.Errorf("Events name %v", named)
		}
		return nil
	})
	for _, name := range []string{operators.Name, byHand.Name} {
		if err := p.get(t.Context(), "demo", name, &api.ScyllaDBDatacenterNodesStatusReport{}); err != nil {
			t.Errorf("what is not ours: %v", err)
		}
	}
}
