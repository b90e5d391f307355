// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Verbs are the controller's verbs on reports in a remote namespace, the only permissions of its
// credentials there. It reads the reports of that datacenter and keeps copies of the local ones.
var Verbs = []string{"get", "list", "watch", "create", "update", "delete"}

// Resource is the resource of Verbs.
const Resource = "scylladbdatacenternodesstatusreports"

// accountPrefix begins the names of the account there and of the Secret here.
const accountPrefix = "kubectl-scylla-remote-"

// partOf is the label on every object that the plugin creates.
const partOf = "app.kubernetes.io/part-of"

// Account returns the name of the remote ServiceAccount. home is the UID of the local controller's
// namespace, because two Kubernetes clusters may use one remote.
func Account(name, home string) string {
	if len(home) > 8 {
		home = home[:8]
	}
	return accountPrefix + name + "-" + home
}

// DeleteAccount returns the command that deletes a ServiceAccount with its token and permissions.
func DeleteAccount(namespace, account string) words.Command {
	return words.Kubectl(namespace, "delete", "serviceaccount,role,rolebinding,secret", account)
}

// IsAccount reports whether a ServiceAccount was created by "remote add", here or elsewhere.
func IsAccount(o client.Object) bool {
	return strings.HasPrefix(o.GetName(), accountPrefix) && o.GetLabels()[partOf] == "kubectl-scylla"
}

// SecretName returns the name of the local Secret.
func SecretName(name string) string { return accountPrefix + name }

func object(apiVersion, kind, namespace, name string, rest map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: rest}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[partOf] = "kubectl-scylla"
	u.SetLabels(labels)
	return u
}

func list(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// There returns the objects in the remote namespace, in the order of their creation: a
// ServiceAccount, its RBAC rules, and a token. The token does not expire, because the controller
// cannot renew it.
func There(namespace, account string) []*unstructured.Unstructured {
	const rbac = "rbac.authorization.k8s.io/v1"
	token := object("v1", "Secret", namespace, account, map[string]any{"type": "kubernetes.io/service-account-token"})
	token.SetAnnotations(map[string]string{"kubernetes.io/service-account.name": account})
	return []*unstructured.Unstructured{
		object("v1", "ServiceAccount", namespace, account, map[string]any{"automountServiceAccountToken": false}),
		object(rbac, "Role", namespace, account, map[string]any{"rules": []any{
			map[string]any{"apiGroups": []any{api.GroupVersion.Group}, "resources": []any{Resource},
				"verbs": list(Verbs)},
		}}),
		object(rbac, "RoleBinding", namespace, account, map[string]any{
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": namespace}},
		}),
		token,
	}
}

// Kubeconfig returns a kubeconfig with an inline token. The server's certificate must be verified:
// otherwise another server could report any state.
func Kubeconfig(cfg *rest.Config, server, namespace, token string) ([]byte, error) {
	c := rest.CopyConfig(cfg)
	if err := rest.LoadTLSFiles(c); err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	if server == "" {
		server = c.Host
	}
	if c.Insecure || len(c.CAData) == 0 {
		return nil,
			errors.New(
				"its kubeconfig has no certificate authority, inline or as a file: the controller could not verify " +
					"the API server")
	}
	cluster := &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.CAData, TLSServerName: c.ServerName}
	if found := unsafeIn(cluster); found != "" {
		return nil, fmt.Errorf("the controller refuses %s", found)
	}
	k := clientcmdapi.NewConfig()
	k.Clusters["remote"] = cluster
	k.AuthInfos["remote"] = &clientcmdapi.AuthInfo{Token: token}
	k.Contexts["remote"] = &clientcmdapi.Context{Cluster: "remote", AuthInfo: "remote", Namespace: namespace}
	k.CurrentContext = "remote"
	return clientcmd.Write(*k)
}

// Here returns the Secret that makes the controller read the remote; namespace is the controller's.
func Here(c Config, namespace string, kubeconfig []byte) *unstructured.Unstructured {
	u := object("v1", "Secret", namespace, SecretName(c.Name), map[string]any{
		"type": "Opaque", "data": map[string]any{api.KeyKubeconfig: base64.StdEncoding.EncodeToString(kubeconfig)},
	})
	labels := u.GetLabels()
	labels[api.LabelRemoteKubeconfig], labels[api.LabelCluster] = c.Name, api.OwnCluster(c.Cluster)
	u.SetLabels(labels)
	annotations := map[string]string{
		api.AnnotationRemoteLocalNamespace: c.Namespace, api.AnnotationRemoteNamespace: c.RemoteNamespace,
		api.AnnotationRemoteCluster: c.RemoteCluster,
	}
	if c.StatusReport != "" {
		annotations[api.AnnotationStatusReportOverrideRef] = c.StatusReport
	}
	u.SetAnnotations(annotations)
	return u
}
