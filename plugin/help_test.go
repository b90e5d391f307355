// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

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
