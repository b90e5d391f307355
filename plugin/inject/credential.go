// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// superuser is the role that a new Secret names.
const superuser = "admin"

// createSecret is the command that creates the Secret from two files: all users of the machine can
// read the arguments of a process.
func createSecret(key client.ObjectKey) []string {
	return words.Kubectl(key.Namespace, "create", "secret", "generic", key.Name, "--from-file="+credential.UsernameKey,
		"--from-file="+credential.PasswordKey)
}

// tellSecret prints how to create the Secret that the printed manifest needs. Nothing is written:
// the current context need not be the cluster to which the manifest is applied.
func (o *options) tellSecret(key client.ObjectKey) {
	key.Namespace = cmp.Or(key.Namespace, o.o.Namespace)
	o.d.Say(fmt.Sprintf("Secret %s is not in the manifest: create it before you apply the manifest, unless it exists. "+
		"Write a role name and a password to the files %s and %s, without a newline and readable only by you "+
		"(umask 077). Remove them after this command:\n  %s\n", key,
		credential.UsernameKey, credential.PasswordKey, o.d.Words().Shell(createSecret(key))))
}

// storeCredential creates the Secret of a managed root credential with the person's permissions,
// unless it exists: it is stored first, used second, and never printed. If a cluster had a Secret
// that is lost, no new one is created, because a new password does not open an existing role.
func (o *options) storeCredential(ctx context.Context, key client.ObjectKey) error {
	key.Namespace = cmp.Or(key.Namespace, o.o.Namespace)
	c, err := o.d.NewClient()
	if err != nil {
		return err
	}
	fail := func(err error) error {
		return exit.WithHint(fmt.Errorf("create Secret %s with keys %s and %s: %w", key, credential.UsernameKey,
			credential.PasswordKey, err),
			"create it, or ask an administrator to create it", createSecret(key)...)
	}
	switch err := c.Get(ctx, key, &corev1.Secret{}); {
	case err == nil:
		return nil
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return fail(err)
	}
	report := &api.ScyllaDBStatusReport{}
	of := client.ObjectKey{Namespace: key.Namespace, Name: strings.TrimSuffix(key.Name, api.RootCredentialSecret(""))}
	if err := client.IgnoreNotFound(c.Get(ctx, of, report)); err != nil {
		return fail(err)
	}
	if s := report.Status.RootCredential; s != nil && s.Mode == credential.Managed && s.Code != "" {
		return exit.Refusedf(
			"Secret %s does not exist, and cluster %s had it: restore it from your secret store, because a new "+
				"password does not open an existing role", key, of)
	}
	data := map[string][]byte{credential.UsernameKey: []byte(superuser),
		credential.PasswordKey: []byte(credential.NewPassword().Reveal())}
	err = c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data: data})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fail(err)
	}
	o.d.Say(fmt.Sprintf("secret %s created\n", key))
	return nil
}
