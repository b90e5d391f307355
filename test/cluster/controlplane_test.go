// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
)

func startControlPlane(t *testing.T, opts cluster.Options) *cluster.Cluster {
	t.Helper()
	opts.Log = os.Stderr
	c, err := cluster.StartControlPlane(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			var text bytes.Buffer
			c.Diagnose(&text)
			t.Log(text.String())
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.test.example}
spec:
  group: test.example
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              low: {type: integer}
              high: {type: integer}
            x-kubernetes-validations:
            - {rule: "self.low <= self.high", message: low must not be above high}
`

func thing(name string, low, high int) string {
	return fmt.Sprintf(`{"apiVersion":"test.example/v1","kind":"Thing","metadata":{"name":%q},"spec":{"low":%d,"high":%d}}`, name, low, high)
}

const deployment = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: app}
spec:
  serviceName: app
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: app, image: localhost/app:dev}]}
`

func TestControlPlane(t *testing.T) {
	t.Parallel()
	c := startControlPlane(t, cluster.Options{})

	t.Run("reports the version of its components", func(t *testing.T) {
		if out := kubectl(t, c, "version"); strings.Count(out, build.KubernetesVersion) != 2 {
			t.Errorf("kubectl version says:\n%s\nwant %s of client and server", out, build.KubernetesVersion)
		}
	})

	t.Run("a CRD with a CEL rule takes good objects and refuses bad ones", func(t *testing.T) {
		if _, err := c.KubectlInput(t.Context(), crd, "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
		kubectl(t, c, "wait", "--for=condition=Established", "crd/things.test.example", "--timeout=30s")
		eventually(t, "the new kind to be served", func(ctx context.Context) (bool, string, error) {
			_, err := c.KubectlInput(ctx, thing("good", 1, 2), "apply", "-f", "-")
			return err == nil, "", err
		})
		_, err := c.KubectlInput(t.Context(), thing("bad", 2, 1), "apply", "-f", "-")
		if err == nil || !strings.Contains(err.Error(), "low must not be above high") {
			t.Errorf("an object against the rule: got error %v", err)
		}
	})

	t.Run("RBAC denies what nobody allowed", func(t *testing.T) {
		_, err := c.Kubectl(t.Context(), "get", "secrets", "--as=system:serviceaccount:default:default")
		if err == nil || !strings.Contains(err.Error(), `cannot list resource "secrets"`) {
			t.Errorf("list secrets as a service account without a role: got error %v", err)
		}
	})

	t.Run("a StatefulSet makes pods that stay pending, and tokens can be bound to them", func(t *testing.T) {
		if _, err := c.KubectlInput(t.Context(), deployment, "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "two pending pods", func(ctx context.Context) (bool, string, error) {
			out, err := c.Kubectl(ctx, "get", "pods", "-l", "app=app", "-o", "jsonpath={.items[*].status.phase}")
			return out == "Pending Pending", out, err
		})
		token := strings.TrimSpace(kubectl(t, c, "create", "token", "default", "--bound-object-kind=Pod", "--bound-object-name=app-0"))
		config := c.RESTConfig()
		who, err := c.Kubectl(t.Context(), "auth", "whoami", "-o", "json", "--kubeconfig=/dev/null", "--server="+config.Host,
			"--token="+token, "--certificate-authority="+filepath.Join(filepath.Dir(c.Kubeconfig()), "pki", "ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"system:serviceaccount:default:default", `"authentication.kubernetes.io/pod-name"`, `"app-0"`} {
			if !strings.Contains(who, want) {
				t.Errorf("the bearer of the token is\n%s\nwant it to hold %s", who, want)
			}
		}
	})

	t.Run("the API server can hang and go on", func(t *testing.T) {
		if err := c.PauseAPIServer(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Kubectl(t.Context(), "get", "namespaces", "--request-timeout=1s"); err == nil {
			t.Error("a paused API server answered")
		}
		if err := c.ResumeAPIServer(); err != nil {
			t.Fatal(err)
		}
		kubectl(t, c, "get", "namespaces")
	})

	t.Run("the API server comes back at the same address after a kill", func(t *testing.T) {
		if err := c.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		_, err := c.Kubectl(t.Context(), "get", "namespaces")
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("kubectl against a killed API server: got error %v, want a refused connection", err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		kubectl(t, c, "get", "pod", "app-0")
	})

	t.Run("a component that does not exist is refused and the others are named", func(t *testing.T) {
		err := c.Component("node1/kubelet").Kill()
		if err == nil || !strings.Contains(err.Error(), "kube-scheduler") {
			t.Errorf("got error %v", err)
		}
	})
}

func TestControlPlanesSideBySideKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	clusters := make([]*cluster.Cluster, 2)
	for i := range clusters {
		wg.Go(func() {
			c, err := cluster.StartControlPlane(t.Context(), cluster.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			clusters[i] = c
			t.Cleanup(func() { _ = c.Stop() })
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	kubectl(t, clusters[0], "create", "namespace", "first")
	if _, err := clusters[1].Kubectl(t.Context(), "get", "namespace", "first"); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("namespace of the first cluster asked of the second: got error %v, want NotFound", err)
	}
	if a, b := clusters[0].RESTConfig().Host, clusters[1].RESTConfig().Host; a == b {
		t.Errorf("both have the address %s", a)
	}
	if err := clusters[0].Stop(); err != nil {
		t.Fatal(err)
	}
	kubectl(t, clusters[1], "get", "namespaces")
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		opts cluster.Options
		want string
	}{
		"nodes for a control plane":  {cluster.Options{Nodes: 1}, "use StartNodes"},
		"images for a control plane": {cluster.Options{Images: []string{"x.tar"}}, "use StartNodes"},
		"grace period too short":     {cluster.Options{NodeMonitorGracePeriod: time.Second}, "must be at least 5s"},
		"state directory not empty":  {cluster.Options{StateDir: full}, "is not empty"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cluster.StartControlPlane(t.Context(), tc.opts)
			if err == nil {
				_ = c.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want it to say %q", err, tc.want)
			}
		})
	}
}

func TestBadFlagFailsAtOnceAndShowsTheLog(t *testing.T) {
	t.Parallel()
	c, err := cluster.StartControlPlane(t.Context(), cluster.Options{APIServerFlags: []string{"--no-such-flag"}})
	if err == nil {
		_ = c.Stop()
		t.Fatal("started with a flag that does not exist")
	}
	if !strings.Contains(err.Error(), "kube-apiserver ended") || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("got error %v, want the component's end and the last lines of its log", err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it was noticed at the end of a timeout only: %v", err)
	}
}
