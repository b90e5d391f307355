// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ours are the persistent flags of the root that are not kubectl's own.
var ours = map[string]bool{"color": true, "namespace": true, "context": true, "kubeconfig": true}

// usage writes a command's usage: examples first, as people look for them, and only the most used of kubectl's twenty flags. A function and not a template, because reaching a
// template engine from cobra would keep every exported method of the binary alive.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	if cmd.HasExample() {
		fmt.Fprintf(&b, "Examples:\n%s\n\n", cmd.Example)
	}
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s [flags]\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(&b, "\n%s\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(&b, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if f := cmd.LocalNonPersistentFlags(); f.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", f.FlagUsagesWrapped(100))
	}
	common, more := split(cmd.Root().PersistentFlags(), cmd)
	if common.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nCommon flags:\n%s", common.FlagUsagesWrapped(100))
	}
	if len(more) > 0 {
		fmt.Fprintf(&b, "\nAlso kubectl's own:\n%s\n", fold(more, 96))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nMore about a command: %s COMMAND --help\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// split takes the root's flags apart: those that are explained, and the names of the others that cmd does not shadow.
func split(all *pflag.FlagSet, cmd *cobra.Command) (*pflag.FlagSet, []string) {
	common := pflag.NewFlagSet("common", pflag.ContinueOnError)
	var more []string
	all.VisitAll(func(f *pflag.Flag) {
		switch local := cmd.LocalNonPersistentFlags().Lookup(f.Name); {
		case f.Hidden || local != nil && local != f:
		case ours[f.Name]:
			common.AddFlag(f)
		default:
			more = append(more, "--"+f.Name)
		}
	})
	return common, more
}

// fold writes words in lines of at most width cells.
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
