// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/docs/samples"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// FromUsage is the usage of --from.
const FromUsage = "Saved objects: an archive, output of \"kubectl get -o yaml\", must-gather, cluster-info dump, " +
	"- (standard input), or sample:NAME."

// AddFromFlag binds --from.
func AddFromFlag(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", "", FromUsage)
	_ = cmd.RegisterFlagCompletionFunc("from", completeFrom)
}

// completeFrom completes --from: the samples once sample is typed, else files.
func completeFrom(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(toComplete, strings.TrimSuffix(samples.Prefix, ":")) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, s := range samples.All() {
		if name := samples.Prefix + s.Name; strings.HasPrefix(name, toComplete) {
			names = append(names, name+"\t"+s.Shows)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// saved is candidates for the clusters in saved objects. It does not read standard input, which is
// the user's terminal.
func (d *Deps) saved(ctx context.Context, from string, names func(*cluster.Cluster, cluster.Key) []string) []string {
	if from == "-" {
		return nil
	}
	r, err := d.NewReader(ctx, ReadFlags{From: from, Source: SourceFlag(cluster.SourceAuto)})
	if err != nil {
		return nil
	}
	clusters, err := r.All(ctx)
	if err != nil {
		return nil
	}
	var all []string
	for _, s := range clusters {
		all = append(all, names(s, s.Key)...)
	}
	return all
}
