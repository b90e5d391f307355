// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// slimPod keeps only the fields of a cached Pod that the reconcilers and package cluster read. The
// controller never writes a Pod and has no permission to, so no dropped field can be lost there. In
// a small cluster the dropped fields may be as large as the rest of the Pod.
func slimPod(obj any) (any, error) {
	if p, ok := obj.(*corev1.Pod); ok {
		return slimmed(p), nil
	}
	return obj, nil // the informer's record of an object whose deletion it missed
}

// cells are the shared beginnings of the rows in the cache.
var cells api.SharedCells

func slimmed(p *corev1.Pod) *corev1.Pod {
	m := metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, Generation: p.Generation,
		Labels: p.Labels, OwnerReferences: p.OwnerReferences,
		CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp,
		DeletionGracePeriodSeconds: p.DeletionGracePeriodSeconds,
	}
	if v, ok := p.Annotations[api.AnnotationBarrier]; ok {
		m.Annotations = map[string]string{api.AnnotationBarrier: v}
	}
	if row, ok := api.RowOf(p.Annotations); ok {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		cells.Split(row).SetIn(m.Annotations)
	}
	return &corev1.Pod{
		ObjectMeta: m,
		Spec: corev1.PodSpec{
			NodeName: p.Spec.NodeName, ReadinessGates: p.Spec.ReadinessGates, Volumes: claimsOf(p.Spec.Volumes),
			InitContainers: slimContainers(p.Spec.InitContainers), Containers: slimContainers(p.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase: p.Status.Phase, Reason: p.Status.Reason, Message: p.Status.Message, PodIP: p.Status.PodIP,
			PodIPs: p.Status.PodIPs,
			HostIP: p.Status.HostIP, StartTime: p.Status.StartTime, Conditions: p.Status.Conditions,
			InitContainerStatuses: slimStatuses(p.Status.InitContainerStatuses),
			ContainerStatuses:     slimStatuses(p.Status.ContainerStatuses),
		},
	}
}

// slimContainers keeps names, images, command lines, ports (of the reporter), mounts (to find
// ScyllaDB's volume) and the fields of a sidecar.
func slimContainers(all []corev1.Container) []corev1.Container {
	if all == nil {
		return nil
	}
	out := make([]corev1.Container, len(all))
	for i := range all {
		c := &all[i]
		out[i] = corev1.Container{
			Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args, Ports: c.Ports,
			VolumeMounts: c.VolumeMounts, RestartPolicy: c.RestartPolicy,
		}
	}
	return out
}

// claimsOf keeps the volumes that are PVCs.
func claimsOf(all []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for i := range all {
		if all[i].PersistentVolumeClaim != nil {
			out = append(out,
				corev1.Volume{Name: all[i].Name,
					VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: all[i].PersistentVolumeClaim}})
		}
	}
	return out
}

// slimStatuses drops the fields that a kubelet adds for in-place resizing and mounts.
func slimStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	if all == nil {
		return nil
	}
	out := make([]corev1.ContainerStatus, len(all))
	for i := range all {
		s := &all[i]
		out[i] = corev1.ContainerStatus{
			Name: s.Name, State: s.State, LastTerminationState: s.LastTerminationState, Ready: s.Ready,
			RestartCount: s.RestartCount,
			Image:        s.Image, ImageID: s.ImageID, ContainerID: s.ContainerID, Started: s.Started,
		}
	}
	return out
}

// slimSet drops kubectl's last-applied annotation from a cached StatefulSet. The controller writes
// no StatefulSet from the cache; it reads the template.
func slimSet(obj any) (any, error) {
	if s, ok := obj.(*appsv1.StatefulSet); ok {
		s.ManagedFields = nil
		delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return obj, nil
}

var _, _ cache.TransformFunc = slimPod, slimSet

// podsAtOnce is the page size of Pods. A row may have 200 kB, and the controller holds a page's
// bytes and objects at once.
const podsAtOnce = 20

// newInformer returns client-go's informer, except that it reads a list of Pods page by page and
// slims each page before it requests the next. If the API server streams the initial objects, there
// is no list. An older one returns all Pods at once, and the controller would hold the bytes and
// every object.
func newInformer(lw cache.ListerWatcher, of runtime.Object, resync time.Duration,
	indexers cache.Indexers) cache.SharedIndexInformer {
	if _, pods := of.(*corev1.Pod); pods {
		inner := cache.ToListerWatcherWithContext(lw)
		lw = &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return listPods(ctx, inner, o)
			},
			WatchFuncWithContext: inner.WatchWithContext,
		}
	}
	return cache.NewSharedIndexInformer(lw, of, resync, indexers)
}

// listPods returns all current Pods, whatever pages o requests. Pages of an older state may be
// gone, and an API server sends no pages for a request without a required state.
func listPods(ctx context.Context, from cache.ListerWatcherWithContext, o metav1.ListOptions) (runtime.Object, error) {
	o.ResourceVersion, o.ResourceVersionMatch, o.Limit, o.Continue = "", "", 0, ""
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		obj, err := from.ListWithContext(ctx, o)
		if list, ok := obj.(*corev1.PodList); ok && err == nil {
			for i := range list.Items {
				list.Items[i] = *slimmed(&list.Items[i])
			}
		}
		return obj, err
	})
	p.PageSize, p.FullListIfExpired = podsAtOnce, false
	list, _, err := p.ListWithAlloc(ctx, o)
	return list, err
}
