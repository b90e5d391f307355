// SPDX-License-Identifier: Apache-2.0

package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the custom resources that this project reads and writes.
var GroupVersion = schema.GroupVersion{Group: "scylla.scylladb.com", Version: "v1alpha1"}

// GVKs of the Scylla Operator. We read only their metadata, for the force annotation and the
// override reference.
var (
	ScyllaClusterGVK      = schema.GroupVersionKind{Group: GroupVersion.Group, Version: "v1", Kind: "ScyllaCluster"}
	ScyllaDBDatacenterGVK = GroupVersion.WithKind("ScyllaDBDatacenter")
	ScyllaDBClusterGVK    = GroupVersion.WithKind("ScyllaDBCluster")
)

// OperatorGVKs are the GVKs of the Scylla Operator's objects that have members.
var OperatorGVKs = []schema.GroupVersionKind{ScyllaDBDatacenterGVK, ScyllaClusterGVK, ScyllaDBClusterGVK}

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ScyllaDBDatacenterNodesStatusReport{}, &ScyllaDBDatacenterNodesStatusReportList{},
		&ScyllaDBStatusReport{}, &ScyllaDBStatusReportList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
