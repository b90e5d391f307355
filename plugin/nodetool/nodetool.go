// SPDX-License-Identifier: Apache-2.0

// Package nodetool is `kubectl scylla nodetool`: nodetool on a member, or on several. Of the command it knows only which ones change the topology: before these it asks, if a
// finding speaks against them.
package nodetool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	yes := false
	ask := func(ctx context.Context, targets []cli.Target, command []string) error {
		if yes || !changesTopology(command) {
			return nil
		}
		return confirm(ctx, d, targets, command)
	}
	cmd := cli.NewRemoteCmd(d, &cobra.Command{
		Use:   "nodetool (MEMBER | --all | -l SELECTOR) -- COMMAND [ARGS...]",
		Short: "Run nodetool on a node, or on several",
		Long: `Run nodetool on a node, or on several.

` + cli.MemberForms + ` With --all or -l
it runs on several nodes, and each line begins with the member that it comes from.

Beware: with the Scylla Operator, what nodetool changes in the topology (removenode,
decommission) it does not learn of by itself.

Before decommission, removenode, excludenode and rebuild it reads the status. If a finding
speaks against the command, or nothing could be read, it shows that and asks.

Exit code: that of nodetool; of several nodes 1 where it failed on any. 2 refused: no
such member, its container does not run, or not confirmed.`,
		Example: cli.Examples(
			"# Whom does this node see?",
			"kubectl scylla nodetool rack1/0 -n demo -- status",
			"",
			"# Do all of them say the same?",
			"kubectl scylla nodetool --all -n demo -- status",
			"",
			"# How are the nodes of rack1?",
			"kubectl scylla nodetool -l scylla/rack=rack1 -n demo -- info",
			"",
			"# Without a question, even if a node is DOWN",
			"kubectl scylla nodetool rack1/2 -n demo --yes -- decommission",
		),
	}, &cli.Remote{Program: []string{"nodetool"}, Ask: ask})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "Do not ask.")
	return cmd
}

// topology are the commands that move a node's data or remove a node.
var topology = []string{"decommission", "removenode", "excludenode", "rebuild"}

// changesTopology is true for a command of topology. It may stand after options; "removenode
// status" only shows.
func changesTopology(command []string) bool {
	i := slices.IndexFunc(command, func(arg string) bool { return slices.Contains(topology, arg) })
	return i >= 0 && !slices.Contains(command[:i], "help") && (command[i] != "removenode" || !slices.Contains(command[i+1:], "status"))
}

// confirm asks if a finding, or what is known of a host ID in the command, speaks against it.
func confirm(ctx context.Context, d *cli.Deps, targets []cli.Target, command []string) error {
	against, err := findings(ctx, d, targets, command)
	if err != nil {
		against = []string{fmt.Sprintf("the status could not be read: %s", exit.Describe(err))}
	}
	if len(against) == 0 {
		return nil
	}
	for _, text := range against {
		d.Warn("%s", text)
	}
	return d.Confirm(ctx, fmt.Sprintf("Run nodetool %s all the same?", strings.Join(command, " ")), "yes")
}

// findings are those of the targets' clusters that are no remarks, and what speaks against removing
// the host IDs in the command.
func findings(ctx context.Context, d *cli.Deps, targets []cli.Target, command []string) ([]string, error) {
	reader, err := d.NewReader(ctx, cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAuto), ControllerNamespace: cli.DefaultControllerNamespace})
	if err != nil {
		return nil, err
	}
	all, err := reader.All(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range all {
		if !slices.ContainsFunc(targets, func(t cli.Target) bool {
			return slices.ContainsFunc(c.Members(), func(m cluster.Member) bool { return m.Namespace == t.Namespace && m.Member == t.Member })
		}) {
			continue
		}
		for _, f := range diagnosis.Of(c) {
			if !f.Remark {
				out = append(out, words.Text(f.Message))
			}
		}
		for _, arg := range command {
			if id := hostid.Known(arg); id != "" {
				out = append(out, notRemovable(c, id)...)
			}
		}
	}
	return out, nil
}

// notRemovable says why a host ID should not be removed: it is a member's, or Stranger has a reason.
func notRemovable(c *cluster.Cluster, id hostid.ID) []string {
	for _, m := range c.Members() {
		if m.HostID == id && m.Service != nil {
			return []string{fmt.Sprintf("host ID %s is that of member %s", id, m.Name())}
		}
	}
	if why := c.Stranger(id); !why.IsZero() {
		return []string{fmt.Sprintf("host ID %s may not be removed: %s", id, words.Text(why))}
	}
	return nil
}
