// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/readme"
)

// step is one command of the README, with what it ends with and says.
type step struct {
	line string
	code int
	says []string
}

// user types commands with a kubectl that does nothing but to find its plugin.
type user struct {
	ctx context.Context
	env []string
	dir string
}

func newUser(t *testing.T, ctx context.Context, c *cluster.Cluster, plugin string) *user {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\nshift\nexec "+plugin+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &user{ctx: ctx, dir: dir, env: []string{"PATH=" + dir, "HOME=" + dir, "NO_COLOR=1", "KUBECONFIG=" + c.Kubeconfig()}}
}

// walk types every line of the section, in its order, and logs how long each of them took.
func (u *user) walk(t *testing.T, heading string, names *strings.Replacer, steps []step) {
	t.Helper()
	lines := readme.Commands(t, "../..", heading)
	began := time.Now()
	for i, line := range lines {
		if i >= len(steps) || steps[i].line != line {
			t.Fatalf("the README has %q as command %d: say here what it does", line, i+1)
		}
		start := time.Now()
		typed := names.Replace(line)
		if strings.HasPrefix(line, "kubectl scylla dashboard") {
			typed += " --once" // there is no terminal here
		}
		cmd := exec.CommandContext(u.ctx, "/bin/sh", "-c", typed)
		cmd.Env, cmd.Dir = u.env, u.dir
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != steps[i].code {
			t.Fatalf("%s: exit %d, want %d\n%s", line, code, steps[i].code, out)
		}
		contains(t, line, string(out), steps[i].says...)
		t.Logf("%6s %s", time.Since(start).Round(100*time.Millisecond), line)
	}
	if len(lines) != len(steps) {
		t.Errorf("the README has %d commands, and here are %d", len(lines), len(steps))
	}
	t.Logf("%6s %s", time.Since(began).Round(time.Second), heading)
}

// A new user with a cluster that knows nothing of us: three Kubernetes nodes, three racks of ScyllaDB in plain StatefulSets. Everything that the README says for
// looking and for guarding joins is typed as it stands there; then a node dies and a newcomer waits, and the guards are taken out again. In the end the cluster is
// made anew from the manifest as inject prints it.
//
// It is the first test of the package, and not parallel: the test cluster has nothing of ours before the README's command installs it, and the others go on with
// what that has installed.
func TestDoorOfAClusterThatKnowsNothingOfUs(t *testing.T) {
	covers(t, "internal/setup/adopt", "internal/setup/inject", "internal/maintenance", "internal/setup/manifests", "internal/setup/preflight", "plugin/check", "plugin/inject",
		"plugin/install", "plugin/report")
	pods(t, 4)
	w := kubernetes(t)
	const namespace = "inject" // that of the manifest
	f := inNamespace(t, w, namespace)
	f.must(w.Client.Create(f.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	plain := filepath.Join("testdata", "plain.yaml")
	f.apply(plain)
	// That the user's cluster is well is not part of the door.
	for _, rack := range []string{"a", "b", "c"} {
		if out, err := w.Cluster.Kubectl(f.ctx, "-n", namespace, "rollout", "status", "statefulset/db-"+rack, "--timeout=5m"); err != nil {
			t.Fatal(out, err)
		}
	}
	f.allUp(3, "--source=live")
	u := newUser(t, f.ctx, w.Cluster, w.Images.Plugin)
	names := strings.NewReplacer("NAMESPACE", namespace, "CLUSTER", "shop", "IMAGE", images.AgentRef)
	healthy := []string{"HEALTHY inject/shop", "3 of 3 nodes seen UP by all"}
	u.walk(t, "Inspect a cluster", names, []step{
		{"kubectl scylla status -n NAMESPACE --source=live", 0, append([]string{"source: live"}, healthy...)},
		{"kubectl scylla dashboard -n NAMESPACE --source=live", 0, healthy[:1]},
		{"kubectl scylla report -n NAMESPACE -o html > report.html", 0, []string{}},
	})
	before := f.identities()
	u.walk(t, "Protect joins", names, []step{
		{"kubectl scylla check --pre -n NAMESPACE", 0, []string{"ok:"}},
		{"kubectl scylla install --image IMAGE --yes", 0, []string{"deployment.apps/kubectl-scylla-controller applied"}},
		{"kubectl scylla inject CLUSTER -n NAMESPACE --image IMAGE --dry-run=client", 0, []string{"+        - launch", "statefulset inject/db-a will change", "nothing was changed"}},
		{"kubectl scylla inject CLUSTER -n NAMESPACE --image IMAGE --yes", 0, []string{"the host IDs of 3 nodes are recorded", "db-a-0 restarts", "db-b-0 restarts", "db-c-0 restarts", "inject/shop is protected"}},
		{"kubectl scylla status -n NAMESPACE --wait", 0, healthy},
		{"kubectl scylla check -n NAMESPACE", 0, []string{"3 reporters respond", "statefulset inject/db-a: reporter, query, barrier and launcher are configured"}},
	})
	if after := f.identities(); !maps.Equal(before, after) {
		t.Errorf("the nodes were %v, and are %v", before, after)
	}
	f.guardsHoldAndGoAgain()
	f.madeOf(plain)
}

func (f *fixture) apply(manifest string) {
	f.t.Helper()
	if out, err := f.Cluster.Kubectl(f.ctx, "apply", "-f", manifest); err != nil {
		f.t.Fatal(out, err)
	}
}

// allUp waits until the cluster shop is HEALTHY, with so many nodes.
func (f *fixture) allUp(nodes int, source ...string) {
	f.t.Helper()
	r := f.plugin(append([]string{"status", "shop", "--wait", "--timeout=5m"}, source...)...)
	if want := fmt.Sprintf("HEALTHY inject/shop: %d of %d nodes seen UP by all", nodes, nodes); r.Code != 0 || !strings.Contains(r.Stdout, want) {
		f.t.Fatalf("status: exit %d, want %q\n%s%s", r.Code, want, r.Stdout, r.Stderr)
	}
}

// madeOf makes the namespace and its cluster anew, guarded from its first node on.
func (f *fixture) madeOf(plain string) {
	f.t.Helper()
	f.remove()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	f.waitFor("the namespace to be made anew", func(ctx context.Context) (bool, string, error) {
		ns.ResourceVersion = ""
		err := f.Client.Create(ctx, ns)
		return err == nil, "", err
	})
	res := f.plugin("inject", "-f", plain, "--image", images.AgentRef)
	if res.Code != 0 {
		f.t.Fatalf("inject -f: exit %d\n%s", res.Code, res.Stderr)
	}
	contains(f.t, "inject -f", res.Stderr, "statefulset inject/db-a injected", "serviceaccount inject/scylla-member added")
	guarded := filepath.Join(f.t.TempDir(), "guarded.yaml")
	f.must(os.WriteFile(guarded, []byte(res.Stdout), 0o600))
	f.apply(guarded)
	f.ready(3)
	// A cluster is HEALTHY already with one node, as a newcomer may join it: all three are waited for.
	f.untilAllUp("shop", 3)
	f.allUp(3)
}

// identities are the host IDs of the three nodes by their members.
func (f *fixture) identities() map[string]string {
	f.t.Helper()
	res := f.plugin("status", "shop", "-n", f.namespace, "--source=live", "-o", "json")
	var doc struct {
		Items []struct {
			Nodes []struct{ Member, HostID string }
		}
	}
	if err := json.Unmarshal([]byte(res.Stdout), &doc); err != nil || len(doc.Items) != 1 {
		f.t.Fatal(err, res.Stdout)
	}
	out := map[string]string{}
	for _, m := range doc.Items[0].Nodes {
		if m.HostID != "" {
			out[m.Member] = m.HostID
		}
	}
	if len(out) != 3 {
		f.t.Fatalf("the host IDs of three nodes are not known:\n%s", res.Stdout)
	}
	return out
}

// guardsHoldAndGoAgain: the cluster shop of the StatefulSets db-a, db-b and db-c was guarded while it ran.
func (f *fixture) guardsHoldAndGoAgain() {
	t := f.t
	t.Helper()
	again := f.plugin("inject", "shop", "-n", f.namespace, "--image", images.AgentRef, "--yes")
	if again.Code != 0 || again.Stdout != "" {
		t.Errorf("injected again: exit %d\n%s%s", again.Code, again.Stdout, again.Stderr)
	}
	contains(t, "inject again", again.Stderr, "statefulset inject/db-a unchanged")
	f.freeze("db-c-0", "db-a-0")
	f.must(f.Scale(f.ctx, f.namespace, "db-b", 2))
	f.untilBarrierRuns("db-b-1")
	f.holdsFor("db-b-1", 10*time.Second)
	contains(t, "the newcomer's barrier", f.plugin("barrier", "db-b-1", "-n", f.namespace).Stdout, "db-c-0")
	refused := f.plugin("inject", "shop", "-n", f.namespace, "--undo", "--yes")
	if refused.Code != 2 {
		t.Errorf("undo while a node is DOWN: exit %d\n%s", refused.Code, refused.Stderr)
	}
	f.thaw("db-c-0")
	f.ready(4)
	f.untilAllUp("shop", 4)
	f.allUp(4)
	if s := initStatus(f.pod("db-b-1"), api.ContainerBarrier); s == nil || s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
		t.Errorf("the newcomer's barrier: %+v", s)
	}
	checked := f.plugin("check")
	if checked.Code != 0 {
		t.Errorf("check of a guarded cluster: exit %d\n%s%s", checked.Code, checked.Stdout, checked.Stderr)
	}
	contains(t, "check", checked.Stdout, "4 reporters respond", "4 members, each with a Service of its name", "the controller's leader renews its Lease",
		"statefulset inject/db-a: reporter, query, barrier and launcher are configured", "inject/scylla-member in inject: 8 permissions, none missing")
	undone := f.plugin("inject", "shop", "-n", f.namespace, "--undo", "--yes")
	if undone.Code != 0 {
		t.Fatalf("undo: exit %d\n%s%s", undone.Code, undone.Stdout, undone.Stderr)
	}
	contains(t, "undo", undone.Stderr, "db-b-1 restarts", "service inject/db-a-0 removed", "serviceaccount inject/scylla-member removed", "inject/shop has no barrier")
	for _, member := range []string{"db-a-0", "db-b-0", "db-b-1", "db-c-0"} {
		if p := f.pod(member); len(p.Spec.InitContainers) > 0 {
			t.Errorf("%s still has %d init containers", member, len(p.Spec.InitContainers))
		}
	}
	f.allUp(4, "--source=live")
}
