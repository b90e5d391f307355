// SPDX-License-Identifier: Apache-2.0

package remote

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
)

// List is the document of `remote list`.
type List struct {
	metav1.TypeMeta `json:",inline"`
	Items           []Remote `json:"items"`
}

// Remote is what the controller here reads in another Kubernetes cluster.
type Remote struct {
	Name string `json:"name"`
	// Namespace and Cluster are the cluster here.
	Namespace       string `json:"namespace"`
	Cluster         string `json:"cluster"`
	RemoteNamespace string `json:"remoteNamespace"`
	RemoteCluster   string `json:"remoteCluster"`
	// Server is the API server there; absent if the Secret is not readable.
	Server string `json:"server,omitempty"`
	Secret string `json:"secret"`
}

func newList(secrets []corev1.Secret) *List {
	l := &List{TypeMeta: metav1.TypeMeta{APIVersion: document.APIVersion, Kind: "RemoteList"}}
	for i := range secrets {
		c, _ := shared.FromSecret(&secrets[i])
		c.AllowUnsafe = true // no request is sent
		r := Remote{Name: c.Name, Namespace: c.Namespace, Cluster: c.Cluster, RemoteNamespace: c.RemoteNamespace,
			RemoteCluster: c.RemoteCluster, Secret: c.Secret.Name}
		if cfg, err := c.RESTConfig(); err == nil {
			r.Server = cfg.Host
		}
		l.Items = append(l.Items, r)
	}
	return l
}

// DeepCopyObject implements runtime.Object for the printers of cli-runtime.
func (l *List) DeepCopyObject() runtime.Object { return document.DeepCopy(l) }

// Secrets returns the names of the Secrets, for -o name.
func (l *List) Secrets() (names []string) {
	for _, r := range l.Items {
		names = append(names, r.Secret)
	}
	return names
}
