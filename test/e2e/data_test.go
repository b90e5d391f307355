// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/scenario"
)

// The volume of a node that holds the only copy of some data is not given away by mistake: a live node is asked where the data is.
func TestReplaceAsksWhereTheDataIs(t *testing.T) {
	covers(t, "internal/scylla", "plugin/replace")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Env: map[string]string{"SCYLLASIM_KEYSPACES": "app=dc1:3;log=dc1:1;hot=dc1:1,tablets,table:t1"}})
	f.kill(dead, rack1+"-0")
	f.longDown(dead)

	r := f.plugin("replace", dead, "--dry-run=client", atOnce)
	if r.Code != 2 {
		t.Errorf("replace of the only copy: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "the plan", r.Stdout, "it holds the only copy of data of hot, log: that is lost with its volume", "--skip-check=data")
	contains(t, "the refusal", r.Stderr, "refused by 1 check: data")
	if r := f.plugin("replace", dead, "--dry-run=client", atOnce+",data"); r.Code != 0 {
		t.Errorf("with the check skipped by name: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}
