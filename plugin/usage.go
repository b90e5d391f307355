// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// ours are the root's persistent flags that the help explains.
var ours = map[string]bool{"color": true, "namespace": true, "context": true, "kubeconfig": true}

// helpWidth is the width of the help, as of a terminal of 80 columns.
const helpWidth = 80

// sourceWidth is the width up to which the descriptions of the commands are filled.
const sourceWidth = 100

// help writes a command's description, filled to helpWidth, and its usage.
func help(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	paragraph, before := "", ""
	flush := func() {
		if paragraph != "" {
			writeLines(&b, show.Wrap(paragraph, helpWidth, ""))
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), "\n") {
		first, _, _ := strings.Cut(line, " ")
		name := listed.FindString(line)
		switch {
		case name != "":
			flush()
			writeLines(&b, hanging(name, line[len(name):]))
		case paragraph != "" && line != "" && !begins.MatchString(line) && len(before)+1+len(first) > sourceWidth:
			paragraph += " " + line // the sentence continues
		case line == "":
			flush()
			b.WriteByte('\n')
		default:
			flush()
			paragraph = line
		}
		before = line
	}
	flush()
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", b.String(), cmd.UsageString())
}

// begins is the begin of a line that continues no other.
var begins = regexp.MustCompile(`^(Exit code|MEMBER): `)

// listed is the name in a line of a list.
var listed = regexp.MustCompile(`^ +\S+ +`)

// hanging wraps a text after a name, and continues it below its begin.
func hanging(name, text string) []string {
	lines := show.Wrap(text, helpWidth-len(name), "")
	for i := range lines {
		lines[i] = name + lines[i]
		name = strings.Repeat(" ", len(name))
	}
	return lines
}

func writeLines(b *strings.Builder, lines []string) {
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
}

// usage writes a command's usage: examples first, because users look for them, and only the most
// used of kubectl's twenty flags. It is not a template: a template engine linked from cobra would
// keep every exported method in the binary.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	if cmd.HasExample() {
		typed, _ := cli.SplitExamples(cmd.Example)
		fmt.Fprintf(&b, "Examples:\n%s\n\n", strings.Join(typed, "\n"))
	}
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		writeLines(&b, show.Wrap("  "+cmd.UseLine()+" [flags]", helpWidth, "    "))
		if len(cmd.Aliases) > 0 {
			fmt.Fprintf(&b, "  Alias: %s\n", strings.Join(cmd.Aliases, ", "))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(&b, "\n%s\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				lead := fmt.Sprintf("  %-*s  ", sub.NamePadding(), sub.Name())
				writeLines(&b, hanging(lead, sub.Short))
			}
		}
	}
	explained, rare, global := split(cmd)
	if explained.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", explained.FlagUsagesWrapped(helpWidth))
	}
	if len(rare) > 0 {
		names := fold(rare, helpWidth)
		if head := "Rarely used, see docs/reference/commands.md:"; len(head)+len(names) <= helpWidth {
			fmt.Fprintf(&b, "\n%s%s\n", head, names[1:])
		} else {
			fmt.Fprintf(&b, "\n%s\n%s\n", head, names)
		}
	}
	if len(global) > 0 {
		fmt.Fprintf(&b, "\nGlobal flags of kubectl:\n%s\n", fold(global, helpWidth))
	}
	if len(rare) == 0 {
		b.WriteString("\n")
	}
	var more []string
	if cmd.HasAvailableSubCommands() {
		more = append(more, "More: "+cmd.CommandPath()+" COMMAND --help")
	}
	if cmd.HasParent() {
		more = append(more, "Global flags (-n, --context ...): "+cmd.Root().CommandPath()+" --help")
	}
	writeLines(&b, more)
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// split returns the flags of cmd that are explained, the names of those that are rarely used, and
// at the root the names of kubectl's.
func split(cmd *cobra.Command) (explained *pflag.FlagSet, rare, global []string) {
	explained = pflag.NewFlagSet("explained", pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		switch _, rarely := f.Annotations[cli.RarelyUsed]; {
		case f.Hidden || f.Name == "help":
		case rarely:
			rare = append(rare, "--"+f.Name)
		case cmd.Root().PersistentFlags().Lookup(f.Name) == f && !ours[f.Name]:
			global = append(global, "--"+f.Name)
		default:
			explained.AddFlag(f)
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(add)
	if !cmd.HasParent() {
		cmd.PersistentFlags().VisitAll(add)
	}
	return explained, rare, global
}

// hideUntilTyped hides the flags of kubectl from a completion of all flags: one that is typed up to
// its first letter is completed.
func hideUntilTyped(root *cobra.Command, args []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) ||
		strings.Trim(args[len(args)-1], "-") != "" {
		return
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Hidden || !ours[f.Name] || f.Name == "kubeconfig"
	})
}

// fold returns words in lines of at most width cells.
func fold(words []string, width int) string {
	var lines []string
	line := " "
	for _, w := range words {
		if len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = " "
		}
		line += " " + w
	}
	return strings.Join(append(lines, line), "\n")
}
