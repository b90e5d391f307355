// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/docs/samples"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
)

// FromUsage is the usage of --from.
const FromUsage = "Saved objects: an archive, \"kubectl get -o yaml\", must-gather, cluster-info dump, - (standard " +
	"input), or sample:NAME. Repeatable."

// AddFromFlag binds --from.
func (f *ReadFlags) AddFromFlag(cmd *cobra.Command) {
	cmd.Flags().Var(&fromFlag{&f.From, &f.More}, "from", FromUsage)
	_ = cmd.RegisterFlagCompletionFunc("from", completeFrom)
}

// fromFlag is the value of a repeatable --from.
type fromFlag struct {
	first *string
	more  *[]string
}

func (f *fromFlag) String() string {
	if f.first == nil {
		return ""
	}
	return *f.first
}

// Set implements pflag.Value.
func (f *fromFlag) Set(text string) error {
	switch {
	case *f.first == "":
		*f.first = text
	case text == "":
		return errors.New("is empty")
	default:
		*f.more = append(*f.more, text)
	}
	return nil
}

// Type implements pflag.Value.
func (*fromFlag) Type() string { return "string" }

// FromValues returns the values of --from.
func FromValues(f *pflag.Flag) []string {
	if f.Value.String() == "" {
		return nil
	}
	values := []string{f.Value.String()}
	if many, ok := f.Value.(*fromFlag); ok {
		values = append(values, *many.more...)
	}
	return values
}

// readAll reads every file of --from.
func (d *Deps) readAll(flags ReadFlags) (*support.Saved, error) {
	first, err := d.readSaved(flags.From)
	if err != nil || len(flags.More) == 0 {
		return first, err
	}
	all, names := []*support.Saved{first}, append([]string{flags.From}, flags.More...)
	for _, name := range flags.More {
		saved, err := d.readSaved(name)
		if err != nil {
			return nil, err
		}
		all = append(all, saved)
	}
	return support.Merge(all, names)
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
