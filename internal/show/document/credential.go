// SPDX-License-Identifier: Apache-2.0

package document

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential/finding"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// RootCredential returns the state of the root credential, empty before the first result; well is
// false if it is not verified.
func RootCredential(s *cluster.Cluster) (text string, well bool) {
	if s.StatusReport == nil {
		return "", true
	}
	status, m, ok := finding.Of(s.StatusReport)
	return words.Text(m), !ok || status == metav1.ConditionTrue
}
