// SPDX-License-Identifier: Apache-2.0

package bounded_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Product code reads whole inputs through this package only: io.ReadAll and os.ReadFile allocate as much memory as an endless input demands.
func TestNothingElseReadsWithoutALimit(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"cmd", "controller", "internal", "plugin"} {
		err := filepath.WalkDir(filepath.Join("..", "..", "..", root), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "plugintest": // tests only
				return filepath.SkipDir
			case d.IsDir() && d.Name() == "gen", d.IsDir() && d.Name() == "bounded": // gen reads this repository
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, call := range []string{"io.ReadAll(", "os.ReadFile("} {
				if strings.Contains(string(data), call) {
					t.Errorf("%s calls %s...): read through a bounded.Limit, or bounded.Head", path, call)
				}
			}
			if strings.Contains(string(data), "http.Server{") {
				t.Errorf("%s makes an http.Server: bounded.Server has all timeouts", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
