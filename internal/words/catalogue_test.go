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

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// source is what the product's own files say of codes.
type source struct {
	// codes by "package.Name" of their constants.
	codes map[string]words.Code
	made  []made
	used  map[string]bool // "package.Name"
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
	s := source{codes: map[string]words.Code{}, used: map[string]bool{}}
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
			if len(n.Values) == 1 && f.Name.Name == "words" {
				if call, ok := n.Values[0].(*ast.CallExpr); ok && slices.Contains([]string{".define", ".ofCheck", ".ofReplacement"}, name(call.Fun, "")) {
					text, _ := literal(call.Args[0])
					s.codes["words."+n.Names[0].Name] = words.Code(text)
				}
			}
		case *ast.SelectorExpr:
			s.used[name(n, "")] = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Do" {
				if inner, ok := sel.X.(*ast.CallExpr); ok {
					followed[inner] = len(n.Args)
					if n.Ellipsis.IsValid() {
						followed[inner] = -1
					}
				}
			}
			if name(n.Fun, "") != "words.New" || len(n.Args) == 0 {
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

// TestEveryCodeIsUsed, and has the name of its variable, so that a search for the one finds the other.
func TestEveryCodeIsUsed(t *testing.T) {
	t.Parallel()
	s := readSource(t)
	for variable, c := range s.codes {
		if is, want := strings.TrimPrefix(strings.TrimPrefix(variable, "words."), "Say"), string(c); is != want && variable != "words."+want {
			t.Errorf("%s is code %s: give it that name", variable, c)
		}
		if !s.used[variable] {
			t.Errorf("nobody uses %s: delete it", variable)
		}
	}
	if len(s.codes) != len(words.All()) {
		t.Errorf("%d variables, %d codes: declare each code as a variable of its own", len(s.codes), len(words.All()))
	}
}

// TestProducersGiveWhatSentencesNeed: every New of a code has the parameters and commands of its sentence, and no others.
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
		commands, most := 0, 0
		for _, can := range optional {
			if n, err := strconv.Atoi(can); err == nil {
				most = max(most, n)
			}
		}
		for _, need := range must {
			if n, err := strconv.Atoi(need); err == nil {
				commands = max(commands, n)
			} else if !slices.Contains(m.params, need) {
				t.Errorf("%s: %s lacks parameter %q of its sentence", m.at, m.constant, need)
			}
		}
		if made := len(evidence.Facts{}.Commands(c)); m.commands <= 0 && made >= commands && made <= max(most, commands) {
			continue // the table has them
		}
		if commands > 0 && (m.commands < commands || m.commands > max(most, commands)) {
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
	var messages []words.Message
	for _, reason := range matrix.Reasons() {
		for _, blocker := range []matrix.Blocker{
			{Reason: reason, Observer: a, Observed: b, Detail: "x"},
			{Reason: reason, Observer: a, Observed: a, Detail: "x", More: 3},
			{Reason: reason, Observer: a, Cause: words.New("Cause")},
		} {
			if blocker.Observed == (matrix.Ref{}) && reason != words.HostIDMissing {
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
		m    words.Message
		want string
	}{
		"nothing":                     {words.Message{}, ""},
		"a code without a sentence":   {words.New("Else", "why", "x"), "Else: x"},
		"a code that is a template":   {words.Message{Code: "Else{why}[{1}]\u202e", Params: words.Params{"why": "x"}}, "Else{why}[{1}]<U+202E>: x"},
		"what is missing is left out": {words.New(words.KeepDatacenterReport, "datacenter", ""), "check that the report of its datacenter is updated and readable"},
		"what is there is said":       {words.New(words.KeepDatacenterReport, "datacenter", "dc1"), "check that the report of its datacenter dc1 is updated and readable"},
		"hidden characters are seen":  {words.New("Else", "why", "a\u202eb\nc"), "Else: a<U+202E>b c"},
		"a message within a message":  {words.New("Else", "why", []words.Message{words.New("A"), words.New("B", "why", 3)}), "Else: A, B: 3"},
		"a command":                   {words.New(words.ReplaceFormerNode).Do(words.Scylla("demo", "replace", "x; id")), "replace the former node of this member, which the cluster still lists; this cannot be undone: kubectl scylla replace 'x; id' -n demo"},
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
	m := words.New(words.CureUnrecordedLost, "node", "n", "member", "m", "why", "w").Do(words.Kubectl("demo", "logs", "a", "-c", "scylla"), words.Scylla("demo", "replace", "1"))
	want := []words.Part{
		{Text: "n has replaced the original, and w. Its host ID was not recorded: record it on the Service of m, then replace it, which cannot be undone: "}, {Text: "kubectl logs a -c scylla -n demo", Command: true}, {Text: "; then: "}, {Text: "kubectl scylla replace 1 -n demo", Command: true},
	}
	if diff := cmp.Diff(want, words.Printer{}.Parts(m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrinterRepeatsTheFlags(t *testing.T) {
	t.Parallel()
	p := words.Printer{Flags: []string{"--context=a b", "--as=me"}}
	for _, tc := range []struct {
		c    words.Command
		want string
	}{
		{words.Kubectl("demo", "get", "pod", "a"), "kubectl '--context=a b' --as=me get pod a -n demo"},
		{words.Scylla("", "status"), "kubectl scylla '--context=a b' --as=me status"},
		{words.Command{"nodetool", "status"}, "nodetool status"},
	} {
		if got := p.Shell(tc.c); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}
