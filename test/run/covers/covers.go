// SPDX-License-Identifier: Apache-2.0

// Package covers reads what the end-to-end tests declare of themselves in their source: the
// packages whose behaviour a test proves, and the most ScyllaDB Pods that it has at a time. It
// runs no test and decides nothing: the runner chooses by it, and a house test checks it.
package covers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Test is one end-to-end test.
type Test struct {
	Name     string
	File     string   // base name
	Source   []string // declarations of the folder that it reaches, sorted: what a result depends on
	Packages []string // relative to the module, as internal/agent/barrier
	Pods     int      // the most ScyllaDB Pods at a time; 0 where it declares none
	Parallel bool
}

// Read returns the tests of the folder, by name. A test declares with calls in its body, of literals:
// covers(t, "internal/agent/barrier") and pods(t, 4).
func Read(dir string) ([]Test, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("read the tests of %s: no test files: %w", dir, err)
	}
	all := map[string]Test{}
	known := declarations{}
	fset := token.NewFileSet()
	for _, file := range files {
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the tests of %s: %w", dir, err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the tests of %s: %w", dir, err)
		}
		for _, d := range f.Decls {
			known.add(d, text[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset])
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") || fn.Name.Name == "TestMain" {
				continue
			}
			t := Test{Name: fn.Name.Name, File: filepath.Base(file)}
			var broken error
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if err := t.declare(call); err != nil {
						broken = fmt.Errorf("%s: %w", fset.Position(n.Pos()), err)
					}
				}
				return broken == nil
			})
			if broken != nil {
				return nil, broken
			}
			all[t.Name] = t
		}
	}
	out := make([]Test, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t := all[name]
		t.Source = known.reached(name, "TestMain", "init")
		out = append(out, t)
	}
	return out, nil
}

// declarations are those of a folder, by each name that they declare; methods are found by their
// name alone, so that one too many counts and none is missed.
type declarations map[string][]declaration

type declaration struct {
	text string
	uses map[string]bool
}

func (all declarations) add(d ast.Decl, text []byte) {
	this := declaration{text: string(text), uses: map[string]bool{}}
	ast.Inspect(d, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			this.uses[id.Name] = true
		}
		return true
	})
	switch d := d.(type) {
	case *ast.FuncDecl:
		all[d.Name.Name] = append(all[d.Name.Name], this)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				all[s.Name.Name] = append(all[s.Name.Name], this)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					all[n.Name] = append(all[n.Name], this)
				}
			}
		}
	}
}

// reached are the texts of the named declarations, and of those that they use in turn.
func (all declarations) reached(names ...string) []string {
	seen, texts := map[string]bool{}, map[string]bool{}
	for ; len(names) > 0; names = names[1:] {
		if seen[names[0]] {
			continue
		}
		seen[names[0]] = true
		for _, d := range all[names[0]] {
			texts[d.text] = true
			names = slices.AppendSeq(names, maps.Keys(d.uses))
		}
	}
	return slices.Sorted(maps.Keys(texts))
}

// declare takes what a call declares. A subtest may state its own Pods.
func (t *Test) declare(call *ast.CallExpr) error {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		t.Parallel = t.Parallel || sel.Sel.Name == "Parallel"
		return nil
	}
	name, ok := call.Fun.(*ast.Ident)
	if !ok || name.Name != "covers" && name.Name != "pods" {
		return nil
	}
	for _, arg := range call.Args[1:] {
		lit, ok := arg.(*ast.BasicLit)
		if !ok {
			return fmt.Errorf("%s takes literals only, so that it can be read without running the test", name.Name)
		}
		if name.Name == "covers" {
			p, err := strconv.Unquote(lit.Value)
			if err != nil {
				return fmt.Errorf("read %s: %w", lit.Value, err)
			}
			t.Packages = append(t.Packages, p)
			continue
		}
		n, err := strconv.Atoi(lit.Value)
		if err != nil {
			return fmt.Errorf("read %s: %w", lit.Value, err)
		}
		t.Pods = max(t.Pods, n)
	}
	return nil
}
