// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// force-proceed gives Judge the list of members that it then forces: Judge must not put another name into it.
func TestJudgeLeavesTheNamesAlone(t *testing.T) {
	t.Parallel()
	want := []string{"demo-dc1-rack3-0", "demo-dc1-rack1-0", "demo-dc1-rack1-0"}
	names := append(make([]string, 0, 8), want...)
	c := cluster.New(scenes.Objects(plugintest.New(3, 1)), cluster.SourceAuto, scenes.Now)
	j := diagnosis.Judge(c, scenes.Now, names...)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the names (-want +got):\n%s", diff)
	}
	for _, name := range want {
		if _, ok := j.Starts[name]; !ok {
			t.Errorf("Judge gives no start of %s", name)
		}
	}
}
