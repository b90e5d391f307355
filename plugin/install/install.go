// SPDX-License-Identifier: Apache-2.0

// Package install is `kubectl scylla install`: it applies or prints the CRDs, RBAC rules and the
// controller. The objects come from package manifests. This package reads the installed objects,
// refuses, asks for confirmation, writes and waits.
package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// settle is the time limit until the API server serves an applied CRD.
const settle = 30 * time.Second

type options struct {
	d            *cli.Deps
	image        string
	floating     bool // accept an image without a fixed version
	noController bool
	replicas     int
	gates        string   // feature gates of the controller
	namespaces   []string // that the controller manages; none means all
	secure       bool     // metrics of the controller
	members      []string // ServiceAccounts of the operator, as NAMESPACE:SERVICEACCOUNT
	upgrade      bool
	downgrade    bool
	yes          bool
	output       string
	dryRun       cli.DryRunFlag
	wait         cli.WaitFlags
	version      string // version of this build
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, dryRun: cli.DryRunNone, wait: cli.WaitFlags{Wait: true}, version: version.Get().Version}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the CRDs, RBAC rules and controller",
		Long: `Install the CRDs, RBAC rules and controller in namespace kubectl-scylla; wait until it leads.

It also installs an admission policy that lets an agent write only to its own Pod. It refuses if
admission policies are off: by RBAC alone an agent could write to every Pod of its namespace.
With --namespaces the controller has Roles there instead of a ClusterRole. Only the CRDs, admission
policies, priority class and the ClusterRoles of members and readers are then for the whole cluster.
Existing ScyllaDB clusters are not touched: the controller manages only StatefulSets with the label
app.kubernetes.io/managed-by=kubectl-scylla. Running install again is safe.
One CRD is shared with the Scylla Operator, and unchanged if another owner installed it. A CRD with
fields that this build does not know is not replaced. A different version requires --upgrade, an
older one --allow-downgrade: no join with a permit, replacement or inject may be in progress.`,
		Example: cli.Examples(
			"# Print the manifests, for example to keep them in git",
			"kubectl scylla install --image registry.example.com/scylla-agent@sha256:DIGEST --dry-run=client -o yaml",
			"",
			"# Apply them with your copy of the scylla-agent image",
			"kubectl scylla install --image registry.example.com/scylla-agent@sha256:DIGEST --yes",
			"",
			"# Let the Pods of a ScyllaDBDatacenter run it (docs/scylla-operator.md)",
			"kubectl scylla install --no-controller --operator-member demo:db-member --yes",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(0),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	f := cmd.Flags()
	f.StringVar(&o.image, "image", version.AgentImage(), "Image of scylla-agent.")
	cli.AddFloatingTagFlag(cmd, &o.floating)
	f.IntVar(&o.replicas, "replicas", 1, "Number of controller Pods; one is active at a time.")
	f.StringVar(&o.gates, "feature-gates", "",
		"BootstrapSynchronisation=true|false. false: barriers open at once and check nothing. Default: as before, "+
			"otherwise true.")
	f.StringSliceVar(&o.namespaces, "namespaces", nil,
		"Namespaces to manage, with permissions there only. Default: all.")
	_ = cmd.RegisterFlagCompletionFunc("namespaces", d.CompleteNamespaces)
	f.BoolVar(&o.secure, "metrics-secure", false,
		"Serve the controller's metrics over TLS to accounts that can get them. Prometheus needs the settings of "+
			"docs/monitoring.md.")
	f.BoolVar(&o.noController, "no-controller", false, "Do not install the controller's Deployment.")
	f.StringSliceVar(&o.members, "operator-member", nil,
		"NAMESPACE:SERVICEACCOUNT of the operator's Pods with our barrier, to bind it. Can be repeated.")
	f.BoolVar(&o.upgrade, "upgrade", false, "Replace a different installed version.")
	f.BoolVar(&o.downgrade, "allow-downgrade", false,
		"Replace a newer installed version, if no operation is in progress that this version could be unable "+
			"to finish.")
	f.BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	f.StringVarP(&o.output, "output", "o", "", "yaml: print the objects, apply nothing.")
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"yaml"}, cobra.ShellCompDirectiveNoFileComp))
	o.dryRun.AddFlag(cmd)
	o.wait.AddFlags(cmd, "the controller leads")
	cli.Rarely(cmd, "allow-downgrade", "allow-floating-tag", "metrics-secure")
	return cmd
}

// Complete clears the default of --image for --no-controller.
func (o *options) Complete(cmd *cobra.Command, _ []string) error {
	if o.noController && !cmd.Flags().Changed("image") {
		o.image = ""
	}
	slices.Sort(o.namespaces)
	o.namespaces = slices.Compact(o.namespaces)
	return nil
}

// Validate checks flags.
func (o *options) Validate(cmd *cobra.Command) error {
	switch {
	case o.d.NamespaceGiven() != "":
		return exit.Usagef("--namespace cannot be used: the controller is installed in namespace %s",
			manifests.Namespace)
	case o.image == "" && !o.noController:
		return exit.Usagef("this build has no default image: specify --image, or use --no-controller")
	case o.image != "" && o.noController:
		return exit.Usagef("--image cannot be used with --no-controller")
	case o.replicas < 1:
		return exit.Usagef("invalid --replicas=%d: must be 1 or more, or use --no-controller", o.replicas)
	case o.noController && (cmd.Flags().Changed("replicas") || o.secure):
		return exit.Usagef("--replicas and --metrics-secure cannot be used with --no-controller")
	case o.output != "" && o.output != "yaml":
		return exit.Usagef("unknown output format %q: use yaml", o.output)
	case o.output != "" && o.dryRun == cli.DryRunServer:
		return exit.Usagef("-o yaml cannot be used with --dry-run=server")
	}
	if _, err := api.ParseFeatureGates(o.gates); err != nil {
		return exit.Usagef("--feature-gates: %w", err)
	}
	for _, namespace := range o.namespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			return exit.Usagef("invalid --namespaces=%q: must be names of namespaces, comma-separated", namespace)
		}
	}
	for _, m := range o.members {
		if namespace, account, ok := strings.Cut(m, ":"); !ok ||
			len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(account)) > 0 {
			return exit.Usagef("invalid --operator-member=%q: must be NAMESPACE:SERVICEACCOUNT", m)
		}
	}
	if !o.noController {
		if err := cli.CheckImage(o.image, o.floating); err != nil {
			return err
		}
	}
	return o.wait.Validate(cmd)
}

// Run prints or applies the objects.
func (o *options) Run(ctx context.Context) error {
	if o.output == "yaml" {
		objects, err := o.objects()
		if err != nil {
			return err
		}
		return o.print(objects)
	}
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return err
	}
	// Unlike the other commands' client, this one discovers the mapping: the objects have many
	// groups, some of them new.
	c, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if o.gates == "" && !o.noController {
		if o.gates, err = installedGates(ctx, c); err != nil {
			return err
		}
	}
	objects, err := o.objects()
	if err != nil {
		return err
	}
	foreign, err := o.look(ctx, c, objects)
	if err != nil {
		return err
	}
	former, err := o.former(ctx, c, objects)
	if err != nil {
		return err
	}
	before, err := o.begin(ctx, c, cfg.Host, objects, former, len(foreign))
	if err != nil {
		return err
	}
	for _, u := range objects {
		done := "applied" + o.dryRun.Suffix()
		if others, ok := foreign[u.GetName()]; ok {
			done = "unchanged: installed by " + others
		} else if o.dryRun != cli.DryRunClient {
			if err := o.apply(ctx, c, u); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(o.d.Streams.Out, "%s %s\n", Name(u), done); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	if err := o.remove(ctx, c, former); err != nil {
		return err
	}
	if o.dryRun != cli.DryRunNone || o.noController || !o.wait.Wait {
		return nil
	}
	return o.untilItLeads(ctx, c, before)
}

// begin asks for confirmation and checks that admission policies are enforced, unless it is a dry
// run. It returns the time after which the controller must lead.
func (o *options) begin(ctx context.Context, c client.Client, host string,
	objects, former []*unstructured.Unstructured, unchanged int) (time.Time, error) {
	if o.dryRun != cli.DryRunNone {
		return time.Time{}, nil
	}
	if !o.yes {
		for _, u := range objects {
			o.d.Say(Name(u) + "\n")
		}
		for _, u := range former {
			o.d.Say(Name(u) + " (remove)\n")
		}
		if err := o.d.Confirm(ctx, fmt.Sprintf("Apply these %d objects to %s?", len(objects)-unchanged, host),
			"yes"); err != nil {
			return time.Time{}, err
		}
	}
	return o.d.Clock.Now(), o.refuseWithoutPolicies(ctx, c, objects)
}

// objects returns the objects to apply. The controller gets a gate only if it is off: on is its
// default.
func (o *options) objects() ([]*unstructured.Unstructured, error) {
	options := manifests.Options{Image: o.image, Replicas: o.replicas, Namespaces: o.namespaces,
		MetricsSecure: o.secure, Version: o.version}
	for _, m := range o.members {
		namespace, account, _ := strings.Cut(m, ":")
		options.OperatorMembers = append(options.OperatorMembers,
			types.NamespacedName{Namespace: namespace, Name: account})
	}
	if on, err := api.ParseFeatureGates(o.gates); err == nil && !on {
		options.ControllerArgs = append(options.ControllerArgs, flagGates+o.gates)
	}
	return manifests.Objects(options)
}

// flagGates begins the controller's argument with its feature gates.
const flagGates = "--feature-gates="

// installedGates returns the feature gates of the installed controller, so that an upgrade keeps
// them; empty without one.
func installedGates(ctx context.Context, c client.Client) (string, error) {
	d := &appsv1.Deployment{}
	err := get(ctx, c, appsv1.SchemeGroupVersion.WithKind("Deployment"), api.LeaseName, d)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for i := range d.Spec.Template.Spec.Containers {
		for _, a := range d.Spec.Template.Spec.Containers[i].Args {
			if gates, ok := strings.CutPrefix(a, flagGates); ok {
				return gates, nil
			}
		}
	}
	return "", nil
}

// look refuses an installation that would remove parts of the installed one, and returns CRDs of
// other owners: CRD name -> owner.
func (o *options) look(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) (
	foreign map[string]string, err error) {
	policy := schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}
	if _, err := c.RESTMapper().RESTMapping(policy, "v1"); meta.IsNoMatchError(err) {
		return nil, policiesOff("the API server does not support ValidatingAdmissionPolicy v1")
	} else if err != nil {
		return nil, fmt.Errorf("find resource %s: %w", policy, err)
	}
	foreign = map[string]string{}
	var narrower error // the installed version, if it differs, comes first: its step is the shorter one
	for _, u := range objects {
		kind := u.GetKind()
		if kind != "CustomResourceDefinition" && kind != "Namespace" && kind != "ServiceAccount" {
			continue
		}
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(u.GroupVersionKind())
		err := c.Get(ctx, client.ObjectKeyFromObject(u), have)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", Name(u), err)
		case kind == "ServiceAccount":
			if release := manifests.HelmRelease(have); release != "" {
				return nil, exit.WithHint(
					exit.Refusedf("Helm release %s has %s: two owners would undo each other's changes", release,
						Name(u)),
					"use helm upgrade (docs/install/chart)")
			}
		case kind == "Namespace":
			if err := o.refuseVersion(ctx, c, have.GetAnnotations()[manifests.VersionAnnotation]); err != nil {
				return nil, err
			}
		case manifests.Foreign(have):
			others := strings.Join(manifests.Others(have), ", ")
			if others == "" {
				others = "another owner"
			}
			foreign[u.GetName()] = others
		default:
			lost := manifests.Narrower(have, u)
			switch {
			case len(lost) == 0:
			case o.downgrade:
				foreign[u.GetName()] = "a newer version, which this one can use"
			default:
				narrower = exit.WithHint(
					exit.Refusedf("%s has %d fields that this build does not know, such as %s: they would be lost",
						Name(u), len(lost), lost[0]),
					"use a newer kubectl-scylla; this is "+o.version+"; or keep that CRD: --allow-downgrade")
			}
		}
	}
	if narrower != nil {
		return nil, narrower
	}
	return foreign, o.refuseNamespaces(ctx, c)
}

// policiesOff refuses: with RBAC alone a member could write to every Pod of its namespace.
func policiesOff(why string) error {
	return exit.WithHint(
		exit.Refusedf("%s: without admission policies a member's token could rewrite every Pod of its namespace", why),
		"use Kubernetes 1.30 or later, and do not disable the admission plugin ValidatingAdmissionPolicy")
}

// refuseWithoutPolicies applies the canary policy and tries the write that it denies, as a dry run.
// After a refusal nothing of the installation remains.
func (o *options) refuseWithoutPolicies(ctx context.Context, c client.Client,
	objects []*unstructured.Unstructured) error {
	var canary []*unstructured.Unstructured
	for _, u := range objects {
		if u.GetName() == manifests.Canary {
			canary = append(canary, u)
			if err := o.apply(ctx, c, u); err != nil {
				return err
			}
		}
	}
	denied := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": manifests.Canary}}}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, settle, true,
		func(ctx context.Context) (bool, error) {
			err := c.Create(ctx, denied.DeepCopy(), client.DryRunAll)
			// Kubernetes' message names the policy.
			if err != nil && strings.Contains(err.Error(), "'"+manifests.Canary+"'") {
				return true, nil
			}
			return false, err
		})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || !wait.Interrupted(err):
		return fmt.Errorf("check whether admission policies are enforced: %w", err)
	}
	for _, u := range canary {
		if err := client.IgnoreNotFound(c.Delete(ctx, u)); err != nil {
			return fmt.Errorf("remove %s: %w", Name(u), err)
		}
	}
	return policiesOff("the API server does not enforce admission policies")
}

func (o *options) refuseVersion(ctx context.Context, c client.Client, installed string) error {
	switch {
	case installed == "" || installed == o.version:
		return nil
	case manifests.Newer(installed, o.version) && o.downgrade:
		return o.refuseUnfinished(ctx, c)
	case manifests.Newer(installed, o.version):
		return exit.WithHint(
			exit.Refusedf("version %s is installed, this is %s: an older version does not replace a newer one",
				installed, o.version),
			"use kubectl-scylla "+installed+" or later, or add --allow-downgrade (docs/protect-joins.md)")
	case !o.upgrade && o.dryRun == cli.DryRunNone:
		return exit.WithHint(exit.Refusedf("version %s is installed, this is %s", installed, o.version),
			"replace it with --upgrade")
	}
	return nil
}

func (o *options) apply(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	// All applied objects are ours by name, except the shared CRD if another owner has installed
	// it.
	opts := []client.ApplyOption{client.FieldOwner(manifests.FieldOwner), client.ForceOwnership}
	if u.GetKind() == "CustomResourceDefinition" {
		opts = opts[:1] // fields that another manager has taken remain its own
	}
	if o.dryRun == cli.DryRunServer {
		if u.GetNamespace() == manifests.Namespace && !o.namespaceExists(ctx, c) {
			o.d.Warn("%s is not checked: namespace %s does not exist yet", Name(u), manifests.Namespace)
			return nil
		}
		opts = append(opts, client.DryRunAll)
	}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, settle, true,
		func(ctx context.Context) (bool, error) {
			err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), opts...)
			if meta.IsNoMatchError(err) {
				return false, nil // its CRD was just applied
			}
			return err == nil, err
		})
	if err == nil && o.dryRun == cli.DryRunNone && u.GetName() == manifests.SharedKind {
		err = release(ctx, c, u)
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", Name(u), err)
	}
	return nil
}

// release gives up our fields of the CRD that is also the Scylla Operator's. Its documented
// installation and upgrade apply without force, and would fail at fields that we own.
func release(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(u.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(u), have); err != nil {
			return err
		}
		before := have.DeepCopy()
		if err := manifests.Release(have); err != nil {
			return err
		}
		return c.Patch(ctx, have, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
			client.FieldOwner(manifests.FieldOwner))
	})
}

func (o *options) namespaceExists(ctx context.Context, c client.Client) bool {
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	return c.Get(ctx, client.ObjectKey{Name: manifests.Namespace}, ns) == nil
}

func (o *options) print(objects []*unstructured.Unstructured) error {
	b, err := Documents(objects)
	if err != nil {
		return err
	}
	if _, err := o.d.Streams.Out.Write(b); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
