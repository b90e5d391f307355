// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

const kindStatefulSet, kindNamespace = "StatefulSet", "Namespace"

// ports of a ScyllaDB node, with the Scylla Operator's names.
var ports = []struct {
	name string
	port int32
}{
	{"inter-node-communication", 7000},
	{"ssl-inter-node-communication", 7001},
	{"cql", 9042},
	{"cql-ssl", 9142},
	{"cql-shard-aware", 19042},
	{"cql-ssl-shard-aware", 19142},
	{"prometheus", 9180},
}

// Service returns the member Service of one ordinal, with the Pod's name. No StatefulSet owns it:
// its annotations must outlive the StatefulSet, which administrators often delete and recreate.
// Without them, a member with a new volume would bootstrap a second cluster.
func Service(s *appsv1.StatefulSet, place scope.Place, ordinal int32) *corev1.Service {
	name := s.Name + "-" + strconv.Itoa(int(ordinal))
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      name,
			Labels:    desiredLabels(place, ordinal),
		},
		Spec: corev1.ServiceSpec{
			// Headless: peers connect to the Pod's address, and must find a node that is not Ready
			// yet.
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 map[string]string{appsv1.StatefulSetPodNameLabel: name},
		},
	}
	for _, p := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: p.name, Protocol: corev1.ProtocolTCP,
			Port: p.port, TargetPort: intstr.FromInt32(p.port)})
	}
	if claims := claims(s, name); claims != "" {
		svc.Annotations = map[string]string{api.AnnotationMemberClaims: claims}
	}
	return svc
}

// claims returns the names of a member's PVCs, comma-separated; empty if its StatefulSet has no
// claim templates.
func claims(s *appsv1.StatefulSet, member string) string {
	var names []string
	for i := range s.Spec.VolumeClaimTemplates {
		names = append(names, s.Spec.VolumeClaimTemplates[i].Name+"-"+member)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

func desiredLabels(place scope.Place, ordinal int32) map[string]string {
	return map[string]string{
		api.LabelManagedBy:   api.ManagedByUs,
		api.LabelServiceType: api.ServiceTypeMember,
		api.LabelCluster:     place.Cluster,
		api.LabelDatacenter:  place.Datacenter,
		api.LabelRack:        place.Rack,
		api.LabelRackOrdinal: strconv.Itoa(int(ordinal)),
	}
}

// adopt restores the metadata that our controller sets; other labels, annotations and owners
// remain.
func adopt(svc *corev1.Service, want *corev1.Service, set string) {
	if svc.Labels == nil {
		svc.Labels = map[string]string{}
	}
	maps.Copy(svc.Labels, want.Labels)
	if svc.Annotations == nil && len(want.Annotations) > 0 {
		svc.Annotations = map[string]string{}
	}
	maps.Copy(svc.Annotations, want.Annotations)
	// With an owner reference to the StatefulSet, garbage collection would delete the Service.
	svc.OwnerReferences = slices.DeleteFunc(svc.OwnerReferences,
		func(o metav1.OwnerReference) bool { return o.Kind == kindStatefulSet && o.Name == set })
	if metav1.GetControllerOf(svc) == nil {
		svc.OwnerReferences = append(svc.OwnerReferences, want.OwnerReferences...)
	}
}

// ownedBy returns the namespace as the controller of a member Service; nil if its UID is unknown.
// The Scylla Operator adopts each Service with the name of its ScyllaDBDatacenter in LabelCluster
// that no object controls. Agents of earlier versions read that label, so it stays. Garbage
// collection deletes the Service with its namespace only.
func ownedBy(namespace string, uid types.UID) []metav1.OwnerReference {
	if uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: corev1.SchemeGroupVersion.String(), Kind: kindNamespace,
		Name: namespace, UID: uid, Controller: new(true)}}
}

// namespaceUID reads the UID of a namespace; empty if RBAC rules of an earlier version forbid it,
// because members need their Services.
func (r *reconciler) namespaceUID(ctx context.Context, name string) (types.UID, error) {
	n := &metav1.PartialObjectMetadata{}
	n.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindNamespace))
	err := r.o.Live.Get(ctx, types.NamespacedName{Name: name}, n)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		r.o.Log.WarnContext(ctx, "cannot protect member Services from adoption", "namespace", name, "error", err)
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read namespace %s: %w", name, err)
	}
	return n.UID, nil
}
