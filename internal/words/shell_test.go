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

// TestMentionedCommandsHaveTheFlags: a command within a sentence works where it is pasted.
func TestMentionedCommandsHaveTheFlags(t *testing.T) {
	t.Parallel()
	p := words.Printer{Flags: []string{"--context=a b", "--as=me"}}
	for text, want := range map[string]string{
		"see why: kubectl scylla logs a -n demo":              "see why: kubectl scylla '--context=a b' --as=me logs a -n demo",
		`"kubectl scylla status -A" lists them`:               `"kubectl scylla '--context=a b' --as=me status -A" lists them`,
		"try: kubectl cluster-info":                           "try: kubectl '--context=a b' --as=me cluster-info",
		"see: kubectl scylla status --help":                   "see: kubectl scylla status --help",
		"list the contexts with: kubectl config get-contexts": "list the contexts with: kubectl config get-contexts",
		"kubectl scylla '--context=a b' --as=me status":       "kubectl scylla '--context=a b' --as=me status",
		"managed by kubectl-scylla, read by you":              "managed by kubectl-scylla, read by you",
	} {
		if got := p.Mentioned(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if again := p.Mentioned(p.Mentioned(text)); again != want {
			t.Errorf("%q becomes %q the second time", text, again)
		}
	}
	if got := (words.Printer{}).Mentioned("kubectl scylla status"); got != "kubectl scylla status" {
		t.Errorf("without flags: %q", got)
	}
}

// TestRepeatPutsTheFlagsIntoDocuments: into commands, sentences and fields that mention commands, once however often.
func TestRepeatPutsTheFlagsIntoDocuments(t *testing.T) {
	t.Parallel()
	type part struct {
		Step *words.Statement
		Done words.ShellCommand
		Cure string `words:"mentions"`
		Said string
	}
	type document struct {
		Parts  []part
		Parts2 []*part
	}
	p := words.Printer{Flags: []string{"--context=test"}}
	made := func() part {
		step := words.Printer{}.Document(words.New(words.ReadLogOrReplace).Do(words.Kubectl("demo", "logs", "a"), words.Scylla("demo", "replace", "1")))
		return part{Step: step, Done: words.ShellCommand{Args: words.Kubectl("", "get", "pod")}, Cure: "kubectl scylla status", Said: "kubectl scylla status"}
	}
	one := made()
	doc := &document{Parts: []part{made()}, Parts2: []*part{&one, nil}}
	p.Repeat(doc)
	p.Repeat(doc)
	for _, got := range []part{doc.Parts[0], one} {
		if got.Step.Commands[0].Shell != "kubectl --context=test logs a -n demo" || !strings.Contains(got.Step.Text, "kubectl scylla --context=test replace 1 -n demo") {
			t.Errorf("the step is %+v", got.Step)
		}
		if got.Done.Shell != "kubectl --context=test get pod" || got.Cure != "kubectl scylla --context=test status" || got.Said != "kubectl scylla status" {
			t.Errorf("got %+v", got)
		}
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
