// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// converted are the packages whose results are codes and parameters: English is made of them in internal/words alone.
var converted = []string{"internal/matrix", "internal/bootstrap", "internal/cluster", "internal/setup/preflight", "internal/diagnosis", "internal/view", "internal/view/healthpolicy", "internal/replace", "internal/diagnosis/evidence", "internal/scylla", "internal/credential"}

// rendered are the functions of internal/words that make English.
var rendered = map[string]bool{"Text": true, "Texts": true, "Printer": true, "Shell": true, "Aging": true, "Aged": true, "Of": true, "Saved": true, "Since": true, "Ago": true, "Age": true, "And": true, "Facts": true}

// sentence is true for text that a person is to read: three words or more, or a command.
func sentence(text string) bool {
	return strings.Contains(text, "kubectl ") || strings.Contains(text, "%") && len(strings.Fields(text)) >= 3
}

// TestEnglishOnlyWhereItLives: the pure packages hold no command as text and format no sentence.
func TestEnglishOnlyWhereItLives(t *testing.T) {
	for _, p := range load(t) {
		if !covers(converted, p.ImportPath) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) { // an error is for the caller
				case *ast.CallExpr:
					if isErrorf(n) {
						return false
					}
				case *ast.FuncDecl:
					if n.Recv != nil && n.Name.Name == "Error" {
						return false
					}
				}
				if s, ok := n.(*ast.SelectorExpr); ok && rendered[s.Sel.Name] {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "words" {
						t.Errorf("%s: words.%s makes English: give the code, and let who shows it render it", files.Position(n.Pos()), s.Sel.Name)
					}
				}
				b, ok := n.(*ast.BasicLit)
				if !ok || b.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(b.Value)
				if err == nil && sentence(text) {
					t.Errorf("%s: %q is English: give a code with parameters, and the sentence to internal/words", files.Position(b.Pos()), text)
				}
				return true
			})
		}
	}
}

func isErrorf(e *ast.CallExpr) bool {
	s, ok := e.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "fmt" && s.Sel.Name == "Errorf"
}
