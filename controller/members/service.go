// SPDX-License-Identifier: Apache-2.0

package members

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// ports of a ScyllaDB node, by the Scylla Operator's names.
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

// desiredService is the member Service of one ordinal, named as the Pod.
func desiredService(s *appsv1.StatefulSet, place scope.Place, ordinal int32) *corev1.Service {
	name := s.Name + "-" + strconv.Itoa(int(ordinal))
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       s.Namespace,
			Name:            name,
			Labels:          desiredLabels(place, ordinal),
			OwnerReferences: []metav1.OwnerReference{owner(s)},
		},
		Spec: corev1.ServiceSpec{
			// Headless: peers connect to the Pod's address, and a node that is not ready yet must be found by those it joins.
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 map[string]string{appsv1.StatefulSetPodNameLabel: name},
		},
	}
	for _, p := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: p.name, Protocol: corev1.ProtocolTCP, Port: p.port, TargetPort: intstr.FromInt32(p.port)})
	}
	return svc
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

func owner(s *appsv1.StatefulSet) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet", Name: s.Name, UID: s.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// adopt makes metadata that drifted right again and leaves everybody else's labels, annotations and owners alone.
func adopt(svc *corev1.Service, want *corev1.Service) {
	if svc.Labels == nil {
		svc.Labels = map[string]string{}
	}
	maps.Copy(svc.Labels, want.Labels)
	w := want.OwnerReferences[0]
	for i, o := range svc.OwnerReferences {
		if o.Kind == w.Kind && o.Name == w.Name {
			// A StatefulSet that was deleted with its Pods orphaned and made again has another UID.
			if o.UID != w.UID || o.Controller == nil || !*o.Controller {
				svc.OwnerReferences[i] = w
			}
			return
		}
		if o.Controller != nil && *o.Controller {
			return
		}
	}
	svc.OwnerReferences = append(svc.OwnerReferences, w)
}
