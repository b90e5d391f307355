// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// storageClass is a StorageClass. Its group has no other kind that is read, and its types are not
// linked.
var storageClass = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}

// StorageClasses reads the StorageClasses with these names. One that does not exist, or that the
// user cannot get, is omitted.
func StorageClasses(ctx context.Context, c client.Reader, names []string) map[string]cluster.StorageClass {
	out := map[string]cluster.StorageClass{}
	for _, name := range names {
		var o unstructured.Unstructured
		o.SetGroupVersionKind(storageClass)
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &o); err != nil {
			continue
		}
		expands, _, _ := unstructured.NestedBool(o.Object, "allowVolumeExpansion")
		provisioner, _, _ := unstructured.NestedString(o.Object, "provisioner")
		out[name] = cluster.StorageClass{Expands: expands, Local: provisioner == cluster.NoProvisioner}
	}
	return out
}
