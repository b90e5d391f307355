// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// replaceSuggested finds a command that replaces a node. The names of its subcommands are no node.
var replaceSuggested = regexp.MustCompile(`kubectl scylla replace (demo|[0-9a-f]{8}-)`)

// drawn are the sizes whose screens are compared with golden files: every situation where it just fits, and by racks.
func drawn(s scenes.Scene, width int) bool {
	if s.Nodes == 504 {
		return width == 120 && (s.Name == "rack" || s.Name == "partition")
	}
	return s.Nodes == 12 && width == 80
}

// TestScenes draws every scene at two sizes of terminal: the first line names the cause, all of it fits, and a replacement
// is suggested where the scene allows it, and nowhere else.
func TestScenes(t *testing.T) {
	t.Parallel()
	for _, s := range scenes.All(0) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			d := document.NewClusterStatus(diagnosis.Judge(s.Cluster(), scenes.Now))
			for _, size := range []struct{ width, height int }{{80, 24}, {120, 40}} {
				text := show.Cluster(d, show.Options{Width: size.width, Height: size.height})
				lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				if len(lines) > size.height-1 {
					t.Errorf("%d lines in %d:\n%s", len(lines), size.height, text)
				}
				for _, line := range lines {
					if w := lipgloss.Width(line); w > size.width {
						t.Errorf("%d cells in %d: %s", w, size.width, line)
					}
				}
				if first := unwrapped(lines); !strings.Contains(first, s.FirstLine) {
					t.Errorf("the first line does not name the cause %q: %s", s.FirstLine, first)
				}
				if replaceSuggested.MatchString(strings.Join(strings.Fields(plain(text)), " ")) {
					t.Errorf("a replacement is suggested, and no object shows that a volume is lost:\n%s", text)
				}
				if drawn(s, size.width) {
					plugintest.Golden(t, fmt.Sprintf("scenes/%s-%dx%d.txt", strings.ReplaceAll(s.String(), " ", "-"), size.width, size.height), text)
				}
			}
		})
	}
}

// unwrapped is the first line with what was broken off it.
func unwrapped(lines []string) string {
	text := plain(lines[0])
	for _, line := range lines[1:] {
		if line = plain(line); !strings.HasPrefix(line, "  ") {
			break
		}
		text += " " + strings.TrimSpace(line)
	}
	return text
}
