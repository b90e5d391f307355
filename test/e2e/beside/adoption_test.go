// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
)

// operatorAway runs while the operator is off: a replacement of a node that is DOWN, the node is UP again, and the operator is back and carries out what it finds. A request
// that an earlier version has accepted is withdrawn by the one printed step.
func (w *wire) operatorAway(rows map[string]string) {
	w.t.Helper()
	uid := func() types.UID {
		p := &corev1.PersistentVolumeClaim{}
		if err := w.c.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "data-" + third}, p); err != nil || p.DeletionTimestamp != nil {
			w.t.Errorf("the PVC of a node that is UP again: %v, deleted %v", err, p.DeletionTimestamp)
		}
		return p.UID
	}
	before := uid()
	for _, name := range []string{first, second} {
		w.annotate(name, strings.ReplaceAll(rows[name], `"hostID":"`+idOf(2)+`","status":"UP"`, `"hostID":"`+idOf(2)+`","status":"DOWN"`))
	}
	w.want(2, "the Scylla Operator is scaled to 0", "replace", third, "--yes", "--wait=false", "--skip-check", "no-operation,down-for")
	for _, name := range []string{first, second} {
		w.annotate(name, rows[name])
	}
	if err := Replace(w.t.Context(), w.c, w.namespace); err != nil || uid() != before {
		w.t.Errorf("the operator replaces a node that is UP: %v", err)
	}
	w.service(third, func(s *corev1.Service) { s.Labels[api.LabelReplace] = "" })
	w.want(3, "kubectl scylla replace cancel "+third, "replace", "status", third)
	w.want(0, "", "replace", "cancel", third)
	if err := Replace(w.t.Context(), w.c, w.namespace); err != nil || uid() != before {
		w.t.Errorf("the operator replaces a node whose request was withdrawn: %v", err)
	}
}

// here returns the objects of a namespace that the operator may adopt, by kind and name.
func (w *wire) here() map[string]*unstructured.Unstructured {
	w.t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, gvk := range adopted {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := w.c.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil && !meta.IsNoMatchError(err) {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			out[gvk.Kind+"/"+list.Items[i].GetName()] = &list.Items[i]
		}
	}
	return out
}

// controls runs our controller until the test ends.
func (w *wire) controls() {
	o := controller.DefaultOptions()
	o.MetricsBindAddress, o.HealthProbeBindAddress = "0", "0"
	o.Log = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- controller.Run(ctx, w.cfg, o) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("controller: %v", err)
		}
	})
}

// datacenter creates a ScyllaDBDatacenter with the racks.
func (w *wire) datacenter(name string, racks ...string) *Datacenter {
	w.t.Helper()
	d := &Datacenter{Racks: racks, Unstructured: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "scylla.scylladb.com/v1alpha1", "kind": "ScyllaDBDatacenter",
		"metadata": map[string]any{"namespace": w.namespace, "name": name}}}}
	if err := w.c.Create(w.t.Context(), d.Unstructured); err != nil {
		w.t.Fatal(err)
	}
	return d
}

// TestBesideOperatorAdoptsNothingOfAnInjectedCluster: a user's StatefulSet with our barrier, our controller, and then a ScyllaDBDatacenter of the cluster's name in the namespace. The
// operator selects by label scylla/cluster=NAME alone; whatever it adopts it deletes, or Kubernetes deletes it with the ScyllaDBDatacenter. The objects are first those of
// an earlier version: our controller and inject protect them, and restart nothing.
func TestBesideOperatorAdoptsNothingOfAnInjectedCluster(t *testing.T) {
	t.Parallel()
	p := plane.Start(t)
	c, err := kube.NewClient(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, plane: p, cfg: p.RESTConfig(), c: c, said: &strings.Builder{}}
	w.kubectl(kinds(), "apply", "-f", "-")
	w.want(0, "", "install", "--no-controller", "--yes")
	w.controls()
	w.namespace = "shop"
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	injected := w.run("inject", "-f", "../../simulation/manifests/plain.yaml", "--image", "agent:1")
	if injected.Code != 0 {
		t.Fatal(injected.Stderr)
	}
	w.kubectl(strings.Replace(injected.Stdout, "scylla/cluster: own_shop", "scylla/cluster: shop", 1), "apply", "-f", "-")
	report := w.grown("shop", "db")
	pod, set := &corev1.Pod{}, &appsv1.StatefulSet{}
	for key, o := range map[string]client.Object{"db-0": pod, "db": set} {
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: key}, o); err != nil {
			t.Fatal(err)
		}
	}
	w.service("db-0", func(s *corev1.Service) { s.OwnerReferences = nil })
	update(w, &api.ScyllaDBDatacenterNodesStatusReport{}, report, func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Labels[api.LabelCluster] = "shop" })
	w.kubectl(injected.Stdout, "apply", "-f", "-")
	if w.until(func(context.Context) (bool, error) {
		here := w.here()
		return metav1.GetControllerOf(here["Service/db-0"]) != nil && here["ScyllaDBDatacenterNodesStatusReport/"+report].GetLabels()[api.LabelCluster] == "", nil
	}) != nil {
		t.Error("our controller does not protect the objects of an earlier version")
	}
	before := w.here()
	if got := before["StatefulSet/db"]; got.GetGeneration() != set.Generation || got.GetUID() != set.UID {
		t.Errorf("the new label makes generation %d of %d: its Pods restart", got.GetGeneration(), set.Generation)
	}

	dc := w.datacenter("shop", "a")
	for range 3 {
		if degraded, err := dc.Sync(t.Context(), c); err != nil || len(degraded) > 0 {
			t.Errorf("the operator is degraded by our objects: %q, %v", degraded, err)
		}
	}
	w.unharmed(before, dc)
	if was := pod.UID; c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod) != nil || pod.UID != was {
		t.Errorf("Pod %s was restarted", pod.Name)
	}
}

// grown waits until our controller has created the three member Services of a StatefulSet, and the cluster's report.
func (w *wire) grown(name, set string) (report string) {
	w.t.Helper()
	var missing string
	if w.until(func(ctx context.Context) (bool, error) {
		here := w.here()
		missing = ""
		for i := range 3 {
			if key := fmt.Sprintf("Service/%s-%d", set, i); here[key] == nil {
				missing = key
			}
		}
		// The other Pods wait for the first.
		if w.c.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: set + "-0"}, &corev1.Pod{}) != nil {
			missing = "Pod " + set + "-0"
		}
		for _, o := range here {
			if o.GetKind() == "ScyllaDBDatacenterNodesStatusReport" && o.GetLabels()[api.LabelReportSelector] == name {
				report = o.GetName()
				return missing == "", nil
			}
		}
		missing = "the report"
		return false, nil
	}) != nil {
		w.t.Fatalf("%s is missing: %v", missing, w.here())
	}
	return report
}

// unharmed compares the objects of a namespace with those before: each still exists, is not about to be deleted, and has no owner of the operator's.
func (w *wire) unharmed(before map[string]*unstructured.Unstructured, dc *Datacenter) {
	w.t.Helper()
	now := w.here()
	for name, was := range before {
		o := now[name]
		if o == nil || o.GetUID() != was.GetUID() || o.GetDeletionTimestamp() != nil {
			w.t.Errorf("%s was deleted", name)
			continue
		}
		for _, owner := range o.GetOwnerReferences() {
			if owner.UID == dc.GetUID() {
				w.t.Errorf("%s was adopted by %s %s", name, owner.Kind, owner.Name)
			}
		}
	}
}
