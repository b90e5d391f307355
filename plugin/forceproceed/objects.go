// SPDX-License-Identifier: Apache-2.0

package forceproceed

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// metadata reads the metadata of the Scylla Operator's object with the cluster's name; its spec is
// unknown here.
func (o *options) metadata(ctx context.Context, gvk schema.GroupVersionKind, s *cluster.Cluster) (client.Object,
	error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	err := o.reader.Client().Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return nil, exit.WithHint(exit.Refusedf("%s %s/%s does not exist", gvk.Kind, s.Namespace, s.Name),
			"annotate the member Services with --per-service")
	case err != nil:
		return nil, fmt.Errorf("get %s %s/%s: %w", gvk.Kind, s.Namespace, s.Name, err)
	}
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

// kindOf returns the kind of an object for a sentence; typed objects often lack it.
func kindOf(obj client.Object) string {
	if k := obj.GetObjectKind().GroupVersionKind().Kind; k != "" {
		return k
	}
	return reflect.Indirect(reflect.ValueOf(obj)).Type().Name()
}
