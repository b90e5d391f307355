// SPDX-License-Identifier: Apache-2.0

// Package controllerverb is `kubectl scylla controller`: the controller of the image, run out of the cluster with the credentials of the current
// kubeconfig. It joins plugin and controller, which never import each other; the main and the generator of the docs share it.
package controllerverb

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/controller"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	d          *cli.Deps
	controller controller.Options
	level      slog.Level
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, controller: controller.DefaultOptions()}
	// On a person's machine nobody scrapes and nobody probes, and the ports may be taken.
	o.controller.MetricsBindAddress, o.controller.HealthProbeBindAddress = "0", "0"
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller here instead of in the cluster, until Ctrl-C",
		Long: `Run the controller here instead of in the cluster, until Ctrl-C.

It is the controller of the image: for ScyllaDB on plain StatefulSets it makes member
Services, assembles the reports of who sees whom, carries force annotations and replaces
nodes. It uses the current kubeconfig. With leader election, which is the default, it
waits while another one is at work.

Barriers trust reports only while the controller renews its Lease: when you stop it
and no other takes over, newcomers wait.`,
		Example: cli.Examples(
			"# Look after all namespaces",
			"kubectl scylla controller",
			"",
			"# Look after namespace demo only, and say every step",
			"kubectl scylla controller --namespaces demo --log-level debug",
			"",
			"# Let Prometheus scrape it",
			"kubectl scylla controller --metrics-bind-address 127.0.0.1:18080",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(0),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	o.controller.AddFlags(cmd.Flags())
	cmd.Flags().TextVar(&o.level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	return cmd
}

// Complete gives the controller its log and clock.
func (o *options) Complete(*cobra.Command, []string) error {
	o.controller.Log = slog.New(slog.NewTextHandler(o.d.Streams.ErrOut, &slog.HandlerOptions{Level: o.level}))
	o.controller.Clock = o.d.Clock
	return nil
}

// Validate refuses -n, which would be read as the namespace to look after, and what the controller itself would refuse.
func (o *options) Validate(*cobra.Command) error {
	if ns := o.d.NamespaceGiven(); ns != "" {
		return exit.Usagef("--namespace does nothing here: say which namespaces to look after with --namespaces %s", ns)
	}
	return o.controller.Validate()
}

// Run runs the controller until ctx ends.
func (o *options) Run(ctx context.Context) error {
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return err
	}
	if err := controller.Run(ctx, cfg, o.controller); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exit.Interrupted(ctx.Err())
	}
	return nil
}
