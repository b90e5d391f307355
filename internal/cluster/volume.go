// SPDX-License-Identifier: Apache-2.0

package cluster

import corev1 "k8s.io/api/core/v1"

// Volume returns the used bytes and the size of the member's data volume, false if unknown. The
// size is the capacity in its PVC. What is used is the percentage in its annotation, else the size
// of the node's data.
func (m *Member) Volume() (used, size int64, known bool) {
	if m.PVC == nil {
		return 0, 0, false
	}
	size = m.PVC.Status.Capacity.Storage().Value()
	if m.PVC.Status.Phase != corev1.ClaimBound || size <= 0 {
		return 0, 0, false
	}
	if percent, ok := m.DiskUsed(); ok {
		return size / 100 * int64(percent), size, true
	}
	if m.Vitals.LoadBytes == nil {
		return 0, size, false
	}
	return *m.Vitals.LoadBytes, size, true
}
