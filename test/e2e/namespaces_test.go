// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// TestInstallForNamespaces: the controller's permissions follow the namespaces of each installation, and end with uninstall.
func TestInstallForNamespaces(t *testing.T) {
	covers(t, "internal/setup/manifests", "plugin/install", "plugin/uninstall", "plugin/check")
	t.Parallel()
	pods(t, 4)
	c, run := bareControlPlane(t)
	ctx := t.Context()
	for _, namespace := range []string{"a", "b", "c"} {
		if out, err := c.Kubectl(ctx, "create", "namespace", namespace); err != nil {
			t.Fatal(out, err)
		}
	}
	// may are the namespaces in which the controller may patch Services; * for all at once.
	may := func(want string) {
		t.Helper()
		got := ""
		for _, where := range []string{"--all-namespaces", "-n=a", "-n=b", "-n=c"} {
			out, _ := c.Kubectl(ctx, "auth", "can-i", "patch", "services", where, "--as=system:serviceaccount:kubectl-scylla:kubectl-scylla-controller") // no ends with 1
			if strings.HasSuffix(strings.TrimSpace(out), "yes") {
				got += strings.TrimPrefix(strings.Replace(where, "--all-namespaces", "*", 1), "-n=")
			}
		}
		if got != want {
			t.Errorf("the controller may in %q, want %q", got, want)
		}
	}
	install := func(code int, flags ...string) string {
		t.Helper()
		return run(code, append([]string{"install", "--image=localhost/scylla-agent:dev", "--yes", "--wait=false"}, flags...)...)
	}
	const role = "role.rbac.authorization.k8s.io/kubectl-scylla-controller-in-namespace in namespace "
	contains(t, "a namespace that is missing", install(2, "--namespaces=a,z"), "namespace z does not exist", "kubectl create namespace z")
	may("")
	contains(t, "two namespaces", install(0, "--namespaces=b,a"), role+"a applied", role+"b applied")
	may("ab")
	contains(t, "the same, only seen", install(0, "--namespaces=b,c", "--dry-run=server"), role+"a removed (server dry run)", role+"c applied (server dry run)")
	may("ab")
	contains(t, "two others", install(0, "--namespaces=b,c"), role+"a removed", role+"c applied")
	may("bc")
	out, err := c.Kubectl(ctx, "-n", "kubectl-scylla", "get", "deployment", "kubectl-scylla-controller", "-o", "jsonpath={.spec.template.spec.containers[0].args}")
	if err != nil || !strings.Contains(out, `"--namespaces=b,c"`) {
		t.Errorf("the controller has arguments %s, %v", out, err)
	}
	contains(t, "check in one of them", run(3, "check", "-n", "b"), "the controller in b", "none missing")
	contains(t, "all", install(0), "clusterrole.rbac.authorization.k8s.io/kubectl-scylla-controller applied", role+"b removed", "to keep that, add --namespaces=b,c")
	may("*abc")
	contains(t, "one", install(0, "--namespaces=c"), "clusterrolebinding.rbac.authorization.k8s.io/kubectl-scylla-controller removed",
		"clusterrole.rbac.authorization.k8s.io/kubectl-scylla-controller removed")
	may("c")
	contains(t, "uninstall", run(0, "uninstall", "--yes"), "rolebinding.rbac.authorization.k8s.io/kubectl-scylla-controller-in-namespace in namespace c removed", role+"c removed")
	may("")
}
