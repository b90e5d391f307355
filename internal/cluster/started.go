// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// NodeStarted is true for a Pod in which ScyllaDB has started: its container is ready, or runs and
// its reporter has ScyllaDB's own operation mode. That the container runs is not enough: the
// launcher in it may still wait for seeds.
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
