// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

func TestRemotes(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: "remote-eu",
		Labels:      map[string]string{api.LabelRemoteKubeconfig: "eu", api.LabelCluster: "shop"},
		Annotations: map[string]string{api.AnnotationRemoteLocalNamespace: "prod"}}}
	plugintest.Screens(t, map[string]plugintest.Run{
		"list":            {Args: []string{"remote", "list"}, Objects: []client.Object{secret}},
		"list at 80":      {Args: []string{"remote", "list"}, Objects: []client.Object{secret}, Terminal: cli.Terminal{Out: true, Width: 80, Height: 24}},
		"list as names":   {Args: []string{"remote", "list", "-o", "name"}, Objects: []client.Object{secret}},
		"list as JSON":    {Args: []string{"remote", "list", "-o", "json"}, Objects: []client.Object{secret}},
		"list for awk":    {Args: []string{"remote", "list", "--no-headers"}, Objects: []client.Object{secret}},
		"an empty list":   {Args: []string{"remote", "list", "-o", "json"}, Client: plugintest.NewClient(nil, interceptor.Funcs{})},
		"check":           {Args: []string{"remote", "check"}, Objects: []client.Object{secret}},
		"check for awk":   {Args: []string{"remote", "check", "--no-headers"}, Objects: []client.Object{secret}},
		"unknown format":  {Args: []string{"remote", "list", "-o", "xml"}, Objects: []client.Object{secret}},
		"headers of JSON": {Args: []string{"remote", "list", "-o", "json", "--no-headers"}, Objects: []client.Object{secret}},
	}, plugintest.Run.Transcript)
}
