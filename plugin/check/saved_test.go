// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestSavedObjectsAnswerWhatTheyHave: a failed check is failed without a cluster, and what only a node can answer is unknown, never ok.
func TestSavedObjectsAnswerWhatTheyHave(t *testing.T) {
	down := plugintest.Save(t, plugintest.New(3, 1).Down("demo-dc1-rack3-0").Objects())
	healthy := plugintest.Save(t, plugintest.New(3, 1).Objects())
	for name, tc := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"a node is DOWN": {[]string{"--for=restart", "demo-dc1-rack1-0", "--from", down}, 3,
			[]string{"failed   nodes", "demo-dc1-rack3-0 DOWN", "unknown  answers", "saved objects: no node was queried", "unknown  data", "unknown  budget"}},
		"a step for the same file": {[]string{"--for=restart", "demo-dc1-rack1-0", "--from", "sample:incident"}, 3,
			[]string{"kubectl scylla describe demo-dc1-rack3-0 -n demo --from sample:incident"}},
		"all are UP":                      {[]string{"--for=scale", "--from", healthy}, 3, []string{"ok       nodes", "unknown  answers"}},
		"a Kubernetes node":               {[]string{"--for=drain", "worker-1", "--from", down}, 3, []string{"failed   nodes"}},
		"a Kubernetes node without a Pod": {[]string{"--for=drain", "worker-9", "--from", down}, 2, []string{`no saved Pod is on Kubernetes node "worker-9"`, "status -o wide --from " + down}},
		"an unknown member":               {[]string{"--for=restart", "nobody", "--from", down}, 2, []string{`no member "nobody"`, "status --from " + down}},
		"without --for":                   {[]string{"--from", down}, 2, []string{"--from requires --for"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := plugintest.Run{Args: append([]string{"check"}, tc.args...)}.Do(t)
			for _, want := range tc.want {
				if r.Code != tc.code || !strings.Contains(r.Stdout+r.Stderr, want) {
					t.Errorf("exit %d, want %d and %q\n%s%s", r.Code, tc.code, want, r.Stdout, r.Stderr)
				}
			}
		})
	}
}
