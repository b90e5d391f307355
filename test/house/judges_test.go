// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// shown are the packages that show, and judges the packages that decide. What is told are functions of a judge that turn its own record or result into words, or read a record.
var (
	shown  = []string{"internal/show/grid", "internal/show/document", "internal/show", "internal/show/dashboard", "internal/support", "internal/show/page"}
	judges = []string{"internal/maintenance", "internal/bootstrap", "internal/view", "internal/replace", "internal/diagnosis", "internal/setup/preflight", "internal/setup/inject", "internal/setup/adopt"}
	told   = map[string]bool{"bootstrap.Waits": true, "bootstrap.Verdict": true, "replace.ReadRecord": true, "replace.ReadNow": true}
)

// What shows takes the judges' results, and calls no function that decides: a document that judges for itself can differ from another one.
func TestWhatShowsDecidesNothing(t *testing.T) {
	calls := 0
	for _, dir := range shown {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			imported := map[string]bool{}
			for _, i := range f.Imports {
				for _, judge := range judges {
					if i.Path.Value == `"`+own+judge+`"` {
						imported[filepath.Base(judge)] = true
					}
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && imported[x.Name] {
					if name := x.Name + "." + sel.Sel.Name; told[name] {
						calls++
					} else {
						t.Errorf("%s calls %s, which decides: take its result from diagnosis.Judged", fset.Position(call.Pos()), name)
					}
				}
				return true
			})
		}
	}
	if calls == 0 {
		t.Error("no call of a judge was found at all: the test looks in the wrong place")
	}
}
