// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
)

// CredentialModes are the values of Options.RootCredential.
func CredentialModes() []credential.Mode {
	return []credential.Mode{credential.Off, credential.Verify, credential.Managed}
}

// chooseCredential resolves the mode: no Pod gets a container without a use.
func (p *plan) chooseCredential() {
	c := credential.Config{Authenticator: cmp.Or(p.argument("--authenticator"), p.config.authenticator)}
	if p.o.RootCredential == "" && c.Applies() {
		p.o.RootCredential = credential.Verify
	}
}

// credential reports whether the Pods get the container of the credential.
func (p *plan) credential() bool {
	return p.o.RootCredential == credential.Verify || p.o.RootCredential == credential.Managed
}

// noToken is the path at which Kubernetes mounts the token of the ServiceAccount, unless the
// container has another mount there.
const noToken = "/var/run/secrets/kubernetes.io/serviceaccount"

// credentialContainer returns the only container that mounts the Secret. It has no port and no API
// token, and runs as ScyllaDB's user for the maintenance socket.
func (p *plan) credentialContainer(data []any) object {
	own := object{"name": api.VolumeCredential, "mountPath": api.MountCredential}
	return object{
		"name": api.ContainerCredential, "image": p.o.Image, "imagePullPolicy": string(corev1.PullIfNotPresent),
		"restartPolicy": "Always",
		"args":          []any{"credential", api.CredentialMode + string(p.o.RootCredential)},
		"volumeMounts": append(slices.Clone(data), own,
			object{"name": api.VolumeRootCredential, "mountPath": api.MountRootCredential, "readOnly": true},
			object{"name": api.VolumeCredential, "mountPath": noToken, "subPath": "no-token", "readOnly": true}),
		"resources": p.agentResources(), "securityContext": p.readerSecurity(),
	}
}

// credentialVolumes returns the volumes of that container. A Pod also starts without the Secret.
func (p *plan) credentialVolumes() []any {
	secret := object{"secretName": api.RootCredentialSecret(p.clusterName), "optional": true}
	return []any{object{"name": api.VolumeCredential, "emptyDir": object{}},
		object{"name": api.VolumeRootCredential, "secret": secret}}
}

// SecretOf returns the Secret that a managed root credential needs; false if u needs none, or the
// other objects contain it.
func SecretOf(u *unstructured.Unstructured, beside []*unstructured.Unstructured) (types.NamespacedName, bool) {
	key := types.NamespacedName{Namespace: u.GetNamespace(),
		Name: api.RootCredentialSecret(api.ClusterOf(u.GetLabels()))}
	there := slices.ContainsFunc(beside, func(b *unstructured.Unstructured) bool {
		return b.GetKind() == "Secret" && b.GetName() == key.Name && b.GetNamespace() == key.Namespace
	})
	return key, !there && u.GetAnnotations()[api.AnnotationRootCredential] == string(credential.Managed)
}

// checkMode refuses an unknown mode of an annotation.
func checkMode(mode credential.Mode) error {
	if mode != "" && !slices.Contains(CredentialModes(), mode) {
		return fmt.Errorf("metadata.annotations: unknown %s=%s: use one of %v", api.AnnotationRootCredential,
			shorten(string(mode)), CredentialModes())
	}
	return nil
}
