// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// The Secret is stored before the manifest is printed, never made anew, and its password is shown nowhere.
func TestTheSecretIsStoredFirst(t *testing.T) {
	const passwords = "../../test/simulation/manifests/passwords.yaml"
	key := types.NamespacedName{Namespace: "shop", Name: "shop-root-credential"}
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
	of := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"}}
	verified := of.DeepCopy()
	verified.Status.RootCredential = &api.RootCredential{Mode: "managed", Code: "Verified"}
	first := of.DeepCopy()
	first.Status.RootCredential = &api.RootCredential{Mode: "verify", Code: "DefaultSuperuserOpen"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no"))
	for name, c := range map[string]struct {
		args    []string
		there   []client.Object
		refused error
		code    int
		stderr  string
		made    bool
	}{
		"a new cluster":         {[]string{"--root-credential=managed"}, nil, nil, 0, "secret shop/shop-root-credential created\n", true},
		"from verify":           {[]string{"--root-credential=managed"}, []client.Object{first}, nil, 0, "created", true},
		"there already":         {[]string{"--root-credential=managed"}, []client.Object{&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"username": []byte("root")}}}, nil, 0, "injected", false},
		"lost":                  {[]string{"--root-credential=managed"}, []client.Object{verified}, nil, 2, "a new password does not open an existing role", false},
		"not permitted":         {[]string{"--root-credential=managed"}, nil, forbidden, 1, "kubectl create secret generic shop-root-credential --from-file=username --from-file=password -n shop", false},
		"what would change":     {[]string{"--root-credential=managed", "-o", "diff"}, nil, nil, 0, "injected", false},
		"verify needs none":     {[]string{"--root-credential=verify"}, nil, nil, 0, "injected", false},
		"an unknown mode":       {[]string{"--root-credential=on"}, nil, nil, 2, `unknown --root-credential="on": use one of off, verify, managed`, false},
		"nothing with an undo":  {[]string{"--root-credential=off", "--undo", "--image="}, nil, nil, 2, "--root-credential cannot be used with --undo", false},
		"managed as it was set": {nil, nil, nil, 0, "injected", false},
	} {
		t.Run(name, func(t *testing.T) {
			cl := plugintest.NewClient(c.there, interceptor.Funcs{Create: func(ctx context.Context, cl client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				if c.refused != nil {
					return c.refused
				}
				return cl.Create(ctx, obj, opts...)
			}})
			r := plugintest.Run{Args: append([]string{"inject", "-f", passwords, "--image=example.com/scylla-agent:1"}, c.args...), Client: cl}.Do(t)
			if r.Code != c.code || !strings.Contains(r.Stderr, c.stderr) || c.code != 0 && r.Stdout != "" {
				t.Errorf("exit %d, want %d\nstdout:\n%s\nstderr:\n%s", r.Code, c.code, r.Stdout, r.Stderr)
			}
			s := &corev1.Secret{}
			err := cl.Get(t.Context(), key, s)
			password := string(s.Data["password"])
			if made := err == nil && len(password) >= 24 && string(s.Data["username"]) == "admin"; made != c.made {
				t.Errorf("Secret of %q: %v, want one: %t", s.Data["username"], err, c.made)
			}
			if c.made && strings.Contains(r.Stdout+r.Stderr, password) {
				t.Error("the password was printed")
			}
		})
	}
}
