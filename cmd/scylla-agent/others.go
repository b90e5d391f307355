// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/controller"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/launch"
)

// others returns the subcommands that have their own packages.
func (a *agent) others() []*cobra.Command {
	return []*cobra.Command{a.controllerCommand(), launch.NewCommand(), credential.NewCommand(limitMemory)}
}

func (a *agent) controllerCommand() *cobra.Command {
	o := controller.DefaultOptions()
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Assemble reports, maintain member Services, propagate force annotations, replace nodes",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.restConfig()
			if err != nil {
				return err
			}
			o.Log = a.log
			limitMemory()
			return working(controller.Run(cmd.Context(), cfg, o))
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
