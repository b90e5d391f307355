// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBuildProgressTellsWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := newBuildWatch("it", goBuild{name: "controlplane", packages: 2950}, &out)
		done := make(chan struct{})
		go w.report(done)
		for _, lines := range []string{
			"go: downloading golang.org/x/sys v0.47.0\n",
			"golang.org/x/sys/unix\nk8s.io/api/core/v1\n",
			modulePath + "/test/cluster/controlplane\n",
		} {
			w.read(strings.NewReader(lines))
			time.Sleep(progressInterval)
			synctest.Wait()
		}
		close(done)
		synctest.Wait()
		want := `building it: 5s, 1 modules downloaded, 0 packages compiled (a cold build has about 2950), now downloading golang.org/x/sys v0.47.0
building it: 10s, 1 modules downloaded, 2 packages compiled (a cold build has about 2950), now compiling k8s.io/api/core/v1
building it: 15s, 1 modules downloaded, 3 packages compiled (a cold build has about 2950), now linking
`
		if out.String() != want {
			t.Errorf("progress is\n%swant\n%s", out.String(), want)
		}
	})
}

func TestFailedBuildShowsTheCompilersWords(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module broken\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { nothing() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := artefact{title: "broken", cache: t.TempDir(), prefix: "broken", sources: []string{dir}, builds: []goBuild{{dir: dir, pkg: ".", name: "broken"}}}
	_, err := a.ensure(t.Context(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("got error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(a.cache, "*broken*")); len(left) > 0 {
		t.Errorf("left %v behind", left)
	}
}

func TestArtefactIsBuiltOnceForItsSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module small\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() {}\n")
	a := artefact{title: "small", cache: t.TempDir(), prefix: "small", sources: []string{dir}, builds: []goBuild{{dir: dir, pkg: ".", name: "small"}}}
	ensure := func() string {
		t.Helper()
		path, err := a.ensure(t.Context(), &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := ensure()
	before, err := os.Stat(filepath.Join(first, "small"))
	if err != nil {
		t.Fatal(err)
	}
	write("main_test.go", "package main\n")
	write("README", "text")
	if again := ensure(); again != first {
		t.Error("files that are not compiled changed the key")
	}
	if after, err := os.Stat(filepath.Join(first, "small")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("it was built again (error %v)", err)
	}
	old := time.Now().Add(-2 * unusedAfter)
	if err := os.Chtimes(first, old, old); err != nil {
		t.Fatal(err)
	}
	write("main.go", "package main\n\nfunc main() { println() }\n")
	if changed := ensure(); changed == first {
		t.Error("a changed source did not change the key")
	}
	if _, err := os.Stat(first); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what nobody has used for long is still there (error %v)", err)
	}
}

func TestLockIsHeldByOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waited := false
	if _, err := lock(ctx, path, func() { waited = true; cancel() }); !errors.Is(err, context.Canceled) || !waited {
		t.Errorf("second lock: error %v, said that it waits: %t", err, waited)
	}
	unlock()
	unlock, err = lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestModuleDirIsFoundFromBelow(t *testing.T) {
	want, err := ModuleDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(want, "test", "cluster", "controlplane")) // a module of its own on the way up
	if got, err := ModuleDir(); got != want || err != nil {
		t.Errorf("got %q, error %v, want %q", got, err, want)
	}
}

// A package that both modules have in the same version and with the same flags is compiled once: with others, a fresh
// machine would compile the 900 packages that the product and Kubernetes share twice.
func TestModulesThatBothListHaveOneVersion(t *testing.T) {
	versions := func(path string) map[string]string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`).FindAllStringSubmatch(string(b), -1) {
			of[m[1]] = m[2]
		}
		return of
	}
	ours, kubernetes := versions("../../../go.mod"), versions("../controlplane/go.mod")
	shared := 0
	for module, version := range kubernetes {
		if other, both := ours[module]; both {
			shared++
			if other != version {
				t.Errorf("%s: go.mod has %s, test/cluster/controlplane/go.mod has %s", module, other, version)
			}
		}
	}
	if shared < 50 {
		t.Errorf("the go.mod files share %d modules: are they still read rightly?", shared)
	}
	if v := kubernetes["k8s.io/kubernetes"]; v != KubernetesVersion {
		t.Errorf("KubernetesVersion is %s, the module's version is %s", KubernetesVersion, v)
	}
}
