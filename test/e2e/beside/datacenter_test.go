// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// operates creates the operator's datacenter in a namespace, without nodes.
func (m *migration) operates(namespace, name, datacenter string, racks ...string) {
	m.t.Helper()
	w := m.in(namespace)
	m.Datacenter, m.datacenter, m.objects = w.datacenter(name, racks...), datacenter, map[string]client.Object{}
	c := plugintest.NewNamed(namespace, name, datacenter, len(racks), 3).AddDatacenter("elsewhere", 1, 1)
	for _, o := range c.OperatorObjects(datacenter, nil) {
		m.objects[fmt.Sprintf("%T", o)+o.GetName()] = m.owned(o)
	}
	for _, r := range racks {
		m.racks = append(m.racks, Rack{r, 0})
	}
}

// owned is an object as the operator creates it.
func (m *migration) owned(o client.Object) client.Object {
	o.SetUID("")
	o.SetManagedFields(nil)
	o.SetCreationTimestamp(metav1.Time{})
	l := o.GetLabels()
	delete(l, api.LabelParentScyllaDBCluster)
	o.SetLabels(l)
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: m.GetAPIVersion(), Kind: m.GetKind(), Name: m.GetName(), UID: m.GetUID(), Controller: new(true)}})
	switch o := o.(type) {
	case *corev1.Service:
		o.Spec.Ports = []corev1.ServicePort{{Port: 7000}}
		delete(o.Annotations, api.AnnotationHostID)
		delete(o.Annotations, api.AnnotationNodeJoined)
	case *appsv1.StatefulSet:
		claims(o)
	}
	return o
}

// claims makes a StatefulSet one that the API server accepts.
func claims(o *appsv1.StatefulSet) {
	o.Spec.Template.Labels = maps.Clone(o.Spec.Template.Labels)
	for _, l := range []map[string]string{o.Spec.Template.Labels, o.Spec.Selector.MatchLabels} {
		l[api.LabelManagedBy] = api.ManagedByOperator
	}
	s := &o.Spec.Template.Spec
	s.NodeName, s.Volumes, s.Containers[0].VolumeMounts, o.Spec.VolumeClaimTemplates = "", nil, nil, nil
	for i := range s.InitContainers {
		s.InitContainers[i].Image = "operator:1"
	}
}

// operate is one sync of the operator: the report by its rule, and adoption and pruning.
func (m *migration) operate() {
	m.t.Helper()
	if m.Datacenter == nil {
		return
	}
	ns := m.GetNamespace()
	services, pods := map[string]*corev1.Service{}, map[string]*corev1.Pod{}
	var sl corev1.ServiceList
	var pl corev1.PodList
	if err := m.c.List(m.t.Context(), &sl, client.InNamespace(ns)); err != nil {
		m.t.Fatal(err)
	}
	if err := m.c.List(m.t.Context(), &pl, client.InNamespace(ns)); err != nil {
		m.t.Fatal(err)
	}
	for i := range sl.Items {
		services[sl.Items[i].Name] = &sl.Items[i]
	}
	for i := range pl.Items {
		pods[pl.Items[i].Name] = &pl.Items[i]
	}
	prefix := m.GetName() + "-" + m.datacenter
	racks, err := Assemble(prefix, m.racks, services, pods)
	if err != nil {
		m.t.Fatal(err)
	}
	r := &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: m.GetName() + "-12wmr"}}
	err = m.c.Get(m.t.Context(), client.ObjectKeyFromObject(r), r)
	r.DatacenterName, r.Racks = m.datacenter, racks
	if apierrors.IsNotFound(err) {
		r.Labels = map[string]string{api.LabelReportSelector: m.GetName(), api.LabelCluster: m.GetName(), api.LabelManagedBy: api.ManagedByOperator}
		err = m.c.Create(m.t.Context(), m.owned(r))
	} else if err == nil {
		err = m.c.Update(m.t.Context(), r)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.Wanted = []string{r.Name}
	for _, o := range m.objects {
		m.Wanted = append(m.Wanted, o.GetName())
	}
	if degraded, err := m.Sync(m.t.Context(), m.c); err != nil || len(degraded) > 0 {
		m.t.Errorf("the operator is degraded: %q, %v", degraded, err)
	}
}

// barrier waits until the operator's barrier of a member gives this answer.
func (m *migration) barrier(pod string, want Answer) {
	m.t.Helper()
	if m.until(func(context.Context) (bool, error) { return m.judges(pod) == want, nil }) != nil {
		m.t.Fatalf("the operator's barrier of %s: %s", pod, m.judges(pod))
	}
}

// mirrored waits until our controller has copied its report with so many rows into a namespace.
func (m *migration) mirrored(namespace string, rows int) {
	m.t.Helper()
	if m.until(func(ctx context.Context) (bool, error) {
		var l api.ScyllaDBDatacenterNodesStatusReportList
		if err := m.c.List(ctx, &l, client.InNamespace(namespace), client.MatchingLabels{api.LabelManagedBy: api.ManagedByUs}); err != nil {
			return false, err
		}
		n := 0
		for _, r := range l.Items {
			for _, rack := range r.Racks {
				n += len(rack.Nodes)
			}
		}
		return n == rows, nil
	}) != nil {
		m.t.Fatalf("no copy with %d rows in namespace %s", rows, namespace)
	}
}

func (m *migration) judges(pod string) Answer {
	m.t.Helper()
	svc := &corev1.Service{}
	if err := m.c.Get(m.t.Context(), types.NamespacedName{Namespace: m.GetNamespace(), Name: pod}, svc); err != nil {
		m.t.Fatal(err)
	}
	var reports api.ScyllaDBDatacenterNodesStatusReportList
	if err := m.c.List(m.t.Context(), &reports, client.InNamespace(m.GetNamespace()), client.MatchingLabels{api.LabelReportSelector: m.GetName()}); err != nil {
		m.t.Fatal(err)
	}
	return Barrier(svc, false, reports.Items, true)
}

// grow adds the next node of a rack of the operator's.
func (m *migration) grow(rack string) string {
	m.t.Helper()
	at := slices.IndexFunc(m.racks, func(r Rack) bool { return r.Name == rack })
	name := fmt.Sprintf("%s-%s-%s", m.GetName(), m.datacenter, rack)
	pod := fmt.Sprintf("%s-%d", name, m.racks[at].Nodes)
	m.racks[at].Nodes++
	if err := m.c.Create(m.t.Context(), m.objects["*v1.Service"+pod]); err != nil {
		m.t.Fatal(err)
	}
	if m.racks[at].Nodes == 1 {
		set := m.objects["*v1.StatefulSet"+name].(*appsv1.StatefulSet)
		set.Spec.Replicas = new(int32(1))
		if err := m.c.Create(m.t.Context(), set); err != nil {
			m.t.Fatal(err)
		}
	} else {
		update(m.in(m.GetNamespace()), &appsv1.StatefulSet{}, name, func(s *appsv1.StatefulSet) { *s.Spec.Replicas++ })
	}
	return pod
}

// shrink is what the operator does with its last node: decommission, Pod and Service.
func (m *migration) shrink() {
	m.t.Helper()
	at := len(m.nodes) - 1
	for !m.nodes[at].operator {
		at--
	}
	left := m.nodes[at]
	m.nodes = slices.Delete(m.nodes, at, at+1)
	dash := strings.LastIndexByte(left.pod, '-')
	m.kubectl("", "scale", "statefulset", left.pod[:dash], "-n", left.namespace, "--replicas="+left.pod[dash+1:])
	m.kubectl("", "delete", "service", left.pod, "-n", left.namespace)
	m.tell()
}
