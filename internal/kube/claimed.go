// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Claimed returns the PersistentVolumes that are bound to, or kept for, a PVC of the namespace, by
// PVC name. Nil if they cannot be listed, or are too many. A result is reused as the states are.
func (m *Machines) Claimed(ctx context.Context, c client.Reader, namespace string, now time.Time) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claimedAt.IsZero() || now.Sub(m.claimedAt) >= machinesOld {
		m.claimedAt, m.claimed = now, claimedVolumes(ctx, c)
	}
	return claimsIn(m.claimed, namespace)
}

// claimedVolumes returns the names of PersistentVolumes by the PVC of their claimRef.
func claimedVolumes(ctx context.Context, c client.Reader) map[client.ObjectKey]string {
	const claimedPages = 20
	all, next := map[client.ObjectKey]string{}, ""
	for range claimedPages {
		var list corev1.PersistentVolumeList
		if err := c.List(ctx, &list, client.Limit(machinePage), client.Continue(next)); err != nil {
			return nil
		}
		for i := range list.Items {
			if ref := list.Items[i].Spec.ClaimRef; ref != nil {
				all[client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}] = list.Items[i].Name
			}
		}
		if next = list.Continue; next == "" {
			return all
		}
	}
	return nil
}

// claimsIn returns the PVCs of a namespace by name; nil for nil.
func claimsIn(claimed map[client.ObjectKey]string, namespace string) map[string]string {
	if claimed == nil {
		return nil
	}
	out := map[string]string{}
	for claim, volume := range claimed {
		if claim.Namespace == namespace {
			out[claim.Name] = volume
		}
	}
	return out
}
