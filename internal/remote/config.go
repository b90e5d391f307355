// SPDX-License-Identifier: Apache-2.0

// Package remote defines the Secret with which a Kubernetes cluster reads the reports of another.
// It has the content, validation and creation of the Secret, and the permissions that its
// credentials need in the remote. It must not log or repeat the contents of a kubeconfig.
package remote

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Config is the configuration of one remote, from its Secret.
type Config struct {
	// Name of the remote, and the local cluster with datacenters there.
	Name, Namespace, Cluster string
	// RemoteNamespace and RemoteCluster locate the reports in the remote.
	RemoteNamespace, RemoteCluster string
	// StatusReport is the local ScyllaDBStatusReport that aggregates the datacenters and that the
	// cluster's barriers use; empty if they use the cluster's own report.
	StatusReport string
	// Secret that configures the remote, and its UID, which marks the copies pushed because of it.
	Secret types.NamespacedName
	UID    types.UID
	// AllowUnsafe allows a kubeconfig whose server is not verified, or is link-local. FromSecret
	// does not set it: only the controller's flag does.
	AllowUnsafe bool

	kubeconfig []byte
}

// SecretError means that a Secret is not usable as a remote. Its text repeats nothing of the
// content.
type SecretError struct {
	Secret types.NamespacedName
	Why    string
}

// Error returns the text with the Secret's name.
func (e *SecretError) Error() string { return fmt.Sprintf("secret %s: %s", e.Secret, e.Why) }

func (c Config) fault(format string, args ...any) error {
	return &SecretError{c.Secret, fmt.Sprintf(format, args...)}
}

// KeyFault returns a SecretError about the kubeconfig.
func (c Config) KeyFault(why string) error { return c.fault("key %s: %s", api.KeyKubeconfig, why) }

// FromSecret decodes a remote from a Secret with label api.LabelRemoteKubeconfig. On error the
// Config still names the cluster, if the Secret does. The error names the key to correct and never
// its content.
func FromSecret(s *corev1.Secret) (Config, error) {
	c := Config{
		Name:      cmp.Or(s.Labels[api.LabelRemoteKubeconfig], s.Name),
		Namespace: s.Annotations[api.AnnotationRemoteLocalNamespace],
		Cluster:   api.ClusterOf(s.Labels),
		RemoteNamespace: cmp.Or(s.Annotations[api.AnnotationRemoteNamespace],
			s.Annotations[api.AnnotationRemoteLocalNamespace]),
		RemoteCluster: cmp.Or(s.Annotations[api.AnnotationRemoteCluster], api.ClusterOf(s.Labels)),
		StatusReport:  s.Annotations[api.AnnotationStatusReportOverrideRef],
		Secret:        types.NamespacedName{Namespace: s.Namespace, Name: s.Name},
		UID:           s.UID,
		kubeconfig:    s.Data[api.KeyKubeconfig],
	}
	switch {
	case c.Cluster == "":
		return c, c.fault("label %s is missing: set it to the cluster here", api.LabelCluster)
	case c.Namespace == "":
		return c, c.fault("annotation %s is missing: set it to the namespace of the cluster here",
			api.AnnotationRemoteLocalNamespace)
	case len(validation.IsValidLabelValue(c.Name)) > 0:
		return c, c.fault("its name is not a valid remote name: set the name of the remote as the value of label %s",
			api.LabelRemoteKubeconfig)
	case len(c.kubeconfig) == 0:
		return c, c.fault("key %s is missing: set it to a kubeconfig", api.KeyKubeconfig)
	}
	return c, nil
}

// RESTConfig converts the kubeconfig to a client configuration. Credentials must be inline: a user
// with write access to the Secret must not be able to make the controller run commands or read
// files, or connect to a server that is not verified. Errors contain nothing of the content.
func (c Config) RESTConfig() (*rest.Config, error) {
	k, err := clientcmd.Load(c.kubeconfig)
	if err != nil {
		return nil, c.KeyFault("is not a kubeconfig") // the parser's error may quote it
	}
	ctx, ok := k.Contexts[k.CurrentContext]
	if !ok {
		return nil, c.KeyFault("current-context names no context")
	}
	user, cluster := k.AuthInfos[ctx.AuthInfo], k.Clusters[ctx.Cluster]
	switch {
	case cluster == nil || cluster.Server == "":
		return nil, c.KeyFault("the current context has no cluster with a server")
	case user == nil:
		return nil, c.KeyFault("the current context has no user")
	case user.Exec != nil, user.AuthProvider != nil:
		return nil, c.KeyFault("a credential plugin is not allowed: use a token or an inline client certificate")
	case user.TokenFile != "", user.ClientCertificate != "", user.ClientKey != "", cluster.CertificateAuthority != "":
		return nil,
			c.KeyFault(
				"refers to files: put credentials and certificates inline (kubectl config view --flatten --minify)")
	}
	if found := unsafeIn(cluster); found != "" && !c.AllowUnsafe {
		return nil, c.refused(found)
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*k, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, c.KeyFault("is not usable")
	}
	cfg.UserAgent = "kubectl-scylla-controller"
	cfg.Timeout = 0 // watches are long; every request has its own deadline
	cfg.QPS, cfg.Burst = 50, 100
	c.restrict(cfg)
	return cfg, nil
}

// Same reports whether two configurations have the same reports and credentials.
func (c Config) Same(o Config) bool {
	return c.Name == o.Name && c.Namespace == o.Namespace && c.Cluster == o.Cluster &&
		c.RemoteNamespace == o.RemoteNamespace && c.RemoteCluster == o.RemoteCluster &&
		string(c.kubeconfig) == string(o.kubeconfig)
}
