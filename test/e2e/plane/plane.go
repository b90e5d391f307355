// SPDX-License-Identifier: Apache-2.0

// Package plane gives a test a Kubernetes control plane of its own. It knows nothing of the product, so that every package can be tested with it.
package plane

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
)

// Start gives a control plane that ends with the test. With -short the test is skipped.
func Start(t testing.TB) *cluster.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane")
	}
	c, err := cluster.StartControlPlane(t.Context(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}
