// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostLines   = 500 // of a file
	mostComment = 100 // columns of a comment, with tabs of 4
	// excuse begins the line of a comment that says why the file is longer.
	excuse = "Long:"
)

// TestFilesAreShort: a file that does not fit on a few screens is not reviewed well. Tests and generated files are free. Lint limits
// lines, functions and parameters (funlen, lll, revive).
func TestFilesAreShort(t *testing.T) {
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(d.Name(), "zz_") {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			if n := files.File(f.Pos()).LineCount(); n > mostLines && !excused(f.Comments...) {
				t.Errorf("%s has %d lines, more than %d: split it, or say why in a comment that begins with %q", path, n, mostLines, excuse)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func excused(groups ...*ast.CommentGroup) bool {
	for _, g := range groups {
		if g == nil {
			continue
		}
		for _, c := range g.List {
			if rest, ok := strings.CutPrefix(c.Text, "// "+excuse); ok && len(strings.Fields(rest)) > 2 {
				return true
			}
		}
	}
	return false
}

// TestCommentsAreNarrow: prose is read in short lines. Commands for a program, preformatted text and a word that does not fit are free.
func TestCommentsAreNarrow(t *testing.T) {
	for _, root := range []string{"cmd", "controller", "internal", "plugin"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(d.Name(), "zz_") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(text), "\n") {
				prose, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
				tabs := len(line) - len(strings.TrimLeft(line, "\t"))
				if free := !ok || strings.HasPrefix(prose, "+") || strings.HasPrefix(prose, " ") || strings.HasPrefix(prose, "\t") || !strings.Contains(prose, " "); free {
					continue
				}
				if n := utf8.RuneCountInString(line) + 3*tabs; n > mostComment {
					t.Errorf("%s:%d: a comment of %d columns: at most %d", path, i+1, n, mostComment)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
