// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const (
	plain = "../../test/simulation/manifests/plain.yaml"
	done  = "../../test/simulation/manifests/injected/plain.yaml"
)

func TestInject(t *testing.T) {
	image := "--image=example.com/scylla-agent:1"
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(done)
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`scylladb/scylla:[\w.]+`).ReplaceAllString(plainText(t), "scylladb/scylla:2025.1.4")
	for name, c := range map[string]struct {
		args           []string
		stdin          string
		code           int
		stdout, stderr string
	}{
		"a file":              {[]string{"-f", plain, image}, "", 0, string(golden), "statefulset shop/db injected\nserviceaccount shop/scylla-member added\n"},
		"standard input":      {[]string{"-f", "-", image}, string(golden), 0, string(golden), "statefulset shop/db unchanged\n"},
		"what changes":        {[]string{"-f", plain, image, "-o", "diff"}, "", 0, "+        - launch\n", "injected"},
		"undo":                {[]string{"-f", done, "--undo"}, "", 0, "name: jmx", "statefulset shop/db no longer injected\n"},
		"undo of nothing":     {[]string{"-f", plain, "--undo"}, "", 0, "an agent of somebody else", "statefulset shop/db not injected\n"},
		"a warning":           {[]string{"-f", "../../test/simulation/manifests/configmap.yaml", image}, "", 0, "kind: RoleBinding", "warning: statefulset shop/db-b: label app.kubernetes.io/managed-by becomes"},
		"no file":             {[]string{image}, "", 2, "", "specify a manifest with -f FILE"},
		"no image":            {[]string{"-f", plain}, "", 2, "", "specify the image of scylla-agent with --image"},
		"a floating tag":      {[]string{"-f", plain, "--image=example.com/scylla-agent"}, "", 2, "", `image "example.com/scylla-agent" has no fixed version`},
		"no image reference":  {[]string{"-f", plain, "--image=foo bar:1"}, "", 2, "", "invalid --image: \"foo bar:1\" is not an image reference\nan image reference is [REGISTRY/]NAME:TAG"},
		"one accepted":        {[]string{"-f", plain, "--image=example.com/scylla-agent:latest", "--allow-floating-tag"}, "", 0, "image: example.com/scylla-agent:latest", "injected"},
		"a digest":            {[]string{"-f", plain, "--image=example.com/scylla-agent@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}, "", 0, "image: example.com/scylla-agent@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "injected"},
		"an image for undo":   {[]string{"-f", plain, "--undo", image}, "", 2, "", "--image cannot be used with --undo"},
		"an unknown format":   {[]string{"-f", plain, image, "-o", "xml"}, "", 2, "", `unknown output format "xml": use one of yaml, diff`},
		"a file that is not":  {[]string{"-f", "absent.yaml", image}, "", 1, "", "the path \"absent.yaml\" does not exist"},
		"broken YAML":         {[]string{"-f", broken, image}, "", 2, "", "read the manifest: document 1: "},
		"nothing of ours":     {[]string{"-f", "-", image}, "kind: Pod\n", 2, "", "no StatefulSet runs ScyllaDB"},
		"no place":            {[]string{"-f", "-", image}, strings.ReplaceAll(plainText(t), "--rack=a", "--smp=1"), 2, "", "specify --rack"},
		"an old ScyllaDB":     {[]string{"-f", "-", image}, old, 2, "", "ScyllaDB 2025.1.4 is older than 2025.2.0"},
		"an old one accepted": {[]string{"-f", "-", image, "--allow-version"}, old, 0, "- launch\n", "warning: statefulset shop/db: containers[scylla].image: ScyllaDB 2025.1.4 is older than 2025.2.0"},
		"one for undo":        {[]string{"-f", done, "--allow-version", "--undo"}, "", 2, "", "--allow-version cannot be used with --undo"},
		"the place given":     {[]string{"-f", "-", image, "--rack=z"}, strings.ReplaceAll(plainText(t), "--rack=a", "--smp=1"), 0, "scylla/rack: z", "injected"},
		"an interval":         {[]string{"-f", plain, image, "--status-report-interval=20s", "-o", "diff"}, "", 0, "+        - --status-report-interval=20s\n", "up to 20s late"},
		"too long":            {[]string{"-f", plain, image, "--status-report-interval=31s"}, "", 2, "", "invalid --status-report-interval=31s: must be a duration from 1s to 30s"},
		"no interval":         {[]string{"-f", plain, image, "--status-report-interval=0"}, "", 2, "", "invalid --status-report-interval=0s: must be a duration from 1s to 30s"},
		"interval and undo":   {[]string{"-f", done, "--status-report-interval=20s", "--undo"}, "", 2, "", "--status-report-interval cannot be used with --undo"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plugintest.Run{Args: append([]string{"inject"}, c.args...), Stdin: c.stdin}.Do(t)
			if r.Code != c.code || !strings.Contains(r.Stdout, c.stdout) || !strings.Contains(r.Stderr, c.stderr) {
				t.Errorf("exit %d, want %d\nstdout:\n%s\nstderr:\n%s", r.Code, c.code, r.Stdout, r.Stderr)
			}
			if c.code != 0 && r.Stdout != "" {
				t.Errorf("refused, and yet it printed:\n%s", r.Stdout)
			}
		})
	}
}

func plainText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
