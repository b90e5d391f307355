// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// A lost majority of group 0 is named with ScyllaDB's procedure for the version; no command of it is printed.
func TestGroup0WithoutMajority(t *testing.T) {
	t.Parallel()
	const lost = "group 0 has no majority: 2 of 3 nodes are DOWN, and no status report names a topology coordinator"
	for name, tc := range map[string]struct {
		down    int
		version string
		change  func(*api.NodeStatusReport)
		want    string // empty: no such finding
		ago     time.Duration
	}{
		"two of three":            {2, "2025.4.1-0.20260101.abc", nil, "Procedure (recovery_leader), which cannot be undone: https://docs.scylladb.com/manual/branch-2025.4/troubleshooting/handling-node-failures.html", 0},
		"the older procedure":     {2, "2025.1.9-0.20260101.abc", nil, "(RECOVERY mode), which cannot be undone and does not support tablets: https://docs.scylladb.com/manual/branch-2025.1/", 0},
		"open source":             {2, "6.2.3-0.20260101.abc", nil, "manual/branch-2025.1/", 0},
		"they may be restarting":  {2, "2025.4.1-0.20260101.abc", nil, "", 9 * time.Minute},
		"one of three":            {1, "2025.4.1-0.20260101.abc", nil, "", 0},
		"a coordinator is named":  {2, "2025.4.1-0.20260101.abc", func(said *api.NodeStatusReport) { said.Coordinator = hostid.ID(plugintest.HostID(0)) }, "", 0},
		"the node is not NORMAL":  {2, "2025.4.1-0.20260101.abc", func(said *api.NodeStatusReport) { said.OperationMode = "STARTING" }, "", 0},
		"without Raft":            {2, "6.2.3-0.20260101.abc", func(said *api.NodeStatusReport) { said.LegacyTopology = true }, "", 0},
		"before 6.0":              {2, "5.4.9-0.20260101.abc", nil, "", 0},
		"no version, no evidence": {2, "", nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 1)
			for _, member := range []string{"demo-dc1-rack2-0", "demo-dc1-rack3-0"}[:tc.down] {
				c.DownSince(member, cmp.Or(tc.ago, time.Hour))
			}
			c.Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
				said.ScyllaVersion = tc.version
				if tc.change != nil {
					tc.change(said)
				}
			})
			var got string
			for _, f := range diagnosis.Of(cluster.New(scenes.Objects(c), cluster.SourceAuto, scenes.Now)) {
				if f.Kind == diagnosis.MajorityLost {
					got = words.Text(f.Message) + "\n" + words.Text(f.Step)
				}
			}
			if (got == "") != (tc.want == "") || got != "" && (!strings.HasPrefix(got, lost) || !strings.Contains(got, tc.want) ||
				!strings.HasSuffix(got, "kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- status")) {
				t.Errorf("want %q, got %s", tc.want, got)
			}
			for _, never := range []string{"TRUNCATE", "DELETE", "removenode", "UPDATE"} {
				if strings.Contains(got, never) {
					t.Errorf("it says %s: %s", never, got)
				}
			}
		})
	}
}
