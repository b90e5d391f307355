// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/install"
)

// timeout limits the creation of a token and the propagation of permissions.
const timeout = time.Minute

func newAddCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, adds: true}
	o.act = o.add
	cmd := &cobra.Command{
		Use:   "add NAME [CLUSTER]",
		Short: "Give the controller access to another Kubernetes cluster",
		Long: `Give the controller access to another Kubernetes cluster.

It creates an account there that can read and write status reports in one namespace, nothing else.
It stores the account's kubeconfig in a Secret in the controller's namespace here, and tests it.

NAME is the name of the remote here. CLUSTER is the ScyllaDB cluster here; omit it if the namespace
has only one. You need permission to create ServiceAccounts, Roles and Secrets there, and Secrets in
namespace kubectl-scylla here. Run it again to recreate the Secret.`,
		Example: cli.Examples(
			"# Show what would be created, and where",
			exampleAdd,
			"",
			"# Cluster demo in namespace demo here has a datacenter in namespace demo there",
			"kubectl scylla remote add eu demo -n demo --remote-kubeconfig eu.kubeconfig",
			"",
			"# With another name there, and another address of its API server for Pods",
			"kubectl scylla remote add eu demo -n demo --remote-context eu --remote-namespace db --remote-cluster "+
				"db-eu --remote-server https://10.0.0.1:6443",
		),
		GroupID: group,
		Args: cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New(
					"specify a name for the remote Kubernetes cluster, and the cluster here, such as: eu demo")
			}
			return nil
		}),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	o.bindRemote(cmd)
	f := cmd.Flags()
	f.StringVar(&o.namespace, "remote-namespace", "", "Namespace of the cluster there. Default: as here.")
	f.StringVar(&o.other, "remote-cluster", "",
		"Name of the cluster there; with the Scylla Operator, of the ScyllaDBDatacenter. Default: as here.")
	f.StringVar(&o.report, "status-report", "",
		"ScyllaDBStatusReport here that another program writes for all datacenters. The cluster's barriers use it, "+
			"without permits. Default: the cluster's own.")
	f.StringVar(&o.server, "remote-server", "",
		"Address of the API server there for the controller's Pods, if different from yours.")
	return cmd
}

func (o *options) add(ctx context.Context) error {
	hereClient, hereConfig, err := o.here()
	if err != nil {
		return err
	}
	c, err := o.wanted(ctx, hereConfig)
	if err != nil {
		return err
	}
	if err := o.refuseOperators(ctx, c); err != nil {
		return err
	}
	thereConfig, err := o.there()
	if err != nil {
		return err
	}
	if thereConfig.Host == hereConfig.Host && c.RemoteNamespace == c.Namespace {
		return exit.Refusedf(
			"%s, namespace %s, has the cluster itself: a remote must be another Kubernetes cluster or namespace",
			thereConfig.Host, c.Namespace)
	}
	id, err := home(ctx, hereClient)
	if err != nil {
		return err
	}
	account := shared.Account(o.name, id)
	if objects := shared.There(c.RemoteNamespace, account); o.dryRun == cli.DryRunClient {
		return o.sayAll(thereConfig.Host, hereConfig.Host, c, objects, " (dry run)")
	} else if !o.yes {
		if err := o.sayAll(thereConfig.Host, hereConfig.Host, c, objects, ""); err != nil {
			return err
		}
		if err := o.d.Confirm(ctx,
			"Its token does not expire: anyone who can read the Secret here can write status reports there. Create "+
				"them?", "yes"); err != nil {
			return err
		}
	}
	return o.make(ctx, hereClient, thereConfig, c, account)
}

// refuseOperators refuses a cluster of the Scylla Operator: our controller ignores it, so the
// remote would have no effect, and its token would not expire. A cluster that cannot be read is not
// refused.
func (o *options) refuseOperators(ctx context.Context, config shared.Config) error {
	c, err := o.d.NewClient()
	if err != nil {
		return err
	}
	objects, err := kube.Load(ctx, c, cluster.Key{Namespace: config.Namespace, Name: config.Cluster},
		kube.LoadOptions{StatefulSets: true})
	if err != nil || !objects.OfOperator() {
		return nil //nolint:nilerr // the cluster may be created later
	}
	return exit.WithHint(exit.Refusedf("the Scylla Operator manages cluster %s/%s: the controller ignores it, so a "+
		"remote has no effect", config.Namespace, config.Cluster),
		"the operator copies the reports of a ScyllaDBCluster; check any other datacenter where it runs",
		words.Scylla(config.Namespace, "status", config.Cluster)...)
}

// make creates the remote account, tests it, and then creates the local Secret: credentials that do
// not work are never stored.
func (o *options) make(ctx context.Context, hereClient client.Client, thereConfig *rest.Config, c shared.Config,
	account string) error {
	if _, err := shared.Kubeconfig(thereConfig, o.server, c.RemoteNamespace, ""); err != nil {
		return exit.Refused(fmt.Errorf("remote %s: %w", o.name, err)) // before anything is created
	}
	thereClient, err := plain(thereConfig)
	if err != nil {
		return err
	}
	if err := served(ctx, thereClient, c); err != nil {
		return err
	}
	for _, u := range shared.There(c.RemoteNamespace, account) {
		if err := apply(ctx, thereClient, u); err != nil {
			return fmt.Errorf("there: %w", err)
		}
	}
	token, err := o.token(ctx, thereClient, c.RemoteNamespace, account)
	if err != nil {
		return err
	}
	kubeconfig, err := shared.Kubeconfig(thereConfig, o.server, c.RemoteNamespace, token)
	if err != nil {
		return exit.Refused(fmt.Errorf("remote %s: %w", o.name, err))
	}
	secret := shared.Here(c, manifests.Namespace, kubeconfig)
	if err := o.works(ctx, secret); err != nil {
		return err
	}
	if err := apply(ctx, hereClient, secret); err != nil {
		return fmt.Errorf("here: %w", err)
	}
	return o.say("remote %s added: the controller here reads %s, namespace %s, as %s", o.name,
		cmp.Or(o.server, thereConfig.Host), c.RemoteNamespace, account)
}

// wanted returns the content of the Secret except the kubeconfig.
func (o *options) wanted(ctx context.Context, cfg *rest.Config) (shared.Config, error) {
	ns, err := o.d.Namespace()
	if err != nil {
		return shared.Config{}, err
	}
	if o.cluster == "" {
		c, err := kube.NewClient(cfg)
		if err != nil {
			return shared.Config{}, err
		}
		keys, err := kube.ListClusters(ctx, c, ns, nil)
		if err != nil {
			return shared.Config{}, err
		}
		if len(keys) != 1 {
			return shared.Config{},
				exit.Usagef("namespace %s has %d ScyllaDB clusters: specify the cluster that has a datacenter there",
					ns, len(keys))
		}
		o.cluster = keys[0].Name
	}
	if o.report != "" && !api.IsName(o.report) {
		return shared.Config{}, exit.Usagef("invalid --status-report=%q: must be the name of a ScyllaDBStatusReport",
			o.report)
	}
	if o.report == o.cluster {
		return shared.Config{},
			exit.Usagef("--status-report=%s is the cluster's own report, which its barriers use anyway: omit the flag",
				o.report)
	}
	return shared.Config{
		StatusReport: o.report,
		Name:         o.name, Namespace: ns, Cluster: o.cluster, RemoteNamespace: cmp.Or(o.namespace, ns),
		RemoteCluster: cmp.Or(o.other, o.cluster),
	}, nil
}

func (o *options) sayAll(there, here string, c shared.Config, objects []*unstructured.Unstructured,
	suffix string) error {
	for _, u := range objects {
		if err := o.say("%s: %s in namespace %s%s", there, install.Name(u), c.RemoteNamespace, suffix); err != nil {
			return err
		}
	}
	return o.say("%s: secret/%s in namespace %s%s", here, shared.SecretName(o.name), manifests.Namespace, suffix)
}

// served checks that the CRD is installed, before any object is created.
func served(ctx context.Context, c client.Client, config shared.Config) error {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReportList"))
	err := c.List(ctx, l, client.InNamespace(config.RemoteNamespace), client.Limit(1))
	if meta.IsNoMatchError(err) {
		return exit.WithHint(exit.Refusedf("the CRDs are not installed there"), "install them there first",
			words.Scylla("", "install")...)
	}
	if err != nil {
		return fmt.Errorf("list status reports there, in namespace %s: %w", config.RemoteNamespace, err)
	}
	return nil
}

func apply(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manifests.FieldOwner),
		client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s in namespace %s: %w", install.Name(u), u.GetNamespace(), err)
	}
	return nil
}

// token waits until Kubernetes has created the token.
func (o *options) token(ctx context.Context, c client.Client, namespace, account string) (token string, err error) {
	err = o.d.Wait(ctx, cli.Wait{Subject: "the token of " + account, Timeout: timeout,
		Check: func(ctx context.Context) (bool, string, error) {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion("v1")
			u.SetKind("Secret")
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: account}, u); err != nil {
				return false, "", fmt.Errorf("read secret %s/%s there: %w", namespace, account, err)
			}
			encoded, _, _ := unstructured.NestedString(u.Object, "data", corev1.ServiceAccountTokenKey)
			b, err := base64.StdEncoding.DecodeString(encoded)
			token = string(b)
			return err == nil && token != "", "its token does not exist yet", nil
		}})
	return token, err
}

// works reads with the new credentials, exactly as the controller will.
func (o *options) works(ctx context.Context, secret *unstructured.Unstructured) error {
	config, err := fromUnstructured(secret)
	if err != nil {
		return err
	}
	c, err := config.Client()
	if err != nil {
		return err
	}
	return o.d.Wait(ctx, cli.Wait{Subject: "the new account to read there", Timeout: timeout,
		Check: func(ctx context.Context) (bool, string, error) {
			err := c.List(ctx, &api.ScyllaDBDatacenterNodesStatusReportList{},
				client.InNamespace(config.RemoteNamespace),
				client.Limit(1))
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				return false, "its permissions are not effective yet", nil
			}
			if err != nil && o.server != "" {
				// The address is for the controller's Pods and need not be reachable from here.
				o.d.Warn("%s is not reachable from here, so the account was not tested: to test it, run %s", o.server,
					o.d.Words().Shell(words.Scylla("", "remote", "check")))
				return true, "", nil
			}
			return err == nil, "", err
		}})
}
