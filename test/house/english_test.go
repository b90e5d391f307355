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
var converted = []string{"internal/code", "internal/matrix", "internal/bootstrap", "internal/cluster", "internal/preflight"}

// stillEnglish are files of these packages that make sentences, each with the reason. Take a file off the list when its sentences have become codes.
var stillEnglish = map[string]string{
	"internal/cluster/stale.go":   "the exit code of a container, where Kubernetes gives no reason",
	"internal/cluster/members.go": "Member.Detail and Member.Waiting are not converted yet",
	"internal/cluster/pod.go":     "as internal/cluster/members.go",
	"internal/cluster/problem.go": "the texts of what could not be read",
	"internal/cluster/names.go":   "the texts of errors about names that are not found",
	"internal/cluster/target.go":  "as internal/cluster/names.go",
	"internal/cluster/verdict.go": "as internal/cluster/names.go",
}

// sentence is true for text that a person is to read: three words or more, or a command.
func sentence(text string) bool {
	return strings.Contains(text, "kubectl ") || strings.Contains(text, "%") && len(strings.Fields(text)) >= 3
}

// TestEnglishOnlyWhereItLives: the pure packages hold no command as text and format no sentence.
func TestEnglishOnlyWhereItLives(t *testing.T) {
	excused := map[string]bool{}
	for _, p := range load(t) {
		if !covers(converted, p.ImportPath) {
			continue
		}
		for _, name := range p.GoFiles {
			rel := strings.TrimPrefix(p.ImportPath, own) + "/" + name
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if e, ok := n.(*ast.CallExpr); ok && isErrorf(e) {
					return false // an error is for whoever called
				}
				b, ok := n.(*ast.BasicLit)
				if !ok || b.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(b.Value)
				switch {
				case err != nil || !sentence(text):
				case stillEnglish[rel] != "":
					excused[rel] = true
				default:
					t.Errorf("%s: %q is English: give a code with parameters, and the sentence to internal/words", files.Position(b.Pos()), text)
				}
				return true
			})
		}
	}
	for name, why := range stillEnglish {
		if !excused[name] {
			t.Errorf("%s makes no sentence any more (%s): take it off the list", name, why)
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
