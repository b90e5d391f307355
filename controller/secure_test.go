// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/controller"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
)

// TestMetricsOverTLSForAccountsThatMayGetThem: a real API server reviews tokens, by the permissions that install grants with --metrics-secure.
func TestMetricsOverTLSForAccountsThatMayGetThem(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.namespace()
	for _, name := range []string{"prometheus", "other"} {
		p.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}})
	}
	p.kubectl("", "create", "clusterrole", "metrics-reader", "--verb=get", "--non-resource-url=/metrics")
	p.kubectl("", "create", "clusterrolebinding", "metrics-reader", "--clusterrole=metrics-reader", "--serviceaccount=demo:prometheus")
	p.installWith(manifests.Options{MetricsSecure: true})
	r := p.runWith(p.asController(), func(o *controller.Options) { o.MetricsSecure = true })
	p.eventually("readiness", r.ready)
	token := func(account string) string {
		out, err := p.Kubectl(t.Context(), "create", "token", account, "-n", "demo")
		p.must(err)
		return strings.TrimSpace(out)
	}
	over := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	ask := func(ctx context.Context, scheme, token string) (int, string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+r.metrics+"/metrics", nil)
		if err != nil {
			return 0, "", err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := over.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.StatusCode, string(b), err
	}
	for name, tc := range map[string]struct {
		scheme, token string
		want          int
		shows         bool
	}{
		"an account that may get /metrics": {"https", token("prometheus"), http.StatusOK, true},
		"an account that may not":          {"https", token("other"), http.StatusForbidden, false},
		"no token":                         {"https", "", http.StatusUnauthorized, false},
		"a token of nobody":                {"https", "x", http.StatusUnauthorized, false},
	} {
		p.eventually(name, func(ctx context.Context) error {
			code, body, err := ask(ctx, tc.scheme, tc.token)
			if err == nil && (code != tc.want || strings.Contains(body, "kubectl_scylla_") != tc.shows) {
				err = fmt.Errorf("%d: %.200s", code, body)
			}
			return err
		})
	}
	if code, body, err := ask(t.Context(), "http", token("prometheus")); err == nil && (code != http.StatusBadRequest || strings.Contains(body, "kubectl_scylla_")) {
		t.Errorf("plain HTTP: %d: %.200s", code, body) // otherwise the connection was reset
	}
}
