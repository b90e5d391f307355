// SPDX-License-Identifier: Apache-2.0

// Package demo is `kubectl scylla demo`: built-in sample clusters. It needs no API server and
// changes nothing.
package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/docs/samples"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/status"
)

type options struct {
	d    *cli.Deps
	name string
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	return &cobra.Command{
		Use:   "demo [SAMPLE]",
		Short: "Explore built-in sample clusters, without a real cluster",
		Long: `Explore built-in sample clusters, without a real cluster.

Without SAMPLE it lists the samples. With SAMPLE it opens the dashboard, or prints the status if
standard input or output is not a terminal. status, barrier, describe, report,
dashboard and replace status accept --from sample:NAME.`,
		Example: cli.Examples(
			"# List the samples",
			"kubectl scylla demo",
			"",
			"# Open the dashboard: a node has failed and a new node is waiting",
			"kubectl scylla demo incident",
			"",
			"# Why is the new node waiting?",
			"kubectl scylla barrier --from sample:incident",
		),
		GroupID:               cli.GroupInspect,
		Args:                  cli.AtMost(1),
		ValidArgsFunction:     complete,
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
}

func complete(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, s := range samples.All() {
		if len(args) == 0 && strings.HasPrefix(s.Name, toComplete) {
			names = append(names, s.Name+"\t"+s.Shows)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Complete sets the name.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.name = args[0]
	}
	return nil
}

// Validate refuses unknown samples.
func (o *options) Validate(*cobra.Command) error {
	if _, ok := samples.Find(o.name); o.name != "" && !ok {
		return exit.Usage(&samples.UnknownError{Name: o.name})
	}
	return nil
}

// Run lists the samples, or shows one.
func (o *options) Run(ctx context.Context) error {
	if o.name == "" {
		return o.list()
	}
	t := o.d.Terminal()
	show := dashboard.NewCmd
	if !t.In || !t.Out {
		show = status.NewCmd
	}
	cmd := show(o.d)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true // the caller prints it
	cmd.SetArgs([]string{"--from", samples.Prefix + o.name})
	return cmd.ExecuteContext(ctx)
}

func (o *options) list() error {
	opts := o.d.Options(false)
	var b strings.Builder
	wide := 0
	for _, s := range samples.All() {
		wide = max(wide, len(s.Name))
	}
	for _, s := range samples.All() {
		fmt.Fprintf(&b, "%-*s  %s\n", wide, s.Name, s.Shows)
		for _, try := range s.Try {
			fmt.Fprintf(&b, "%-*s  kubectl scylla %s --from %s%s\n", wide, "", try, samples.Prefix, s.Name)
		}
	}
	return o.d.Print(b.String(), opts)
}
