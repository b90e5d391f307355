// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/covers"
)

// A change undoes the results of what is made of it, and of nothing else.
func TestKeys(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const test = "\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n"
	put("go.mod", "module "+module+"\n\ngo 1.26\n")
	put("internal/a/a.go", "package a\n\nconst A = 1\n")
	put("internal/b/b.go", "package b\n\nimport \""+module+"/internal/a\"\n\nconst B = a.A\n")
	put("internal/b/b_test.go", "package b"+test)
	put("internal/b/testdata/golden.txt", "golden\n")
	put("internal/c/c.go", "package c\n")
	put("internal/c/c_test.go", "package c"+test)
	put("test/e2e/e2e_test.go", "package e2e\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) {}\n")
	put("test/e2e/b_test.go", "package e2e\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { covers(t, \"internal/b\"); golden(t) }\n")
	put("test/e2e/c_test.go", "package e2e\n\nfunc TestC(t *testing.T) {}\n\nfunc golden(t *testing.T) {}\n")
	t.Setenv("GOFLAGS", "-mod=mod")
	keys := func() map[string]string {
		t.Helper()
		in, err := readInputs(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		tests, err := covers.Read(filepath.Join(root, endToEnd))
		if err != nil {
			t.Fatal(err)
		}
		x := slices.IndexFunc(tests, func(t covers.Test) bool { return t.Name == "TestX" })
		return map[string]string{
			"b": in.ofTests("race", "internal/b"), "c": in.ofTests("race", "internal/c"),
			"end to end": in.ofEndToEnd("e2e", endToEnd, tests[x]),
		}
	}
	for _, step := range []struct {
		name, file, text string
		undone           map[string]bool
	}{
		{"a package that is imported", "internal/a/a.go", "package a\n\nconst A = 2\n", map[string]bool{"b": true, "end to end": true}},
		{"a test", "internal/b/b_test.go", "package b" + test + "// changed\n", map[string]bool{"b": true}},
		{"a golden file", "internal/b/testdata/golden.txt", "changed\n", map[string]bool{"b": true}},
		{"another package", "internal/c/c.go", "package c\n\nconst C = 1\n", map[string]bool{"c": true}},
		{"an end-to-end test beside the helper", "test/e2e/c_test.go", "package e2e\n\nfunc TestC(t *testing.T) { golden(t) }\n\nfunc golden(t *testing.T) {}\n", map[string]bool{}},
		{"a helper of the end-to-end test", "test/e2e/c_test.go", "package e2e\n\nfunc TestC(t *testing.T) { golden(t) }\n\nfunc golden(t *testing.T) { _ = 1 }\n", map[string]bool{"end to end": true}},
		{"a golden file of the end-to-end test", "test/e2e/testdata/x.txt", "changed\n", map[string]bool{"end to end": true}},
		{"another end-to-end test", "test/e2e/d_test.go", "package e2e\n\nimport \"testing\"\n\nfunc TestD(t *testing.T) {}\n", map[string]bool{}},
		{"the docs", "docs/a.md", "changed\n", map[string]bool{}},
		{"the ledger", ledgerPath, "{}\n", map[string]bool{}},
	} {
		before := keys()
		put(step.file, step.text)
		undone := map[string]bool{}
		for name, k := range keys() {
			if k != before[name] {
				undone[name] = true
			}
		}
		if diff := cmp.Diff(step.undone, undone); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// The results of commands are kept as they come; what is stopped has none.
func TestUnitsThatAreCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	units := []unit{
		{name: "passes", key: "1", args: []string{"true"}},
		{name: "fails", key: "2", args: []string{"false"}},
		{name: "cannot be tried", key: "3", args: []string{"echo", "SKIPPED: no network"}},
	}
	if err := runUnits(t.Context(), io.Discard, units); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	units = append(units, unit{name: "is stopped", key: "4", args: []string{"true"}})
	if err := runUnits(stopped, io.Discard, units[3:]); err != nil {
		t.Fatal(err)
	}
	kept, err := readBook(proofPath)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]verdict{}
	for _, u := range units {
		got[u.name] = kept.verdict(u.name, u.key)
	}
	want := map[string]verdict{"passes": pass, "fails": fail, "cannot be tried": skip, "is stopped": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if code := kept.sum(io.Discard, units[:1], false); code != 0 {
		t.Errorf("exit code %d of a unit that has passed", code)
	}
	if code := kept.sum(io.Discard, units[3:], false); code != exitIncomplete {
		t.Errorf("exit code %d of a unit without a result", code)
	}
	if code := kept.sum(io.Discard, units, false); code != exitError {
		t.Errorf("exit code %d with a failure", code)
	}
}

// go test takes a flag that it does not know, and all that follows, for the test binary's: packages
// that come later would not be tested.
func TestRehearsalsAreOfTheirPackage(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]unit{"-rehearse": {test: rehearsed, group: rehearsalGroup}, "-soak=30m": {test: soaked, group: soakGroup}} {
		u.pkg = endToEnd
		got := u.group.make([]unit{u}).command()
		pkg, flag := slices.Index(got, module+"/"+endToEnd), slices.Index(got, want)
		if pkg < 0 || flag < pkg {
			t.Errorf("%q: the package is at %d, %s at %d", got, pkg, want, flag)
		}
	}
}
