// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

const commandsHead = `# Commands

Here you find every command of ` + "`kubectl scylla`" + ` with its options, and the meaning of an exit code. ` + "`go run ./cmd/gen`" + ` writes this page from the help of the commands.
` + "`kubectl scylla COMMAND --help`" + ` has the three examples of each that people type most; further ones are here.

## Exit codes

| code | meaning | example |
|---|---|---|
| 0 | yes | the cluster is healthy; the member may start; the change is done |
| 1 | error | the API server is not reachable; a permission is missing; the cluster does not exist |
| 2 | wrong usage, or refused | an unknown flag or member; not confirmed; a check forbids the change |
| 3 | condition not met, or unknown | ` + "`status`" + `: not healthy; ` + "`barrier`" + `: a member must wait |
| 4 | timed out | ` + "`--wait`" + ` took longer than ` + "`--timeout`" + ` |
| 130 | interrupted | Ctrl-C |

The answer goes to standard output; progress, questions, warnings and errors go to standard error. With code 3 the answer is on standard output and standard error is empty.
`

// commandsPage returns docs/reference/commands.md.
func commandsPage(root *cobra.Command) []byte {
	var b strings.Builder
	b.WriteString(commandsHead)
	all := documented(root)
	times := map[string]int{}
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	var kubectls, paragraphs []string
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "color" {
			flags.AddFlag(f)
			return
		}
		kubectls = append(kubectls, "`--"+f.Name+"`")
	})
	for _, cmd := range all {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if times[line(f)]++; times[line(f)] == 2 && own(cmd, f) && shared.Lookup(f.Name) == nil {
				shared.AddFlag(f)
			}
		})
		for _, text := range long(cmd) {
			if times[text]++; times[text] == 2 {
				paragraphs = append(paragraphs, text)
			}
		}
	}
	flags.AddFlagSet(shared)
	fmt.Fprintf(&b,
		"\n## What several commands share\n\n%s\n\nEvery command has `--color`, and these options of kubectl: %s.\n\n",
		strings.Join(paragraphs, "\n\n"), strings.Join(kubectls, ", "))
	fence(&b, usages(flags))
	for _, cmd := range all {
		command(&b, cmd, shared, func(text string) bool { return times[text] > 1 })
	}
	return []byte(strings.TrimSpace(b.String()) + "\n")
}

// long returns the paragraphs of a command's description.
func long(cmd *cobra.Command) []string {
	text := strings.TrimSpace(cmd.Long)
	if text == "" {
		text = cmd.Short + "."
	}
	return strings.Split(text, "\n\n")
}

// own reports whether a flag is neither --help nor one of kubectl's that every command has.
func own(cmd *cobra.Command, f *pflag.Flag) bool {
	return f.Name != "help" && !f.Hidden && cmd.Root().PersistentFlags().Lookup(f.Name) != f
}

// line returns the identity of a flag in the help: name, usage, default.
func line(f *pflag.Flag) string { return f.Name + "\x00" + f.Usage + "\x00" + f.DefValue }

// command writes one command, without paragraphs and options that are printed elsewhere.
func command(b *strings.Builder, cmd *cobra.Command, shared *pflag.FlagSet, elsewhere func(string) bool) {
	fmt.Fprintf(b, "## %s\n\n", cmd.CommandPath())
	for _, text := range long(cmd) {
		if !elsewhere(text) {
			b.WriteString(text + "\n\n")
		}
	}
	for _, alias := range cmd.Aliases {
		fmt.Fprintf(b, "Alias: `%s %s`.\n\n", cmd.Parent().CommandPath(), alias)
	}
	if cmd.Runnable() {
		fence(b, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	}
	var also []string
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch s := shared.Lookup(f.Name); {
		case !own(cmd, f):
		case s != nil && line(s) == line(f):
			also = append(also, "`--"+f.Name+"`")
		default:
			flags.AddFlag(f)
		}
	})
	fence(b, usages(flags))
	if _, rest := cli.SplitExamples(cmd.Example); len(rest) > 0 {
		fence(b, strings.Join(rest, "\n"))
	}
	if len(also) > 0 {
		fmt.Fprintf(b, "Also: %s.\n\n", strings.Join(also, ", "))
	}
}

func usages(flags *pflag.FlagSet) string {
	flags.SortFlags = true
	return flags.FlagUsagesWrapped(0)
}

func fence(b *strings.Builder, text string) {
	if text = strings.Trim(text, "\n"); text != "" {
		b.WriteString("```\n" + text + "\n```\n\n")
	}
}
