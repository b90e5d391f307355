// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestANodeHasOneAge: a node was DOWN for 5m33s on one screen and for 5m37s on another. Every screen has the time of the last observer, since when all these have it DOWN; a single observer's is shown with its name.
func TestANodeHasOneAge(t *testing.T) {
	const down = "demo-dc1-rack3-0"
	c := plugintest.New(3, 1).DownSince(down, 5*time.Minute)
	c.Newcomer("dc1", "rack1", 1)
	objects := c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
		for i := range said.ObservedNodes {
			if o := &said.ObservedNodes[i]; o.Since != nil {
				o.Since = &metav1.Time{Time: plugintest.Now.Add(map[bool]time.Duration{true: -337 * time.Second, false: -333 * time.Second}[by.Name < "demo-dc1-rack2"])}
			}
		}
	}).Objects()
	for _, args := range [][]string{{"status", "demo"}, {"status", "demo", "--all"}, {"describe", down}} {
		got := plugintest.Run{Args: append(args, "-n", "demo"), Objects: objects}.Do(t)
		if text := got.Stdout; strings.Contains(text, "5m37s") || !strings.Contains(text, "5m33s") {
			t.Errorf("%v: want 5m33s only\n%s%s", args, text, got.Stderr)
		}
	}
}
