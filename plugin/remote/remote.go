// SPDX-License-Identifier: Apache-2.0

// Package remote is `kubectl scylla remote` with its subcommands. It lets the local controller read
// the reports of a datacenter in another Kubernetes cluster, through a dedicated account there.
// Package internal/remote defines the Secret and the permissions.
package remote

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// options of all four commands; each binds its own flags.
type options struct {
	d                *cli.Deps
	name, cluster    string
	config, context  string // the user's kubeconfig for the remote
	namespace, other string // in the remote: namespace and name of the cluster
	server           string
	report           string // report that aggregates the datacenters
	yes              bool
	dryRun           cli.DryRunFlag
	act              func(context.Context) error
	// adds is true for the command that needs the remote.
	adds   bool
	output cli.OutputFlags // of list
	plain  cli.PlainFlag   // of list and check
}

// NewCmd returns the command, which only contains the subcommands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remote",
		Short: "Let the controller read datacenters in other Kubernetes clusters",
		Long: `Let the controller here read the status reports of datacenters in other Kubernetes clusters, so that
joins in one datacenter also wait for the nodes of the others.

Each Kubernetes cluster has its own controller. To let the other controller also read the
datacenter here, run "remote add" there as well. Step by step: docs/datacenters.md.`,
		Example: cli.Examples(
			"# Show what would be created, there and here",
			exampleAdd,
			"",
			"# List and test the remotes",
			"kubectl scylla remote list",
			"kubectl scylla remote check",
		),
		GroupID: cli.GroupSetup,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		DisableFlagsInUseLine: true,
	}
	cmd.AddGroup(&cobra.Group{ID: group, Title: "Remotes:"})
	cmd.AddCommand(newAddCmd(d), newListCmd(d), newCheckCmd(d), newRemoveCmd(d))
	return cmd
}

const exampleAdd = "kubectl scylla remote add eu demo -n demo --remote-kubeconfig eu.kubeconfig --dry-run=client"

// group of the subcommands in the help.
const group = "remote"

// Complete sets the arguments.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.name = args[0]
	}
	if len(args) > 1 {
		o.cluster = args[1]
	}
	return nil
}

// Validate refuses invalid flags.
func (o *options) Validate(*cobra.Command) error {
	switch {
	case o.name != "" && len(validation.IsDNS1123Label(o.name)) > 0:
		return exit.Usagef("invalid remote name %q: must have only lowercase letters, digits and dashes", o.name)
	case o.adds && o.config == "" && o.context == "":
		return exit.Usagef("specify the other Kubernetes cluster: --remote-context NAME, or --remote-kubeconfig FILE")
	case !o.adds && o.d.NamespaceGiven() != "":
		return exit.Usagef("--namespace cannot be used: the Secrets of remotes are in namespace %s",
			manifests.Namespace)
	case o.dryRun == cli.DryRunServer:
		return exit.Usagef("--dry-run=server cannot be used, because it creates no token: use --dry-run=client")
	case !o.output.Bound():
		return nil
	}
	if err := o.output.Validate(); err != nil {
		return err
	}
	return o.plain.Validate(&o.output)
}

// Run executes the command.
func (o *options) Run(ctx context.Context) error { return o.act(ctx) }

func (o *options) bindRemote(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.config, "remote-kubeconfig", "",
		"Kubeconfig for the other Kubernetes cluster. Default: the current kubeconfig.")
	f.StringVar(&o.context, "remote-context", "", "Context of that kubeconfig. Default: its current context.")
	f.BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	o.dryRun = cli.DryRunNone
	o.dryRun.AddFlag(cmd)
}

// here returns a client for the Kubernetes cluster with the controller.
func (o *options) here() (client.Client, *rest.Config, error) {
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return nil, nil, err
	}
	c, err := plain(cfg)
	return c, cfg, err
}

// plain returns a client without types, to apply objects of many groups.
func plain(cfg *rest.Config) (client.Client, error) {
	c, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("create client for %s: %w", cfg.Host, err)
	}
	return c, nil
}

// there returns the configuration of the remote Kubernetes cluster from the user's flags.
func (o *options) there() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if k := o.d.Flags.KubeConfig; k != nil {
		rules.ExplicitPath = *k
	}
	if o.config != "" {
		rules.ExplicitPath = o.config
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	if err != nil {
		return nil, exit.WithHint(fmt.Errorf("read the kubeconfig of the remote: %w", err),
			"list the contexts: kubectl config get-contexts")
	}
	return cfg, nil
}

// home returns the UID of the controller's namespace, which identifies the controller in accounts
// of other Kubernetes clusters.
func home(ctx context.Context, c client.Client) (string, error) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	if err := c.Get(ctx, client.ObjectKey{Name: manifests.Namespace}, u); apierrors.IsNotFound(err) {
		return "", exit.WithHint(exit.Refusedf("no controller here: namespace %s does not exist", manifests.Namespace),
			"install it first", words.Scylla("", "install")...)
	} else if err != nil {
		return "", fmt.Errorf("read namespace %s: %w", manifests.Namespace, err)
	}
	return string(u.GetUID()), nil
}

// remotes returns the Secrets of remotes, or only the one with the name if set. If there are none,
// it prints a message on standard error.
func (o *options) remotes(ctx context.Context) ([]corev1.Secret, error) {
	c, err := o.d.NewClient()
	if err != nil {
		return nil, err
	}
	var l corev1.SecretList
	if err := c.List(ctx, &l, client.InNamespace(manifests.Namespace),
		client.HasLabels{api.LabelRemoteKubeconfig}); err != nil {
		return nil, fmt.Errorf("list the Secrets of remotes in namespace %s: %w", manifests.Namespace, err)
	}
	if o.name == "" {
		if len(l.Items) == 0 {
			o.d.Say("no remotes: the controller reads only this Kubernetes cluster\n")
		}
		return l.Items, nil
	}
	var names []corev1.Secret
	for i := range l.Items {
		if c, _ := shared.FromSecret(&l.Items[i]); c.Name == o.name {
			names = append(names, l.Items[i])
		}
	}
	if len(names) == 0 {
		return nil, exit.WithHint(fmt.Errorf("remote %s not found", o.name), "list the remotes",
			words.Scylla("", "remote", "list")...)
	}
	return names, nil
}

// say writes one line to standard output.
func (o *options) say(format string, args ...any) error {
	if _, err := fmt.Fprintf(o.d.Streams.Out, format+"\n", args...); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}
