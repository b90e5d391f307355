// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// NodeStarted reports whether ScyllaDB has started in the Pod: its container is ready, or runs and
// its reporter has ScyllaDB's operation mode. A running container is not enough: the launcher in it
// may still wait for seeds.
func NodeStarted(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	st := ScyllaDBStatus(pod)
	switch {
	case st == nil || st.State.Running == nil || pod.DeletionTimestamp != nil:
		return false
	case serving(pod):
		return true
	}
	row, _ := api.RowOf(pod.Annotations)
	said, err := row.Decode()
	return err == nil && said.OperationMode != ""
}
