// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// NewScheme returns a scheme with core, apps, policy, coordination, events and package api. The
// full clientset's scheme would cost megabytes and milliseconds at every start.
func NewScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, coordinationv1.AddToScheme, eventsv1.AddToScheme,
		api.AddToScheme,
		metav1.AddMetaToScheme,
	} {
		// fails only if two types claim one name, which any test run shows
		utilruntime.Must(add(s))
	}
	return s
}

// NewMapper maps kinds to resources without discovery requests. A missing CRD then returns 404,
// which Load handles.
func NewMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion,
		api.GroupVersion})
	for _, gvk := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		corev1.SchemeGroupVersion.WithKind("Event"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		coordinationv1.SchemeGroupVersion.WithKind("Lease"),
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		eventsv1.SchemeGroupVersion.WithKind("Event"),
		api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReport"),
		api.GroupVersion.WithKind("ScyllaDBStatusReport"),
		api.ScyllaClusterGVK,
		api.ScyllaDBDatacenterGVK,
		api.ScyllaDBClusterGVK,
	} {
		m.Add(gvk, meta.RESTScopeNamespace)
	}
	for _, gvk := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Node"),
		corev1.SchemeGroupVersion.WithKind("Namespace"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
		storageClass,
	} {
		m.Add(gvk, meta.RESTScopeRoot)
	}
	return m
}

// NewClient returns the client for this package, without discovery (NewMapper). It sends no
// request.
func NewClient(cfg *rest.Config) (client.WithWatch, error) {
	c := rest.CopyConfig(cfg)
	if c.QPS == 0 {
		// client-go's default of 5 per second would make a parallel load slower than a sequential
		// one.
		c.QPS, c.Burst = 50, 100
	}
	// Our custom resources have no protobuf, and one content type keeps responses readable in a
	// proxy.
	cl, err := client.NewWithWatch(c, client.Options{Scheme: NewScheme(), Mapper: NewMapper()})
	if err != nil {
		return nil, fmt.Errorf("create client for %s: %w", cfg.Host, err)
	}
	return cl, nil
}
