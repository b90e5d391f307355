// SPDX-License-Identifier: Apache-2.0

package describe_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestASplitIsOfEveryNode: "1 problem unrelated to this node" was said of a node whose cluster is three.
func TestASplitIsOfEveryNode(t *testing.T) {
	t.Parallel()
	c := plugintest.New(3, 1).NoReports().Says(func(by plugintest.Node, r *api.NodeStatusReport) {
		r.Group0ID = strings.Repeat(by.Rack[4:], 8) + "-0000-11ee-8000-000000000001"
	})
	for _, command := range [][]string{{"describe", "demo-dc1-rack1-0"}, {"barrier", "demo-dc1-rack1-0"}} {
		r := plugintest.Run{Objects: c.Objects(), Args: append(command, "-n", "demo")}.Do(t)
		if !strings.Contains(r.Stdout, "two clusters have the same name") || strings.Contains(r.Stdout, "unrelated") || strings.Contains(r.Stdout, "no problems") {
			t.Errorf("%q:\n%s", command, r.Stdout)
		}
	}
}
