// SPDX-License-Identifier: Apache-2.0

package harm

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// called matches a screen of docs/on-call.md.
var called = regexp.MustCompile(`(?s)<!-- call ([a-z ]+) -->\n.*?<!-- end -->`)

// table begins after the findings.
var table = regexp.MustCompile(`(?m)^\d+ of \d+ nodes`)

// TestTheScreensOfTheOnCallPage: each section about a frequent call shows what status prints for it; -update writes it.
func TestTheScreensOfTheOnCallPage(t *testing.T) {
	const page = "../../../../docs/on-call.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	calls, shown := scenes.Calls(), map[string]bool{}
	want := called.ReplaceAllStringFunc(string(text), func(block string) string {
		name := called.FindStringSubmatch(block)[1]
		call, known := calls[name]
		if !known {
			t.Fatalf("no call %q", name)
		}
		shown[name] = true
		got := plugintest.Run{Args: []string{"status", "-n", "demo"}, Objects: call.Objects, Logs: call.Logs, Terminal: cli.Terminal{Out: true, Width: 80, Height: 60}}.Do(t)
		first := got.Stdout[:table.FindStringIndex(got.Stdout)[0]]
		var b strings.Builder
		for line := range strings.Lines("$ kubectl scylla status -n demo\n" + first) {
			b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
		return "<!-- call " + name + " -->\n\n" + b.String() + "\n<!-- end -->"
	})
	for name := range calls {
		if !shown[name] {
			t.Errorf("call %q has no screen in %s", name, page)
		}
	}
	if plugintest.Updating() {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("%s differs; run with -update if that is wanted (-want +got):\n%s", page, diff)
	}
}
