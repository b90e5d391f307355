// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"regexp"
	"strings"
)

// pairs finds every statement with a step beside it.
func (s *statements) pairs() []said {
	var out []said
	s.nodes(func(dir string, p place, n ast.Node) {
		switch n := n.(type) {
		case *ast.CompositeLit:
			out = append(out, s.ofLiteral(dir, p, n)...)
		case *ast.CallExpr:
			out = append(out, s.ofCall(dir, p, n)...)
		case *ast.ReturnStmt:
			if len(n.Results) == 2 {
				out = append(out, combine(dir, s.messages(p, n.Results[0]), nil, s.messages(p, n.Results[1]))...)
			}
		}
	})
	return out
}

// nodes walks the bodies of all functions.
func (s *statements) nodes(visit func(dir string, p place, n ast.Node)) {
	for dir, files := range s.files {
		for _, f := range files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				p := place{pkg: s.pkg[dir], fn: fn}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					visit(dir, p, n)
					return true
				})
			}
		}
	}
}

// ofLiteral reads Blocker{Reason, Cause, Step}, Finding{Message, Step}, Diagnosis{Text, Cure}.
func (s *statements) ofLiteral(dir string, p place, l *ast.CompositeLit) []said {
	fields := map[string][]message{}
	for _, e := range l.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			fields[lastName(kv.Key)] = s.messages(p, kv.Value)
		}
	}
	var out []said
	own := fields["Step"]
	if len(fields["Reason"])+len(fields["Message"])+len(own) > 0 { // a Blocker or a Finding; what it lacks is added a few lines later
		s.clauses(p.fn.Body, func(set map[string][]ast.Expr) {
			late := map[string][]message{}
			for field, values := range set {
				for _, v := range values {
					late[field] = append(late[field], s.messages(p, v)...)
				}
			}
			if says := append(late["Reason"], late["Message"]...); len(says) > 0 { // it becomes another
				steps := late["Step"]
				if len(steps) == 0 {
					steps = own
				}
				out = append(out, combine(dir, says, late["Cause"], steps)...)
				return
			}
			fields["Step"], fields["Cause"] = append(fields["Step"], late["Step"]...), append(fields["Cause"], late["Cause"]...)
		})
	}
	says := append(append(fields["Reason"], fields["Message"]...), fields["Text"]...)
	steps := append(fields["Step"], fields["Cure"]...)
	return append(out, combine(dir, says, fields["Cause"], steps)...)
}

// clauses walks what each list of statements assigns to fields.
func (s *statements) clauses(body ast.Node, do func(map[string][]ast.Expr)) {
	ast.Inspect(body, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		}
		set := map[string][]ast.Expr{}
		for _, stmt := range list {
			if a, ok := stmt.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
				for i, l := range a.Lhs {
					if sel, ok := l.(*ast.SelectorExpr); ok {
						set[sel.Sel.Name] = append(set[sel.Sel.Name], a.Rhs[i])
					}
				}
			}
		}
		if len(set) > 0 {
			do(set)
		}
		return true
	})
}

// ofCall reads refuse(says, step), add(reason, cause, step) and exit.WithHint(error, hint).
func (s *statements) ofCall(dir string, p place, c *ast.CallExpr) []said {
	if _, ok := isCall(c, "exit", "WithHint"); ok && len(c.Args) == 2 {
		text := s.errorText(p, c.Args[0])
		hint, _ := s.text(p.pkg, c.Args[1])
		if text == "" || strings.Trim(hint, ". ") == "" || strings.Trim(text, ".: ") == "" {
			return nil
		}
		return []said{{dir: dir, says: text, step: hint}}
	}
	if fun := lastName(c.Fun); fun == "New" || fun == "Do" || fun == "append" || fun == "Text" || len(c.Args) < 2 {
		return nil
	}
	var found [][]message
	for _, a := range c.Args {
		if m := s.messages(p, a); len(m) > 0 {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 2:
		return combine(dir, found[0], nil, found[1])
	case 3:
		return combine(dir, found[0], found[1], found[2])
	}
	return nil
}

func combine(dir string, says, causes, steps []message) []said {
	if len(causes) == 0 {
		causes = []message{{}}
	}
	var out []said
	for _, m := range says {
		for _, cause := range causes {
			for _, step := range steps {
				out = append(out, said{dir: dir, says: m.code, cause: cause.code, step: step.code, commands: step.commands})
			}
		}
	}
	return out
}

var verb = regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]`)

// errorText is the text of an error that is made here, with "..." for its parameters.
func (s *statements) errorText(p place, e ast.Expr) string {
	if p.depth > 4 {
		return ""
	}
	text := ""
	switch e := e.(type) {
	case *ast.Ident:
		s.assigned(p, e.Name, func(value ast.Expr) {
			if t := s.errorText(place{p.pkg, p.fn, p.depth + 1}, value); t != "" {
				text = t
			}
		})
	case *ast.CallExpr:
		switch lastName(e.Fun) {
		case "Errorf", "New", "Usagef", "Refusedf":
			text, _ = s.text(p.pkg, e.Args[0])
		case "Usage", "Refused", "TimedOut":
			return s.errorText(p, e.Args[0])
		}
	}
	return verb.ReplaceAllString(text, "...")
}
