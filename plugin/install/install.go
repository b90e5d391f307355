// SPDX-License-Identifier: Apache-2.0

// Package install is `kubectl scylla install`: the kinds, the rights and the controller, applied to a Kubernetes cluster or printed. What is
// applied comes from package manifests; this package only asks and sends.
package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// fieldOwner of everything that is applied: applying again changes what has changed and nothing else.
const fieldOwner = client.FieldOwner("kubectl-scylla")

// settle is how long a kind may take to be served after its definition was applied.
const settle = 30 * time.Second

type options struct {
	d            *cli.Deps
	image        string
	noController bool
	yes          bool
	output       string
	dryRun       cli.DryRunFlag
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, dryRun: cli.DryRunNone}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the kinds, the rights and the controller",
		Long: `Install the two report kinds, the rights of controller, agents and readers, the admission
policy that lets an agent write to its own Pod only, and the controller in namespace
kubectl-scylla. Applying again is safe: it changes what has changed.

Nothing of an existing ScyllaDB cluster is touched: the controller looks after
StatefulSets with the label app.kubernetes.io/managed-by=kubectl-scylla only.`,
		Example: cli.Examples(
			"# See what would be applied",
			"kubectl scylla install --image localhost/scylla-agent:dev -o yaml",
			"",
			"# Apply it, the controller with your copy of the image scylla-agent",
			"kubectl scylla install --image localhost/scylla-agent:dev --yes",
			"",
			"# Kinds and rights only: the controller runs elsewhere (kubectl scylla controller)",
			"kubectl scylla install --no-controller --yes",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(0),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	f := cmd.Flags()
	f.StringVar(&o.image, "image", "", "Image of scylla-agent for the controller.")
	f.BoolVar(&o.noController, "no-controller", false, "Leave the controller's Deployment out.")
	f.BoolVarP(&o.yes, "yes", "y", false, "Do not ask.")
	f.StringVarP(&o.output, "output", "o", "", "yaml: print what would be applied, apply nothing, ask no API server.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"yaml"}, cobra.ShellCompDirectiveNoFileComp))
	o.dryRun.AddFlag(cmd)
	return cmd
}

// Complete has nothing to fill in.
func (*options) Complete(*cobra.Command, []string) error { return nil }

// Validate refuses what does not go together.
func (o *options) Validate(*cobra.Command) error {
	switch {
	case o.d.NamespaceGiven() != "":
		return exit.Usagef("--namespace does nothing here: the controller goes to namespace %s", manifests.Namespace)
	case o.image == "" && !o.noController:
		return exit.Usagef("give the controller's image with --image, or leave the controller out with --no-controller")
	case o.image != "" && o.noController:
		return exit.Usagef("--image is the controller's: it does not go with --no-controller")
	case o.output != "" && o.output != "yaml":
		return exit.Usagef("output format %q is not known: use yaml", o.output)
	}
	return nil
}

// Run prints or applies.
func (o *options) Run(ctx context.Context) error {
	objects, err := manifests.Objects(manifests.Options{Image: o.image})
	if err != nil {
		return err
	}
	if o.output == "yaml" {
		return o.print(objects)
	}
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return err
	}
	if o.dryRun != cli.DryRunClient && o.dryRun != cli.DryRunServer && !o.yes {
		for _, u := range objects {
			o.d.Say(name(u) + "\n")
		}
		if err := o.d.Confirm(ctx, fmt.Sprintf("Apply these %d objects to %s?", len(objects), cfg.Host), "yes"); err != nil {
			return err
		}
	}
	var c client.Client
	if o.dryRun != cli.DryRunClient {
		// Kinds of many groups, some of them new: this client asks the API server for the mapping, unlike that of the other verbs.
		if c, err = client.New(cfg, client.Options{Scheme: runtime.NewScheme()}); err != nil {
			return fmt.Errorf("make client: %w", err)
		}
	}
	suffix := map[cli.DryRunFlag]string{cli.DryRunClient: " (dry run)", cli.DryRunServer: " (server dry run)"}[o.dryRun]
	for _, u := range objects {
		if c != nil {
			if err := o.apply(ctx, c, u); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(o.d.Streams.Out, "%s applied%s\n", name(u), suffix); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

func (o *options) apply(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	opts := []client.ApplyOption{fieldOwner, client.ForceOwnership}
	if o.dryRun == cli.DryRunServer {
		if u.GetNamespace() == manifests.Namespace && !o.namespaceExists(ctx, c) {
			o.d.Warn("%s is not checked: namespace %s does not exist yet", name(u), manifests.Namespace)
			return nil
		}
		opts = append(opts, client.DryRunAll)
	}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, settle, true, func(ctx context.Context) (bool, error) {
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), opts...)
		if meta.IsNoMatchError(err) {
			return false, nil // its kind was applied a moment ago
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("apply %s: %w", name(u), err)
	}
	return nil
}

func (o *options) namespaceExists(ctx context.Context, c client.Client) bool {
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	return c.Get(ctx, client.ObjectKey{Name: manifests.Namespace}, ns) == nil
}

func (o *options) print(objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		b, err := yaml.Marshal(u.Object)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name(u), err)
		}
		if _, err := fmt.Fprintf(o.d.Streams.Out, "---\n%s", b); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// name is an object as kubectl prints it: kind.group/name.
func name(u *unstructured.Unstructured) string {
	kind := strings.ToLower(u.GetKind())
	if g := u.GroupVersionKind().Group; g != "" {
		kind += "." + g
	}
	return kind + "/" + u.GetName()
}
