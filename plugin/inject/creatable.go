// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
)

// checkCreate is the check that the API server accepts the new Pod. It can be skipped: a policy can
// refuse a user's Pods and accept the Pods of a StatefulSet.
const checkCreate = "create"

// creatable returns why the API server would refuse the Pod of the new template: a quota, a Pod
// Security Standard, a policy. After the eviction the node would stay DOWN. It creates the Pod as a
// server dry run. pods are those that run; missing are objects that are not added yet.
func (l *live) creatable(ctx context.Context, s set, member string, pods []corev1.Pod,
	missing []*unstructured.Unstructured) (why string, err error) {
	if slices.Contains(l.skip, checkCreate) {
		return "", nil
	}
	pod, err := s.Pod(member)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(missing, func(u *unstructured.Unstructured) bool {
		return u.GetKind() == serviceAccounts.Kind && u.GetName() == pod.Spec.ServiceAccountName
	}) {
		pod.Spec.ServiceAccountName = s.typed.Spec.Template.Spec.ServiceAccountName // a Pod needs one that exists
	}
	now := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == member })
	wanted := pod.DeepCopy()
	err = l.c.Create(ctx, pod, client.DryRunAll)
	if now >= 0 && apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota") {
		// The quota still counts the Pod that runs. It is the last admission plugin.
		return l.fits(ctx, &pods[now], wanted, err)
	}
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return fmt.Sprintf("Pod %s with the new template cannot be created: %s", member, exit.Describe(err)), nil
	}
	if err != nil {
		return "", fmt.Errorf("create Pod %s/%s as a dry run: %w", wanted.Namespace, member, err)
	}
	if now < 0 || l.undo || cluster.HasBarrier(&pods[now].Spec) {
		return "", nil
	}
	was, is := pods[now].Status.QOSClass, pod.Status.QOSClass
	if was != "" && is != "" && was != is {
		return fmt.Sprintf("Pod %s would have QoS class %s instead of %s: set requests and limits in the StatefulSet, "+
			"not by a LimitRange", member, is, was), nil
	}
	return "", nil
}

// fits returns why a quota would refuse the new Pod even after the running Pod is evicted.
func (l *live) fits(ctx context.Context, runs, wanted *corev1.Pod, refusal error) (why string, err error) {
	no := fmt.Sprintf("Pod %s with the new template cannot be created: %s", runs.Name, exit.Describe(refusal))
	running := slices.Concat(runs.Spec.InitContainers, runs.Spec.Containers)
	for _, list := range [][]corev1.Container{wanted.Spec.InitContainers, wanted.Spec.Containers} {
		for i := range list {
			c := &list[i]
			at := slices.IndexFunc(running, func(r corev1.Container) bool { return r.Name == c.Name })
			switch {
			case len(c.Resources.Requests)+len(c.Resources.Limits) > 0:
			case at >= 0:
				c.Resources = running[at].Resources // of a LimitRange
			case runs.Status.QOSClass != corev1.PodQOSBestEffort:
				return no, nil // a LimitRange sets them to unknown values
			}
		}
	}
	var quotas corev1.ResourceQuotaList
	if err := l.c.List(ctx, &quotas, client.InNamespace(runs.Namespace)); err != nil {
		return "", fmt.Errorf("list ResourceQuotas of namespace %s: %w", runs.Namespace, err)
	}
	before, after := inject.Demand(&runs.Spec), inject.Demand(&wanted.Spec)
	for i := range quotas.Items {
		q := &quotas.Items[i]
		for name, need := range after {
			hard, limited := q.Status.Hard[name]
			free, more := hard.DeepCopy(), need.DeepCopy()
			free.Sub(q.Status.Used[name])
			if more.Sub(before[name]); limited && more.Sign() > 0 && more.Cmp(free) > 0 {
				return fmt.Sprintf("Pod %s with the new template cannot be created: it requires %s %s more, and "+
					"quota %s has %s left", runs.Name, name, &more, q.Name, free.String()), nil
			}
		}
	}
	return "", nil
}

// allCreatable refuses before the first change.
func (l *live) allCreatable(ctx context.Context, sets []set, objects cluster.Objects,
	missing []*unstructured.Unstructured) error {
	for _, s := range sets {
		names := cluster.MemberNames(s.typed)
		if len(names) == 0 || s.Written() && rolled(s.typed) {
			continue
		}
		why, err := l.creatable(ctx, s, names[len(names)-1], objects.Pods, missing)
		if err != nil {
			return err
		}
		if why != "" {
			return exit.WithHint(exit.Refusedf("%s: nothing was changed", why),
				"fix the cause; if it applies only to Pods that you create yourself, add --skip-check="+checkCreate)
		}
	}
	return nil
}
