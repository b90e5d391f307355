// SPDX-License-Identifier: Apache-2.0

// Command test-cluster is the project's test Kubernetes for people: see the usage text.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
)

const (
	exitError       = 1
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := command(os.Stdout, os.Stderr).ExecuteContext(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintf(os.Stderr, "test-cluster: %v\n", err)
		os.Exit(exitError)
	}
}

func command(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "test-cluster",
		Short: "Run the Kubernetes that the project's tests run on",
		Long: `Run the Kubernetes that the project's tests run on: etcd, the control plane, and kubelets with containerd,
in namespaces of their own, all gone when this command ends.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(upCommand(), buildCommand(), kubectlCommand(), checkCommand())
	return root
}

func upCommand() *cobra.Command {
	opts := cluster.Options{}
	nodes := 3
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster and keep it until Ctrl-C",
		Example: `  # three Kubernetes nodes (root on Linux) with an image from a file
  go run ./test/cluster/cmd/test-cluster up --image agent.tar

  # a control plane alone, as any user
  go run ./test/cluster/cmd/test-cluster up --nodes 0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Log = cmd.ErrOrStderr()
			var c *cluster.Cluster
			var err error
			if nodes == 0 {
				c, err = cluster.StartControlPlane(cmd.Context(), opts)
			} else {
				opts.Nodes = nodes
				c, err = cluster.StartNodes(cmd.Context(), opts)
			}
			if err != nil {
				return err
			}
			link := c.KubectlPath()
			fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\n", c.Kubeconfig())
			fmt.Fprintf(cmd.ErrOrStderr(), `
The cluster runs until Ctrl-C. In another terminal:
    export KUBECONFIG=%s
    kubectl get nodes,pods --all-namespaces
A kubectl of its version is at %s.
Logs are in %s.
`, c.Kubeconfig(), link, c.LogDir())
			select {
			case <-cmd.Context().Done():
				fmt.Fprintln(cmd.ErrOrStderr(), "stopping")
				return c.Stop()
			case <-c.Done():
				return errors.Join(errors.New("the cluster's supervisor ended by itself"), c.Stop())
			}
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", nodes, "Kubernetes nodes to start; 0 starts the control plane alone")
	cmd.Flags().StringArrayVar(&opts.Images, "image", nil, "image archive to load into every node; may be repeated")
	cmd.Flags().StringVar(&opts.StateDir, "state-dir", "", "empty directory for everything the cluster writes; stays (default a temporary one that goes)")
	cmd.Flags().StringArrayVar(&opts.APIServerFlags, "apiserver-flag", nil, "further flag of kube-apiserver, as --apiserver-flag=--v=4; may be repeated")
	cmd.Flags().DurationVar(&opts.NodeMonitorGracePeriod, "node-monitor-grace-period", 0, "silence until a node is NotReady (default 10s)")
	return cmd
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build Kubernetes " + build.KubernetesVersion + " into the user's cache directory and print its path",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := build.Kubernetes(cmd.Context(), cmd.ErrOrStderr())
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), b.Kubernetes)
			}
			return err
		},
	}
}

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl ARG...",
		Short:              "Run the built-in kubectl with the current kubeconfig",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := build.Kubernetes(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			// In place of this process, so that terminal, signals and exit code are kubectl's own.
			err = syscall.Exec(b.Kubernetes, append([]string{"kubectl"}, args...), os.Environ())
			return fmt.Errorf("run kubectl: %w", err)
		},
	}
}

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Tell what this machine lacks for a cluster with Kubernetes nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if missing := cluster.MissingPrerequisites(); len(missing) > 0 {
				return fmt.Errorf("missing here:\n  %s", strings.Join(missing, "\n  "))
			}
			fmt.Fprintln(cmd.OutOrStdout(), "this machine can run Kubernetes nodes")
			return nil
		},
	}
}
