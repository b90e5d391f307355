// SPDX-License-Identifier: Apache-2.0

// Package exec is `kubectl scylla exec`: a command in a member's ScyllaDB container, or in those of several. It chooses Pod and container, and does not interpret the command.
package exec

import (
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	return cli.NewRemoteCmd(d, &cobra.Command{
		Use:   "exec (MEMBER | --all | -l SELECTOR) -- COMMAND [ARGS...]",
		Short: "Run a command in a node's ScyllaDB container, or in those of several",
		Long: `Run a command in a node's ScyllaDB container, or in those of several.

` + cli.MemberForms + ` With --all or -l
it runs on several nodes, and each line begins with the member that it comes from.

On a terminal the command gets one too: a shell works, and Ctrl-C goes to it. Elsewhere
standard input is passed with --stdin.

Exit code: that of the command; of several nodes 1 where it failed on any. 2 refused:
no such member, or its container does not run.`,
		Example: cli.Examples(
			"# A shell on a node",
			"kubectl scylla exec rack1/0 -n demo -- bash",
			"",
			"# Do all nodes have the same settings?",
			"kubectl scylla exec --all -n demo -- bash -c 'cat /etc/scylla/scylla.yaml'",
			"",
			"# Which version do those of one rack run?",
			"kubectl scylla exec -l scylla/rack=rack1 -n demo -- scylla --version",
		),
	}, &cli.Remote{})
}
