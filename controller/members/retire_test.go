// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// withData is a StatefulSet with a claim for each member.
func withData(name string, replicas int32) *appsv1.StatefulSet {
	s := set(replicas)
	s.Name, s.UID = name, types.UID(name)
	s.Labels[api.LabelRack] = strings.TrimPrefix(name, "demo-")
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	return s
}

func claim(member string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + member}}
}

// The Services, which are the record that a cluster existed, outlive its StatefulSets, and are deleted when nothing else of the cluster is left.
func TestA7ServicesWithoutAStatefulSet(t *testing.T) {
	joined := func() []client.Object {
		return []client.Object{withData("demo-r1", 1), withData("demo-r2", 1),
			pod("demo-r1-0", sees(h1, true, h1, h2)), pod("demo-r2-0", sees(h2, true, h1, h2))}
	}
	for name, tc := range map[string]struct {
		before []client.Object
		gone   []client.Object
		put    []client.Object
		kept   bool
		says   string
	}{
		"all StatefulSets and Pods are gone, the claims are there": {
			append(joined(), claim("demo-r1-0"), claim("demo-r2-0")),
			[]client.Object{withData("demo-r1", 1), withData("demo-r2", 1), pod("demo-r1-0", nil), pod("demo-r2-0", nil)}, nil, true, "PersistentVolumeClaim data-demo-r1-0 exists"},
		"the claim of one other member is there": {
			append(joined(), claim("demo-r2-0")),
			[]client.Object{withData("demo-r1", 1), withData("demo-r2", 1), pod("demo-r1-0", nil), pod("demo-r2-0", nil)}, nil, true, "PersistentVolumeClaim data-demo-r2-0 exists"},
		"no claim is left": {
			joined(), []client.Object{withData("demo-r1", 1), withData("demo-r2", 1), pod("demo-r1-0", nil), pod("demo-r2-0", nil)}, nil, false, ""},
		"a Pod is left": {
			joined(), []client.Object{withData("demo-r1", 1), withData("demo-r2", 1), pod("demo-r1-0", nil)}, nil, true, "Pod demo-r2-0 exists"},
		"nobody knows of claims": {
			[]client.Object{set(1), pod("demo-r1-0", sees(h1, true, h1))}, []client.Object{set(1), pod("demo-r1-0", nil)}, nil, true, "the PVCs of"},
		"one rack is gone, and its node is a member still": {
			joined(), []client.Object{withData("demo-r1", 1), pod("demo-r1-0", nil)}, nil, true, "demo-r2-0 lists host ID " + h1},
		"one rack is gone, and its node was removed": {
			joined(), []client.Object{withData("demo-r1", 1), pod("demo-r1-0", nil)}, []client.Object{pod("demo-r2-0", sees(h2, true, h2))}, false, ""},
		"no node ever started": {
			[]client.Object{withData("demo-r1", 1), claim("demo-r1-0")}, []client.Object{withData("demo-r1", 1)}, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.before...)
			for range 2 {
				b.reconcile("demo-r1")
				b.reconcile("demo-r2")
			}
			was := b.service("demo-r1-0")
			for _, o := range tc.gone {
				if err := b.client.Delete(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			for _, o := range tc.put {
				if err := b.client.Update(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			res, _ := b.reconcile("demo-r1")
			now := &corev1.Service{}
			err := b.client.Get(t.Context(), client.ObjectKeyFromObject(was), now)
			if !tc.kept {
				if !apierrors.IsNotFound(err) {
					t.Errorf("the Service is kept: %v, events %q", err, b.events())
				}
				return
			}
			if err != nil || now.Annotations[api.AnnotationHostID] != h1 || now.Annotations[api.AnnotationNodeJoined] != "true" || res.RequeueAfter == 0 {
				t.Fatalf("%v, annotations %v, %+v", err, now.Annotations, res)
			}
			if e := strings.Join(b.events(), "\n"); !strings.Contains(e, tc.says) {
				t.Errorf("events lack %q:\n%s", tc.says, e)
			}
			if _, w := b.reconcile("demo-r1"); len(w) > 0 {
				t.Errorf("nothing has changed, and written were %q", w)
			}
		})
	}
}

// A manifest may bring the Services of the members with it, for addresses of their own, and Services come before StatefulSets.
func TestA7AServiceAppliedBeforeItsStatefulSetStays(t *testing.T) {
	b := newBench(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-r1-0", Labels: map[string]string{
		api.LabelManagedBy: api.ManagedByUs, api.LabelServiceType: api.ServiceTypeMember, api.LabelCluster: "demo", api.LabelDatacenter: "dc1",
		api.LabelRack: "r1", api.LabelRackOrdinal: "0"}}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.7"}})
	if _, writes := b.reconcile("demo-r1"); len(writes) > 0 {
		t.Errorf("wrote %q", writes)
	}
	if got := b.service("demo-r1-0").Spec.ClusterIP; got != "10.96.0.7" {
		t.Errorf("cluster IP %s", got)
	}
}

// A StatefulSet that is applied again finds its Services, with the annotations of its members.
func TestA7TheStatefulSetComesBack(t *testing.T) {
	b := newBench(t, withData("demo-r1", 1), pod("demo-r1-0", sees(h1, true, h1)), claim("demo-r1-0"))
	b.reconcile("demo-r1")
	b.reconcile("demo-r1")
	was := b.service("demo-r1-0")
	for _, o := range []client.Object{withData("demo-r1", 1), pod("demo-r1-0", nil)} {
		if err := b.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	b.reconcile("demo-r1")
	if err := b.client.Create(t.Context(), withData("demo-r1", 1)); err != nil {
		t.Fatal(err)
	}
	if _, w := b.reconcile("demo-r1"); len(w) > 0 {
		t.Errorf("written: %q", w)
	}
	if now := b.service("demo-r1-0"); now.UID != was.UID || now.Annotations[api.AnnotationHostID] != h1 {
		t.Errorf("%v", now.Annotations)
	}
}

func TestA7AClaimThatCannotBeAskedForDeletesNothing(t *testing.T) {
	b := newBench(t, withData("demo-r1", 1), pod("demo-r1-0", sees(h1, true, h1)))
	b.reconcile("demo-r1")
	b.reconcile("demo-r1")
	for _, o := range []client.Object{withData("demo-r1", 1), pod("demo-r1-0", nil)} {
		if err := b.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	b.o.Live = failingReader{errors.New("etcd is away")}
	_, err := b.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "demo-r1"}})
	if err == nil || !strings.Contains(err.Error(), "data-demo-r1-0") {
		t.Errorf("error %v", err)
	}
	b.service("demo-r1-0")
}

func TestSetOfService(t *testing.T) {
	for name, want := range map[string]string{"demo-r1-0": "demo-r1", "demo-r1-10": "demo-r1", "demo-r1-x": "", "demo-r1-01": "", "-1": "", "x": ""} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{
			api.LabelManagedBy: api.ManagedByUs, api.LabelServiceType: api.ServiceTypeMember}}}
		got := setOfService(t.Context(), svc)
		if (len(got) == 1) != (want != "") || len(got) == 1 && got[0].Name != want {
			t.Errorf("%s: %v, want %q", name, got, want)
		}
		svc.Labels[api.LabelManagedBy] = api.ManagedByOperator
		if got := setOfService(t.Context(), svc); len(got) > 0 {
			t.Errorf("%s of the Scylla Operator: %v", name, got)
		}
	}
}

type failingReader struct{ err error }

func (f failingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}

func (f failingReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return f.err
}
