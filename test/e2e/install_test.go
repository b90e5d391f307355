// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
)

// install works on a bare Kubernetes, changes nothing on dry runs, and can be repeated.
func TestInstall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: a real control plane is left out")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "kubectl-scylla")
	if err := image.BuildBinary(ctx, root, "./cmd/kubectl-scylla", binary); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.StartControlPlane(ctx, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	run := func(wantCode int, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != wantCode {
			t.Fatalf("kubectl scylla %s: exit %d, want %d\n%s", strings.Join(args, " "), code, wantCode, out.String())
		}
		return out.String()
	}
	installed := func() bool {
		_, err := c.Kubectl(ctx, "get", "crd", "scylladbstatusreports.scylla.scylladb.com")
		return err == nil
	}
	run(2, "install")
	contains(t, "install without a terminal", run(2, "install", "--no-controller"), "--yes")
	run(0, "install", "--no-controller", "--dry-run=client")
	run(0, "install", "--no-controller", "--dry-run=server")
	if installed() {
		t.Error("a dry run has installed the kinds")
	}
	first := run(0, "install", "--image=localhost/scylla-agent:dev", "--yes")
	contains(t, "install", first, "customresourcedefinition", "validatingadmissionpolicy", "deployment.apps/kubectl-scylla-controller")
	if !installed() {
		t.Error("the kinds are not there")
	}
	before, err := c.Kubectl(ctx, "-n", "kubectl-scylla", "get", "deployment,role,serviceaccount", "-o", "jsonpath={.items[*].metadata.generation}")
	if err != nil {
		t.Fatal(before, err)
	}
	if again := run(0, "install", "--image=localhost/scylla-agent:dev", "--yes"); again != first {
		t.Errorf("installing again says something else:\n%s", again)
	}
	after, err := c.Kubectl(ctx, "-n", "kubectl-scylla", "get", "deployment,role,serviceaccount", "-o", "jsonpath={.items[*].metadata.generation}")
	if err != nil || before != after {
		t.Errorf("installing again has changed objects: %q, then %q, %v", before, after, err)
	}
	if printed := run(0, "install", "--no-controller", "-o", "yaml"); strings.Contains(printed, "kind: Deployment") || !strings.Contains(printed, "kind: ClusterRole\n") {
		t.Errorf("install --no-controller -o yaml:\n%.500s", printed)
	}
}
