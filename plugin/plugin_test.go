// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/completion"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

func tree(argv0 string) *cobra.Command {
	var out bytes.Buffer
	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, clock.RealClock{}, nil, func() cli.Terminal { return cli.Terminal{} })
	return plugin.NewCmd(d, argv0)
}

// each calls f for every command that a person can find.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			each(sub, f)
		}
	}
}

func TestHelp(t *testing.T) {
	// The default of --cache-dir is in the home folder; help does not show it.
	for _, args := range [][]string{{"status", "--help"}, {"barrier", "--help"}, {"force-proceed", "--help"}, {"completion", "--help"}, {"version", "--help"}} {
		t.Run(args[0], func(t *testing.T) {
			plugintest.Golden(t, "help-"+args[0]+".txt", plugintest.Run{Args: args}.Transcript(t))
		})
	}
}

func TestRootWithoutArgumentsHelps(t *testing.T) {
	res := plugintest.Run{}.Do(t)
	if res.Code != 0 || res.Stderr != "" {
		t.Errorf("exit %d, stderr %q", res.Code, res.Stderr)
	}
	for _, want := range []string{"Inspect:\n", "Operate:\n", "Set up:\n", "kubectl scylla status -n demo"} {
		if !strings.Contains(res.Stdout, want) {
			t.Errorf("help lacks %q:\n%s", want, res.Stdout)
		}
	}
}

func TestDisplayName(t *testing.T) {
	for argv0, want := range map[string]string{
		"kubectl-scylla": "kubectl scylla", "/usr/local/bin/kubectl-scylla": "kubectl scylla", "kubectl-scylla.exe": "kubectl scylla", "/tmp/go-build1/main": "kubectl-scylla",
	} {
		if got := tree(argv0).CommandPath(); got != want {
			t.Errorf("called as %s: %q, want %q", argv0, got, want)
		}
	}
}

// Help teaches by example, so every example must be a command line that the tree accepts.
func TestExamplesAreRealCommandLines(t *testing.T) {
	each(tree("kubectl-scylla"), func(cmd *cobra.Command) {
		found := 0
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			_, args, ok := strings.Cut(line, "kubectl scylla ")
			if !ok || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			found++
			root := tree("kubectl-scylla")
			words := shellWords(t, args)
			sub, rest, err := root.Find(words)
			if err != nil || sub == root {
				t.Errorf("%s: example %q: no such command: %v", cmd.CommandPath(), line, err)
				continue
			}
			if err := sub.ParseFlags(rest); err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
				continue
			}
			if err := sub.ValidateArgs(sub.Flags().Args()); err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
			}
		}
		if found < 3 && cmd.Runnable() {
			t.Errorf("%s has %d examples, three are promised", cmd.CommandPath(), found)
		}
	})
}

// shellWords splits as far as our examples need it: quotes, and what a pipe or redirection ends.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	var word strings.Builder
	quote, inWord := rune(0), false
	flush := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ':
			flush()
		case r == '|' || r == '>' || r == ')':
			flush()
			return words
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		t.Fatalf("a quote is open in %q", line)
	}
	flush()
	return words
}

func TestEveryVerbSaysWhatItIs(t *testing.T) {
	root := tree("kubectl-scylla")
	each(root, func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short and Long must say what it is, Short without a full stop: %q", cmd.CommandPath(), cmd.Short)
		}
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if len(line) > 100 {
				t.Errorf("%s: help is %d wide: %q", cmd.CommandPath(), len(line), line)
			}
		}
		if cmd.HasParent() && cmd.GroupID == "" {
			t.Errorf("%s is in no group of the help", cmd.CommandPath())
		}
	})
}

func TestVersion(t *testing.T) {
	res := plugintest.Run{Args: []string{"version", "-o", "json"}}.Do(t)
	var doc map[string]string
	if err := json.Unmarshal([]byte(res.Stdout), &doc); err != nil || res.Code != 0 {
		t.Fatalf("exit %d, %v: %s", res.Code, err, res.Stdout)
	}
	if doc["apiVersion"] != "kubectl-scylla/v1" || doc["kind"] != "Version" || doc["version"] == "" || doc["platform"] != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("document: %v", doc)
	}
	short := plugintest.Run{Args: []string{"version", "-o", "short"}}.Do(t)
	if short.Stdout != doc["version"]+"\n" {
		t.Errorf("short is %q, json says %q", short.Stdout, doc["version"])
	}
	if text := (plugintest.Run{Args: []string{"version"}}).Do(t).Stdout; !strings.HasPrefix(text, "kubectl-scylla "+doc["version"]) {
		t.Errorf("text is %q", text)
	}
	if text := (plugintest.Run{Args: []string{"version", "-o", "yaml"}}).Do(t).Stdout; !strings.Contains(text, "kind: Version\n") {
		t.Errorf("yaml is %q", text)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range completion.Shells() {
		res := plugintest.Run{Args: []string{"completion", shell}}.Do(t)
		if res.Code != 0 || !strings.Contains(res.Stdout, "kubectl-scylla") {
			t.Errorf("%s: exit %d, %s", shell, res.Code, res.Stderr)
		}
	}
}

// kubectl runs kubectl_complete-scylla with the words so far; it must reach our completion.
func TestKubectlCompletionScriptRuns(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "kubectl_complete-scylla")
	fake := filepath.Join(dir, "kubectl-scylla")
	for name, text := range map[string]string{script: completion.KubectlScript, fake: "#!/bin/sh\nprintf '<%s>' \"$@\"\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), sh, script, "status", "-n", "a b", "")
	cmd.Env = []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "<__complete><status><-n><a b><>"; string(out) != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

// Nothing is kept between runs in one process: flags, colours, names.
func TestRunsDoNotTouchEachOther(t *testing.T) {
	run := func() string {
		return plugintest.Run{Args: []string{"status", "-n", "demo"}, Objects: plugintest.New(3, 1).Objects()}.Transcript(t)
	}
	first := run()
	_ = plugintest.Run{Args: []string{"status", "-A", "-o", "json", "--color=always", "--source=annotation"}, Objects: plugintest.New(1, 1).Objects()}.Do(t)
	if again := run(); again != first {
		t.Errorf("a run in between changed the next:\n%s\n%s", first, again)
	}
}

// The controller is the image's program: the plugin names it and does not carry it.
func TestControllerIsTheAgents(t *testing.T) {
	r := plugintest.Run{Args: []string{"controller", "--namespaces", "demo"}}.Do(t)
	if want := "controller is not part of the plugin: run scylla-agent controller --kubeconfig FILE"; r.Code != 2 || !strings.Contains(r.Stderr, want) {
		t.Errorf("exit %d: %s", r.Code, r.Stderr)
	}
}
