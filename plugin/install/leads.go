// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// untilItLeads waits until the Deployment has rolled out and its controller has renewed the leader
// Lease.
func (o *options) untilItLeads(ctx context.Context, c client.Client, since time.Time) error {
	return o.d.Wait(ctx, cli.Wait{
		Subject: "the controller to lead", Timeout: o.wait.Timeout,
		Check: func(ctx context.Context) (bool, string, error) {
			d := &appsv1.Deployment{}
			if err := get(ctx, c, appsv1.SchemeGroupVersion.WithKind("Deployment"), api.LeaseName, d); err != nil {
				return false, "", err
			}
			if why := notRolledOut(d); why != "" {
				return false, why + waiting(ctx, c), nil
			}
			l := &coordinationv1.Lease{}
			err := get(ctx, c, coordinationv1.SchemeGroupVersion.WithKind("Lease"), api.LeaseName, l)
			switch {
			case apierrors.IsNotFound(err):
				return false, "no controller has become leader yet", nil
			case err != nil:
				return false, "", err
			case l.Spec.RenewTime == nil || l.Spec.RenewTime.Time.Before(since):
				return false, "the leader has not renewed Lease " + manifests.Namespace + "/" + api.LeaseName + " yet",
					nil
			}
			return true, "", nil
		},
	})
}

// get reads an object of the controller's namespace with a client without types.
func get(ctx context.Context, c client.Client, kind schema.GroupVersionKind, name string, into any) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	if err := c.Get(ctx, client.ObjectKey{Namespace: manifests.Namespace, Name: name}, u); err != nil {
		return fmt.Errorf("read %s %s/%s: %w", kind.Kind, manifests.Namespace, name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		return fmt.Errorf("decode %s %s/%s: %w", kind.Kind, manifests.Namespace, name, err)
	}
	return nil
}

// notRolledOut returns the missing part of a Deployment's rollout, by the rules of `kubectl rollout
// status`; empty if complete.
func notRolledOut(d *appsv1.Deployment) string {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	switch {
	case s.ObservedGeneration < d.Generation:
		return "the Deployment has not been observed yet"
	case s.UpdatedReplicas < want:
		return fmt.Sprintf("%d of %d Pods have the new revision", s.UpdatedReplicas, want)
	case s.Replicas > s.UpdatedReplicas:
		return fmt.Sprintf("%d Pods of the old revision are still running", s.Replicas-s.UpdatedReplicas)
	case s.AvailableReplicas < want:
		return fmt.Sprintf("%d of %d Pods are available", s.AvailableReplicas, want)
	}
	return ""
}

// waiting returns why a Pod of the controller does not run, from the kubelet or the scheduler, with
// a prefix.
func waiting(ctx context.Context, c client.Client) string {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := c.List(ctx, list, client.InNamespace(manifests.Namespace)); err != nil {
		return "" // the Deployment's status is enough
	}
	for _, u := range list.Items {
		p := &corev1.Pod{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, p) != nil {
			continue
		}
		for _, s := range p.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" {
				return ": Pod " + p.Name + ": " + w.Reason
			}
		}
		for _, cond := range p.Status.Conditions {
			if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
				return ": Pod " + p.Name + ": " + cond.Message
			}
		}
	}
	return ""
}
