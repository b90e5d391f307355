// SPDX-License-Identifier: Apache-2.0

// Package release tests what goreleaser does not check: that a release is built as it was tested, and `go install`.
package release

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
)

const root = "../../.."

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// config is what the tests read of .goreleaser.yaml.
type config struct {
	Builds []struct {
		ID      string
		Env     []string
		Flags   []string
		Ldflags []string
	}
	Archives []struct {
		ID    string
		Files []struct{ Src string }
	}
	Krews []struct {
		ShortDescription string `json:"short_description"`
	}
}

// The linker's flags must name variables of internal/base/version, and the compiler's flags must be those of the Makefile: a release is built as it was
// tested.
func TestReleaseIsBuiltAsItWasTested(t *testing.T) {
	t.Parallel()
	var c config
	if err := yaml.Unmarshal(read(t, ".goreleaser.yaml"), &c); err != nil || len(c.Builds) != 2 || len(c.Krews) != 1 {
		t.Fatalf("%v, %+v", err, c)
	}
	version := read(t, "internal/base/version/version.go")
	flags := regexp.MustCompile(`(?m)^export GOFLAGS +\+= (.*)$`).FindSubmatch(read(t, "Makefile"))
	if flags == nil {
		t.Fatal("the Makefile exports no GOFLAGS: has it moved?")
	}
	if diff := cmp.Diff(strings.Fields(string(flags[1])), image.BuildFlags); diff != "" {
		t.Errorf("flags (-Makefile +test/cluster/image):\n%s", diff)
	}
	for _, b := range c.Builds {
		if diff := cmp.Diff(strings.Fields(string(flags[1])), b.Flags); diff != "" {
			t.Errorf("%s: flags (-Makefile +release):\n%s", b.ID, diff)
		}
		if !slices.Contains(b.Env, "CGO_ENABLED=0") {
			t.Errorf("%s is built with cgo", b.ID)
		}
		set := map[string]bool{}
		for _, l := range b.Ldflags {
			for _, m := range regexp.MustCompile(`internal/base/version\.(\w+)=`).FindAllStringSubmatch(l, -1) {
				set[m[1]] = true
				if !regexp.MustCompile(`(?m)^\t` + m[1] + ` +string$`).Match(version) {
					t.Errorf("%s: the linker sets %s, which internal/base/version does not have", b.ID, m[1])
				}
			}
		}
		for _, name := range []string{"version", "commit", "date", "image"} {
			if !set[name] {
				t.Errorf("%s: the linker does not set %s", b.ID, name)
			}
		}
	}
	for _, a := range c.Archives {
		for _, file := range a.Files {
			// goreleaser only warns about a file that is not there. Its hook writes dist.
			if strings.HasPrefix(file.Src, "dist/") {
				continue
			}
			if found, err := filepath.Glob(filepath.Join(root, file.Src)); err != nil || len(found) == 0 {
				t.Errorf("archive %s: nothing is called %s: %v", a.ID, file.Src, err)
			}
		}
	}
	// The index of krew accepts no longer one.
	if short := c.Krews[0].ShortDescription; short == "" || len(short) > 50 {
		t.Errorf("the short description has %d characters, want 1 to 50", len(short))
	}
}

// The image of a release is the one that tests and the demo run.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	agent := images.Agent("x")
	want := []string{"FROM scratch", "ARG TARGETPLATFORM", "COPY ${TARGETPLATFORM}/scylla-agent " + agent.Files[0].Path,
		"USER " + agent.User, fmt.Sprintf("ENTRYPOINT [%q]", agent.Entrypoint[0])}
	_, have, _ := strings.Cut(string(read(t, "cmd/scylla-agent/Dockerfile")), "\n")
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(have), "\n")); diff != "" || len(agent.Files) != 1 {
		t.Errorf("the image of a release (-test/e2e/images +Dockerfile):\n%s", diff)
	}
}

// `go install MODULE/cmd/kubectl-scylla@VERSION` is the first line of the README. It needs a module without replace directives, and every file that is embedded. The
// module is served from a folder, as a proxy serves it.
func TestGoInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("links a binary")
	}
	t.Parallel()
	const module, version = "github.com/kubectl-scylla/kubectl-scylla", "v0.0.1"
	proxy := t.TempDir()
	dir := filepath.Join(proxy, module, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		version + ".mod": gomod, version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-11-01T00:00:00Z"}`), "list": []byte(version + "\n"), version + ".zip": moduleZip(t, module+"@"+version+"/"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	// Modules that the module cache has packed are taken from there; the rest comes from this machine's module proxy.
	cache, upstream, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	bin := t.TempDir()
	cmd := exec.Command("go", "install", module+"/cmd/kubectl-scylla@"+version)
	cmd.Dir = bin
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+bin, "GOMODCACHE="+filepath.Join(t.TempDir(), "mod"), "GOFLAGS="+os.Getenv("GOFLAGS")+" -modcacherw",
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+cache+"/cache/download,"+upstream, "GOWORK=off", "GOSUMDB=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(bin, "kubectl-scylla"), "version", "-o", "short").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("version: %v\n%s", err, out)
	}
}

// moduleZip packs the module as a proxy serves it: without nested modules and other files that are not part of it.
func moduleZip(t *testing.T, prefix string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "dist"}, rel) || nested == nil) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.Contains(rel, "testdata/") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := z.Create(prefix + filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("pack the module: %w", err))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
