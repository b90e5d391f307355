// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
)

// TableFlags select and sort the lines of nodes.
type TableFlags struct {
	Problems, NoHeaders bool
	SortBy              document.SortFlag
}

// AddFlags binds the flags.
func (f *TableFlags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Problems, "problems", false,
		"Show only nodes with problems, or clusters that are not healthy.")
	cmd.Flags().Var(&f.SortBy, "sort-by", "Sort nodes by: "+strings.Join(document.SortKeys(), ", ")+".")
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false,
		"Print only the lines of the table, without verdict and headers.")
	Rarely(cmd, "no-headers")
	_ = cmd.RegisterFlagCompletionFunc("sort-by",
		cobra.FixedCompletions(document.SortKeys(), cobra.ShellCompDirectiveNoFileComp))
}

// Validate refuses flags without effect on the output format.
func (f *TableFlags) Validate(out *OutputFlags) error {
	if f.NoHeaders && !out.Text() {
		return exit.Usagef("--no-headers requires a table: documents have no headers")
	}
	return nil
}

// Options returns o with these choices.
func (f *TableFlags) Options(o show.Options) show.Options {
	o.Problems, o.SortBy, o.NoHeaders = f.Problems, f.SortBy, f.NoHeaders
	return o
}
