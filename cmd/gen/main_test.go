// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedFilesAreThoseOfTheCommandTree(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range files {
		known[f.name] = true
		have, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.name)))
		if err != nil {
			t.Errorf("%v: run `go run ./cmd/gen`", err)
			continue
		}
		if diff := cmp.Diff(string(have), string(f.data)); diff != "" {
			t.Errorf("%s is not what the command tree gives (-have +want), run `go run ./cmd/gen`:\n%s", f.name, diff)
		}
	}
	for _, pattern := range []string{"docs/reference/kubectl_scylla*.md", "docs/man/*.1", "completions/*"} {
		have, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range have {
			if rel := filepath.ToSlash(strings.TrimPrefix(name, filepath.Join("..", "..")+string(filepath.Separator))); !known[rel] {
				t.Errorf("%s is generated no more: remove it", rel)
			}
		}
	}
}

func TestGeneratedFilesHoldNothingOfThisMachine(t *testing.T) {
	t.Setenv("HOME", "/home/somebody-else")
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	again, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	second := map[string]string{}
	for _, f := range again {
		second[f.name] = string(f.data)
	}
	for _, f := range files {
		if strings.Contains(string(f.data), home) {
			t.Errorf("%s names the home folder", f.name)
		}
		if string(f.data) != second[f.name] {
			t.Errorf("%s differs from run to run", f.name)
		}
	}
}

func TestRunRemovesPagesOfVerbsThatAreGone(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "docs", "man", "kubectl-scylla-gone.1")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", stale, err)
	}
	info, err := os.Stat(filepath.Join(dir, "completions", "kubectl_complete-scylla"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&0o111 == 0 {
		t.Errorf("kubectl_complete-scylla is not executable: %v", info.Mode())
	}
}
