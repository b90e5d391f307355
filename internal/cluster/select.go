// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// OwnedByOperator reports whether the Scylla Operator manages the object, so that we must not write
// it. Its label, its hash annotation or a controlling owner of its group is enough evidence.
func OwnedByOperator(obj metav1.Object) bool {
	if obj.GetLabels()[api.LabelManagedBy] == api.ManagedByOperator {
		return true
	}
	if _, ok := obj.GetAnnotations()[api.AnnotationManagedHash]; ok {
		return true
	}
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		if !strings.HasPrefix(o.APIVersion, api.GroupVersion.Group+"/") {
			return false
		}
		return o.Controller != nil && *o.Controller || o.Kind == api.ScyllaDBDatacenterGVK.Kind ||
			o.Kind == "RemoteOwner"
	})
}

// Managed reports whether the object has the label that assigns it to our controller, and the
// Scylla Operator does not manage it.
func Managed(obj metav1.Object) bool {
	return obj.GetLabels()[api.LabelManagedBy] == api.ManagedByUs && !OwnedByOperator(obj)
}

// anyOf is slices.ContainsFunc without a copy of each object.
func anyOf[T any](objects []T, is func(*T) bool) bool {
	for i := range objects {
		if is(&objects[i]) {
			return true
		}
	}
	return false
}

// isRemote reports whether the report is a copy from another Kubernetes cluster or namespace: its
// members have no Pods here.
func isRemote(r *api.ScyllaDBDatacenterNodesStatusReport) bool {
	_, ok := r.Labels[api.LabelRemoteReport]
	return ok || r.Annotations[api.AnnotationCopy] != ""
}

// IsMemberService reports whether the Service belongs to one member, not to the cluster.
func IsMemberService(s *corev1.Service) bool {
	if t, ok := s.Labels[api.LabelServiceType]; ok {
		return t == api.ServiceTypeMember
	}
	_, ok := s.Spec.Selector[appsv1.StatefulSetPodNameLabel]
	return ok
}

// NamesMember is IsMemberService for an object with known metadata only.
func NamesMember(o metav1.Object) bool {
	if t, ok := o.GetLabels()[api.LabelServiceType]; ok {
		return t == api.ServiceTypeMember
	}
	_, _, ok := cutOrdinal(o.GetName())
	return ok
}

// IsNodePod reports whether the Pod runs ScyllaDB. Other Pods can have the cluster's label, such as
// Pods of the Scylla Operator's jobs.
func IsNodePod(p *corev1.Pod) bool {
	if t, ok := p.Labels[api.LabelPodType]; ok {
		return t == api.PodTypeNode
	}
	_, ofSet := p.Labels[appsv1.StatefulSetPodNameLabel]
	return ofSet || ScyllaDBContainer(&p.Spec) != nil
}

// own keeps only members' objects, keeps the last of duplicates, and sorts. A list that needs none
// of that is not copied: a Pod alone has 1 kB.
// Counted twice, a report's rows would contradict each other.
func (o Objects) own() Objects {
	pods := make(map[string]bool, len(o.Pods))
	for i := range o.Pods {
		pods[o.Pods[i].Name] = true
	}
	o.Services = distinct(o.Services, func(s *corev1.Service) metav1.Object { return s },
		func(s *corev1.Service) bool { return IsMemberService(s) || pods[s.Name] })
	o.Pods = distinct(o.Pods, func(p *corev1.Pod) metav1.Object { return p }, IsNodePod)
	o.StatefulSets = distinct(o.StatefulSets, func(s *appsv1.StatefulSet) metav1.Object { return s }, nil)
	o.PVCs = distinct(o.PVCs, func(p *corev1.PersistentVolumeClaim) metav1.Object { return p }, nil)
	o.Reports = distinct(o.Reports, func(r *api.ScyllaDBDatacenterNodesStatusReport) metav1.Object { return r }, nil)
	byDatacenter := func(a, b api.ScyllaDBDatacenterNodesStatusReport) int {
		return cmp.Or(cmp.Compare(a.DatacenterName, b.DatacenterName), cmp.Compare(a.Name, b.Name))
	}
	if !slices.IsSortedFunc(o.Reports, byDatacenter) {
		o.Reports = slices.Clone(o.Reports)
		slices.SortStableFunc(o.Reports, byDatacenter)
	}
	o.Problems = SortProblems(slices.Clone(o.Problems))
	return o
}

// distinct returns the last object of each name if keep accepts it, by name. It sorts names, not
// objects, which are large and of many types.
func distinct[T any](list []T, meta func(*T) metav1.Object, keep func(*T) bool) []T {
	if list == nil {
		return nil
	}
	if inOrder(list, meta) { // sorted already, as from most callers
		first := firstRefused(list, keep)
		if first == len(list) {
			return slices.Clip(list)
		}
		out := append(make([]T, 0, len(list)-1), list[:first]...)
		for i := first + 1; i < len(list); i++ {
			if keep(&list[i]) {
				out = append(out, list[i])
			}
		}
		return out
	}
	out := make([]T, 0, len(list))
	last := make(map[string]int, len(list))
	for i := range list {
		last[meta(&list[i]).GetName()] = i
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if v := &list[last[name]]; keep == nil || keep(v) {
			out = append(out, *v)
		}
	}
	return out
}

// firstRefused is the index of the first object that keep does not accept, or the list's length.
func firstRefused[T any](list []T, keep func(*T) bool) int {
	for i := range list {
		if keep != nil && !keep(&list[i]) {
			return i
		}
	}
	return len(list)
}

// inOrder reports whether the list is sorted by name and has no name twice.
func inOrder[T any](list []T, meta func(*T) metav1.Object) bool {
	for i := 1; i < len(list); i++ {
		if meta(&list[i-1]).GetName() >= meta(&list[i]).GetName() {
			return false
		}
	}
	return true
}

// OfOperator reports whether the Scylla Operator manages any of the objects.
func (o *Objects) OfOperator() bool {
	for part := range o.parts() {
		if OwnedByOperator(part) {
			return true
		}
	}
	for i := range o.Pods {
		if OwnedByOperator(&o.Pods[i]) {
			return true
		}
	}
	return false
}
