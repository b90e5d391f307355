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

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
)

// bareControlPlane is an API server that knows nothing of us, and the built plugin, which must end with the given code.
func bareControlPlane(t *testing.T) (c *cluster.Cluster, run func(wantCode int, args ...string) string) {
	t.Helper()
	c, p := bare(t)
	return c, func(wantCode int, args ...string) string {
		t.Helper()
		out, errs, code := p.execute(args...)
		if code != wantCode {
			t.Fatalf("kubectl scylla %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, wantCode, out, errs)
		}
		return out + errs
	}
}

// builtPlugin is the shipped program.
type builtPlugin struct {
	ctx                context.Context
	binary, kubeconfig string
}

func (p builtPlugin) execute(args ...string) (stdout, stderr string, code int) {
	cmd := exec.CommandContext(p.ctx, p.binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// bare is bareControlPlane with a plugin that may end with any code.
func bare(t *testing.T) (*cluster.Cluster, builtPlugin) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: a real control plane is left out")
	}
	ctx, cancel := context.WithTimeout(t.Context(), wholeTest)
	t.Cleanup(cancel)
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
	return c, builtPlugin{ctx, binary, c.Kubeconfig()}
}

// install works on a bare Kubernetes, changes nothing on dry runs, and can be repeated; uninstall takes it away but for the kinds.
func TestInstall(t *testing.T) {
	covers(t, "internal/api/crds", "internal/setup/manifests", "plugin/install", "plugin/uninstall")
	t.Parallel()
	pods(t, 4)
	c, run := bareControlPlane(t)
	ctx := t.Context()
	installed := func() bool {
		_, err := c.Kubectl(ctx, "get", "crd", "scylladbstatusreports.scylla.scylladb.com")
		return err == nil
	}
	contains(t, "check before", run(0, "check", "--pre"), "ok:", "you in default: 6 permissions, none missing")
	contains(t, "check of nothing", run(3, "check"), "CRD scylladbstatusreports.scylla.scylladb.com is not installed", "the controller is not installed", "kubectl scylla install")
	run(2, "install")
	contains(t, "install without a terminal", run(2, "install", "--no-controller"), "--yes")
	run(0, "install", "--no-controller", "--dry-run=client")
	run(0, "install", "--no-controller", "--dry-run=server")
	if installed() {
		t.Error("a dry run has installed the kinds")
	}
	first := run(0, "install", "--image=localhost/scylla-agent:dev", "--yes", "--wait=false")
	contains(t, "install", first, "customresourcedefinition", "validatingadmissionpolicy", "deployment.apps/kubectl-scylla-controller")
	if !installed() {
		t.Error("the kinds are not there")
	}
	contains(t, "waiting for a controller that no node runs", run(4, "install", "--image=localhost/scylla-agent:dev", "--yes", "--timeout=0"), "the controller to lead: not yet")
	contains(t, "check without a node", run(3, "check"), "none of the controller's", "failed   controller", "ok       admission")
	before, err := c.Kubectl(ctx, "-n", "kubectl-scylla", "get", "deployment,role,serviceaccount", "-o", "jsonpath={.items[*].metadata.generation}")
	if err != nil {
		t.Fatal(before, err)
	}
	if again := run(0, "install", "--image=localhost/scylla-agent:dev", "--yes", "--wait=false"); again != first {
		t.Errorf("installing again says something else:\n%s", again)
	}
	after, err := c.Kubectl(ctx, "-n", "kubectl-scylla", "get", "deployment,role,serviceaccount", "-o", "jsonpath={.items[*].metadata.generation}")
	if err != nil || before != after {
		t.Errorf("installing again has changed objects: %q, then %q, %v", before, after, err)
	}
	contains(t, "another version is installed", annotated(t, ctx, c, "v9.0.0", func() string { return run(2, "install", "--no-controller", "--yes") }), "version v9.0.0 is installed")
	if printed := run(0, "install", "--no-controller", "-o", "yaml"); strings.Contains(printed, "kind: Deployment") || !strings.Contains(printed, "kind: ClusterRole\n") {
		t.Errorf("install --no-controller -o yaml:\n%.500s", printed)
	}

	kustomized, err := c.Kubectl(ctx, "kustomize", "../../docs/install")
	if err != nil {
		t.Fatal(kustomized, err)
	}
	if diff := cmp.Diff(byName(t, run(0, "install", "--image=localhost/scylla-agent:dev", "--dry-run=client", "-o", "yaml")), byName(t, kustomized)); diff != "" {
		t.Errorf("docs/install is not what install applies (-install +kustomize):\n%s", diff)
	}
	contains(t, "uninstall that only looks", run(0, "uninstall", "--dry-run=client"), "deployment.apps/kubectl-scylla-controller removed (dry run)")
	if _, err := c.Kubectl(ctx, "-n", "kubectl-scylla", "get", "deployment", "kubectl-scylla-controller"); err != nil {
		t.Errorf("a dry run has removed the controller: %v", err)
	}
	contains(t, "uninstall", run(0, "uninstall", "--yes"), "serviceaccount/kubectl-scylla-controller removed", "namespace/kubectl-scylla removed", "scylladbstatusreports.scylla.scylladb.com stays")
	if !installed() {
		t.Error("uninstall has removed a kind, and every report with it")
	}
	contains(t, "uninstall again", run(0, "uninstall", "--yes"), "kubectl scylla install has applied nothing here")
}

// byName are the objects of a stream of documents, without the version that was installed.
func byName(t *testing.T, documents string) map[string]map[string]any {
	t.Helper()
	objects, err := manifests.Decode(strings.NewReader(documents))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, u := range objects {
		if u.GetKind() == "Namespace" {
			u.SetAnnotations(nil)
		}
		all[u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()] = u.Object
	}
	return all
}

// annotated does something while the namespace says that another version is installed.
func annotated(t *testing.T, ctx context.Context, c *cluster.Cluster, version string, do func() string) string {
	t.Helper()
	set := func(value string) {
		if out, err := c.Kubectl(ctx, "annotate", "--overwrite", "namespace", "kubectl-scylla", value); err != nil {
			t.Fatal(out, err)
		}
	}
	set("kubectl-scylla/version=" + version)
	defer set("kubectl-scylla/version-")
	return do()
}

// The kind that is also the Scylla Operator's: its first installer keeps it, and install reports that.
func TestInstallLeavesTheOperatorsKindAlone(t *testing.T) {
	covers(t, "internal/api/crds", "plugin/install", "plugin/uninstall")
	t.Parallel()
	pods(t, 4)
	c, run := bareControlPlane(t)
	ctx := t.Context()
	theirs := filepath.Join("testdata", "operator-crd.yaml")
	const name = "scylladbdatacenternodesstatusreports.scylla.scylladb.com"
	if out, err := c.Kubectl(ctx, "apply", "--server-side", "--field-manager=operator-release", "-f", theirs); err != nil {
		t.Fatal(out, err)
	}
	before, err := c.Kubectl(ctx, "get", "crd", name, "-o", "jsonpath={.metadata.generation} {.spec}")
	if err != nil {
		t.Fatal(before, err)
	}
	left := "customresourcedefinition.apiextensions.k8s.io/" + name + " unchanged: installed by operator-release"
	contains(t, "dry run", run(0, "install", "--no-controller", "--dry-run=client"), left)
	contains(t, "install", run(0, "install", "--no-controller", "--yes"), left, "scylladbstatusreports.scylla.scylladb.com applied")
	after, err := c.Kubectl(ctx, "get", "crd", name, "-o", "jsonpath={.metadata.generation} {.spec}")
	if err != nil || after != before {
		t.Errorf("install has changed the operator's kind: %v\n%s\n%s", err, before, after)
	}
	// The operator's documented upgrade goes through without a conflict.
	if out, err := c.Kubectl(ctx, "apply", "--server-side", "--field-manager=operator-release", "-f", theirs); err != nil {
		t.Error(out, err)
	}
	run(0, "uninstall", "--yes")
	if _, err := c.Kubectl(ctx, "get", "crd", name); err != nil {
		t.Errorf("uninstall has removed the operator's kind: %v", err)
	}
}
