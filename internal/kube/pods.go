// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// podPage is the number of Pods per page. In a cluster of 1,000 nodes a Pod has about 100 kB,
// nearly all of it its row.
const podPage = 25

// maxPods limits an endless list.
const maxPods = 20_000

// writtenRow is the key of a Pod's row in managedFields, which record the manager of each field.
const writtenRow = "f:" + api.AnnotationNodeStatusReport

// Pods lists a cluster's Pods page by page and keeps only the fields that cluster.New reads.
// condense, if set, is called for each Pod of a page and may shrink it. Error: a permission is
// missing, or the API server does not respond.
func Pods(ctx context.Context, c client.Reader, key cluster.Key, condense func(*corev1.Pod)) ([]corev1.Pod, error) {
	var out []corev1.Pod
	next := ""
	for {
		var page corev1.PodList
		err := c.List(ctx, &page, client.InNamespace(key.Namespace), client.MatchingLabels{api.LabelCluster: key.Name},
			client.Limit(podPage), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("list pods of cluster %s: %w", key, err)
		}
		for i := range page.Items {
			p := slim(&page.Items[i])
			if condense != nil {
				condense(&p)
			}
			out = append(out, p)
		}
		if next = page.Continue; next == "" {
			return out, nil
		}
		if len(out) > maxPods {
			return nil, fmt.Errorf("list pods of cluster %s: more than %d: check whether other Pods have label %s", key,
				maxPods, api.LabelCluster)
		}
	}
}

// slim copies the fields of a Pod that cluster.New reads.
func slim(p *corev1.Pod) corev1.Pod {
	out := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, Labels: p.Labels, OwnerReferences: p.OwnerReferences,
			CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{NodeName: p.Spec.NodeName, InitContainers: containers(p.Spec.InitContainers),
			Containers: containers(p.Spec.Containers)},
		Status: corev1.PodStatus{
			Phase: p.Status.Phase, PodIP: p.Status.PodIP, Conditions: p.Status.Conditions, Reason: p.Status.Reason,
			InitContainerStatuses: p.Status.InitContainerStatuses, ContainerStatuses: p.Status.ContainerStatuses,
		},
	}
	for i := range p.ManagedFields {
		// Only the time of the row's last write: the other entries are as long as the Pod.
		if f := &p.ManagedFields[i]; f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(writtenRow)) {
			out.ManagedFields = append(out.ManagedFields,
				metav1.ManagedFieldsEntry{Time: f.Time, FieldsV1: metav1.NewFieldsV1(writtenRow)})
		}
	}
	if row, ok := p.Annotations[api.AnnotationNodeStatusReport]; ok {
		out.Annotations = map[string]string{api.AnnotationNodeStatusReport: row}
	}
	return out
}

func containers(all []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(all))
	for i := range all {
		c := &all[i]
		out[i] = corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args, Ports: c.Ports,
			RestartPolicy: c.RestartPolicy}
	}
	return out
}

// neighbourPage is the page size of Neighbourhood.
const neighbourPage = 100

// Neighbourhood lists the Services and Pods of all clusters in a namespace, without the Pods' rows.
// Error: a permission is missing, or the API server does not respond.
func Neighbourhood(ctx context.Context, c client.Reader, namespace string) (cluster.Neighbourhood, error) {
	var all cluster.Neighbourhood
	for next, more := "", true; more; more = next != "" {
		var page corev1.ServiceList
		if err := c.List(ctx, &page, client.InNamespace(namespace), client.Limit(neighbourPage),
			client.Continue(next)); err != nil {
			return all, fmt.Errorf("list services of namespace %s: %w", namespace, err)
		}
		all.Services, next = append(all.Services, page.Items...), page.Continue
	}
	for next, more := "", true; more; more = next != "" {
		var page corev1.PodList
		if err := c.List(ctx, &page, client.InNamespace(namespace), client.Limit(neighbourPage),
			client.Continue(next)); err != nil {
			return all, fmt.Errorf("list pods of namespace %s: %w", namespace, err)
		}
		for i := range page.Items {
			p := slim(&page.Items[i])
			p.Status.PodIPs, p.Annotations, p.ManagedFields = page.Items[i].Status.PodIPs, nil, nil
			all.Pods = append(all.Pods, p)
		}
		next = page.Continue
	}
	return all, nil
}
