// SPDX-License-Identifier: Apache-2.0

package scenes_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

var (
	printed = regexp.MustCompile(`kubectl scylla (?:status|describe|barrier|report|replace status) .*`)
	word    = regexp.MustCompile(`[A-Za-z0-9_./:-]+`)
)

// TestNoStepEndsInACircle: a command that status prints, run on the same objects, shows something that status has not shown; and no sample prints a step that destroys.
func TestNoStepEndsInACircle(t *testing.T) {
	const gone = "demo-dc1-rack4-1"
	sources := map[string]plugintest.Run{}
	for _, name := range []string{"healthy", "incident", "partition", "replacement", "multi-dc"} {
		sources["sample "+name] = plugintest.Run{Args: []string{"--from", "sample:" + name}}
	}
	saved := func(name string, objects []client.Object) {
		sources[name] = plugintest.Run{Args: []string{"--from", "-"}, Stdin: string(plugintest.SavedYAML(t, objects))}
	}
	for _, s := range scenes.All(12) {
		saved(s.String(), scenes.Listed(s.Objects()))
	}
	saved("an orphan", plugintest.New(4, 2).DownSince(gone, time.Hour).Leftover(gone))
	saved("an orphan, without member Services", slices.DeleteFunc(plugintest.New(4, 2).DownSince(gone, time.Hour).NoReports().Leftover(gone),
		func(o client.Object) bool { return isService(o) }))
	saved("a replacement that failed", plugintest.New(4, 1).Down("demo-dc1-rack3-0").Replacing("demo-dc1-rack3-0").Exited("demo-dc1-rack3-0", 1).Objects())
	saved("no ScyllaDB answers", plugintest.New(3, 1).Down("demo-dc1-rack1-0").Down("demo-dc1-rack2-0").Down("demo-dc1-rack3-0").Objects())
	for name, run := range sources {
		t.Run(name, func(t *testing.T) {
			from := run.Args
			run.Args = append([]string{"status"}, from...)
			first := run.Do(t).Stdout
			joined := strings.ReplaceAll(first, "\\\n", "")
			shown := map[string]bool{}
			for _, w := range word.FindAllString(joined, -1) {
				shown[w] = true
			}
			for _, command := range printed.FindAllString(joined, -1) {
				args := strings.Fields(command)[2:]
				if slices.Contains(args, "live") {
					continue // it queries the running nodes
				}
				if !slices.Contains(args, "--from") {
					args = append(args, from...)
				}
				run.Args = args
				got := run.Do(t)
				if fresh := slices.ContainsFunc(word.FindAllString(got.Stdout, -1), func(w string) bool { return !shown[w] }); !fresh || got.Code == 1 || got.Code == 2 {
					t.Errorf("%s: exit %d, nothing new after status\n%s%s", command, got.Code, got.Stdout, got.Stderr)
				}
			}
			for line := range strings.Lines(joined) {
				if at := strings.Index(line, "kubectl "); strings.HasPrefix(name, "sample") && at >= 0 && evidence.Destroys(strings.Fields(line[at:])) && !strings.Contains(joined, "cannot be undone") && !strings.Contains(line, "replace resume") {
					t.Errorf("a step that destroys: %s", line)
				}
			}
		})
	}
}

func isService(o client.Object) bool { _, is := o.(*corev1.Service); return is }
