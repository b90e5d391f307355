// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/demo/story"
)

// What `make demo DEMO=once` shows. The story itself fails on an exit code other than those that are in its output.
func TestStory(t *testing.T) {
	covers(t, "cmd/kubectl-scylla", "cmd/scylla-agent", "controller/reports", "internal/agent/barrier", "internal/bootstrap",
		"internal/cluster", "internal/diagnosis", "internal/matrix", "internal/agent/reporter", "plugin/barrier", "plugin/status")
	t.Parallel()
	pods(t, 4)
	f := inNamespace(t, world(t), "story")
	var out bytes.Buffer
	err := story.New(f.World, f.namespace, &out).Guarded(f.ctx)
	t.Cleanup(func() { t.Log(out.String()) }) // after what has failed
	f.must(err)

	// Each command with its output, which ends where the next command or chapter begins.
	rest := out.String()
	shown := func(command string) string {
		t.Helper()
		_, after, ok := strings.Cut(rest, "\n$ kubectl "+command+"\n")
		if !ok {
			t.Fatalf("the story does not run %q, or too early", command)
		}
		rest = after
		output, _, _ := strings.Cut(after, "\n$ kubectl ")
		return output
	}
	status, unhealthy := "scylla status -n story", "(exit code 3)"
	healthy := shown(status + " --wait --timeout=5m")
	contains(t, "status of three nodes", healthy, rack1+"-0", rack2+"-0", story.Victim, "✓ HEALTHY")
	down := shown(status)
	contains(t, "status with a node DOWN", down, story.Victim, "DOWN", "NOT HEALTHY", unhealthy)
	contains(t, "the scaling", shown("-n story scale statefulset "+rack2+" --replicas=2"), "scaled")
	contains(t, "the new node's Pod", shown("-n story get pod "+story.NewNode), "Init:")
	contains(t, "barrier", shown("scylla barrier "+story.NewNode+" -n story"), story.NewNode, story.Victim, "DOWN", unhealthy)
	joined := shown(status + " --wait --timeout=5m")
	contains(t, "status after the join", joined, rack1+"-0", rack2+"-0", story.NewNode, story.Victim, "✓ HEALTHY")
	if up := strings.Count(joined, " UP 3/3 "); up != 4 {
		t.Errorf("status after the join has %d nodes that the 3 others see UP, want 4:\n%s", up, joined)
	}
}
