// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	for _, args := range [][]string{nil, {"help"}, {"--help"}} {
		res := plugintest.Run{Args: args}.Do(t)
		for _, want := range []string{"Inspect:\n", "Operate:\n", "Set up:\n", "kubectl scylla status -n demo", "-v, --version "} {
			if res.Code != 0 || res.Stderr != "" || !strings.Contains(res.Stdout, want) {
				t.Errorf("help by %q: exit %d, stderr %q, and lacks %q:\n%s", args, res.Code, res.Stderr, want, res.Stdout)
			}
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
			sub, rest, err := root.Find(words(args))
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

// words splits a line as a shell does: at spaces but not within quotes, up to what a pipe, a redirection or a bracket ends.
func words(line string) (out []string) {
	for _, m := range regexp.MustCompile(`\S*?"[^"]*"\S*|\S*?'[^']*'\S*|\S+`).FindAllString(line, -1) {
		if strings.ContainsAny(m[:1], "|>)") {
			break
		}
		before, ended := strings.CutSuffix(m, ")")
		out = append(out, strings.NewReplacer(`"`, "", `'`, "").Replace(before))
		if ended {
			break
		}
	}
	return out
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

// TestHelpFitsOnOneScreen: 54 lines of 80 columns, and at most three examples. A command of an example is not broken, because it is copied; the root lists all commands.
func TestHelpFitsOnOneScreen(t *testing.T) {
	each(tree("kubectl-scylla"), func(cmd *cobra.Command) {
		most := 54
		if !cmd.HasParent() {
			most = 70
		}
		args := append(strings.Fields(cmd.CommandPath())[2:], "--help")
		text := plugintest.Run{Args: args}.Do(t).Stdout
		if n := strings.Count(text, "\n"); n > most || n < 10 {
			t.Errorf("%s: help has %d lines, want 10 to %d", cmd.CommandPath(), n, most)
		}
		examples := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "  # ") {
				examples++
			}
			if len([]rune(line)) > 81 && !strings.HasPrefix(line, "  kubectl ") {
				t.Errorf("%s: help is %d wide: %s", cmd.CommandPath(), len(line), line)
			}
		}
		if examples > 3 {
			t.Errorf("%s: help has %d examples, want the three that people type most", cmd.CommandPath(), examples)
		}
		if got, want := strings.Fields(text), strings.Fields(cmd.Long); cmd.Long != "" && !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: help breaks or loses a word of its description:\n%s", cmd.CommandPath(), text)
		}
	})
}

// TestHelpNamesOnlyFlagsThatExist: the description of a command names its own flags; those of another command follow its name.
func TestHelpNamesOnlyFlagsThatExist(t *testing.T) {
	named := regexp.MustCompile(`\b\w*[ (,:.|]*--[a-z][a-z-]*`)
	each(tree("kubectl-scylla"), func(cmd *cobra.Command) {
		_ = cmd.InheritedFlags() // adds the root's flags
		for _, text := range named.FindAllString(cmd.Long+"\n"+cmd.Use, -1) {
			before, flag, _ := strings.Cut(text, "--")
			if other, _, err := cmd.Root().Find(strings.FieldsFunc(before, notLetter)); err == nil && other != cmd.Root() && other.Flags().Lookup(flag) != nil {
				continue
			}
			if cmd.Flags().Lookup(flag) == nil && text != "accept --from" { // demo: the verbs that read a sample
				t.Errorf("%s has no --%s: %q", cmd.CommandPath(), flag, text)
			}
		}
	})
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) && r != '-' }

// otherMeaning are the flags of one name that mean different things in different verbs, each with why; "VERB --FLAG" is one verb's exception.
var otherMeaning = map[string]string{
	"all":                           "status: all lines of the output; nodetool: all nodes; replace status: finished replacements as well",
	"datacenter":                    "inject: a name that the manifest lacks; force-proceed: what is forced; check: what leaves",
	"rack":                          "inject: a name that the manifest lacks; check: what leaves",
	"undo":                          "inject and force-proceed revert different things",
	"skip-check":                    "inject has one check to skip",
	"inject --output":               "its formats depend on -f",
	"install --output":              "its only format applies nothing",
	"inject --timeout":              "limits one step, and not --wait, which inject does not have",
	"inject --controller-namespace": "installs for this namespace",
}

// TestFlagsOfOneNameHaveOneText: what differs are lists of values, and what --wait waits for.
func TestFlagsOfOneNameHaveOneText(t *testing.T) {
	differs := regexp.MustCompile(`One of: .*|^Wait until .*, at most`)
	first, used := map[string][2]string{}, map[string]bool{}
	each(tree("kubectl-scylla"), func(cmd *cobra.Command) {
		verb := strings.Join(strings.Fields(cmd.CommandPath())[2:], " ")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			text := differs.ReplaceAllString(f.Usage, "")
			before, again := first[f.Name]
			if !again {
				first[f.Name] = [2]string{verb, text}
				return
			}
			if before[1] == text {
				return
			}
			for _, name := range []string{f.Name, verb + " --" + f.Name, before[0] + " --" + f.Name} {
				if otherMeaning[name] != "" {
					used[name] = true
					return
				}
			}
			t.Errorf("--%s has two texts:\n%s: %s\n%s: %s", f.Name, before[0], before[1], verb, text)
		})
	})
	for name := range otherMeaning {
		if !used[name] {
			t.Errorf("%s is no exception any more", name)
		}
	}
}
