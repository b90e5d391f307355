// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const (
	mostLines    = 500 // of a file
	mostFunction = 60  // lines of a function
	// excuse begins the line of a comment, in the file or in the function's doc comment, that says why it is longer.
	excuse = "Long:"
)

// TestFilesAndFunctionsAreShort: code that does not fit on a few screens is not reviewed well. Tests and generated files are free.
func TestFilesAndFunctionsAreShort(t *testing.T) {
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
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				n := files.Position(fn.End()).Line - files.Position(fn.Pos()).Line + 1
				if n > mostFunction && !excused(fn.Doc) {
					t.Errorf("%s: %s has %d lines, more than %d: split it, or say why in its doc comment, in a line that begins with %q", path, fn.Name.Name, n, mostFunction, excuse)
				}
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
