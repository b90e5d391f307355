// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// adopted are the kinds that the operator selects for a ScyllaDBDatacenter: scylla-operator adefed4ef, pkg/controller/scylladbdatacenter/sync.go:59-207.
var adopted = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "ServiceAccount"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "scylla.scylladb.com", Version: "v1alpha1", Kind: "ScyllaDBDatacenterNodesStatusReport"},
}

// Datacenter is a ScyllaDBDatacenter as far as adoption and pruning use it: wanted are the names of the objects that it requires, of any kind.
type Datacenter struct {
	*unstructured.Unstructured
	Racks, Wanted []string
}

var ordinalOf = regexp.MustCompile(`^.*-([0-9]+)$`)

// Sync does what one sync of the operator does with objects that exist. It adopts each object of its namespace that has label scylla/cluster=NAME and no controller
// owner (sync.go:52, controller_ref_manager.go:63-116), and then deletes what it does not want (sync_statefulsets.go:342, sync_services.go:59, sync_jobs.go:40,
// sync_scylladbdatacenternodesstatusreports.go:29; the other kinds it only adopts). degraded are the errors in its conditions.
func (d *Datacenter) Sync(ctx context.Context, c client.Client) (degraded []string, err error) {
	claimed := map[string][]unstructured.Unstructured{}
	for _, gvk := range adopted {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := c.List(ctx, list, client.InNamespace(d.GetNamespace())); err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			mine, err := d.claim(ctx, c, &list.Items[i])
			if err != nil {
				return nil, err
			}
			if mine {
				claimed[gvk.Kind] = append(claimed[gvk.Kind], list.Items[i])
			}
		}
	}
	for _, kind := range []string{"ScyllaDBDatacenterNodesStatusReport", "StatefulSet", "Service", "Job"} {
		for i := range claimed[kind] {
			o := &claimed[kind][i]
			if o.GetDeletionTimestamp() != nil || slices.Contains(d.Wanted, o.GetName()) {
				continue
			}
			if kind == "Service" {
				if why := d.keeps(o, claimed["StatefulSet"]); why != "" {
					degraded = append(degraded, why)
					continue
				}
			}
			if err := client.IgnoreNotFound(c.Delete(ctx, o, client.Preconditions{UID: ptr.To(o.GetUID())},
				client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
				return nil, fmt.Errorf("prune %s %s: %w", kind, o.GetName(), err)
			}
		}
	}
	return degraded, nil
}

// Replace begins the replacements that the operator finds when it starts, without any check of the nodes: sync_services.go:234-312, 432. It deletes the PVC of each member Service
// with label scylla/replace that records no host ID to replace.
func Replace(ctx context.Context, c client.Client, namespace string) error {
	var services corev1.ServiceList
	if err := c.List(ctx, &services, client.InNamespace(namespace), client.HasLabels{api.LabelReplace}); err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if s.Labels[api.LabelReplacingNodeHostID] != "" || s.Annotations[api.AnnotationHostID] == "" {
			continue
		}
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-" + s.Name}}
		if err := client.IgnoreNotFound(c.Delete(ctx, pvc)); err != nil {
			return fmt.Errorf("delete the PVC of %s: %w", s.Name, err)
		}
	}
	return nil
}

func (d *Datacenter) claim(ctx context.Context, c client.Client, o *unstructured.Unstructured) (bool, error) {
	matches := o.GetLabels()["scylla/cluster"] == d.GetName()
	if owner := metav1.GetControllerOf(o); owner != nil {
		return owner.UID == d.GetUID() && matches, nil
	}
	if !matches || o.GetDeletionTimestamp() != nil {
		return false, nil
	}
	before := o.DeepCopy()
	o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{APIVersion: d.GetAPIVersion(), Kind: d.GetKind(), Name: d.GetName(), UID: d.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true)}))
	if err := c.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return true, nil
}

// keeps returns why the operator does not delete a Service that it does not want: sync_services.go:83-137.
func (d *Datacenter) keeps(svc *unstructured.Unstructured, sets []unstructured.Unstructured) string {
	rack := svc.GetLabels()[api.LabelRack]
	if !slices.Contains(d.Racks, rack) {
		return fmt.Sprintf("can't find rack spec for service %q having %q rack label", svc.GetName(), rack)
	}
	at := slices.IndexFunc(sets, func(s unstructured.Unstructured) bool { return s.GetLabels()[api.LabelRack] == rack })
	number := ordinalOf.FindStringSubmatch(svc.GetName())
	if at < 0 || len(number) != 2 {
		return fmt.Sprintf("statefulset of service %q is missing", svc.GetName())
	}
	replicas, _, _ := unstructured.NestedInt64(sets[at].Object, "spec", "replicas")
	if n, err := strconv.ParseInt(number[1], 10, 64); err != nil || n < replicas || svc.GetLabels()[api.LabelDecommissioned] != api.DecommissionedDone {
		return fmt.Sprintf("service %q waits to be decommissioned", svc.GetName())
	}
	return ""
}
