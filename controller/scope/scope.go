// SPDX-License-Identifier: Apache-2.0

// Package scope says which objects are our controller's to write and where in a ScyllaDB cluster they belong. It reads labels and owner
// references; it must not talk to anything.
package scope

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Place is where an object belongs.
type Place struct {
	Namespace, Cluster, Datacenter, Rack string
}

// PlaceOf reads the place from labels. The error names the first label that is missing.
func PlaceOf(obj metav1.Object) (Place, error) {
	l := obj.GetLabels()
	for _, k := range []string{api.LabelCluster, api.LabelDatacenter, api.LabelRack} {
		if l[k] == "" {
			return Place{}, fmt.Errorf("label %s is missing: set it so that the controller knows where %s/%s belongs", k, obj.GetNamespace(), obj.GetName())
		}
	}
	return Place{Namespace: obj.GetNamespace(), Cluster: l[api.LabelCluster], Datacenter: l[api.LabelDatacenter], Rack: l[api.LabelRack]}, nil
}

// OperatorOwned is true for what the Scylla Operator made: our controller keeps its hands off.
func OperatorOwned(obj metav1.Object) bool {
	if obj.GetLabels()[api.LabelManagedBy] == api.ManagedByOperator {
		return true
	}
	if _, ok := obj.GetAnnotations()[api.AnnotationManagedHash]; ok {
		return true
	}
	for _, o := range obj.GetOwnerReferences() {
		if strings.HasPrefix(o.APIVersion, api.GroupVersion.Group+"/") && o.Controller != nil && *o.Controller {
			return true
		}
	}
	return false
}

// Managed is true for what was handed to our controller by its label, or made by it.
func Managed(obj metav1.Object) bool {
	return obj.GetLabels()[api.LabelManagedBy] == api.ManagedByUs && !OperatorOwned(obj)
}

// Ordinal is the number at the end of a member's name, given the name of its StatefulSet.
func Ordinal(member, statefulSet string) (int32, bool) {
	text, ok := strings.CutPrefix(member, statefulSet+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return int32(n), true
}

// Ordinals is the half-open range of ordinals that a StatefulSet wants.
func Ordinals(s *appsv1.StatefulSet) (start, end int32) {
	replicas := int32(1)
	if s.Spec.Replicas != nil {
		replicas = *s.Spec.Replicas
	}
	if s.Spec.Ordinals != nil {
		start = s.Spec.Ordinals.Start
	}
	return start, start + replicas
}

// MemberOrdinal is the ordinal that a member Service or Pod says by its label, or by the end of its name.
func MemberOrdinal(obj metav1.Object) (int32, bool) {
	text := obj.GetLabels()[api.LabelRackOrdinal]
	if text == "" {
		name := obj.GetName()
		text = name[strings.LastIndexByte(name, '-')+1:]
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil && n >= 0
}
