// SPDX-License-Identifier: Apache-2.0

package covers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRead(t *testing.T) {
	const source = `package p

func TestMain(m *testing.M) {}

func TestAlone(t *testing.T) { covers(t, "internal/a"); pods(t, 3) }

func TestOfParts(t *testing.T) {
	covers(t, "internal/a", "plugin/b")
	t.Parallel()
	for range 2 {
		t.Run("part", func(t *testing.T) { pods(t, 5) })
	}
}

func TestNothing(t *testing.T) { var s state; s.use(1) }

const one, two = 1, 2

type state struct{}

func (s state) use(n int) { use(two) }

func helper(t *testing.T) { covers(t, "internal/c") }
`
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "p_test.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(source)
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Test{
		{Name: "TestAlone", File: "p_test.go", Packages: []string{"internal/a"}, Pods: 3},
		{Name: "TestNothing", File: "p_test.go"},
		{Name: "TestOfParts", File: "p_test.go", Packages: []string{"internal/a", "plugin/b"}, Pods: 5, Parallel: true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Test{}, "Source")); diff != "" {
		t.Error(diff)
	}
	reached := []string{
		"const one, two = 1, 2", "func (s state) use(n int) { use(two) }", "func TestMain(m *testing.M) {}",
		"func TestNothing(t *testing.T) { var s state; s.use(1) }", "type state struct{}",
	}
	if diff := cmp.Diff(reached, got[1].Source); diff != "" {
		t.Error("what TestNothing reaches", diff)
	}
	write(strings.Replace(source, "pods(t, 3)", "pods(t, most)", 1))
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "p_test.go:5:") || !strings.Contains(err.Error(), "literals") {
		t.Errorf("a name in place of a literal: %v", err)
	}
}
