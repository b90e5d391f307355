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
	eventsv1 "k8s.io/api/events/v1"
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
	p.must(err)
	crd := &unstructured.Unstructured{}
	p.must(yaml.Unmarshal(data, &crd.Object))
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
	p.must(err)
	p.kubectl(string(text), "replace", "-f", "-")
}

// TestBesideOperator2And7OnARealAPIServer: with the Scylla Operator's definition of its kind, an older one of our own, and a report of the operator's that carries our label, as
// its ScyllaDBDatacenter does. While our kind lacks fields the controller leads and writes the datacenter report, but no cluster report, and is not ready; when the cluster is deleted,
// our reports are deleted and the operator's stays.
func TestBesideOperator2And7OnARealAPIServer(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.install()
	theirs, err := os.ReadFile(filepath.Join("..", "test", "e2e", "testdata", "operator-crd.yaml"))
	p.must(err)
	p.kubectl(string(theirs), "replace", "-f", "-")
	p.older()
	p.namespace(rack("rack1"), rack("rack2"))
	r := p.run()
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
	p.event("with the command", func(e eventsv1.Event) bool {
		return e.Reason == "ReportNotKept" && strings.Contains(e.Note, "datacenters.nodes.fault") &&
			strings.Contains(e.Note, "kubectl scylla install --upgrade")
	})
	if err := r.ready(t.Context()); err == nil || !strings.Contains(err.Error(), "kind failed") {
		t.Errorf("ready: %v", err)
	}
	p.must(p.absent(t.Context(), "demo", &api.ScyllaDBStatusReport{}))
	var lead coordinationv1.Lease
	if err := p.get(t.Context(), manifests.Namespace, api.LeaseName, &lead); err != nil || ptr.Deref(lead.Spec.HolderIdentity, "") == "" {
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
		p.must(p.client.Create(t.Context(), o, client.FieldOwner(manager)))
	}

	p.must(p.get(t.Context(), "demo", own, &api.ScyllaDBDatacenterNodesStatusReport{}))
	for _, name := range []string{"demo-rack1", "demo-rack2"} {
		// Without garbage collection only our controller can delete the cluster's objects.
		orphan := client.PropagationPolicy(metav1.DeletePropagationOrphan)
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
		p.must(p.client.Delete(t.Context(), set, orphan))
	}
	p.eventually("our reports to go", func(ctx context.Context) error {
		return errors.Join(p.absent(ctx, own, &api.ScyllaDBDatacenterNodesStatusReport{}),
			p.absent(ctx, "demo", &api.ScyllaDBStatusReport{}))
	})
	for _, name := range []string{operators.Name, byHand.Name} {
		p.event("that names "+name, func(e eventsv1.Event) bool {
			return e.Reason == "ReportLeftAlone" && e.Regarding.Name == name
		})
		p.must(p.get(t.Context(), "demo", name, &api.ScyllaDBDatacenterNodesStatusReport{})) // it is not ours
	}
}
