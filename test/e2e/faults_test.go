// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
)

// fault is one change of one object.
type fault struct {
	object string                           // "Kind name"
	change func(*unstructured.Unstructured) // nil: the object is removed
	want   words.Code
	state  preflight.State
}

// Each of these faults, planted on a real API server, is found by check with a line of its own, and nothing else is said. Nothing but the test writes there: no
// node runs, and the controller manager is stopped. An old Kubernetes, another clock and a reporter that does not answer are left to internal/setup/preflight.
func TestCheckFindsEachPlantedFault(t *testing.T) {
	covers(t, "internal/setup/preflight", "plugin/check")
	t.Parallel()
	pods(t, 4)
	c, p := bare(t)
	f := newFaulty(t, c, p)
	faults := f.faults()
	if len(faults) < 20 {
		t.Errorf("%d faults, want at least 20", len(faults))
	}
	f.finds(map[words.Code]preflight.State{})
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		tc := faults[name]
		original, ok := f.objects[tc.object]
		if !ok {
			t.Fatalf("%s: there is no %s", name, tc.object)
		}
		planted := original.DeepCopy()
		if tc.change == nil {
			f.remove(planted)
		} else {
			tc.change(planted)
			f.put(planted)
		}
		if diff := f.finds(map[words.Code]preflight.State{tc.want: tc.state}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		} else {
			t.Logf("%-30s %-8s %s", name, tc.state, tc.want)
		}
		f.put(original)
	}
	if diff := f.finds(map[words.Code]preflight.State{}); diff != "" {
		t.Errorf("in the end: %s", diff)
	}
}

// faulty is an installation with one guarded member, without faults but the planted ones.
type faulty struct {
	builtPlugin
	t       *testing.T
	c       client.Client
	objects map[string]*unstructured.Unstructured // as they are without a fault, by "Kind name"
}

// finds waits until check says exactly this: the API server needs a moment to heed a role, or to serve a kind. It gives the difference that stays.
func (f *faulty) finds(want map[words.Code]preflight.State) (diff string) {
	f.t.Helper()
	wantCode := 0
	if slices.Contains(slices.Collect(maps.Values(want)), preflight.Failed) {
		wantCode = 3
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	_ = cluster.WaitFor(ctx, "check", time.Second, func(context.Context) (bool, string, error) {
		out, errs, got := f.execute("check", "-n", "inject", "-o", "json")
		var doc struct {
			Results []struct {
				Subject string
				State   preflight.State
				Text    struct{ Code words.Code }
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			diff = out + errs
			return false, diff, err
		}
		all := map[words.Code]preflight.State{}
		for _, r := range doc.Results {
			if r.State != preflight.OK {
				all[r.Text.Code] = r.State
			}
		}
		diff = cmp.Diff(want, all)
		if diff == "" && got != wantCode {
			diff = fmt.Sprintf("exit %d, want %d", got, wantCode)
		}
		return diff == "", diff, nil
	})
	return diff
}

func typedChange[T any](t *testing.T, change func(*T)) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		t.Helper()
		typed := new(T)
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed)
		if err == nil {
			change(typed)
			u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (f *faulty) faults() map[string]fault {
	set := func(change func(*appsv1.StatefulSet)) func(*unstructured.Unstructured) {
		return typedChange(f.t, change)
	}
	pod := func(change func(*corev1.Pod)) func(*unstructured.Unstructured) { return typedChange(f.t, change) }
	service := func(change func(*corev1.Service)) func(*unstructured.Unstructured) {
		return typedChange(f.t, change)
	}
	budget := func(change func(*policyv1.PodDisruptionBudget)) func(*unstructured.Unstructured) {
		return typedChange(f.t, change)
	}
	scylla := func(s *appsv1.StatefulSet) *corev1.Container { return &s.Spec.Template.Spec.Containers[0] }
	without := func(name string) func(*unstructured.Unstructured) {
		return set(func(s *appsv1.StatefulSet) { initNamed(&s.Spec.Template.Spec, name).Name = "other" })
	}
	const failed, warning = preflight.Failed, preflight.Warning
	const db, member, db0, controller = "StatefulSet db-a", "Service db-a-0", "Pod db-a-0", "Deployment kubectl-scylla-controller"
	const lease, slice, pdb = "Lease kubectl-scylla-controller", "EndpointSlice db-a-0", "PodDisruptionBudget db"
	return map[string]fault{
		"kind missing":             {"CustomResourceDefinition scylladbstatusreports.scylla.scylladb.com", nil, words.KindMissing, failed},
		"no admission policy":      {"ValidatingAdmissionPolicy kubectl-scylla-own-pod-only", nil, words.PolicyMissing, failed},
		"policy not bound":         {"ValidatingAdmissionPolicyBinding kubectl-scylla-own-pod-only", nil, words.PolicyNotBound, failed},
		"no policy for events":     {"ValidatingAdmissionPolicy kubectl-scylla-own-events-only", nil, words.PolicyMissing, failed},
		"no controller":            {controller, nil, words.ControllerMissing, failed},
		"controller down":          {controller, typedChange(f.t, func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.ReadyReplicas = 0, 0 }), words.ControllerNotReady, failed},
		"no leader":                {lease, nil, words.LeaseMissing, failed},
		"leader silent":            {lease, typedChange(f.t, func(l *coordinationv1.Lease) { l.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(-time.Hour))) }), words.LeaseOld, failed},
		"another version":          {"Namespace kubectl-scylla", typedChange(f.t, func(n *corev1.Namespace) { n.Annotations[manifests.VersionAnnotation] = "v9.0.0" }), words.VersionsDiffer, warning},
		"rights of the members":    {"RoleBinding kubectl-scylla-member-scylla-member", nil, words.RightMissing, failed},
		"rights of the controller": {"ClusterRoleBinding kubectl-scylla-controller", nil, words.RightMissing, failed},
		"no version of ScyllaDB":   {db0, pod(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "localhost/scylla:latest" }), words.ScyllaVersionUnknown, warning},
		"an old ScyllaDB":          {db0, pod(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "localhost/scylla:5.1.18" }), words.ScyllaVersionOld, warning},
		"another agent":            {db, set(func(s *appsv1.StatefulSet) { initNamed(&s.Spec.Template.Spec, api.ContainerBarrier).Image = "other" }), words.AgentImageDiffers, warning},
		"no reporter":              {db, without(api.ContainerReporter), words.GateMissing, failed},
		"no query":                 {db, without(api.ContainerBootstrappedQuery), words.GateMissing, failed},
		"no barrier":               {db, without(api.ContainerBarrier), words.GateMissing, failed},
		"no launcher":              {db, set(func(s *appsv1.StatefulSet) { scylla(s).Command = nil }), words.GateMissing, failed},
		"a Pod without a barrier":  {db0, pod(func(p *corev1.Pod) { initNamed(&p.Spec, api.ContainerBarrier).Name = "other" }), words.PodGateMissing, failed},
		"no readiness probe":       {db, set(func(s *appsv1.StatefulSet) { scylla(s).ReadinessProbe = nil }), words.ReadinessMissing, warning},
		"a liveness probe":         {db, set(func(s *appsv1.StatefulSet) { scylla(s).LivenessProbe = scylla(s).ReadinessProbe }), words.LivenessKills, warning},
		"seeds of its own":         {db, set(func(s *appsv1.StatefulSet) { scylla(s).Args = append(scylla(s).Args, "--seeds=db-a-0.db") }), words.SeedsOfOwn, warning},
		"rolled by hand": {db, set(func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		}), words.OnDelete, warning},
		"no claims": {db, set(func(s *appsv1.StatefulSet) {
			spec := &s.Spec.Template.Spec
			spec.Volumes = append(spec.Volumes, corev1.Volume{Name: s.Spec.VolumeClaimTemplates[0].Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
			s.Spec.VolumeClaimTemplates = nil
		}), words.NoClaim, failed},
		"no budget":                      {pdb, nil, words.BudgetMissing, warning},
		"budget of two":                  {pdb, budget(func(p *policyv1.PodDisruptionBudget) { p.Spec.MaxUnavailable = new(intstr.FromInt32(2)) }), words.BudgetTooWide, warning},
		"budget holds what is not ready": {pdb, budget(func(p *policyv1.PodDisruptionBudget) { p.Spec.UnhealthyPodEvictionPolicy = nil }), words.BudgetHoldsUnhealthy, warning},
		"a tag pushed again":             {db0, pod(func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].ImageID = "sha256:2" }), words.ImagesDiffer, warning},
		"no member Service":              {member, nil, words.ServiceMissing, failed},
		"Service of another":             {member, service(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "other"} }), words.ServiceSelectsOther, failed},
		"a name that hides":              {member, service(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = false }), words.NameHidden, warning},
		"a name without an address":      {slice, nil, words.NameLeadsElsewhere, failed},
		"a name of another Pod":          {slice, typedChange(f.t, func(e *discoveryv1.EndpointSlice) { e.Endpoints[0].Addresses[0] = "10.9.9.9" }), words.NameLeadsElsewhere, failed},
		"no headless Service":            {"Service db", nil, words.NoGoverningService, warning},
	}
}

func initNamed(spec *corev1.PodSpec, name string) *corev1.Container {
	i := slices.IndexFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
	return &spec.InitContainers[i]
}

// newFaulty installs, and adds the first StatefulSet of testdata/plain.yaml as `inject` changes it, with what Kubernetes and the controller would make of it.
func newFaulty(t *testing.T, c *cluster.Cluster, p builtPlugin) *faulty {
	t.Helper()
	if out, errs, code := p.execute("install", "--image="+images.AgentRef, "--yes", "--wait=false"); code != 0 {
		t.Fatal(out, errs)
	}
	if out, err := c.Kubectl(t.Context(), "create", "namespace", "inject"); err != nil {
		t.Fatal(out, err)
	}
	if err := c.Component("kube-controller-manager").Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Component("kube-controller-manager").Resume(); err != nil {
			t.Error(err)
		}
	})
	cl, err := client.New(c.RESTConfig(), client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{builtPlugin: p, t: t, c: cl, objects: map[string]*unstructured.Unstructured{}}
	installed, err := manifests.Objects(manifests.Options{Image: images.AgentRef, Replicas: 1, Version: "v0.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range installed {
		if err := cl.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			t.Fatal(err)
		}
		f.keep(u)
	}
	docs := strings.SplitAfterN(readFile(t, "testdata/plain.yaml"), "\n---\n", 3)
	text := strings.Replace(docs[0]+docs[1], "--seeds=db-a-0.db, ", "", 1)
	made, err := inject.Stream([]byte(text), inject.Options{Image: images.AgentRef, ControllerNamespace: manifests.Namespace, Namespace: "inject"}, false)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Decode(bytes.NewReader(made.Text))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range objects {
		f.keep(u)
	}
	f.made()
	typedChange(t, func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	})(f.objects["Deployment kubectl-scylla-controller"])
	for _, u := range f.objects {
		if u.GetKind() == "Namespace" || u.GetKind() == "ServiceAccount" {
			f.put(u)
		}
	}
	for _, u := range f.objects {
		f.put(u)
	}
	return f
}

// keep has the object without what the API server adds.
func (f *faulty) keep(u *unstructured.Unstructured) {
	u = u.DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if kind := u.GetKind(); kind != "Pod" && kind != "Deployment" {
		delete(u.Object, "status")
	}
	f.objects[u.GetKind()+" "+u.GetName()] = u
}

// made are the objects that Kubernetes and the controller would make of the StatefulSet.
func (f *faulty) made() {
	set := &appsv1.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.objects["StatefulSet db-a"].Object, set); err != nil {
		f.t.Fatal(err)
	}
	meta := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: set.Namespace, Name: name, Labels: labels}
	}
	pod := &corev1.Pod{ObjectMeta: meta("db-a-0", maps.Clone(set.Spec.Template.Labels)), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: "one", Controller: new(true)}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-a-0"}}})
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, PodIP: "10.1.2.3", PodIPs: []corev1.PodIP{{IP: "10.1.2.3"}}}
	for _, c := range pod.Spec.InitContainers {
		if c.Image == images.AgentRef {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: "sha256:1"})
		}
	}
	renewed := metav1.NewMicroTime(time.Now().Add(time.Hour)) // it is not renewed while the test runs
	for kind, o := range map[string]any{
		"v1/Pod": pod,
		"v1/Service": &corev1.Service{ObjectMeta: meta("db-a-0", map[string]string{api.LabelCluster: "shop", api.LabelManagedBy: api.ManagedByUs}), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{appsv1.StatefulSetPodNameLabel: "db-a-0"}}},
		"discovery.k8s.io/v1/EndpointSlice": &discoveryv1.EndpointSlice{ObjectMeta: meta("db-a-0", map[string]string{discoveryv1.LabelServiceName: "db-a-0"}),
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}}}},
		"policy/v1/PodDisruptionBudget": &policyv1.PodDisruptionBudget{ObjectMeta: meta("db", nil), Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1)),
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}},
		"coordination.k8s.io/v1/Lease": &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: api.LeaseName},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("one"), RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))}},
	} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			f.t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: fields}
		i := strings.LastIndex(kind, "/")
		u.SetAPIVersion(kind[:i])
		u.SetKind(kind[i+1:])
		f.keep(u)
	}
}

func (f *faulty) remove(u *unstructured.Unstructured) {
	f.t.Helper()
	if err := f.c.Delete(f.t.Context(), u.DeepCopy(), client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
}

// put brings an object about as it is given: updated where that is allowed, else made anew.
func (f *faulty) put(want *unstructured.Unstructured) {
	f.t.Helper()
	err := cluster.WaitFor(f.t.Context(), want.GetKind()+" "+want.GetName(), 100*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		u, have := want.DeepCopy(), want.DeepCopy()
		err := f.c.Get(ctx, client.ObjectKeyFromObject(want), have)
		switch {
		case apierrors.IsNotFound(err):
			err = f.c.Create(ctx, u)
		case err != nil:
		case have.GetDeletionTimestamp() != nil:
			return false, "it is being removed", nil
		default:
			u.SetResourceVersion(have.GetResourceVersion())
			if err = f.c.Update(ctx, u); apierrors.IsInvalid(err) {
				return false, err.Error(), f.c.Delete(ctx, have, client.GracePeriodSeconds(0))
			}
		}
		if status, ok := want.Object["status"]; err == nil && ok {
			u.Object["status"] = status
			err = f.c.Status().Update(ctx, u)
		}
		if errors.Is(err, context.DeadlineExceeded) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return false, "", cluster.Permanent(err)
		}
		return err == nil, fmt.Sprint(err), nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}
