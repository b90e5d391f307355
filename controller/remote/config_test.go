// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

const token = "s3cret-t0ken"

func kubeconfig(user string) string {
	return `apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: ` + user + `}]
`
}

func secret(config string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: "eu-secret", UID: "secret-uid",
			Labels:      map[string]string{api.LabelRemoteKubeconfig: "eu", api.LabelCluster: "demo"},
			Annotations: map[string]string{api.AnnotationRemoteLocalNamespace: "demo", api.AnnotationRemoteNamespace: "far"}},
		Data: map[string][]byte{api.KeyKubeconfig: []byte(config)},
	}
}

func TestWhatASecretMaySay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Secret)
		want   string // of the error; empty means good
	}{
		"token":            {},
		"no cluster":       {func(s *corev1.Secret) { delete(s.Labels, api.LabelCluster) }, "label scylla/cluster is missing"},
		"no namespace":     {func(s *corev1.Secret) { s.Annotations = nil }, "annotation kubectl-scylla.scylladb.com/local-namespace is missing"},
		"no kubeconfig":    {func(s *corev1.Secret) { s.Data = nil }, "key kubeconfig is missing"},
		"not a kubeconfig": {func(s *corev1.Secret) { s.Data[api.KeyKubeconfig] = []byte("{" + token) }, "is not a kubeconfig"},
		"no context":       {func(s *corev1.Secret) { s.Data[api.KeyKubeconfig] = []byte("{}") }, "current-context names no context"},
		"a command": {func(s *corev1.Secret) {
			s.Data[api.KeyKubeconfig] = []byte(kubeconfig(`{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/` + token + `, interactiveMode: Never}}`))
		}, "credential plugin is not allowed"},
		"a file with a token": {func(s *corev1.Secret) { s.Data[api.KeyKubeconfig] = []byte(kubeconfig(`{tokenFile: /` + token + `}`)) }, "refers to files"},
		"a file with a key":   {func(s *corev1.Secret) { s.Data[api.KeyKubeconfig] = []byte(kubeconfig(`{client-key: /` + token + `}`)) }, "refers to files"},
		"a provider of tokens": {func(s *corev1.Secret) {
			s.Data[api.KeyKubeconfig] = []byte(kubeconfig(`{auth-provider: {name: ` + token + `}}`))
		}, "credential plugin is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := secret(kubeconfig("{token: " + token + "}"))
			if c.change != nil {
				c.change(s)
			}
			config, err := fromSecret(s)
			if err == nil {
				_, err = config.RESTConfig()
			}
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "secret sys/eu-secret")):
				t.Errorf("error %v, want %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), token):
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

func TestDefaultsOfASecret(t *testing.T) {
	s := secret("x")
	s.Labels[api.LabelRemoteKubeconfig] = ""
	delete(s.Annotations, api.AnnotationRemoteNamespace)
	c, err := fromSecret(s)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "eu-secret" || c.RemoteNamespace != "demo" || c.RemoteCluster != "demo" {
		t.Errorf("got %+v", c)
	}
}

func FuzzKubeconfig(f *testing.F) {
	f.Add(kubeconfig("{token: " + token + "}"))
	f.Add("{")
	f.Add("clusters: 1")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := fromSecret(secret(text))
		if err != nil {
			return
		}
		cfg, err := c.RESTConfig()
		if err == nil && (cfg.ExecProvider != nil || cfg.AuthProvider != nil || cfg.BearerTokenFile != "" || cfg.CertFile != "" || cfg.KeyFile != "" || cfg.CAFile != "") {
			t.Fatalf("a command or a file got through: %q", text)
		}
	})
}

// TestOnlyOurOwnTextOfASecretIsRepeated: an error of somebody else's may quote what is in it, however it begins.
func TestOnlyOurOwnTextOfASecretIsRepeated(t *testing.T) {
	config, err := fromSecret(secret("{" + token))
	if err == nil {
		_, err = config.RESTConfig()
	}
	if got := reasonOf(err); got != "secret sys/eu-secret: key kubeconfig: is not a kubeconfig" {
		t.Errorf("ours: %q", got)
	}
	if got := reasonOf(errors.New("secret sys/eu-secret: " + token)); got != "its API server is not reachable" {
		t.Errorf("another's: %q", got)
	}
}

// TestTheFlagReachesTheSecrets: a Set refuses what is not verified, unless its options allow it.
func TestTheFlagReachesTheSecrets(t *testing.T) {
	s := secret(strings.Replace(kubeconfig("{token: "+token+"}"), "https:", "http:", 1))
	for _, allowed := range []bool{false, true} {
		config, err := New(Options{Clock: clock.RealClock{}, AllowUnsafe: allowed}).fromSecret(s)
		if err == nil {
			_, err = config.RESTConfig()
		}
		if (err == nil) != allowed || !allowed && !strings.Contains(reasonOf(err), "--allow-unsafe-remotes") {
			t.Errorf("allowed %t: %v", allowed, err)
		}
	}
}

// TestAnswersThatAreTooLargeAreAReason with a constant text.
func TestAnswersThatAreTooLargeAreAReason(t *testing.T) {
	err := fmt.Errorf("%s: %w", token, &bounded.TooLargeError{What: "an answer", Limit: "2 MiB"})
	if got := reasonOf(err); got != "an answer is larger than 2 MiB" {
		t.Error(got)
	}
}

// mute answers no request for a watch.
type mute struct{ client.WithWatch }

func (mute) Watch(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestARemoteThatAnswersNoWatchIsReadAgain: else its last rows would stay fresh.
func TestARemoteThatAnswersNoWatchIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := testRunner(t, nil, clock.RealClock{})
		r.client = mute{}
		began := time.Now()
		r.wait(t.Context())
		if took := time.Since(began); took > contactInterval {
			t.Errorf("after %s", took)
		}
	})
}
