// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
)

// TableFlags choose and order the lines of nodes.
type TableFlags struct {
	Problems, NoHeaders bool
	SortBy              document.SortFlag
}

// AddFlags binds the flags.
func (f *TableFlags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Problems, "problems", false, "Only nodes that something is wrong with, and of several clusters only those that are not healthy.")
	cmd.Flags().Var(&f.SortBy, "sort-by", "Order of the nodes: "+strings.Join(document.SortKeys(), ", ")+". seen and row put the worst first.")
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false, "Only the lines of the table, without verdict and headers, for scripts.")
	_ = cmd.RegisterFlagCompletionFunc("sort-by", cobra.FixedCompletions(document.SortKeys(), cobra.ShellCompDirectiveNoFileComp))
}

// Validate refuses flags that have no effect on the output format.
func (f *TableFlags) Validate(out *OutputFlags) error {
	if f.NoHeaders && !out.Text() {
		return exit.Usagef("--no-headers is for tables: documents have none")
	}
	return nil
}

// Options of a text with these choices.
func (f *TableFlags) Options(o show.Options) show.Options {
	o.Problems, o.SortBy, o.NoHeaders = f.Problems, f.SortBy, f.NoHeaders
	return o
}
