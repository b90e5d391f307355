// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/install"
)

func newListCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	o.act = o.list
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the remotes that the controller here reads",
		Long: `List the remotes that the controller here reads, from the Secrets in its namespace: name, cluster
here and there, and API server. It does not contact the remotes.`,
		Example: cli.Examples(
			"# List the remotes",
			"kubectl scylla remote list",
			"",
			"# The remotes of the other Kubernetes cluster",
			"kubectl scylla remote list --context eu",
			"",
			"# Test the remotes",
			"kubectl scylla remote check",
		),
		GroupID:               group,
		Args:                  cli.AtMost(0),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	o.output.AddFlags(cmd)
	o.plain.AddFlag(cmd)
	return cmd
}

func (o *options) list(ctx context.Context) error {
	secrets, err := o.remotes(ctx)
	if err != nil {
		return err
	}
	if !o.output.Text() {
		return o.output.Document(o.d, newList(secrets))
	}
	t := &show.Table{Columns: []show.Column{{Header: "NAME"}, {Header: "CLUSTER"}, {Header: "THERE"},
		{Header: "SERVER"}, {Header: "SECRET"}}}
	for _, r := range newList(secrets).Items {
		t.Rows = append(t.Rows, []show.Cell{show.Text(r.Name), show.Text(r.Namespace + "/" + r.Cluster),
			show.Text(r.RemoteNamespace + "/" + r.RemoteCluster), show.Text(cmp.Or(r.Server, "?")),
			show.Text(r.Secret)})
	}
	return o.table(t)
}

// table draws a table, or its lines for awk.
func (o *options) table(t *show.Table) error {
	opts := o.d.Options(false)
	if o.plain.NoHeaders {
		return o.d.Print(t.Script(), opts)
	}
	return o.d.Print(t.String(0, ""), opts)
}

func newCheckCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	o.act = o.check
	cmd := &cobra.Command{
		Use:   "check [NAME]",
		Short: "Test each remote with the controller's credentials",
		Long: `Test each remote, or one, with the controller's credentials: the Secret is valid, the API server
there responds, the account has the required permissions but not all, and the cluster has reports.

Exit code: 0 all tests passed, 3 a test failed, 1 error.`,
		Example: cli.Examples(
			"# All remotes",
			"kubectl scylla remote check",
			"",
			"# One remote",
			"kubectl scylla remote check eu",
			"",
			"# The remotes of the other Kubernetes cluster",
			"kubectl scylla remote check --context eu",
		),
		GroupID:               group,
		Args:                  cli.AtMost(1),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	o.plain.AddFlag(cmd)
	return cmd
}

func (o *options) check(ctx context.Context) error {
	secrets, err := o.remotes(ctx)
	if err != nil || len(secrets) == 0 {
		return err
	}
	bad := 0
	t := &show.Table{Columns: []show.Column{{Header: "NAME"}, {Header: "STATE"}, {Header: "REPORTS"},
		{Header: "RESULT"}}}
	for i := range secrets {
		c, err := shared.FromSecret(&secrets[i])
		reports := 0
		if err == nil {
			reports, err = try(ctx, c)
		}
		state, result := "ok", fmt.Sprintf("%d reports of %s in namespace %s, and all required permissions", reports,
			c.RemoteCluster, c.RemoteNamespace)
		if err != nil {
			bad++
			state, result = "failed", exit.Describe(err).Error()
		}
		t.Rows = append(t.Rows,
			[]show.Cell{show.Text(c.Name), show.Text(state), show.Text(fmt.Sprint(reports)), show.Text(result)})
	}
	if err := o.table(t); err != nil {
		return err
	}
	if bad > 0 {
		return exit.ConditionNotMet(nil)
	}
	return nil
}

// try repeats the controller's requests that change nothing.
func try(ctx context.Context, c shared.Config) (reports int, err error) {
	cfg, err := c.RESTConfig()
	if err != nil {
		return 0, err
	}
	cl, err := c.Client()
	if err != nil {
		return 0, err
	}
	l, _, err := c.List(ctx, cl)
	if err != nil {
		return 0, fmt.Errorf("namespace %s there: %w", c.RemoteNamespace, err)
	}
	for _, verb := range shared.Verbs {
		allowed, err := may(ctx, cfg, authorizationv1.ResourceAttributes{Namespace: c.RemoteNamespace,
			Group: api.GroupVersion.Group, Resource: shared.Resource, Verb: verb})
		if err != nil {
			return 0, err
		}
		if !allowed {
			return 0,
				fmt.Errorf(
					"its account cannot %s %s in namespace %s there: to recreate it, run kubectl scylla remote add %s",
					verb, shared.Resource, c.RemoteNamespace, c.Name)
		}
	}
	all, err := may(ctx, cfg, authorizationv1.ResourceAttributes{Group: "*", Resource: "*", Verb: "*"})
	if err != nil {
		return 0, err
	}
	if all {
		return 0,
			fmt.Errorf(
				"its account has all permissions there: to create a restricted account, run kubectl scylla remote "+
					"add %s", c.Name)
	}
	if len(l) == 0 {
		return 0,
			fmt.Errorf(
				"no report of %s in namespace %s there: check that a controller is running there, and the name of "+
					"the cluster", c.RemoteCluster, c.RemoteNamespace)
	}
	return len(l), nil
}

func may(ctx context.Context, cfg *rest.Config, what authorizationv1.ResourceAttributes) (bool, error) {
	c, err := plain(cfg)
	if err != nil {
		return false, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}})
	if err != nil {
		return false, fmt.Errorf("encode the permission review: %w", err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"))
	if err := c.Create(ctx, u); err != nil {
		return false, fmt.Errorf("check the account's permissions there: %w", err)
	}
	allowed, _, _ := unstructured.NestedBool(u.Object, "status", "allowed")
	return allowed, nil
}

func newRemoveCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	o.act = o.remove
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove the controller's access to another Kubernetes cluster",
		Long: `Remove the controller's access to another Kubernetes cluster.

It deletes the Secret here, and the copies there of the reports here. The controller then stops
reading the remote, and deletes the copies of its reports. With --remote-context or
--remote-kubeconfig it also deletes the account there, otherwise it prints the command for that.

Joins here then no longer wait for the nodes there. If nodes here still list that datacenter, joins
wait with DatacenterNotVerified.`,
		Example: cli.Examples(
			"# Show what would be removed",
			"kubectl scylla remote remove eu --remote-kubeconfig eu.kubeconfig --dry-run=client",
			"",
			"# Remove the Secret here and the account there",
			"kubectl scylla remote remove eu --remote-kubeconfig eu.kubeconfig",
			"",
			"# The other Kubernetes cluster no longer exists: remove only the Secret here",
			"kubectl scylla remote remove eu",
		),
		GroupID:               group,
		Args:                  cobra.ExactArgs(1),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	o.bindRemote(cmd)
	return cmd
}

func (o *options) remove(ctx context.Context) error {
	secrets, err := o.remotes(ctx)
	if err != nil {
		return err
	}
	c, _, err := o.here()
	if err != nil {
		return err
	}
	id, err := home(ctx, c)
	if err != nil {
		return err
	}
	config, _ := shared.FromSecret(&secrets[0])
	account := shared.Account(o.name, id)
	var there client.Client
	if o.config != "" || o.context != "" {
		cfg, err := o.there()
		if err != nil {
			return err
		}
		if there, err = plain(cfg); err != nil {
			return err
		}
	}
	if o.dryRun == cli.DryRunNone && !o.yes {
		question := fmt.Sprintf("Joins of %s/%s will no longer wait for the nodes of remote %s. Remove it?",
			config.Namespace, config.Cluster, o.name)
		if err := o.d.Confirm(ctx, question, o.name); err != nil {
			return err
		}
	}
	if there != nil {
		if err := o.goneThere(ctx, there, config, account); err != nil {
			return err
		}
	}
	for _, s := range secrets {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		u.SetNamespace(s.Namespace)
		u.SetName(s.Name)
		if err := o.gone(ctx, c, u, "here"); err != nil {
			return err
		}
	}
	if there != nil {
		return nil
	} else if o.dryRun == cli.DryRunNone {
		// The controller does the same, if it runs and has not stopped before.
		cl, err := config.Client()
		if err == nil {
			err = o.copiesGone(ctx, cl, config)
		}
		if err != nil {
			o.d.Warn("copies of the reports here may remain there (%s); to delete them, run there: kubectl delete "+
				"%s -l %s=%s,%s -n %s", words.Clean(exit.Describe(err).Error()), shared.Resource,
				api.LabelReportSelector, config.RemoteCluster, api.LabelRemoteReport, config.RemoteNamespace)
		}
	}
	return o.say("the account there still exists; to remove it, run there:\n  %s",
		o.d.Words().Shell(shared.DeleteAccount(config.RemoteNamespace, account)))
}

// goneThere removes the account there first, because only the Secret here has its name, and then
// the copies, which no controller can recreate without the account.
func (o *options) goneThere(ctx context.Context, there client.Client, config shared.Config, account string) error {
	objects := shared.There(config.RemoteNamespace, account)
	for i := len(objects) - 1; i >= 0; i-- {
		if err := o.gone(ctx, there, objects[i], "there"); err != nil {
			return err
		}
	}
	return o.copiesGone(ctx, there, config)
}

// copiesGone deletes the copies that the controller has pushed there because of the remote's
// Secret.
func (o *options) copiesGone(ctx context.Context, c client.Client, config shared.Config) error {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReportList"))
	if err := c.List(ctx, l, config.Selection()...); err != nil {
		if meta.IsNoMatchError(err) {
			return nil
		}
		return fmt.Errorf("list the reports in namespace %s there: %w", config.RemoteNamespace, err)
	}
	for i := range l.Items {
		if l.Items[i].GetAnnotations()[api.AnnotationCopyPusher] != string(config.UID) {
			continue
		}
		if err := o.gone(ctx, c, &l.Items[i], "there"); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) gone(ctx context.Context, c client.Client, u *unstructured.Unstructured, where string) error {
	suffix := "deleted"
	if o.dryRun == cli.DryRunClient {
		suffix = "deleted (dry run)"
	} else if err := c.Delete(ctx, u); apierrors.IsNotFound(err) {
		suffix = "not found"
	} else if err != nil {
		return fmt.Errorf("delete %s in namespace %s %s: %w", install.Name(u), u.GetNamespace(), where, err)
	}
	return o.say("%s in namespace %s %s %s", install.Name(u), u.GetNamespace(), where, suffix)
}

// fromUnstructured decodes a Secret that has not been sent yet.
func fromUnstructured(u *unstructured.Unstructured) (shared.Config, error) {
	s := &corev1.Secret{}
	s.Namespace, s.Name, s.Labels, s.Annotations = manifests.Namespace, u.GetName(), u.GetLabels(), u.GetAnnotations()
	encoded, _, _ := unstructured.NestedString(u.Object, "data", api.KeyKubeconfig)
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return shared.Config{}, fmt.Errorf("decode the kubeconfig: %w", err)
	}
	s.Data = map[string][]byte{api.KeyKubeconfig: b}
	return shared.FromSecret(s)
}
