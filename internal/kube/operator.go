// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// operatorDatacenter holds the fields of a ScyllaDBDatacenter that are read.
type operatorDatacenter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScyllaDB struct {
			ExternalSeeds []string `json:"externalSeeds"`
		} `json:"scyllaDB"`
		// Without a value it is disabled (pkg/controller/orphanedpv/sync.go:100, 1.15 to 1.21).
		DisableAutomaticOrphanedNodeReplacement *bool `json:"disableAutomaticOrphanedNodeReplacement"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// put copies the fields of the object into state.
func (dc *operatorDatacenter) put(state *cluster.OperatorState) {
	state.Conditions = dc.Status.Conditions
	state.ExternalSeeds = dc.Spec.ScyllaDB.ExternalSeeds
	state.ScyllaDBCluster = dc.Labels[api.LabelParentScyllaDBCluster]
	disabled := dc.Spec.DisableAutomaticOrphanedNodeReplacement
	state.ReplacesOrphans = new(disabled != nil && !*disabled)
}

// readOperator reads the Scylla Operator's state if it manages the cluster: its conditions about
// the cluster, and whether it runs. The operator may run in another namespace, without read
// permission for the user. Such objects count as unknown, and a note names the permission.
//
//nolint:funlen // four reads in parallel, each with its own error for missing permissions
func (l *loader) readOperator(ctx context.Context) error {
	if !l.opts.Operator || !l.o.OfOperator() {
		return nil
	}
	state := &cluster.OperatorState{}
	g, ctx := errgroup.WithContext(ctx)
	var notes [3]string
	g.Go(func() error {
		var list policyv1.PodDisruptionBudgetList
		err := l.c.List(ctx, &list, client.InNamespace(l.o.Namespace),
			client.MatchingLabels{api.LabelCluster: l.o.Name})
		if err != nil {
			_, fatal := classify(ctx, "list", "poddisruptionbudgets.policy", l.o.Namespace, "", err)
			return fatal // the operator's conditions also show a blocking budget
		}
		state.Budgets = holding(list.Items)
		return nil
	})
	g.Go(func() error {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
		note, err := l.look(ctx, client.ObjectKey{Namespace: l.o.Namespace, Name: l.o.Name}, obj,
			"scylladbdatacenters.scylla.scylladb.com")
		notes[0] = note
		if err != nil || obj.GetName() == "" {
			return err
		}
		var dc operatorDatacenter
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &dc); err != nil {
			notes[0] = fmt.Sprintf("the conditions of ScyllaDBDatacenter %s/%s cannot be decoded: %v", l.o.Namespace,
				l.o.Name, err)
		}
		dc.put(state)
		return nil
	})
	key := client.ObjectKey{Namespace: api.OperatorNamespace, Name: api.OperatorName}
	g.Go(func() error {
		var d appsv1.Deployment
		note, err := l.look(ctx, key, &d, "deployments.apps")
		notes[1] = note
		if err == nil && d.Name != "" {
			putDeployment(state, &d)
		}
		return err
	})
	g.Go(func() error {
		var lease coordinationv1.Lease
		note, err := l.look(ctx, client.ObjectKey{Namespace: api.OperatorNamespace, Name: api.OperatorLeaseName},
			&lease, cluster.ResourceLeases)
		notes[2] = note
		if err == nil && lease.Name != "" {
			state.Lease = &lease
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	l.o.OperatorState = state
	for i, note := range notes {
		if note != "" && (i != 2 || notes[1] != "") { // the Deployment or the Lease is enough
			l.o.Notes = append(l.o.Notes, note)
		}
	}
	return nil
}

// look reads an object that may be absent or forbidden; obj then stays empty. note is set if
// reading is forbidden.
func (l *loader) look(ctx context.Context, key client.ObjectKey, obj client.Object, resource string) (note string,
	err error) {
	err = l.c.Get(ctx, key, obj)
	switch {
	case err == nil:
		return "", nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf(
			"the Scylla Operator's state is only partly known: no permission to get %s %s; request verb get on it",
			resource, key), nil
	}
	_, fatal := classify(ctx, "get", resource, key.Namespace, key.Name, err)
	return "", fatal
}

// holding returns the names of the budgets that allow no eviction, not even of a Pod that is not
// Ready: CurrentHealthy < DesiredHealthy.
func holding(budgets []policyv1.PodDisruptionBudget) []string {
	var out []string
	for i := range budgets {
		if st := &budgets[i].Status; st.DisruptionsAllowed == 0 && st.ExpectedPods > 0 &&
			st.CurrentHealthy < st.DesiredHealthy {
			out = append(out, budgets[i].Name)
		}
	}
	return out
}

func putDeployment(state *cluster.OperatorState, d *appsv1.Deployment) {
	state.Deployment, state.Replicas, state.Available = d.Namespace+"/"+d.Name, 1, d.Status.AvailableReplicas
	if d.Spec.Replicas != nil {
		state.Replicas = *d.Spec.Replicas
	}
}

// OperatorsOf returns the metadata of the Scylla Operator's objects with this namespace and name.
// If one cannot be read, it returns the others with the error.
func OperatorsOf(ctx context.Context, c client.Reader, key cluster.Key) ([]*metav1.PartialObjectMetadata, error) {
	var out []*metav1.PartialObjectMetadata
	var errs []error
	for _, gvk := range api.OperatorGVKs {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(gvk)
		switch err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, obj); {
		case err == nil:
			out = append(out, obj)
		case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
			errs = append(errs, fmt.Errorf("get %s %s: %w", gvk.Kind, key, err))
		}
	}
	return out, errors.Join(errs...)
}

// readNamesakes reads the operator's objects of the cluster's name, if it could adopt objects of
// ours.
func (l *loader) readNamesakes(ctx context.Context) {
	if a := l.o.Adoptable(); !l.opts.Operator || len(a.StatefulSets)+len(a.Services) == 0 {
		return
	}
	found, _ := OperatorsOf(ctx, l.c, l.o.Key) // a forbidden kind is unknown
	if len(found) == 0 {
		return
	}
	if l.o.OperatorState == nil {
		l.o.OperatorState = &cluster.OperatorState{}
	}
	for _, obj := range found {
		l.o.OperatorState.Namesakes = append(l.o.OperatorState.Namesakes, obj.Kind+" "+obj.Name)
	}
}

// isOperator reports whether a saved Deployment is the Scylla Operator's.
func isOperator(d *appsv1.Deployment) bool {
	return d.Name == api.OperatorName || d.Labels["app.kubernetes.io/name"] == api.OperatorName &&
		d.Labels["app.kubernetes.io/instance"] == api.OperatorName
}

// operators sets each saved cluster's OperatorState from the saved objects.
func (s *saved) operators(t *sorting) {
	for key, c := range t.byKey {
		state := &cluster.OperatorState{}
		found := false
		for i := range s.datacenters {
			if dc := &s.datacenters[i]; dc.Namespace == key.Namespace && dc.Name == key.Name {
				dc.put(state)
				state.Namesakes = append(state.Namesakes, api.ScyllaDBDatacenterGVK.Kind+" "+dc.Name)
				found = true
			}
		}
		for i := range s.deployments {
			if isOperator(&s.deployments[i]) {
				putDeployment(state, &s.deployments[i])
				found = true
			}
		}
		for _, b := range s.budgets {
			if b.Namespace == key.Namespace && b.Labels[api.LabelCluster] == key.Name {
				state.Budgets, found = append(state.Budgets, holding([]policyv1.PodDisruptionBudget{b})...), true
			}
		}
		for i := range s.leases {
			if s.leases[i].Name == api.OperatorLeaseName {
				state.Lease, found = &s.leases[i], true
			}
		}
		if found {
			c.OperatorState = state
		}
	}
}

// byName decodes saved objects of further kinds, which the table kinds does not list.
var byName = map[string]func([]byte, *saved) error{
	api.ScyllaDBDatacenterGVK.Kind: func(raw []byte, s *saved) error {
		var dc operatorDatacenter
		if err := json.Unmarshal(raw, &dc); err != nil {
			return err
		}
		s.datacenters = append(s.datacenters, dc)
		return nil
	},
	"Node": func(raw []byte, s *saved) error {
		var n corev1.Node
		if err := json.Unmarshal(raw, &n); err != nil {
			return err
		}
		if s.machines == nil {
			s.machines, s.hosts, s.notReadySince = map[string]string{}, map[string]string{}, map[string]time.Time{}
		}
		s.hosts[n.Labels[corev1.LabelHostname]] = n.Name
		s.machines[n.Name] = cluster.KubernetesNodeState(&n)
		maps.Copy(s.notReadySince, notReadySince([]corev1.Node{n}))
		return nil
	},
	"PersistentVolume": func(raw []byte, s *saved) error {
		var v corev1.PersistentVolume
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		if s.volumes == nil {
			s.volumes, s.claimed = map[string][]string{}, map[client.ObjectKey]string{}
		}
		if ref := v.Spec.ClaimRef; ref != nil {
			s.claimed[client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}] = v.Name
		}
		s.volumes[v.Name] = boundTo(&v)
		return nil
	},
	storageClass.Kind: func(raw []byte, s *saved) error {
		var class struct {
			Metadata             metav1.ObjectMeta `json:"metadata"`
			Provisioner          string            `json:"provisioner"`
			AllowVolumeExpansion bool              `json:"allowVolumeExpansion"`
		}
		if err := json.Unmarshal(raw, &class); err != nil {
			return err
		}
		if s.classes == nil {
			s.classes = map[string]cluster.StorageClass{}
		}
		s.classes[class.Metadata.Name] = cluster.StorageClass{Expands: class.AllowVolumeExpansion,
			Local: class.Provisioner == cluster.NoProvisioner}
		return nil
	},
	"Event": func(raw []byte, s *saved) error {
		e, err := decodeEvent(raw)
		if err == nil {
			s.events = append(s.events, e)
		}
		return err
	},
	"PodDisruptionBudget": func(raw []byte, s *saved) error {
		var b policyv1.PodDisruptionBudget
		if err := json.Unmarshal(raw, &b); err != nil {
			return err
		}
		s.budgets = append(s.budgets, b)
		return nil
	},
	"Deployment": func(raw []byte, s *saved) error {
		var d appsv1.Deployment
		if err := json.Unmarshal(raw, &d); err != nil {
			return err
		}
		if !isOperator(&d) {
			s.skipped["Deployment"]++
			return nil
		}
		s.deployments = append(s.deployments, d)
		return nil
	},
}

// datacenterNamespace is the namespace of one datacenter of a ScyllaDBCluster.
type datacenterNamespace struct {
	// Cluster is the name of the ScyllaDBCluster, Kubernetes the name of the
	// RemoteKubernetesCluster.
	Cluster, Datacenter, Namespace, Kubernetes string
}

// DatacenterNamespaces returns the datacenter namespaces in the status of all ScyllaDBClusters in
// ns.
func DatacenterNamespaces(ctx context.Context, c client.Reader, ns string) ([]datacenterNamespace, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(api.ScyllaDBClusterGVK.GroupVersion().WithKind(api.ScyllaDBClusterGVK.Kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(ns), client.Limit(100)); err != nil {
		return nil, fmt.Errorf("list ScyllaDBClusters in namespace %s: %w", ns, err)
	}
	var out []datacenterNamespace
	for i := range list.Items {
		var one struct {
			Spec struct {
				Datacenters []struct {
					Name                        string `json:"name"`
					RemoteKubernetesClusterName string `json:"remoteKubernetesClusterName"`
				} `json:"datacenters"`
			} `json:"spec"`
			Status struct {
				Datacenters []struct {
					Name                string `json:"name"`
					RemoteNamespaceName string `json:"remoteNamespaceName"`
				} `json:"datacenters"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &one); err != nil {
			return nil, fmt.Errorf("decode ScyllaDBCluster %s/%s: %w", ns, list.Items[i].GetName(), err)
		}
		for _, dc := range one.Status.Datacenters {
			n := datacenterNamespace{Cluster: list.Items[i].GetName(), Datacenter: dc.Name,
				Namespace: dc.RemoteNamespaceName}
			for _, want := range one.Spec.Datacenters {
				if want.Name == dc.Name {
					n.Kubernetes = want.RemoteKubernetesClusterName
				}
			}
			if n.Namespace != "" && n.Namespace != ns {
				out = append(out, n)
			}
		}
	}
	return out, nil
}
