// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/credential/finding"
)

// credentials shows the root credential and the first settings of each cluster. Neither delays a
// node.
func (c *checker) credentials() {
	for i := range c.in.Reports {
		r := &c.in.Reports[i]
		subject := "cluster " + r.Namespace + "/" + r.Name
		switch status, text, ok := finding.Of(r); {
		case ok && status == metav1.ConditionTrue:
			c.add("credential", subject, OK, text)
		case ok:
			c.add("credential", subject, Warning, text)
		}
		for _, text := range finding.Settings(r) {
			c.add("settings", subject, Warning, text)
		}
	}
}
