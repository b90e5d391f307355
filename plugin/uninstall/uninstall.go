// SPDX-License-Identifier: Apache-2.0

// Package uninstall is `kubectl scylla uninstall`: it removes the objects that `kubectl scylla
// install` applied, unless a cluster still needs them. It removes only objects with our field
// owner, and never a CRD.
package uninstall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/install"
)

type options struct {
	d      *cli.Deps
	yes    bool
	dryRun cli.DryRunFlag
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, dryRun: cli.DryRunNone}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the controller and its RBAC rules",
		Long: `Remove what "kubectl scylla install" applied: the controller, the RBAC rules, the admission policy
and namespace kubectl-scylla. It does not remove objects that another owner has applied or changed
since, nor the CRDs: all reports would be deleted with them.

It refuses while a replacement is open, and while a StatefulSet has our barrier: without the
controller its Pods would wait indefinitely. Remove the barrier first: kubectl scylla inject --undo.
It also refuses while a remote exists, whose credential would stay valid: kubectl scylla remote
remove. It lists the accounts and copied reports that controllers elsewhere have here.`,
		Example: cli.Examples(
			"# Show what would be removed, and what would stay",
			"kubectl scylla uninstall --dry-run=client",
			"",
			"# Validate it on the API server, remove nothing",
			"kubectl scylla uninstall --dry-run=server",
			"",
			"# Remove it",
			"kubectl scylla uninstall --yes",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(0),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	o.dryRun.AddFlag(cmd)
	return cmd
}

// Complete does nothing.
func (*options) Complete(*cobra.Command, []string) error { return nil }

// Validate refuses flags without effect.
func (o *options) Validate(*cobra.Command) error {
	if o.d.NamespaceGiven() != "" {
		return exit.Usagef("--namespace cannot be used: the controller is in namespace %s", manifests.Namespace)
	}
	return nil
}

// Run finds the objects, refuses, asks for confirmation and removes.
func (o *options) Run(ctx context.Context) error {
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if err := refuse(ctx, c); err != nil {
		return err
	}
	remove, stay, err := look(ctx, c)
	if err != nil {
		return err
	}
	theirs, err := elsewhere(ctx, c, o.d.Words().Shell)
	if err != nil {
		return err
	}
	stay = append(stay, theirs...)
	if len(remove) == 0 {
		o.d.Say("kubectl scylla install has applied nothing here\n")
		return o.say(stay)
	}
	if o.dryRun == cli.DryRunNone && !o.yes {
		for _, u := range remove {
			o.d.Say(install.Name(u) + "\n")
		}
		if err := o.d.Confirm(ctx, fmt.Sprintf("Remove these %d objects from %s?", len(remove), cfg.Host),
			"yes"); err != nil {
			return err
		}
	}
	for _, u := range remove {
		if err := install.Delete(ctx, c, u, o.dryRun); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(o.d.Streams.Out, "%s removed%s\n", install.Name(u), o.dryRun.Suffix()); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return o.say(stay)
}

func (o *options) say(stay []string) error {
	for _, s := range stay {
		if _, err := fmt.Fprintf(o.d.Streams.Out, "%s\n", s); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// refuse returns an error with the users of the controller, nil if there are none. The step names
// the first of them.
func refuse(ctx context.Context, c client.Client) error {
	// An empty label value is also a request, by host ID. The Scylla Operator's clusters do not
	// need our controller.
	open, err := labelled(ctx, c, "ServiceList", client.HasLabels{api.LabelReplace})
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(s metav1.PartialObjectMetadata) bool { return cluster.OwnedByOperator(&s) })
	guarded, clusters, err := install.Guarded(ctx, c)
	if err != nil {
		return err
	}
	// Without the Secret the token in the other Kubernetes cluster stays valid, and the copies of
	// its reports here are never updated again.
	remotes, err := labelled(ctx, c, "SecretList", client.HasLabels{api.LabelRemoteKubeconfig},
		client.InNamespace(manifests.Namespace))
	if err != nil {
		return err
	}
	switch {
	case len(open) > 0:
		return exit.WithHint(exit.Refusedf("a replacement is open on %s: it would not continue", some(namesOf(open))),
			"wait until it has finished, or withdraw it",
			words.Scylla(open[0].Namespace, "replace", "cancel", open[0].Name)...)
	case len(guarded) > 0:
		return exit.WithHint(exit.Refusedf("the barrier needs the controller, and is still in StatefulSet %s",
			some(guarded)),
			"remove the barrier first",
			words.Scylla(clusters[0].Namespace, "inject", cmp.Or(clusters[0].Name, "CLUSTER"), "--undo")...)
	case len(remotes) > 0:
		accounts, err := accountsOf(ctx, c, remotes)
		if err != nil {
			return err
		}
		name := cmp.Or(remotes[0].Labels[api.LabelRemoteKubeconfig], remotes[0].Name)
		return exit.WithHint(
			exit.Refusedf("the controller has credentials of other Kubernetes clusters, which would stay valid "+
				"permanently, as would the copies of its reports there: %s", strings.Join(accounts, ", ")),
			"remove each remote first, with --remote-context also its account there",
			words.Scylla("", "remote", "remove", name)...)
	}
	return nil
}

// accountsOf returns the remotes of Secrets with their accounts there.
func accountsOf(ctx context.Context, c client.Client, secrets []metav1.PartialObjectMetadata) ([]string, error) {
	home := &metav1.PartialObjectMetadata{}
	home.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := c.Get(ctx, client.ObjectKey{Name: manifests.Namespace}, home); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read namespace %s: %w", manifests.Namespace, err)
	}
	var out []string
	for i := range secrets {
		r, _ := remote.FromSecret(&corev1.Secret{ObjectMeta: secrets[i].ObjectMeta}) // of the names alone
		out = append(out, fmt.Sprintf("%s (ServiceAccount %s/%s there)", words.Clean(r.Name),
			words.Clean(r.RemoteNamespace), words.Clean(remote.Account(r.Name, string(home.UID)))))
	}
	return out, nil
}

// whoWrote returns the command that shows who wrote an object, and when.
func whoWrote(namespace, kind, name string) words.Command {
	return words.Kubectl(namespace, "get", kind, name, "--output", "yaml", "--show-managed-fields")
}

// elsewhere returns what controllers of other Kubernetes clusters have here, with the command that
// shows whether they still use it: their accounts, and the copies of their reports.
func elsewhere(ctx context.Context, c client.Client, shell func(words.Command) string) ([]string, error) {
	var out []string
	accounts, err := labelled(ctx, c, "ServiceAccountList")
	if err != nil {
		return nil, err
	}
	for i := range accounts {
		if a := &accounts[i]; remote.IsAccount(a) {
			out = append(out, fmt.Sprintf("serviceaccount/%s in namespace %s stays: a controller elsewhere may read "+
				"reports with its token, which does not expire; remove the remote there, or check who made it: %s",
				a.Name, a.Namespace, shell(whoWrote(a.Namespace, "serviceaccount", a.Name))))
		}
	}
	reports := &metav1.PartialObjectMetadataList{}
	reports.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReportList"))
	if err := c.List(ctx, reports, client.HasLabels{api.LabelRemoteReport}); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("list status reports: %w", err)
	}
	for i := range reports.Items {
		if r := &reports.Items[i]; r.Annotations[api.AnnotationCopy] == api.CopyPushed {
			out = append(out, fmt.Sprintf("scylladbdatacenternodesstatusreport/%s in namespace %s stays: a controller "+
				"elsewhere may renew it; remove the remote there, or check when it was renewed: %s", r.Name,
				r.Namespace, shell(whoWrote(r.Namespace, "scylladbdatacenternodesstatusreport", r.Name))))
		}
	}
	return out, nil
}

func labelled(ctx context.Context, c client.Client, kind string, opts ...client.ListOption) (
	[]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	if err := c.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list %ss: %w", strings.TrimSuffix(kind, "List"), err)
	}
	return list.Items, nil
}

func namesOf(list []metav1.PartialObjectMetadata) []string {
	var out []string
	for i := range list {
		out = append(out, list[i].Namespace+"/"+list[i].Name)
	}
	return out
}

// some returns the first names, because a complete list could fill the screen.
func some(names []string) string {
	const most = 3
	if rest := len(names) - most; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// operatorMembers returns the bindings of --operator-member to remove, and the remaining ones with
// the reason.
func operatorMembers(ctx context.Context, c client.Client) (remove []*unstructured.Unstructured, stay []string,
	err error) {
	bindings := &unstructured.UnstructuredList{}
	bindings.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("RoleBindingList"))
	if err := c.List(ctx, bindings, client.MatchingLabels{manifests.PartOfLabel: manifests.FieldOwner}); err != nil {
		return nil, nil, fmt.Errorf("list RoleBindings: %w", err)
	}
	for i := range bindings.Items {
		have := &bindings.Items[i]
		switch role, _, _ := unstructured.NestedString(have.Object, "roleRef", "name"); {
		case role != manifests.OperatorMemberRole || have.GetDeletionTimestamp() != nil:
		case !manifests.Applied(have):
			stay = append(stay, install.Name(have)+" in namespace "+have.GetNamespace()+
				" stays: not applied by kubectl scylla install")
		default:
			remove = append(remove, have)
		}
	}
	return remove, stay, nil
}

// look returns the objects to remove, last applied first, and the remaining ones with the reason.
func look(ctx context.Context, c client.Client) (remove []*unstructured.Unstructured, stay []string, err error) {
	// Bindings of --operator-member first: they have no effect without their role.
	if remove, stay, err = operatorMembers(ctx, c); err != nil {
		return nil, nil, err
	}
	inNamespaces, err := install.InNamespaces(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	// The image has no effect here, but without one the Deployment would be missing.
	objects, err := manifests.Objects(manifests.Options{Image: "none", Replicas: 2, MetricsSecure: true})
	if err != nil {
		return nil, nil, err
	}
	unlimited := ""              // a role that stays: then the policies that limit it stay
	releases := map[string]int{} // of Helm, with the numbers of their objects
	judge := func(have *unstructured.Unstructured) {
		name := install.Name(have)
		switch release := manifests.HelmRelease(have); {
		case have.GetDeletionTimestamp() != nil:
		case have.GetKind() == "CustomResourceDefinition":
			stay = append(stay, name+" stays: all reports would be deleted with it")
		case !manifests.Applied(have) || release != "":
			if release != "" {
				releases[release]++
			} else {
				stay = append(stay, name+" stays: not applied by kubectl scylla install")
			}
			if have.GetName() == manifests.MemberRole || have.GetName() == manifests.OperatorMemberRole {
				unlimited = name
			}
		case unlimited != "" && strings.HasPrefix(have.GetKind(), "ValidatingAdmissionPolicy"):
			stay = append(stay, name+" stays: it limits "+unlimited)
		default:
			remove = append(remove, have)
		}
	}
	for _, have := range inNamespaces {
		judge(have)
	}
	for _, u := range slices.Backward(objects) {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(u.GroupVersionKind())
		switch err := c.Get(ctx, client.ObjectKeyFromObject(u), have); {
		case err == nil:
			judge(have)
		case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
			return nil, nil, fmt.Errorf("read %s: %w", install.Name(u), err)
		}
	}
	for _, release := range slices.Sorted(maps.Keys(releases)) {
		stay = append(stay, fmt.Sprintf("%d objects of Helm release %s stay: helm uninstall removes them",
			releases[release], release))
	}
	return remove, stay, nil
}
