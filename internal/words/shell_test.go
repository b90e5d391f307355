// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestShellQuotesWhatIsNotPlain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args words.Command
		want string
	}{
		"plain":              {words.Scylla("demo", "replace", "1ffac2bb-0000-4000-8000-000000000000"), "kubectl scylla replace 1ffac2bb-0000-4000-8000-000000000000 -n demo"},
		"an attack":          {words.Command{"nodetool", "removenode", "x; touch /tmp/p #"}, "nodetool removenode 'x; touch /tmp/p #'"},
		"a quote":            {words.Command{"echo", "it's"}, `echo 'it'\''s'`},
		"nothing":            {words.Command{"echo", ""}, "echo ''"},
		"a home directory":   {words.Command{"echo", "~root"}, "echo '~root'"},
		"a variable":         {words.Command{"echo", "$HOME"}, "echo '$HOME'"},
		"a letter of no use": {words.Command{"echo", "é"}, "echo 'é'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, words.Shell(c.args)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDocumentsHaveTheFlagsAgain: in commands and sentences, and in the messages within messages, once however often.
func TestDocumentsHaveTheFlagsAgain(t *testing.T) {
	t.Parallel()
	p := words.Printer{Flags: []string{"--context=test"}}
	inner := words.New(words.SeeDiscovery).Do(words.Kubectl("demo", "logs", "a"), words.Scylla("demo", "replace", "1"))
	step, plain := words.New(words.ResumeReplacement, "cure", inner), inner
	for range 2 {
		p.Flag(&step, &plain)
	}
	if !strings.Contains(words.Text(step), "kubectl scylla --context=test replace 1 -n demo") || words.Shell(plain.Commands[0]) != "kubectl --context=test logs a -n demo" {
		t.Errorf("the step is %+v, its cure %+v", step, plain)
	}
	within, ok := step.Params["cure"].(words.Message)
	if diff := cmp.Diff(words.Command{"kubectl", "scylla", "--context=test", "replace", "1", "-n", "demo"}, within.Commands[1]); !ok || diff != "" {
		t.Errorf("the message within (-want +got):\n%s", diff)
	}
	if got := words.Shell(p.WithFlags(p.WithFlags(words.Kubectl("", "get", "pod")))); got != "kubectl --context=test get pod" {
		t.Errorf("the command is %s", got)
	}
}

// TestCommandsOfSavedObjectsReadThemAgain: only commands of ours that can, and once however often.
func TestCommandsOfSavedObjectsReadThemAgain(t *testing.T) {
	t.Parallel()
	p := words.Printer{Flags: []string{"--context=test"}, From: []string{"a b.zip"}}
	for _, c := range []struct {
		command words.Command
		read    bool
	}{
		{words.Scylla("demo", "status", "demo"), true},
		{words.Scylla("demo", "barrier", "a"), true},
		{words.Scylla("demo", "describe", "a"), true},
		{words.Scylla("", "report"), true},
		{words.Scylla("", "dashboard"), true},
		{words.Scylla("demo", "replace", "status"), true},
		{words.Scylla("demo", "replace", "status", "a"), true},
		{words.Scylla("", "status", "--from", "a b.zip"), false},
		{words.Scylla("", "status", "--from=b"), false},
		{words.Scylla("", "status", "--source=live"), false},
		{words.Scylla("", "barrier", "a", "--wait"), false},
		{words.Scylla("", "status", "-w"), false},
		{words.Scylla("demo", "replace", "a"), false},
		{words.Scylla("demo", "replace", "resume", "a"), false},
		{words.Scylla("demo", "force-proceed", "a"), false},
		{words.Kubectl("demo", "describe", "pod"), false},
		{words.Command{"kubectl", "scylla"}, false},
		{words.Command{"nodetool", "status"}, false},
	} {
		want := words.Printer{Flags: p.Flags}.Shell(c.command)
		if c.read {
			want += " --from 'a b.zip'"
		}
		if got := words.Shell(p.WithFlags(p.WithFlags(c.command))); got != want {
			t.Errorf("the command is %s, want %s", got, want)
		}
	}
	m := words.New(words.SayCommand).Do(words.Scylla("demo", "status"))
	if got := words.Text((words.Printer{From: []string{"-"}}).Flagged(m)); got != "kubectl scylla status -n demo --from -" {
		t.Errorf("the message is %s", got)
	}
}

// TestTheShellReadsTheArgumentsBack asks a real shell, many hostile arguments at a time.
func TestTheShellReadsTheArgumentsBack(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell on this machine")
	}
	hostile := rapid.SliceOfN(rapid.OneOf(
		rapid.StringMatching("[ -~\n\t]{0,12}"),
		rapid.SampledFrom([]string{"$(id)", "`id`", "a b", "'", "\"", "\\", "*", "~", "#x", "!x", ";", "&&", "|", "\n", "-n", "", "x=y", "{a,b}", "é\u202e"}),
	), 1, 40)
	rapid.Check(t, func(t *rapid.T) {
		args := hostile.Draw(t, "args")
		out, err := exec.Command(sh, "-c", `printf '%s\0' `+words.Shell(args)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(args, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// zsh replaces a word "=ls" by the path of ls, and gives an error where there is no such command.
func TestNoHarm33ShellQuotesALeadingEqualsSign(t *testing.T) {
	for arg, want := range map[string]string{"=ls": "x '=ls'", "=": "x '='", "a=b": "x a=b", "--a==b": "x --a==b"} {
		if got := words.Shell(words.Command{"x", arg}); got != want {
			t.Errorf("%q: got %s, want %s", arg, got, want)
		}
	}
}
