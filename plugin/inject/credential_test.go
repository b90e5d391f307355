// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"context"
	"errors"
	"os"
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

// With -f nothing reaches the API server, whatever the current context is: the command that creates the Secret is printed.
func TestAManifestCreatesNoSecret(t *testing.T) {
	const passwords = "../../test/simulation/manifests/passwords.yaml"
	const command = "kubectl create secret generic shop-root-credential --from-file=username --from-file=password -n shop"
	any := func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		t.Error("it reads the API server")
		return errors.New("no")
	}
	write := func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		t.Error("it writes to the API server")
		return errors.New("no")
	}
	for name, c := range map[string]struct {
		args   []string
		prints bool
	}{
		"managed":              {[]string{"--root-credential=managed"}, true},
		"managed, as a diff":   {[]string{"--root-credential=managed", "-o", "diff"}, true},
		"verify needs none":    {[]string{"--root-credential=verify"}, false},
		"nothing is asked for": {nil, false},
	} {
		cl := plugintest.NewClient(nil, interceptor.Funcs{Get: any, Create: write})
		r := plugintest.Run{Args: append([]string{"inject", "-f", passwords, "--image=example.com/scylla-agent:1"}, c.args...), Client: cl}.Do(t)
		if r.Code != 0 || strings.Contains(r.Stderr, command) != c.prints {
			t.Errorf("%s: exit %d\n%s", name, r.Code, r.Stderr)
		}
	}
	with, err := os.ReadFile(passwords)
	if err != nil {
		t.Fatal(err)
	}
	in := string(with) + "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: shop-root-credential, namespace: shop}\n"
	r := plugintest.Run{Args: []string{"inject", "-f", "-", "--image=example.com/scylla-agent:1", "--root-credential=managed"}, Stdin: in,
		Client: plugintest.NewClient(nil, interceptor.Funcs{Get: any, Create: write})}.Do(t)
	if r.Code != 0 || strings.Contains(r.Stderr, "create secret") {
		t.Errorf("the Secret is in the manifest: exit %d\n%s", r.Code, r.Stderr)
	}
}

// The Secret is stored before a running cluster is changed, never made anew, and its password is shown nowhere.
func TestTheSecretIsStoredFirst(t *testing.T) {
	key := types.NamespacedName{Namespace: "inject", Name: "shop-root-credential"}
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
	of := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "shop"}}
	verified := of.DeepCopy()
	verified.Status.RootCredential = &api.RootCredential{Mode: "managed", Code: "Verified"}
	first := of.DeepCopy()
	first.Status.RootCredential = &api.RootCredential{Mode: "verify", Code: "DefaultSuperuserOpen"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no"))
	for name, c := range map[string]struct {
		mode    string
		there   client.Object
		refused error
		code    int // 4: it goes on, and a disruption budget ends this test
		stderr  string
		made    bool
	}{
		"a new cluster":        {"managed", nil, nil, 4, "secret inject/shop-root-credential created\n", true},
		"from verify":          {"managed", first, nil, 4, "created", true},
		"there already":        {"managed", &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"username": []byte("root")}}, nil, 4, "configured", false},
		"lost":                 {"managed", verified, nil, 2, "a new password does not open an existing role", false},
		"not permitted":        {"managed", nil, forbidden, 1, "kubectl create secret generic shop-root-credential --from-file=username --from-file=password -n inject", false},
		"verify needs none":    {"verify", nil, nil, 4, "configured", false},
		"an unknown mode":      {"on", nil, nil, 2, `unknown --root-credential="on": use one of off, verify, managed`, false},
		"nothing with an undo": {"off --undo", nil, nil, 2, "--root-credential cannot be used with --undo", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			if s.held = true; c.there != nil {
				if err := s.c.Create(t.Context(), c.there); err != nil {
					t.Fatal(err)
				}
			}
			there := s.c
			s.c = interceptor.NewClient(there, interceptor.Funcs{Create: func(ctx context.Context, cl client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				_, secret := obj.(*corev1.Secret)
				if secret && c.refused != nil {
					return c.refused
				}
				if secret && len(s.writes) > 0 {
					t.Errorf("%T is created after %v", obj, s.writes)
				}
				return cl.Create(ctx, obj, opts...)
			}})
			args := append([]string{"--yes"}, strings.Fields("--root-credential="+c.mode)...)
			if !strings.Contains(c.mode, "undo") {
				args = append(args, agent)
			}
			r := s.run(args...)
			if r.Code != c.code || !strings.Contains(r.Stderr, c.stderr) || c.code < 4 && len(s.writes) > 0 {
				t.Errorf("exit %d, want %d\nwrote %v\nstderr:\n%s", r.Code, c.code, s.writes, r.Stderr)
			}
			secret := &corev1.Secret{}
			err := there.Get(t.Context(), key, secret)
			password := string(secret.Data["password"])
			if made := err == nil && len(password) >= 24 && string(secret.Data["username"]) == "admin"; made != c.made {
				t.Errorf("Secret of %q: %v, want one: %t", secret.Data["username"], err, c.made)
			}
			if c.made && strings.Contains(r.Stdout+r.Stderr, password) {
				t.Error("the password was printed")
			}
		})
	}
}
