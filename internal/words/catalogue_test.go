// SPDX-License-Identifier: Apache-2.0

package words_test

import (
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

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// source is what the product's own files say of codes.
type source struct {
	// codes by "package.Name" of their constants.
	codes map[string]code.Code
	made  []made
}

// made is one call of code.New.
type made struct {
	at       token.Position
	constant string
	params   []string
	commands int // of a Do that follows at once; -1 when there is none, so that commands may come later
}

// readSource parses every file of the product, tests aside.
func readSource(t *testing.T) source {
	t.Helper()
	s := source{codes: map[string]code.Code{}}
	files := token.NewFileSet()
	for _, root := range []string{"internal", "controller", "plugin", "cmd"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			s.read(files, f)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *source) read(files *token.FileSet, f *ast.File) {
	followed := map[*ast.CallExpr]int{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if typ := name(n.Type, f.Name.Name); typ != "code.Code" && typ != "matrix.Reason" {
				return true
			}
			for i, ident := range n.Names {
				if i < len(n.Values) {
					if text, ok := literal(n.Values[i]); ok {
						s.codes[f.Name.Name+"."+ident.Name] = code.Code(text)
					}
				}
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Do" {
				if inner, ok := sel.X.(*ast.CallExpr); ok {
					followed[inner] = len(n.Args)
					if n.Ellipsis.IsValid() {
						followed[inner] = -1
					}
				}
			}
			if name(n.Fun, "") != "code.New" || len(n.Args) == 0 {
				return true
			}
			m := made{at: files.Position(n.Pos()), constant: name(n.Args[0], f.Name.Name), commands: -1}
			if count, ok := followed[n]; ok {
				m.commands = count
			}
			for i := 1; i < len(n.Args); i += 2 {
				if text, ok := literal(n.Args[i]); ok {
					m.params = append(m.params, text)
				}
			}
			s.made = append(s.made, m)
		}
		return true
	})
}

// name is "package.Name" of an identifier, with the file's own package for a plain one.
func name(e ast.Expr, own string) string {
	switch e := e.(type) {
	case *ast.Ident:
		return own + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	b, ok := e.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(b.Value)
	return text, err == nil
}

// TestEveryCodeHasASentence, and every sentence a code.
func TestEveryCodeHasASentence(t *testing.T) {
	t.Parallel()
	known := map[code.Code]string{}
	for constant, c := range readSource(t).codes {
		if other, twice := known[c]; twice {
			t.Errorf("%s and %s are both %s: a code means one thing", constant, other, c)
		}
		known[c] = constant
		if _, ok := words.Sentence(c); !ok {
			t.Errorf("%s (%s) has no sentence in the catalogue", constant, c)
		}
	}
	if len(known) < 50 {
		t.Fatalf("%d codes found: the scan does not see them any more", len(known))
	}
	for _, c := range words.Codes() {
		if known[c] == "" {
			t.Errorf("the sentence of %s belongs to no code", c)
		}
	}
}

// TestProducersGiveWhatSentencesNeed: every code.New of a constant has the parameters and commands of its sentence, and no others.
func TestProducersGiveWhatSentencesNeed(t *testing.T) {
	t.Parallel()
	s := readSource(t)
	checked := 0
	for _, m := range s.made {
		c, ok := s.codes[m.constant]
		if !ok {
			continue // a code that is passed on
		}
		checked++
		must, optional := words.Needs(c)
		commands := 0
		for _, need := range must {
			if n, err := strconv.Atoi(need); err == nil {
				commands = max(commands, n)
			} else if !slices.Contains(m.params, need) {
				t.Errorf("%s: %s lacks parameter %q of its sentence", m.at, m.constant, need)
			}
		}
		if commands > 0 && m.commands != commands {
			t.Errorf("%s: %s has %d commands, its sentence has %d", m.at, m.constant, max(0, m.commands), commands)
		}
		for _, p := range m.params {
			if !slices.Contains(must, p) && !slices.Contains(optional, p) {
				t.Errorf("%s: parameter %q of %s is in no sentence", m.at, p, m.constant)
			}
		}
	}
	if checked < 50 {
		t.Fatalf("%d messages found: the scan does not see them any more", checked)
	}
}

// TestBlockersGiveWhatSentencesNeed: a blocker's and a group's message have the parameters of their sentences, for every reason.
func TestBlockersGiveWhatSentencesNeed(t *testing.T) {
	t.Parallel()
	a, b := matrix.Ref{Member: "a", HostID: "1", Datacenter: "dc1"}, matrix.Ref{Member: "b", HostID: "2", Datacenter: "dc2"}
	var messages []code.Message
	for _, reason := range matrix.Reasons() {
		for _, blocker := range []matrix.Blocker{
			{Reason: reason, Observer: a, Observed: b, Detail: "x"},
			{Reason: reason, Observer: a, Observed: a, Detail: "x", More: 3},
			{Reason: reason, Observer: a, Cause: code.New("Cause")},
		} {
			if blocker.Observed == (matrix.Ref{}) && reason != matrix.ReasonHostIDMissing {
				continue
			}
			messages = append(messages, blocker.Message())
			twice := blocker
			twice.Observer = b
			groups, _ := matrix.GroupBlockers([]matrix.Blocker{blocker, twice})
			for _, g := range groups {
				messages = append(messages, g.Message())
			}
		}
	}
	for _, m := range messages {
		must, _ := words.Needs(m.Code)
		for _, need := range must {
			if _, ok := m.Params[need]; !ok {
				t.Errorf("%s lacks parameter %q of its sentence", m.Code, need)
			}
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		m    code.Message
		want string
	}{
		"nothing":                     {code.Message{}, ""},
		"a code without a sentence":   {code.New("Else", "why", "x"), "Else: x"},
		"what is missing is left out": {code.New(matrix.StepKeepReport, "datacenter", ""), "see that the report of its datacenter is kept and can be read"},
		"what is there is said":       {code.New(matrix.StepKeepReport, "datacenter", "dc1"), "see that the report of its datacenter dc1 is kept and can be read"},
		"hidden characters are seen":  {code.New("Else", "why", "a\u202eb\nc"), "Else: a<U+202E>b c"},
		"a message within a message":  {code.New("Else", "why", []code.Message{code.New("A"), code.New("B", "why", 3)}), "Else: A, B: 3"},
		"a command":                   {code.New(matrix.StepReplaceFormerNode).Do(code.Scylla("demo", "replace", "x; id")), "the cluster still counts the former node of this very member: replace it: kubectl scylla replace 'x; id' -n demo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, words.Text(tc.m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartsTellCommandsApart(t *testing.T) {
	t.Parallel()
	m := code.New(matrix.StepReadLogOrReplace).Do(code.Kubectl("demo", "logs", "a", "-c", "scylla"), code.Scylla("demo", "replace", "1"))
	want := []words.Part{
		{Text: "its log says why: "}, {Text: "kubectl logs a -c scylla -n demo", Command: true}, {Text: "; if it is lost: "}, {Text: "kubectl scylla replace 1 -n demo", Command: true},
	}
	if diff := cmp.Diff(want, words.Printer{}.Parts(m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrinterRepeatsTheFlags(t *testing.T) {
	t.Parallel()
	p := words.Printer{Flags: []string{"--context=a b", "--as=me"}}
	for _, tc := range []struct {
		c    code.Command
		want string
	}{
		{code.Kubectl("demo", "get", "pod", "a"), "kubectl '--context=a b' --as=me get pod a -n demo"},
		{code.Scylla("", "status"), "kubectl scylla '--context=a b' --as=me status"},
		{code.Command{"nodetool", "status"}, "nodetool status"},
	} {
		if got := p.Shell(tc.c); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}
