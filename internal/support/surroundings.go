// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// readNodes reads the Kubernetes nodes of the cluster's Pods.
func (cl *Cluster) readNodes(ctx context.Context, c client.Reader, limits Limits) {
	wanted := map[string]bool{}
	for i := range cl.Snapshot.Pods {
		if name := cl.Snapshot.Pods[i].Spec.NodeName; name != "" {
			wanted[name] = true
		}
	}
	if len(wanted) == 0 {
		return
	}
	found, err := kube.KubernetesNodes(ctx, c, slices.Sorted(maps.Keys(wanted)), limits.NodePages)
	if err != nil {
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("request a ClusterRole with verbs get and list on resource nodes: %w", trimForbidden(err))
		}
		cl.leaveOut("Kubernetes nodes", err)
		return
	}
	cl.Nodes, cl.NodesRead = found, true
	for _, n := range found {
		delete(wanted, n.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		cl.LeftOut = append(cl.LeftOut,
			LeftOut{What: "Kubernetes node " + name, Why: Absent,
				Detail: "does not exist, but a Pod is assigned to it"})
	}
}

// readOperatorObjects reads the cluster's ScyllaCluster, ScyllaDBDatacenter and ScyllaDBCluster, if
// they exist.
func (cl *Cluster) readOperatorObjects(ctx context.Context, c client.Reader) {
	s := cl.Snapshot
	related := map[string]bool{s.Name: true}
	for _, gvk := range []struct{ kind, resource string }{{api.ScyllaDBDatacenterGVK.Kind, "scylladbdatacenters"},
		{api.ScyllaClusterGVK.Kind, "scyllaclusters"}} {
		obj := unstructured.Unstructured{}
		obj.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
		if gvk.kind == api.ScyllaClusterGVK.Kind {
			obj.SetGroupVersionKind(api.ScyllaClusterGVK)
		}
		if err := c.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, &obj); err != nil {
			cl.leaveOutOperator(gvk.kind, "get", gvk.resource, err)
			continue
		}
		for _, value := range obj.GetLabels() {
			related[value] = true
		}
		cl.Operator = append(cl.Operator, obj)
	}
	list := unstructured.UnstructuredList{}
	list.SetGroupVersionKind(api.ScyllaDBClusterGVK.GroupVersion().WithKind(api.ScyllaDBClusterGVK.Kind + "List"))
	if err := c.List(ctx, &list, client.InNamespace(s.Namespace), client.Limit(pageSize)); err != nil {
		cl.leaveOutOperator(api.ScyllaDBClusterGVK.Kind, "list", "scylladbclusters", err)
	}
	for _, obj := range list.Items {
		// A ScyllaDBCluster's datacenters name it in a label.
		if related[obj.GetName()] {
			cl.Operator = append(cl.Operator, obj)
		}
	}
}

// leaveOutOperator records an unreadable kind, except one that does not exist: none is required.
func (cl *Cluster) leaveOutOperator(kind, verb, resource string, err error) {
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return
	}
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("request a Role with verb %s on resource %s of group %s: %w", verb, resource,
			api.GroupVersion.Group, trimForbidden(err))
	}
	cl.leaveOut(kind, err)
}

// readTables queries ScyllaDB.
func (cl *Cluster) readTables(ctx context.Context, server Server, limits Limits, progress func(string)) {
	var running []corev1.Pod
	for i := range cl.Snapshot.Pods {
		if p := &cl.Snapshot.Pods[i]; p.Status.Phase == corev1.PodRunning {
			running = append(running, *p)
		}
	}
	if more := len(running) - limits.Tables; more > 0 {
		cl.Uncollected = append(cl.Uncollected,
			LeftOut{What: tablesOf, Why: TooBig, Detail: fmt.Sprintf("%d of %d nodes were not queried", more,
				len(running))})
		running = spread(running, limits.Tables)
	}
	if len(running) == 0 {
		return
	}
	tables, problems := server.Tables(ctx, running,
		func(done, total int) { progress(fmt.Sprintf("querying ScyllaDB: %d of %d nodes", done, total)) })
	cl.Tables = tables
	// One entry for all nodes that failed for the same reason.
	same := map[LeftOut][]string{}
	for _, p := range problems {
		l := leftOutProblem(p)
		l.What = tablesOf
		if p.Reason != "" {
			l.Detail = Text(p.Reason)
		}
		same[l] = append(same[l], p.Name)
	}
	for l, names := range same {
		slices.Sort(names)
		if names[0] != "" {
			l.What += " of " + strings.Join(names[:min(3, len(names))], ", ")
		}
		if more := len(names) - 3; more > 0 {
			l.What += fmt.Sprintf(" and %d more", more)
		}
		cl.Uncollected = append(cl.Uncollected, l)
	}
	slices.SortFunc(cl.Uncollected,
		func(a, b LeftOut) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Detail, b.Detail)) })
}

// tablesOf is the name of Tables in LeftOut.
const tablesOf = "ScyllaDB's tables"

// spread returns n evenly spaced items of a sorted list, so that it covers each rack.
func spread[T any](list []T, n int) []T {
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, list[i*len(list)/n])
	}
	return out
}

var errNoKind = errors.New("objects of this kind are never archived")
