// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/adopt"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
)

// world implements adopt.World.
type world struct {
	*live
	sets []set
}

var _ adopt.World = (*world)(nil)

// Members implements adopt.World. It includes Pods that have not joined, which block.
func (w *world) Members(ctx context.Context) ([]*cluster.Member, error) {
	objects, err := w.objects(ctx, w.sets)
	if err != nil {
		return nil, err
	}
	now, err := w.ask(ctx, objects)
	if err != nil {
		return nil, err
	}
	var out []*cluster.Member
	for i := range now.Pods {
		out = append(out, now.Member(now.Pods[i].Name))
	}
	return out, nil
}

// Flush implements adopt.World.
func (w *world) Flush(ctx context.Context, member string) error {
	pod := &corev1.Pod{}
	if err := w.c.Get(ctx, client.ObjectKey{Namespace: w.key.Namespace, Name: member}, pod); err != nil {
		return err
	}
	return w.d.FlushLocal(ctx, *pod)
}

// Record implements adopt.World. The controller creates the Service once the StatefulSet has its
// labels.
func (w *world) Record(ctx context.Context, id adopt.Identity) error {
	svc := &corev1.Service{}
	if err := w.c.Get(ctx, client.ObjectKey{Namespace: w.key.Namespace, Name: id.Member}, svc); err != nil {
		return err
	}
	return kube.PatchMetadata(ctx, w.c, svc, func(s *corev1.Service) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[api.AnnotationHostID], s.Annotations[api.AnnotationNodeJoined] = string(id.HostID),
			strconv.FormatBool(true)
	})
}

// clean ends the roll; an undo removes objects that are no longer needed.
func (l *live) clean(ctx context.Context, sets []set) error {
	if !l.undo {
		l.d.Say(fmt.Sprintf("%s is protected: a new node waits until all nodes see each other UP\n", l.key))
		return nil
	}
	left, err := l.leftovers(ctx, sets)
	if err != nil {
		return err
	}
	for _, o := range left {
		uid := o.GetUID()
		err := l.c.Delete(ctx, o, client.Preconditions(metav1.Preconditions{UID: &uid}))
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove %s: %w", inject.Name(o), err)
		}
		l.d.Say(inject.Name(o) + " removed\n")
	}
	l.d.Say(fmt.Sprintf("%s has no barrier: new nodes start without checks\n", l.key))
	return nil
}

// leftovers returns the objects that only injected Pods need, after the last such Pod is gone.
// These are the member Services that the controller created, and the added objects that no Pod of
// the namespace uses: RoleBindings need a barrier, ServiceAccounts any Pod. It returns nothing
// while the controller manages a StatefulSet of the cluster, or a Pod has a barrier.
func (l *live) leftovers(ctx context.Context, sets []set) ([]*unstructured.Unstructured, error) {
	objects, err := l.objects(ctx, sets)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(objects.StatefulSets, func(s appsv1.StatefulSet) bool { return cluster.Managed(&s) }) ||
		slices.ContainsFunc(objects.Pods, func(p corev1.Pod) bool { return cluster.HasBarrier(&p.Spec) }) {
		return nil, nil
	}
	var out []*unstructured.Unstructured
	for i := range objects.Services {
		s := &objects.Services[i]
		if api.ClusterOf(s.Labels) == l.key.Name && cluster.IsMemberService(s) && cluster.Managed(s) {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
			u.SetNamespace(s.Namespace)
			u.SetName(s.Name)
			u.SetUID(s.UID)
			out = append(out, u)
		}
	}
	var pods corev1.PodList
	if err := l.c.List(ctx, &pods, client.InNamespace(l.key.Namespace)); err != nil {
		return nil, fmt.Errorf("list Pods of namespace %s: %w", l.key.Namespace, err)
	}
	var all appsv1.StatefulSetList
	if err := l.c.List(ctx, &all, client.InNamespace(l.key.Namespace)); err != nil {
		return nil, fmt.Errorf("list StatefulSets of namespace %s: %w", l.key.Namespace, err)
	}
	var specs []*corev1.PodSpec
	for i := range pods.Items {
		specs = append(specs, &pods.Items[i].Spec)
	}
	for i := range all.Items { // they can have no Pod at the moment
		specs = append(specs, &all.Items[i].Spec.Template.Spec)
	}
	used := func(u *unstructured.Unstructured) bool {
		account := accountOf(u)
		return slices.ContainsFunc(specs, func(s *corev1.PodSpec) bool {
			return s.ServiceAccountName == account && (u.GetKind() == serviceAccounts.Kind || cluster.HasBarrier(s))
		})
	}
	for _, gvk := range []schema.GroupVersionKind{roleBindings, serviceAccounts} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := l.c.List(ctx, list, client.InNamespace(l.key.Namespace)); err != nil {
			return nil, fmt.Errorf("list %ss of namespace %s: %w", gvk.Kind, l.key.Namespace, err)
		}
		for i := range list.Items {
			u := &list.Items[i]
			if u.GetAnnotations()[api.AnnotationInjected] == api.InjectedAdded && !used(u) {
				out = append(out, u)
			}
		}
	}
	return out, nil
}

// accountOf returns the ServiceAccount for which an object was added.
func accountOf(u *unstructured.Unstructured) string {
	subjects, _, _ := unstructured.NestedSlice(u.Object, "subjects")
	for _, s := range subjects {
		if m, ok := s.(map[string]any); ok && m["kind"] == rbacv1.ServiceAccountKind {
			name, _ := m["name"].(string)
			return name
		}
	}
	return u.GetName()
}
