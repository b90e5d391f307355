// SPDX-License-Identifier: Apache-2.0

// Package readme gives tests the commands that the README tells its readers to type.
package readme

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var indented = regexp.MustCompile(`(?m)^    ((?:make|export|kubectl) .*)$`)

// Commands are those of one section of the README, in their order and without their comments.
// root is the repository's folder as seen from the test's.
func Commands(t testing.TB, root, heading string) []string {
	t.Helper()
	_, section, ok := strings.Cut(text(t, root), "\n## "+heading)
	if !ok {
		t.Fatalf("the README has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var out []string
	for _, m := range indented.FindAllStringSubmatch(section, -1) {
		line, _, _ := strings.Cut(m[1], " # ")
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// Screen is what the README shows as printed by a command: the indented lines after the one that ends in the command.
func Screen(t testing.TB, root, command string) string {
	t.Helper()
	_, after, ok := strings.Cut(text(t, root), "(`"+command+"`):\n\n")
	if !ok {
		t.Fatalf("the README shows no screen of %q", command)
	}
	var b strings.Builder
	blank := 0
	for line := range strings.Lines(after) {
		line, indented := strings.CutPrefix(line, "    ")
		if !indented && line != "\n" {
			break
		}
		if line == "\n" {
			blank++ // those at the end stand before the text that follows
			continue
		}
		b.WriteString(strings.Repeat("\n", blank) + line)
		blank = 0
	}
	return b.String()
}

func text(t testing.TB, root string) string {
	t.Helper()
	b, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
