// SPDX-License-Identifier: Apache-2.0

package barrier_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestBesideOperator3ThePluginSaysWhatItCannotKnow: a member whose Pod is at its barrier may have lost its volume. The plugin cannot know that, so it must not say that the
// barrier opens within seconds.
func TestBesideOperator3ThePluginSaysWhatItCannotKnow(t *testing.T) {
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	name := c.Newcomer("dc1", "rack3", 0) // its Pod made anew
	c.Service(name).Annotations = map[string]string{api.AnnotationHostID: c.Node(name).HostID, api.AnnotationNodeJoined: "true"}
	for _, args := range [][]string{{"barrier", name, "-n", "demo"}, {"barrier", name, "--from", plugintest.Save(t, c.OperatorObjects("dc1", nil))}} {
		run := plugintest.Run{Args: args}
		if len(args) > 3 && args[2] == "-n" {
			run.Objects = c.OperatorObjects("dc1", nil)
		}
		got := run.Do(t)
		if got.Code != 3 || !strings.Contains(got.Stdout, "UNSURE") || !strings.Contains(got.Stdout, "only its Pod can check") ||
			strings.Contains(got.Stdout, "OPEN") || strings.Contains(got.Stdout, "opens within seconds") {
			t.Errorf("%v ended with %d:\n%s%s", args, got.Code, got.Stdout, got.Stderr)
		}
	}
	// Its Service does not say that it has joined, and the operator's rows have no states: it is a newcomer, and a node is DOWN.
	delete(c.Service(name).Annotations, api.AnnotationNodeJoined)
	got := plugintest.Run{Objects: c.OperatorObjects("dc1", nil), Args: []string{"barrier", name, "-n", "demo"}}.Do(t)
	if got.Code != 3 || !strings.Contains(got.Stdout, "WAIT") {
		t.Errorf("without the joined annotation it ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}
