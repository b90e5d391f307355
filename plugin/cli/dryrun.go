// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// DryRunFlag is the value of --dry-run.
type DryRunFlag string

const (
	DryRunNone   DryRunFlag = "none"
	DryRunClient DryRunFlag = "client" // no request
	DryRunServer DryRunFlag = "server" // checked by the API server, not stored
)

func (f *DryRunFlag) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *DryRunFlag) Set(text string) error {
	v := DryRunFlag(text)
	if !slices.Contains([]DryRunFlag{DryRunNone, DryRunClient, DryRunServer}, v) {
		return fmt.Errorf("must be one of none, client, server")
	}
	*f = v
	return nil
}

// Type implements pflag.Value.
func (*DryRunFlag) Type() string { return "mode" }

// Suffix returns the text after an action in the output: empty without a dry run.
func (f DryRunFlag) Suffix() string {
	switch f {
	case DryRunClient:
		return " (dry run)"
	case DryRunServer:
		return " (server dry run)"
	default:
		return ""
	}
}

// AddFlag binds --dry-run.
func (f *DryRunFlag) AddFlag(cmd *cobra.Command) {
	cmd.Flags().Var(f, "dry-run",
		"client (a bare --dry-run): print the changes, send nothing. server: validate them without persisting.")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = string(DryRunClient)
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "client", "server"},
		cobra.ShellCompDirectiveNoFileComp))
}
