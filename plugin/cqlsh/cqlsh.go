// SPDX-License-Identifier: Apache-2.0

// Package cqlsh is `kubectl scylla cqlsh`: the CQL shell on a member. It does not interpret the statements.
package cqlsh

import (
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	return cli.NewRemoteCmd(d, &cobra.Command{
		Use:   "cqlsh (MEMBER | --all | -l SELECTOR) [-- ARGS...]",
		Short: "Open the CQL shell on a node",
		Long: `Open the CQL shell on a node, the one of ScyllaDB's own image.

` + cli.MemberForms + ` With --all or -l
it runs on several nodes, and each line begins with the member that it comes from.

On a terminal it is the shell; elsewhere it reads statements from standard input, or
from the argument -e. Whether it asks for a user is the cluster's matter.

Exit code: that of cqlsh; of several nodes 1 where it failed on any. 2 refused: no such
member, or its container does not run.`,
		Example: cli.Examples(
			"# A CQL shell",
			"kubectl scylla cqlsh rack1/0 -n demo",
			"",
			"# One statement",
			`kubectl scylla cqlsh rack1/0 -n demo -- -e "DESCRIBE KEYSPACES"`,
			"",
			"# The same on every node",
			`kubectl scylla cqlsh --all -n demo -- -e "SELECT release_version FROM system.local"`,
		),
	}, &cli.Remote{Program: []string{"cqlsh"}, Bare: true, Stdin: true})
}
