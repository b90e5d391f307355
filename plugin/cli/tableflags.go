// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
)

// PlainFlag prints a table for programs.
type PlainFlag struct{ NoHeaders bool }

// AddFlag binds --no-headers.
func (f *PlainFlag) AddFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false,
		"Print only lines for awk: no verdict and headers, every column one word (see docs/reference/json.md).")
	Rarely(cmd, "no-headers")
}

// Validate refuses --no-headers without a table.
func (f *PlainFlag) Validate(out *OutputFlags) error {
	if f.NoHeaders && !out.Text() {
		return exit.Usagef("--no-headers requires a table: documents have no headers")
	}
	return nil
}

// TableFlags select and sort the lines of nodes.
type TableFlags struct {
	PlainFlag
	Problems bool
	SortBy   document.SortFlag
}

// AddFlags binds the flags.
func (f *TableFlags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Problems, "problems", false,
		"Show only nodes with problems, or clusters that are not healthy.")
	cmd.Flags().Var(&f.SortBy, "sort-by", "Sort nodes by: "+strings.Join(document.SortKeys(), ", ")+".")
	f.AddFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("sort-by",
		cobra.FixedCompletions(document.SortKeys(), cobra.ShellCompDirectiveNoFileComp))
}

// Options returns o with these choices.
func (f *TableFlags) Options(o show.Options) show.Options {
	o.Problems, o.SortBy, o.NoHeaders = f.Problems, f.SortBy, f.NoHeaders
	return o
}
