// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/itchyny/gojq"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestEveryLineForJq runs the table of docs/reference/json.md on the sample that it names.
func TestEveryLineForJq(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/json.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (.+\\?) \\| `(.+)` \\| `(.+)` \\| `(.+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 15 {
		t.Fatalf("%d questions are found", len(rows))
	}
	for _, row := range rows {
		got := plugintest.Run{Args: append(strings.Fields(row[2]), "--from", "sample:incident", "-o", "json")}.Do(t)
		var doc any
		if err := json.Unmarshal([]byte(got.Stdout), &doc); err != nil {
			t.Fatalf("%s: %v: %s", row[2], err, got.Stderr)
		}
		query, err := gojq.Parse(strings.ReplaceAll(row[3], `\|`, "|"))
		if err != nil {
			t.Errorf("%s: %v", row[3], err)
			continue
		}
		var lines []string
		for answers := query.Run(doc); ; {
			v, more := answers.Next()
			if !more {
				break
			}
			if err, bad := v.(error); bad {
				t.Errorf("%s: %v", row[3], err)
			}
			line, raw := v.(string)
			if !raw {
				text, _ := gojq.Marshal(v)
				line = string(text)
			}
			lines = append(lines, line)
		}
		if answer := strings.Join(lines, ", "); answer != row[4] {
			t.Errorf("%s: jq answers %q, the page %q", row[1], answer, row[4])
		}
	}
}
