// SPDX-License-Identifier: Apache-2.0

package house

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayReplace are the golden files, by pattern, in which a replacement may be suggested, each with why. In every other one the situation forbids it.
var mayReplace = map[string]string{
	"test/e2e/testdata/script/operator.txtar": "what a person types",
	"test/e2e/testdata/script/reader.txtar":   "what a person types",
	"test/e2e/testdata/script/replace.txtar":  "what a person types",

	"test/simulation/testdata/incidents/operator-1349-first-member-empty.txt":    "its barrier finds an empty volume",
	"test/simulation/testdata/incidents/operator-312-drained-and-uncordoned.txt": "its barrier finds an empty volume",
}

var (
	escapes = regexp.MustCompile(`\\x1b\[[0-9;]*m|\\e\[[0-9;]*m`)
	blanks  = regexp.MustCompile(`[\s\\]+`)
	// A line that begins with a dollar sign is what the test typed.
	typed   = regexp.MustCompile(`(?m)^\$ .*$`)
	replace = regexp.MustCompile(`kubectl[ -]scylla replace ([^ "]+)`)
)

// suggestions are the nodes that a golden file's commands replace, however its lines are broken.
func suggestions(text string) []string {
	text = blanks.ReplaceAllString(typed.ReplaceAllString(escapes.ReplaceAllString(text, ""), ""), " ")
	var out []string
	for _, m := range replace.FindAllStringSubmatch(text, -1) {
		if what := m[1]; !slices.Contains([]string{"status", "resume", "abort"}, what) && !strings.HasPrefix(what, "-") {
			out = append(out, what)
		}
	}
	return out
}

// TestNoGoldenFileSuggestsTheWrongCure: of all that a person may see, only what the table names suggests a replacement, and all that it names still does.
func TestNoGoldenFileSuggestsTheWrongCure(t *testing.T) {
	used, looked := map[string]bool{}, 0
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join("../..", root), func(name string, d fs.DirEntry, err error) error {
			file := strings.TrimPrefix(filepath.ToSlash(name), "../../")
			if err != nil || d.IsDir() || !strings.Contains(file, "/testdata/") || strings.Contains(file, "/testdata/rapid/") {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			looked++
			found := suggestions(string(text))
			if len(found) == 0 {
				return nil
			}
			allowed := false
			for pattern := range mayReplace {
				if ok, err := path.Match(pattern, file); err != nil {
					return err
				} else if ok {
					allowed, used[pattern] = true, true
				}
			}
			if !allowed {
				t.Errorf("%s suggests to replace %s: the situation that it shows forbids it, or the table lacks it", file, strings.Join(found, ", "))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for pattern := range mayReplace {
		if !used[pattern] {
			t.Errorf("nothing that fits %s suggests a replacement any more: take it out of the table", pattern)
		}
	}
	if looked < 100 {
		t.Fatalf("%d golden files found: the test does not see them any more", looked)
	}
}

func TestSuggestionsAreSeen(t *testing.T) {
	for text, want := range map[string][]string{
		"if it is\n    lost: kubectl scylla replace 3dd8f9a8 -n demo":                   {"3dd8f9a8"},
		"→ kubectl scylla \\\n  replace \\\n  3dd8f9a8":                                 {"3dd8f9a8"},
		`\x1b[1mkubectl scylla replace\x1b[m 3dd8f9a8`:                                  {"3dd8f9a8"},
		"$ kubectl scylla replace 3dd8f9a8\nkubectl scylla replace status demo-rack1-0": nil,
	} {
		if got := suggestions(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
