// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// refuseNamespaces refuses namespaces that do not exist, and an installation that leaves out a
// namespace with a barrier, whose Pods would wait indefinitely.
func (o *options) refuseNamespaces(ctx context.Context, c client.Client) error {
	if len(o.namespaces) == 0 {
		return nil
	}
	for _, name := range o.namespaces {
		ns := &metav1.PartialObjectMetadata{}
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		switch err := c.Get(ctx, client.ObjectKey{Name: name}, ns); {
		case name == manifests.Namespace: // install creates it
		case apierrors.IsNotFound(err):
			return exit.WithHint(exit.Refusedf("namespace %s does not exist", name), "create it first",
				words.Kubectl("", "create", "namespace", name)...)
		case err != nil:
			return fmt.Errorf("read namespace %s: %w", name, err)
		}
	}
	guarded, clusters, err := Guarded(ctx, c)
	if err != nil {
		return err
	}
	for i, key := range clusters {
		if !slices.Contains(o.namespaces, key.Namespace) {
			return exit.WithHint(exit.Refusedf("the barrier in StatefulSet %s needs the controller", guarded[i]),
				"add its namespace to --namespaces, or remove the barrier first",
				words.Scylla(key.Namespace, "inject", cmp.Or(key.Name, "CLUSTER"), "--undo")...)
		}
	}
	return nil
}

// Guarded returns the StatefulSets whose barrier needs the controller, and their clusters in the
// same order.
func Guarded(ctx context.Context, c client.Client) (guarded []string, clusters []cluster.Key, err error) {
	sets := &unstructured.UnstructuredList{}
	sets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSetList"))
	if err := c.List(ctx, sets); err != nil {
		return nil, nil, fmt.Errorf("list StatefulSets: %w", err)
	}
	for _, u := range sets.Items {
		s := &appsv1.StatefulSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s); err != nil {
			return nil, nil, fmt.Errorf("decode StatefulSet %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		}
		if s.Labels[api.LabelManagedBy] != api.ManagedByOperator && cluster.HasBarrier(&s.Spec.Template.Spec) {
			guarded = append(guarded, s.Namespace+"/"+s.Name)
			clusters = append(clusters, cluster.Key{Namespace: s.Namespace, Name: cluster.NameOf(s)})
		}
	}
	return guarded, clusters, nil
}

// InNamespaces returns the installed Roles and RoleBindings of the controller in the namespaces of
// --namespaces, bindings first.
func InNamespaces(ctx context.Context, c client.Client) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, kind := range []string{"RoleBinding", "Role"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := c.List(ctx, list, client.MatchingLabels{manifests.PartOfLabel: manifests.FieldOwner}); err != nil {
			return nil, fmt.Errorf("list %ss: %w", kind, err)
		}
		for i := range list.Items {
			if u := &list.Items[i]; u.GetName() == manifests.NamespaceRole && u.GetDeletionTimestamp() == nil {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// former returns the roles of the controller, bindings first, that an earlier installation applied
// and this one does not: server-side apply deletes nothing.
func (o *options) former(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) (
	[]*unstructured.Unstructured, error) {
	all, err := InNamespaces(ctx, c)
	if err != nil {
		return nil, err
	}
	var managed []string
	for _, u := range all {
		if u.GetKind() == "Role" {
			managed = append(managed, u.GetNamespace())
		}
	}
	if len(managed) > 0 && len(o.namespaces) == 0 {
		slices.Sort(managed)
		o.d.Warn("this lets the controller manage all namespaces, not only %s: to keep that, add %s%s",
			strings.Join(managed, ", "), manifests.FlagNamespaces, strings.Join(managed, ","))
	}
	for _, of := range [][2]string{{"ClusterRoleBinding", manifests.MetricsBinding},
		{"ClusterRoleBinding", manifests.ControllerRole}, {"ClusterRole", manifests.ControllerRole}} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(of[0]))
		switch err := c.Get(ctx, client.ObjectKey{Name: of[1]}, u); {
		case err == nil:
			all = append(all, u)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read %s %s: %w", of[0], of[1], err)
		}
	}
	return slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(objects, func(w *unstructured.Unstructured) bool {
			return w.GetKind() == u.GetKind() && w.GetName() == u.GetName() && w.GetNamespace() == u.GetNamespace()
		})
	}), nil
}

// remove deletes objects, and reports each. One that another owner applied stays.
func (o *options) remove(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		done := "removed" + o.dryRun.Suffix()
		if !manifests.Applied(u) {
			done = "stays, with its permissions: not applied by kubectl scylla install"
		} else if err := Delete(ctx, c, u, o.dryRun); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(o.d.Streams.Out, "%s %s\n", Name(u), done); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}
