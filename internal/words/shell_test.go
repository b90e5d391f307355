// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestShellQuotesWhatIsNotPlain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args code.Command
		want string
	}{
		"plain":              {code.Scylla("demo", "replace", "1ffac2bb-0000-4000-8000-000000000000"), "kubectl scylla replace 1ffac2bb-0000-4000-8000-000000000000 -n demo"},
		"an attack":          {code.Command{"nodetool", "removenode", "x; touch /tmp/p #"}, "nodetool removenode 'x; touch /tmp/p #'"},
		"a quote":            {code.Command{"echo", "it's"}, `echo 'it'\''s'`},
		"nothing":            {code.Command{"echo", ""}, "echo ''"},
		"a home directory":   {code.Command{"echo", "~root"}, "echo '~root'"},
		"a variable":         {code.Command{"echo", "$HOME"}, "echo '$HOME'"},
		"a letter of no use": {code.Command{"echo", "é"}, "echo 'é'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, words.Shell(c.args)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
