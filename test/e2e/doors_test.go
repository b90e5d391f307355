// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
)

// step is one command of the README, with what it ends with and says.
type step struct {
	line string
	code int
	says []string
}

// door is the commands of one section of the README, without their comments.
func door(t *testing.T, heading string) []string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n## "+heading)
	if !ok {
		t.Fatalf("the README has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^    (\S.*)$`).FindAllStringSubmatch(section, -1) {
		line, _, _ := strings.Cut(m[1], " # ")
		out = append(out, strings.TrimSpace(line))
	}
	return out
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

// walk types every line of the section, in its order, and returns how long all of them took.
func (u *user) walk(t *testing.T, heading string, names *strings.Replacer, steps []step, limit time.Duration) {
	t.Helper()
	lines := door(t, heading)
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
	took := time.Since(began)
	t.Logf("%s: %s", heading, took.Round(time.Second))
	if took > limit {
		t.Errorf("%s took %s, and the README says %s", heading, took, limit)
	}
}

// A new user with a cluster that knows nothing of us: three Kubernetes nodes, three racks of ScyllaDB in plain StatefulSets. Everything that the README says for
// looking is typed as it stands there.
func TestDoorOfAClusterThatKnowsNothingOfUs(t *testing.T) {
	w := world(t) // has built the images
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	c, err := cluster.StartNodes(ctx, cluster.Options{Nodes: 3, Images: w.Images.Archives})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	const namespace = "inject" // that of the manifest
	other := *w
	other.Cluster = c
	if other.Client, err = client.NewWithWatch(c.RESTConfig(), client.Options{Scheme: kube.NewScheme()}); err != nil {
		t.Fatal(err)
	}
	if err := other.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Kubectl(ctx, "apply", "-f", filepath.Join("testdata", "plain.yaml")); err != nil {
		t.Fatal(out, err)
	}
	f := &fixture{World: &other, t: t, ctx: ctx, namespace: namespace}
	t.Cleanup(func() {
		if t.Failed() {
			f.explain()
		}
	})
	// That the user's cluster is well is not part of the door.
	f.waitFor("the user's cluster to be well", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "status", "shop", "--source=live", "-n", namespace)
		return r.Code == 0 && strings.Contains(r.Stdout, "3 of 3 nodes UP in every row"), r.Stdout + r.Stderr, err
	})
	u := newUser(t, ctx, c, w.Images.Plugin)
	names := strings.NewReplacer("NAMESPACE", namespace)
	healthy := []string{"HEALTHY inject/shop", "3 of 3 nodes UP in every row"}
	u.walk(t, "I have a cluster", names, []step{
		{"kubectl scylla status -n NAMESPACE --source=live", 0, append([]string{"from live"}, healthy...)},
		{"kubectl scylla dashboard -n NAMESPACE --source=live", 0, healthy[:1]},
		{"kubectl scylla report -n NAMESPACE -o html > report.html", 0, []string{}},
	}, 2*time.Minute)
}
