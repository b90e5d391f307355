// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The catalogue of package words says which step stands beside which statement, for the documents. Where they stand together in the code is read from the code, so that the
// documents can say nothing else than the program does.

// said is a statement with the step beside it. Says and Cause are codes; of an error Says is its text.
type said struct {
	dir, says, cause, step string
	commands               []string
}

// message is a code with its commands as far as the source shows them.
type message struct {
	code     string
	commands []string
}

// statements are the part of the module that states something.
type statements struct {
	strings map[string]map[string]string // package name, constant, value
	funcs   map[string]map[string]*ast.FuncDecl
	files   map[string][]*ast.File // by folder
	pkg     map[string]string      // folder, package name
}

// spoken are the folders whose statements reach people.
var spoken = []string{
	"internal/words", "internal/setup/adopt", "internal/api", "internal/agent/barrier", "internal/bootstrap", "internal/cluster", "internal/diagnosis", "internal/agent/launch", "internal/matrix",
	"internal/setup/preflight", "internal/replace", "controller", "plugin",
}

func readStatements(root string) (*statements, error) {
	s := &statements{strings: map[string]map[string]string{}, funcs: map[string]map[string]*ast.FuncDecl{}, files: map[string][]*ast.File{}, pkg: map[string]string{}}
	fset := token.NewFileSet()
	for _, top := range spoken {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(top)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			s.add(filepath.ToSlash(rel), f)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the source below %s: %w", top, err)
		}
	}
	return s, nil
}

func (s *statements) add(dir string, f *ast.File) {
	name := f.Name.Name
	s.files[dir], s.pkg[dir] = append(s.files[dir], f), name
	if s.strings[name] == nil {
		s.strings[name], s.funcs[name] = map[string]string{}, map[string]*ast.FuncDecl{}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.funcs[name][d.Name.Name] = d
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for i, n := range v.Names {
					if i < len(v.Values) {
						if text, whole := s.text(name, defined(d.Tok, v.Values[i])); whole {
							s.strings[name][n.Name] = text
						}
					}
				}
			}
		}
	}
}

var defines = map[string]bool{"define": true, "ofCheck": true, "ofReplacement": true}

// defined is the code that a call of define gives to a variable, or the value of a constant.
func defined(tok token.Token, value ast.Expr) ast.Expr {
	if c, ok := value.(*ast.CallExpr); ok && tok == token.VAR && defines[lastName(c.Fun)] {
		return c.Args[0]
	} else if tok == token.VAR {
		return nil
	}
	return value
}

// text is the value of a string expression; a part that is not constant is "..." in it, and whole is then false.
func (s *statements) text(pkg string, e ast.Expr) (text string, whole bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if t, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return t, true
		}
	case *ast.Ident:
		if t, ok := s.strings[pkg][e.Name]; ok {
			return t, true
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			if t, ok := s.strings[x.Name][e.Sel.Name]; ok {
				return t, true
			}
		}
	case *ast.BinaryExpr:
		a, wholeA := s.text(pkg, e.X)
		b, wholeB := s.text(pkg, e.Y)
		return a + b, wholeA && wholeB
	case *ast.CallExpr: // a conversion: words.Code(reason)
		if len(e.Args) == 1 && isConversion(e.Fun) {
			return s.text(pkg, e.Args[0])
		}
	}
	return "...", false
}

// isCode is true for a code by its name in package words.
func isCode(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && lastName(s.X) == "words"
}

func isConversion(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name == "string" || f.Name == "Code"
	case *ast.SelectorExpr:
		return f.Sel.Name == "Code"
	}
	return false
}

// place is the location of an expression.
type place struct {
	pkg   string
	fn    *ast.FuncDecl
	depth int
}

func isCall(e ast.Expr, pkg, name string) (*ast.CallExpr, bool) {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return nil, false
	}
	x, isIdent := sel.X.(*ast.Ident)
	return c, pkg == "" || isIdent && x.Name == pkg
}

// messages are the possible messages of an expression: one for each branch in the source.
func (s *statements) messages(p place, e ast.Expr) []message {
	if p.depth > 4 {
		return nil
	}
	if c, ok := isCall(e, "words", "New"); ok && len(c.Args) > 0 {
		if t, whole := s.text(p.pkg, c.Args[0]); whole {
			return []message{{code: t}}
		}
		return nil
	}
	if c, ok := isCall(e, "", "Do"); ok {
		out := s.messages(p, c.Fun.(*ast.SelectorExpr).X)
		for i := range out {
			out[i].commands = append(out[i].commands, s.commands(p, c.Args)...)
		}
		return out
	}
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		if t, whole := s.text(p.pkg, e); whole && isCode(e) {
			return []message{{code: t}}
		}
	case *ast.CallExpr:
		var out []message
		s.returned(p, e, func(q place, result ast.Expr) { out = append(out, s.messages(q, result)...) })
		return out
	}
	if id, ok := e.(*ast.Ident); ok {
		var out []message
		s.assigned(p, id.Name, func(value ast.Expr) {
			if c, ok := isCall(value, "", "Do"); ok && lastName(c.Fun.(*ast.SelectorExpr).X) == id.Name { // m = m.Do(...): the same with commands
				for i := range out {
					out[i].commands = s.commands(p, c.Args)
				}
				return
			}
			out = append(out, s.messages(place{p.pkg, p.fn, p.depth + 1}, value)...) // a, b = b, a would go round for ever
		})
		return out
	}
	return nil
}

func (s *statements) commands(p place, args []ast.Expr) []string {
	var out []string
	for _, a := range args {
		if cmd, ok := s.command(p, a); ok {
			out = append(out, cmd)
		}
	}
	return out
}

// returned walks the results of a function of the same package, and the argument where the result is a parameter.
func (s *statements) returned(p place, c *ast.CallExpr, do func(place, ast.Expr)) {
	f := s.funcs[p.pkg][lastName(c.Fun)]
	if f == nil || f == p.fn || f.Body == nil {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) == 0 {
				return true
			}
			if arg := passed(f, c, n.Results[0]); arg != nil {
				do(place{p.pkg, p.fn, p.depth + 1}, arg)
			} else {
				do(place{p.pkg, f, p.depth + 1}, n.Results[0])
			}
		}
		return true
	})
}

// passed is the argument of a call for the parameter that a result of the function is; nil for any other result.
func passed(f *ast.FuncDecl, c *ast.CallExpr, result ast.Expr) ast.Expr {
	i := 0
	for _, field := range f.Type.Params.List {
		for _, param := range field.Names {
			if id, ok := result.(*ast.Ident); ok && id.Name == param.Name && i < len(c.Args) {
				return c.Args[i]
			}
			i++
		}
	}
	return nil
}

// assigned walks what a function assigns to one of its variables.
func (s *statements) assigned(p place, variable string, do func(ast.Expr)) {
	if p.fn == nil || p.fn.Body == nil {
		return
	}
	ast.Inspect(p.fn.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, l := range a.Lhs {
				if id, ok := l.(*ast.Ident); ok && id.Name == variable && (!namesVariable(a.Rhs[i], variable) || lastName(a.Rhs[i]) == "Do") {
					do(a.Rhs[i])
				}
			}
		}
		return true
	})
}

func namesVariable(e ast.Expr, variable string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == variable
		return !found
	})
	return found
}

// lastName is the last identifier of an expression.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	case *ast.IndexExpr:
		return lastName(e.X)
	}
	return ""
}

// command is a command as text, with words in capitals for parts that are not constant.
func (s *statements) command(p place, e ast.Expr) (string, bool) {
	if p.depth > 4 {
		return "", false
	}
	c, ok := e.(*ast.CallExpr)
	if !ok {
		text := ""
		if id, isIdent := e.(*ast.Ident); isIdent {
			s.assigned(p, id.Name, func(value ast.Expr) {
				if cmd, ok := s.command(place{p.pkg, p.fn, p.depth + 1}, value); ok {
					text = cmd
				}
			})
		}
		return text, text != ""
	}
	if lastName(c.Fun) == "append" {
		cmd, ok := s.command(p, c.Args[0])
		for _, a := range c.Args[1:] {
			cmd += " " + s.argument(p, a)
		}
		return cmd, ok
	}
	words := []string{"kubectl"}
	if _, ok := isCall(c, "words", "Scylla"); ok {
		words = append(words, "scylla")
	} else if _, ok := isCall(c, "words", "Kubectl"); !ok {
		text := ""
		s.returned(p, c, func(q place, result ast.Expr) {
			if cmd, ok := s.command(q, result); ok {
				text = cmd
			}
		})
		return text, text != ""
	}
	for i, a := range c.Args[1:] {
		if c.Ellipsis.IsValid() && i == len(c.Args)-2 {
			words = append(words, s.list(p, a)...)
			continue
		}
		words = append(words, s.argument(p, a))
	}
	if ns, whole := s.text(p.pkg, c.Args[0]); !whole {
		words = append(words, "-n NAMESPACE")
	} else if ns != "" {
		words = append(words, "-n "+ns)
	}
	return strings.Join(words, " "), true
}

// list is a list of arguments that is made in the same function.
func (s *statements) list(p place, e ast.Expr) []string {
	var out []string
	add := func(value ast.Expr) {
		if l, ok := value.(*ast.CompositeLit); ok && out == nil {
			for _, a := range l.Elts {
				out = append(out, s.argument(p, a))
			}
		}
	}
	add(e)
	if c, ok := e.(*ast.CallExpr); ok && lastName(c.Fun) == "append" {
		add(c.Args[0])
	}
	s.assigned(p, lastName(e), add)
	return out
}

var capitals = map[string]string{
	"Name": "NAME", "HostID": "HOSTID", "hostID": "HOSTID", "Self": "MEMBER", "self": "MEMBER", "n": "MEMBER", "target": "HOSTID", "p": "POD", "newcomer": "HOSTID",
	"unreadable": "POD", "machine": "NODE", "colon": "NAMESPACE:ACCOUNT", "Or": "POD",
}

// argument is one argument of a command.
func (s *statements) argument(p place, e ast.Expr) string {
	if t, whole := s.text(p.pkg, e); whole {
		return t
	}
	if b, ok := e.(*ast.BinaryExpr); ok {
		return s.argument(p, b.X) + s.argument(p, b.Y)
	}
	id := lastName(e)
	if c, ok := e.(*ast.CallExpr); ok && id == "string" { // string(n.HostID)
		return s.argument(p, c.Args[0])
	}
	if c, ok := e.(*ast.CallExpr); ok && id == "Or" { // cmp.Or(value, "FOR WANT OF ONE")
		if t, whole := s.text(p.pkg, c.Args[len(c.Args)-1]); whole && strings.ToUpper(t) == t {
			return t
		}
	}
	if c, ok := e.(*ast.CallExpr); ok && id == "Name" { // in.Self.Name()
		if _, ok := c.Fun.(*ast.SelectorExpr); ok {
			return "MEMBER"
		}
	}
	if c, ok := capitals[id]; ok {
		return c
	}
	return strings.ToUpper(id)
}

// theSource is what the product's own files name.
func theSource(t *testing.T) *statements {
	t.Helper()
	s, err := readStatements(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCatalogueHasTheStepsThatStandBeside: what the documents say of check and of a replacement is what the code does.
func TestCatalogueHasTheStepsThatStandBeside(t *testing.T) {
	made := map[string]map[words.Code][]words.Code{"internal/setup/preflight": {}, "internal/replace": {}}
	for _, p := range theSource(t).pairs() {
		says, step := words.Code(p.says), words.Code(p.step)
		if of := made[p.dir]; of != nil && p.says != "" && p.step != "" && !slices.Contains(of[says], step) {
			of[says] = append(of[says], step)
		}
	}
	for dir, said := range map[string]map[words.Code][]words.Code{"internal/setup/preflight": words.OfChecks(), "internal/replace": words.OfReplacements()} {
		less := cmpopts.SortSlices(func(a, b words.Code) bool { return a < b })
		if diff := cmp.Diff(made[dir], said, less); diff != "" {
			t.Errorf("the steps beside the statements of %s (-code +catalogue):\n%s", dir, diff)
		}
		if len(said) < 30 {
			t.Errorf("%s has only %d statements with a step", dir, len(said))
		}
	}
}
