// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// printed matches a command of kubectl that may be pasted.
var printed = regexp.MustCompile(`\bkubectl( scylla)? [a-z'-][^"\n]*`)

// TestPrintedCommandsWorkWhereTheyArePasted: whatever verb prints a command, in whatever format, it has the flags that were given; on a terminal it stands whole
// on a line of its own, however long; and the context, which is not the current one, is shown.
func TestPrintedCommandsWorkWhereTheyArePasted(t *testing.T) {
	here, err := filepath.Abs("kubectl/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", here+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("RECORD", t.TempDir())
	const flags = "--context=production-of-the-whole-company --as=ada"
	given := []string{"-n", "demo", "--context", "production-of-the-whole-company", "--as", "ada"}
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	newcomer := c.Newcomer("dc1", "rack2", 1)
	objects := c.Objects()
	replacing := plugintest.New(3, 1).Replacing("demo-dc1-rack3-0").Objects()
	tty := cli.Terminal{In: true, Out: true, Err: true, Width: 80, Height: 24}
	cases := map[string]struct {
		run     plugintest.Run
		context bool // is shown
		cut     bool // a line that is too long is cut, and a key copies it whole
		prose   bool // commands may stand within a sentence: in an error, or in JSON's text
	}{
		"status":                 {run: plugintest.Run{Args: []string{"status"}, Objects: objects}, context: true},
		"status -o wide":         {run: plugintest.Run{Args: []string{"status", "-o", "wide"}, Objects: objects}, context: true},
		"status -o json":         {run: plugintest.Run{Args: []string{"status", "-o", "json"}, Objects: objects}, context: true, prose: true},
		"status -A -o yaml":      {run: plugintest.Run{Args: []string{"status", "-A", "-o", "yaml"}, Objects: objects}, context: true, prose: true},
		"status of an operation": {run: plugintest.Run{Args: []string{"status"}, Objects: replacing}, context: true},
		"barrier":                {run: plugintest.Run{Args: []string{"barrier", newcomer}, Objects: objects}},
		"barrier -o json":        {run: plugintest.Run{Args: []string{"barrier", newcomer, "-o", "json"}, Objects: objects}, context: true, prose: true},
		"describe":               {run: plugintest.Run{Args: []string{"describe", "rack3/0"}, Objects: objects}},
		"describe -o json":       {run: plugintest.Run{Args: []string{"describe", "rack3/0", "-o", "json"}, Objects: objects}, prose: true},
		"report":                 {run: plugintest.Run{Args: []string{"report"}, Objects: objects}},
		"report -o json":         {run: plugintest.Run{Args: []string{"report", "-o", "json"}, Objects: objects}, context: true, prose: true},
		"dashboard":              {run: plugintest.Run{Args: []string{"dashboard", "--once", "--width", "200", "--height", "60"}, Objects: objects}, context: true, cut: true},
		"nodetool, no start yet": {run: plugintest.Run{Args: []string{"nodetool", newcomer, "info"}, Objects: objects}, prose: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.run.Args, tc.run.Terminal = append(tc.run.Args, given...), tty
			tc.run.Environ = []string{"TERM=xterm-256color", "NO_COLOR=1"}
			r := tc.run.Do(t)
			text := ansi.Strip(r.Stdout + r.Stderr)
			commands := 0
			for _, line := range strings.Split(text, "\n") {
				for _, command := range printed.FindAllString(line, -1) {
					if strings.Contains(command, " --help") || strings.Contains(command, "kubectl-scylla") || strings.Contains(line, " text: '") {
						continue // YAML folds sentences; the command is in "shell", too
					}
					commands++
					if !strings.Contains(command, flags) {
						t.Errorf("it lacks the flags: %s", line)
					}
					if before, _, _ := strings.Cut(line, command); !tc.prose && strings.Trim(before, " →│•") != "" && !strings.Contains(before, "│") {
						t.Errorf("it does not stand on a line of its own: %s", line)
					}
					if whole := strings.Contains(command, "-n demo") || tc.cut && strings.HasSuffix(command, "…"); !tc.prose && !whole {
						t.Errorf("it is not whole: %s", line)
					}
				}
			}
			if commands == 0 {
				t.Errorf("no command is printed:\n%s", text)
			}
			shown := "context production-of-the-whole-company"
			if strings.HasPrefix(strings.TrimSpace(r.Stdout), "{") {
				shown = `"context": "production-of-the-whole-company"`
			}
			if strings.Contains(fmt.Sprint(tc.run.Args), "yaml") {
				shown = "context: production-of-the-whole-company"
			}
			if tc.context && !strings.Contains(text, shown) {
				t.Errorf("the context is not shown:\n%s", text)
			}
		})
	}
}

// TestPrintedCommandsReadTheSavedObjectsAgain: a screen of saved objects never sends to a running cluster.
func TestPrintedCommandsReadTheSavedObjectsAgain(t *testing.T) {
	reads := regexp.MustCompile(`kubectl scylla (status|barrier|describe|report|dashboard|replace status)\b`)
	for _, args := range [][]string{
		{"status"}, {"status", "-A"}, {"status", "-o", "wide"}, {"status", "-o", "json"}, {"barrier"}, {"barrier", "rack2/1"}, {"barrier", "rack2/1", "-o", "json"},
		{"describe", "rack2/1"}, {"describe", "rack3/0"}, {"describe", "rack3/0", "-o", "json"}, {"report"}, {"describe", "no-such-member"},
		{"dashboard", "--once", "--width", "200", "--height", "60"}, {"replace", "status"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r := plugintest.Run{Args: append(args, "--from", "sample:incident"), Environ: []string{"NO_COLOR=1"}}.Do(t)
			for _, line := range strings.Split(ansi.Strip(r.Stdout+r.Stderr), "\n") {
				if reads.MatchString(line) && !strings.Contains(line, "--from sample:incident") && !strings.Contains(line, "…") {
					t.Errorf("it reads the running cluster: %s", line)
				}
			}
		})
	}
	r := plugintest.Run{Args: []string{"barrier", "--from", "sample:incident"}}.Do(t)
	if want := "kubectl scylla describe demo-dc1-rack3-0 -n demo --from sample:incident"; !strings.Contains(r.Stdout, want) {
		t.Errorf("%q is missing:\n%s", want, r.Stdout)
	}
}
