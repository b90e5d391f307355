// SPDX-License-Identifier: Apache-2.0

// Package golden compares a test's output with a file of testdata, and writes that file with -update. For tests of every package; it imports nothing of the product.
package golden

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The terminal framework's test helper brings a flag of this name along. Its package is initialised before this one, because its path sorts before.
func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write golden files instead of comparing with them")
	}
}

// Updating is true with -update.
func Updating() bool { return flag.Lookup("update").Value.String() == "true" }

// File compares text with the file path.
func File(t testing.TB, path, text string) {
	t.Helper()
	if Updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a test file
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read golden file (write it with -update): %v", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs; run with -update if that is wanted (-want +got):\n%s", path, diff)
	}
}

// Text compares text with testdata/NAME below the package under test.
func Text(t testing.TB, name, text string) {
	t.Helper()
	File(t, filepath.Join("testdata", name), text)
}

// JSON compares the indented JSON of v with testdata/NAME.
func JSON(t testing.TB, name string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	Text(t, name, string(b)+"\n")
}

// Screen compares the output to a terminal with testdata/NAME. Escape sequences are written as \x1b, so that a reader sees them.
func Screen(t testing.TB, name, text string) {
	t.Helper()
	Text(t, name, strings.ReplaceAll(text, "\x1b", `\x1b`))
}
