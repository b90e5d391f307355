// SPDX-License-Identifier: Apache-2.0

// Package nodetool is `kubectl scylla nodetool`: nodetool on a member, or on several. It does not interpret the command.
package nodetool

import (
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	return cli.NewRemoteCmd(d, &cobra.Command{
		Use:   "nodetool (MEMBER | --all | -l SELECTOR) -- COMMAND [ARGS...]",
		Short: "Run nodetool on a node, or on several",
		Long: `Run nodetool on a node, or on several.

` + cli.MemberForms + ` With --all or -l
it runs on several nodes, and each line begins with the member that it comes from.

Beware: with the Scylla Operator, what nodetool changes in the topology (removenode,
decommission) it does not learn of by itself.

Exit code: that of nodetool; of several nodes 1 where it failed on any. 2 refused: no
such member, or its container does not run.`,
		Example: cli.Examples(
			"# Whom does this node see?",
			"kubectl scylla nodetool rack1/0 -n demo -- status",
			"",
			"# Do all of them say the same?",
			"kubectl scylla nodetool --all -n demo -- status",
			"",
			"# How are the nodes of rack1?",
			"kubectl scylla nodetool -l scylla/rack=rack1 -n demo -- info",
		),
	}, &cli.Remote{Program: []string{"nodetool"}})
}
