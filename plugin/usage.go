// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// ours are the root's persistent flags that the help explains.
var ours = map[string]bool{"color": true, "namespace": true, "context": true, "kubeconfig": true}

// usage writes a command's usage: examples first, because users look for them, and only the most
// used of kubectl's twenty flags. It is not a template: a template engine linked from cobra would
// keep every exported method in the binary.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	if cmd.HasExample() {
		fmt.Fprintf(&b, "Examples:\n%s\n\n", strings.ReplaceAll(cmd.Example, "\n\n", "\n"))
	}
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s [flags]\n", cmd.UseLine())
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
				fmt.Fprintf(&b, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	explained, rare, global := split(cmd)
	if explained.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", explained.FlagUsagesWrapped(100))
	}
	if len(rare) > 0 {
		names := fold(rare, 98)
		if head := "Rarely used, see docs/reference/commands.md:"; len(head)+len(names) <= 100 {
			fmt.Fprintf(&b, "\n%s%s\n", head, names[1:])
		} else {
			fmt.Fprintf(&b, "\n%s\n%s\n", head, names)
		}
	}
	if len(global) > 0 {
		fmt.Fprintf(&b, "\nGlobal flags of kubectl:\n%s\n", fold(global, 98))
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
	fmt.Fprintln(&b, strings.Join(more, ". "))
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
