// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// installed is an API server with the roles that an installation for these namespaces has applied; owner is their field manager.
func installed(t *testing.T, owner string, secure bool, namespaces ...string) client.Client {
	t.Helper()
	objects, err := (&options{namespaces: namespaces, secure: secure}).objects()
	if err != nil {
		t.Fatal(err)
	}
	scheme := kube.NewScheme()
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	b := fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields()
	for _, u := range objects {
		if strings.Contains(u.GetKind(), "Role") {
			u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: owner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "rbac.authorization.k8s.io/v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}})
			u.SetUID("1")
			b = b.WithObjects(u)
		}
	}
	return b.Build()
}

// TestAnotherInstallationTakesRolesAway: server-side apply deletes nothing, so a controller would keep its permissions in a namespace that was left out.
func TestAnotherInstallationTakesRolesAway(t *testing.T) {
	t.Parallel()
	const (
		everywhere = "clusterrolebinding.rbac.authorization.k8s.io/kubectl-scylla-controller, clusterrole.rbac.authorization.k8s.io/kubectl-scylla-controller"
		binding    = "rolebinding.rbac.authorization.k8s.io/kubectl-scylla-controller-in-namespace in namespace "
		role       = "role.rbac.authorization.k8s.io/kubectl-scylla-controller-in-namespace in namespace "
	)
	for name, tc := range map[string]struct {
		was, is []string
		secure  bool // metrics, before
		owner   string
		dryRun  cli.DryRunFlag
		removes string // in this order
		stays   bool
		warns   string
	}{
		"all, again":      {},
		"two, again":      {was: []string{"a", "b"}, is: []string{"a", "b"}},
		"all to two":      {is: []string{"a", "b"}, removes: everywhere},
		"only seen":       {is: []string{"a", "b"}, dryRun: cli.DryRunClient, removes: everywhere},
		"one is left out": {was: []string{"a", "b"}, is: []string{"b", "c"}, removes: binding + "a, " + role + "a"},
		"two to all": {was: []string{"a", "b"}, removes: binding + "a, " + binding + "b, " + role + "a, " + role + "b",
			warns: "all namespaces, not only a, b: to keep that, add --namespaces=a,b"},
		"of another owner":   {is: []string{"a"}, owner: "kubectl", removes: everywhere, stays: true},
		"secure metrics":     {secure: true, removes: "clusterrolebinding.rbac.authorization.k8s.io/kubectl-scylla-controller-metrics"},
		"its own is managed": {was: []string{"kubectl-scylla"}, is: []string{"a"}, removes: binding + "kubectl-scylla, " + role + "kubectl-scylla"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.owner == "" {
				tc.owner = manifests.FieldOwner
			}
			if tc.dryRun == "" {
				tc.dryRun = cli.DryRunNone
			}
			var deleted []string
			c := interceptor.NewClient(installed(t, tc.owner, tc.secure, tc.was...).(client.WithWatch), interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					o := (&client.DeleteOptions{}).ApplyOptions(opts)
					if o.Preconditions == nil || o.Preconditions.UID == nil {
						t.Errorf("%s is deleted whatever it is by now", obj.GetName())
					}
					deleted = append(deleted, obj.GetNamespace()+"/"+obj.GetName())
					return c.Delete(ctx, obj)
				},
			})
			var out, errs bytes.Buffer
			d := cli.New(genericiooptions.IOStreams{Out: &out, ErrOut: &errs}, clock.RealClock{}, nil, func() cli.Terminal { return cli.Terminal{} })
			o := &options{d: d, namespaces: tc.is, dryRun: tc.dryRun}
			objects, err := o.objects()
			if err != nil {
				t.Fatal(err)
			}
			former, err := o.former(t.Context(), c, objects)
			if err == nil {
				err = o.remove(t.Context(), c, former)
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, u := range former {
				names = append(names, Name(u))
			}
			if diff := cmp.Diff(tc.removes, strings.Join(names, ", ")); diff != "" {
				t.Errorf("roles of before (-want +got):\n%s", diff)
			}
			end := " removed" + tc.dryRun.Suffix()
			if tc.stays {
				end = " stays, with its permissions: not applied by kubectl scylla install"
			}
			if n := strings.Count(out.String(), end+"\n"); n != len(names) || n != strings.Count(out.String(), "\n") {
				t.Errorf("%d of %d lines end with %q:\n%s", n, len(names), end, &out)
			}
			if want := len(names); tc.stays || tc.dryRun != cli.DryRunNone {
				if len(deleted) > 0 {
					t.Errorf("deleted: %q", deleted)
				}
			} else if len(deleted) != want {
				t.Errorf("deleted: %q, want %d", deleted, want)
			}
			if (errs.Len() > 0) != (tc.warns != "") || !strings.Contains(errs.String(), tc.warns) {
				t.Errorf("warning %q, want %q", &errs, tc.warns)
			}
		})
	}
}

// TestNamespacesAreRefused: one that does not exist, and an installation that would leave barriers without a controller.
func TestNamespacesAreRefused(t *testing.T) {
	t.Parallel()
	guarded := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db-a", Labels: map[string]string{api.LabelCluster: "shop"}}}
	guarded.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: api.ContainerBarrier}}
	operators := guarded.DeepCopy()
	operators.Namespace, operators.Labels[api.LabelManagedBy] = "op", api.ManagedByOperator
	for name, tc := range map[string]struct {
		namespaces []string
		want       string
	}{
		"all":               {nil, ""},
		"those of clusters": {[]string{"demo", "a"}, ""},
		"the controller's":  {[]string{"demo", manifests.Namespace}, ""},
		"a missing one":     {[]string{"demo", "b"}, "kubectl create namespace b"},
		"a barrier outside": {[]string{"a"}, "kubectl scylla inject shop --undo -n demo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(guarded.DeepCopy(), operators.DeepCopy())
			for _, namespace := range []string{"demo", "op", "a"} {
				b = b.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			}
			err := (&options{namespaces: tc.namespaces}).refuseNamespaces(t.Context(), b.Build())
			text := ""
			if err != nil {
				text = exit.Message(err)
			}
			if (err == nil) != (tc.want == "") || !strings.Contains(text, tc.want) || err != nil && exit.Code(err) != exit.CodeUsage {
				t.Errorf("%q, want %q", text, tc.want)
			}
		})
	}
}

// TestNamespacesOfTheFlag: in any order, each once.
func TestNamespacesOfTheFlag(t *testing.T) {
	t.Parallel()
	d := cli.New(genericiooptions.IOStreams{}, clock.RealClock{}, nil, func() cli.Terminal { return cli.Terminal{} })
	for name, tc := range map[string]struct{ given, want, err string }{
		"two":     {"b,a,b", "a b", ""},
		"none":    {"", "", ""},
		"no name": {"a,B", "B a", `invalid --namespaces="B"`},
	} {
		cmd, o := NewCmd(d), &options{d: d, namespaces: strings.FieldsFunc(tc.given, func(r rune) bool { return r == ',' }), image: "x:1", replicas: 1}
		err := o.Complete(cmd, nil)
		if err == nil {
			err = o.Validate(cmd)
		}
		if got := strings.Join(o.namespaces, " "); got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if o.namespaces != nil && !slices.IsSorted(o.namespaces) {
			t.Errorf("%s: not sorted", name)
		}
	}
}
