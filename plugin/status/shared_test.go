// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// Four members of which two have one host ID are not three healthy nodes: the line says what it counts.
func TestMembersWithOneHostIDAreCounted(t *testing.T) {
	t.Parallel()
	const fourth = "demo-dc1-rack4-0"
	for name, c := range map[string]*plugintest.Cluster{
		"ours": plugintest.New(4, 1), "the operator's": plugintest.New(4, 1).Operator(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Nodes = c.Nodes[:3]
			delete(c.Pod(fourth).Annotations, api.AnnotationNodeStatusReport)
			c.Service(fourth).Annotations[api.AnnotationHostID] = c.Nodes[1].HostID
			for _, source := range []string{"auto", "report", "annotation"} {
				got := plugintest.Run{Args: []string{"status", "-n", "demo", "--source=" + source}, Objects: c.Objects()}.Do(t)
				text := strings.Join(strings.Fields(got.Stdout), " ")
				if got.Code != 3 || !strings.Contains(text, "several members have one host ID") || strings.Contains(text, "of 3 nodes") || !strings.Contains(text, "3 of 3 host IDs seen UP by all, of 4 members") {
					t.Errorf("--source=%s: exit %d\n%s%s", source, got.Code, got.Stdout, got.Stderr)
				}
			}
		})
	}
}
