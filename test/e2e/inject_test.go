// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// A manifest that knows nothing of us becomes a guarded cluster by one command: its nodes join one after the other, and a newcomer asks its barrier.
func TestInject(t *testing.T) {
	t.Parallel()
	f := inNamespace(t, "inject")
	f.must(f.Client.Create(f.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}))

	plain := filepath.Join("testdata", "plain.yaml")
	res := f.plugin("inject", "-f", plain, "--image", "localhost/scylla-agent:dev")
	if res.Code != 0 {
		t.Fatalf("exit %d: %s", res.Code, res.Stderr)
	}
	contains(t, "inject", res.Stderr, "statefulset inject/db-a injected", "serviceaccount inject/scylla-member added")
	guarded := filepath.Join(t.TempDir(), "guarded.yaml")
	f.must(os.WriteFile(guarded, []byte(res.Stdout), 0o600))
	if out, err := f.Cluster.Kubectl(f.ctx, "apply", "-f", guarded); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.ready(3)
	// A cluster is HEALTHY already with one node, as a newcomer may join it: all three are waited for.
	f.waitFor("all three nodes to be UP", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "status", "shop", "-n", f.namespace)
		return r.Code == 0 && strings.Contains(r.Stdout, "HEALTHY inject/shop: 3 of 3 nodes seen UP"), r.Stdout + r.Stderr, err
	})

	f.must(f.Scale(f.ctx, f.namespace, "db-b", 2))
	f.ready(4)
	if s := initStatus(f.pod("db-b-1"), api.ContainerBarrier); s == nil || s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
		t.Errorf("the newcomer's barrier: %+v", s)
	}

	checked := f.plugin("check")
	if checked.Code != 0 {
		t.Errorf("check of a guarded cluster: exit %d\n%s%s", checked.Code, checked.Stdout, checked.Stderr)
	}
	contains(t, "check", checked.Stdout, "4 reporters answer", "4 members, each with a Service of its name", "the controller's leader renews its Lease",
		"statefulset inject/db-a: reporter, query, barrier and launcher are there", "inject/scylla-member in inject: 8 rights, all there")
}
