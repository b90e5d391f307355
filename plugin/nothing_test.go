// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// lists lets every list fail in namespaces but "allowed" with what fail gives for its resource.
func lists(fail func(ns string, gr schema.GroupResource) error) interceptor.Funcs {
	return interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			var o client.ListOptions
			o.ApplyOptions(opts)
			gvk, err := c.GroupVersionKindFor(list)
			if err != nil {
				return err
			}
			resource, _ := meta.UnsafeGuessKindToResource(gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List")))
			if err := fail(o.Namespace, resource.GroupResource()); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		// Only the names that a person types are got before anything is listed; there are none.
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
		},
	}
}

func mayNotList(ns string, gr schema.GroupResource) error {
	where := fmt.Sprintf(" in the namespace %q", ns)
	if ns == "" {
		where = " at the cluster scope"
	}
	return apierrors.NewForbidden(gr, "", fmt.Errorf(`User "bob" cannot list resource %q in API group %q%s`, gr.Resource, gr.Group, where))
}

// Where there is nothing to look at, every verb says so in the same words, with the same cure and the same exit code.
func TestEveryVerbSaysTheSameOfNothing(t *testing.T) {
	verbs := map[string][]string{
		"status": {"status"}, "status of one": {"status", "demo"}, "status as a document": {"status", "-o", "json"},
		"barrier": {"barrier"}, "barrier of one": {"barrier", "demo-dc1-rack1-0"},
		"report": {"report"}, "report of one": {"report", "demo"}, "archive": {"report", "--archive", filepath.Join(t.TempDir(), "x.zip")},
		"dashboard": {"dashboard", "--once"}, "dashboard of one": {"dashboard", "demo", "--once"},
		"replace": {"replace", "demo-dc1-rack1-0"}, "replacements": {"replace", "status"}, "replacement of one": {"replace", "status", "demo-dc1-rack1-0"},
		"force": {"force-proceed", "demo-dc1-rack1-0"}, "force a datacenter": {"force-proceed", "--datacenter", "dc1"}, "force a cluster": {"force-proceed", "--cluster", "demo"},
	}
	elsewhere := append(plugintest.New(1, 1).Objects(), plugintest.NewNamed("prod", "analytics", "eu", 1, 1).Objects()...)
	for name, tc := range map[string]struct {
		objects []client.Object
		fail    func(ns string, gr schema.GroupResource) error
		args    []string
		want    string
	}{
		"an empty namespace": {
			objects: elsewhere,
			want: "error: no ScyllaDB cluster found in namespace empty\n" +
				"choose another namespace with -n; there are clusters in: demo, prod\n",
		},
		"nothing anywhere": {
			want: "error: no ScyllaDB cluster found in namespace empty\n" +
				"no other namespace has one; member Services, StatefulSets and reports are found by the label scylla/cluster\n",
		},
		"an empty namespace, and no leave to look into others": {
			objects: elsewhere,
			fail: func(ns string, gr schema.GroupResource) error {
				if ns == "" {
					return mayNotList(ns, gr)
				}
				return nil
			},
			want: "error: no ScyllaDB cluster found in namespace empty\n" +
				"choose another namespace with -n, or list all: kubectl scylla status -A\n",
		},
		"an empty namespace without our kinds": {
			fail: func(_ string, gr schema.GroupResource) error {
				if gr.Group == "scylla.scylladb.com" {
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gr.Group, Kind: gr.Resource}}
				}
				return nil
			},
			want: "error: no ScyllaDB cluster found in namespace empty\n" +
				"no other namespace has one; member Services, StatefulSets and reports are found by the label scylla/cluster\n",
		},
		"nothing may be listed": {
			fail: mayNotList,
			want: "error: user \"bob\" cannot list scylladbdatacenternodesstatusreports.scylla.scylladb.com in namespace empty\n" +
				"user \"bob\" cannot list services in namespace empty\n" +
				"user \"bob\" cannot list statefulsets.apps in namespace empty\n" +
				"request a Role with these verbs, or use other credentials with --context or --as\n",
		},
		"one kind may not be listed": {
			fail: func(ns string, gr schema.GroupResource) error {
				if gr.Resource == "services" {
					return mayNotList(ns, gr)
				}
				return nil
			},
			want: "error: user \"bob\" cannot list services in namespace empty\n" +
				"request a Role with verb \"list\" on \"services\" in namespace empty, or use other credentials with --context or --as\n",
		},
		"credentials that nobody knows": {
			fail: func(string, schema.GroupResource) error { return apierrors.NewUnauthorized("who are you") },
			want: "error: the API server does not accept these credentials\nlog in again, or use other credentials with --context, --user or --token\n",
		},
		"an API server that does not answer": {
			fail: func(string, schema.GroupResource) error { return context.DeadlineExceeded },
			want: "error: find clusters in namespace empty: the API server did not respond in time; check the network, or allow more time with --request-timeout\n",
		},
		"an API server that is not there": {
			args: []string{"--server", "https://127.0.0.1:1"},
			want: "error: cannot reach the API server at https://127.0.0.1:1: connection refused\ncheck --context and --server, or try: kubectl --server=https://127.0.0.1:1 cluster-info\n",
		},
		"no kubeconfig": {
			args: []string{},
			want: "error: no kubeconfig, so the API server's address is unknown\nset KUBECONFIG or --kubeconfig, or read saved objects with --from FILE\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for verb, args := range verbs {
				run := plugintest.Run{Args: append(append(args[:len(args):len(args)], "-n", "empty"), tc.args...)}
				if tc.args == nil {
					funcs := interceptor.Funcs{}
					if tc.fail != nil {
						funcs = lists(tc.fail)
					}
					run.Client = plugintest.NewClient(tc.objects, funcs)
				}
				res := run.Do(t)
				if diff := cmp.Diff(plugintest.Result{Stderr: tc.want, Code: 1}, res); diff != "" {
					t.Errorf("%s (-want +got):\n%s", verb, diff)
				}
			}
		})
	}
}

// A cluster is shown although the kind of its reports is not installed; with --source=report the error says why there are none.
func TestWithoutOurKindsTheSourceSaysWhy(t *testing.T) {
	c := plugintest.New(3, 1)
	funcs := interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if gvk, err := c.GroupVersionKindFor(list); err == nil && gvk.Group == "scylla.scylladb.com" {
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}}
			}
			return c.List(ctx, list, opts...)
		},
	}
	for _, verb := range [][]string{{"status"}, {"report"}, {"dashboard", "--once", "--width", "200"}} {
		for source, want := range map[string]string{
			"auto": "source: annotation (no report found: CRD not installed; used Pod annotations of 3 Pods)", "report": "source: report (no report found: CRD not installed)",
		} {
			res := plugintest.Run{Args: append(verb[:len(verb):len(verb)], "-n", "demo", "--source", source), Objects: c.NoReports().Objects(), Funcs: funcs, Environ: []string{"LANG=C.UTF-8", "COLUMNS=250"}}.Do(t)
			if !strings.Contains(res.Stdout, want) || strings.Contains(res.Stdout, "partial") {
				t.Errorf("%v --source=%s: exit %d\n%s%s", verb, source, res.Code, res.Stdout, res.Stderr)
			}
		}
	}
}
