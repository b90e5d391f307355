// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/zip"
	"bytes"
	"encoding/json"
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

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
)

const root = "../../.."

func config(t *testing.T) *Config {
	t.Helper()
	c, err := ReadConfig(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReleaseHasEveryTarget(t *testing.T) {
	t.Parallel()
	got := map[string][]string{}
	for _, b := range config(t).Builds {
		for _, o := range b.GOOS {
			for _, a := range b.GOARCH {
				got[b.ID] = append(got[b.ID], o+"/"+a)
			}
		}
	}
	want := map[string][]string{
		"kubectl-scylla": {"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"},
		"scylla-agent":   {"linux/amd64", "linux/arm64"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// The linker's flags must name variables of internal/base/version, and the compiler's flags must be those of the Makefile: a release is built as it was
// tested.
func TestReleaseIsBuiltAsItWasTested(t *testing.T) {
	t.Parallel()
	c := config(t)
	version, err := os.ReadFile(filepath.Join(root, "internal/base/version/version.go"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^export GOFLAGS +\+= (.*)$`).FindSubmatch(makefile)
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
		if _, err := os.Stat(filepath.Join(root, b.Main)); err != nil {
			t.Errorf("%s: %v", b.ID, err)
		}
	}
	for _, a := range c.Archives {
		for _, file := range a.Files {
			if strings.HasPrefix(file.Src, "dist/") {
				// goreleaser only warns about a file that is not there, and wants its own folder empty after the hooks.
				if !slices.Contains(c.Before.Hooks, "go run ./cmd/gen") || strings.HasPrefix(file.Src, c.Dist+"/") || c.Dist == "" {
					t.Errorf("archive %s: nobody writes %s before (hooks %q, dist %q)", a.ID, file.Src, c.Before.Hooks, c.Dist)
				}
				continue
			}
			if found, err := filepath.Glob(filepath.Join(root, file.Src)); err != nil || len(found) == 0 {
				t.Errorf("archive %s: nothing is called %s: %v", a.ID, file.Src, err)
			}
		}
	}
	for _, s := range c.SBOMs {
		if !slices.Contains(s.Args, "./test/house/release/cmd/sbom") {
			t.Errorf("the bill of materials is made by %v", s.Args)
		}
	}
}

func TestSBOMNamesEveryModule(t *testing.T) {
	t.Parallel()
	self := filepath.Join(t.TempDir(), "sbom")
	if out, err := exec.Command("go", "build", "-o", self, "./cmd/sbom").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	d, err := SBOM(self, "2026-11-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	ids, names := map[string]bool{d.SPDXID: true}, map[string]bool{}
	for _, p := range d.Packages {
		if ids[p.SPDXID] {
			t.Errorf("%s is there twice", p.SPDXID)
		}
		ids[p.SPDXID], names[p.Name] = true, true
		if !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.SPDXID) || p.DownloadLocation == "" || p.LicenseConcluded == "" {
			t.Errorf("package %+v is no SPDX 2.3", p)
		}
	}
	for _, want := range []string{"stdlib", "sigs.k8s.io/yaml"} {
		if !names[want] {
			t.Errorf("module %s is missing", want)
		}
	}
	for _, r := range d.Relationships {
		if !ids[r.From] || !ids[r.To] {
			t.Errorf("%+v is about nothing", r)
		}
	}
	var one, two bytes.Buffer
	again, err := SBOM(self, "2026-11-01T00:00:00Z")
	if err != nil || d.Write(&one) != nil || again.Write(&two) != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) || !json.Valid(one.Bytes()) {
		t.Error("the same binary gives another document")
	}
}

func TestKrewManifest(t *testing.T) {
	t.Parallel()
	k := config(t).Krews
	if len(k) != 1 || !k[0].SkipUpload {
		t.Fatalf("want one krew manifest that is not uploaded by itself, got %+v", k)
	}
	good := Platform{
		URI: "https://example.com/a.tar.gz", Sha256: strings.Repeat("a1", 32), Bin: "kubectl-scylla", Files: []Copy{{"kubectl-scylla", "."}},
		Selector: Selector{map[string]string{"os": "linux", "arch": "amd64"}},
	}
	manifest, err := KrewManifest(k[0], "1.2.3", []Platform{good})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ from, to string }{
		"an unknown field":  {"kind: Plugin", "kind: Plugin\nextra: x"},
		"another kind":      {"kind: Plugin", "kind: Plug"},
		"another name":      {"name: scylla", "name: other"},
		"no version":        {"version: v1.2.3", "version: 1.2.3"},
		"no sum":            {good.Sha256, "abc"},
		"an unknown key":    {"os: linux", "distro: linux"},
		"no program":        {"bin: kubectl-scylla", "bin: \"\""},
		"no archive":        {"uri: " + good.URI, "uri: \"\""},
		"no description":    {"shortDescription:", "caveats:"},
		"an old apiVersion": {krewVersion, "krew.googlecontainertools.github.com/v1alpha1"},
	} {
		bad := strings.Replace(string(manifest), tc.from, tc.to, 1)
		if bad == string(manifest) {
			t.Errorf("%s: %q is not in the manifest", name, tc.from)
		}
		if CheckKrew("scylla", []byte(bad)) == nil {
			t.Errorf("%s is accepted", name)
		}
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
