// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// lean reads from the API server as its client.Reader does, except lists of Pods. It reads those
// page by page, slims each Pod as the cache does, and shares equal rows with the cache. In a large
// cluster a replacement lists all Pods at every step, and two copies of all rows exceed the
// controller's memory limit.
type lean struct {
	client.Reader
	cache client.Reader
}

// List implements client.Reader.
func (l lean) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	pods, ok := list.(*corev1.PodList)
	o := (&client.ListOptions{}).ApplyOptions(opts)
	if !ok || o.Limit > 0 {
		return l.Reader.List(ctx, list, opts...)
	}
	var held corev1.PodList
	if err := l.cache.List(ctx, &held, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	rows := make(map[types.NamespacedName]api.RowText, len(held.Items))
	for i := range held.Items {
		rows[client.ObjectKeyFromObject(&held.Items[i])], _ = api.RowOf(held.Items[i].Annotations)
	}
	var all []corev1.Pod
	for next := ""; ; {
		var page corev1.PodList
		if err := l.Reader.List(ctx, &page,
			append(opts, client.Limit(podsAtOnce), client.Continue(next))...); err != nil {
			return err
		}
		for i := range page.Items {
			p := slimmed(&page.Items[i])
			if row, ok := api.RowOf(p.Annotations); ok && row == rows[client.ObjectKeyFromObject(p)] {
				rows[client.ObjectKeyFromObject(p)].SetIn(p.Annotations)
			}
			all = append(all, *p)
		}
		if next = page.Continue; next == "" {
			*pods = corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: page.ResourceVersion}, Items: all}
			return nil
		}
	}
}
