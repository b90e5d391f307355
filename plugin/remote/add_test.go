// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// A remote of an operator's cluster has no effect here, and leaves tokens that do not expire.
func TestAddRefusesTheOperatorsClusters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		refused bool
	}{
		"the operator's": {plugintest.New(3, 1).Operator(), true},
		"ours":           {plugintest.New(3, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plugintest.Run{Args: []string{"remote", "add", "eu", "demo", "-n", "demo", "--remote-context", "eu", "--dry-run=client"}, Objects: tc.cluster.Objects()}.Do(t)
			if refused := strings.Contains(got.Stderr, "the Scylla Operator manages cluster demo/demo"); refused != tc.refused || refused && got.Code != 2 {
				t.Errorf("exit %d, refused %t\n%s%s", got.Code, refused, got.Stdout, got.Stderr)
			}
		})
	}
}
