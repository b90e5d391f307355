// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// guarded are the commands that check again, show what they would do and ask.
var guarded = regexp.MustCompile(`^kubectl scylla (force-proceed|init reset) `)

// irreversible reports whether a command needs evidence: it cannot be undone, by the table of the product, and does not check again.
func irreversible(command string) bool {
	return evidence.Destroys(strings.Fields(command)) && !guarded.MatchString(command)
}

// irreversible are the commands of every code that is made in the source with one that cannot be undone.
func (s *statements) irreversible() map[string][]string {
	out := map[string][]string{}
	s.nodes(func(_ string, p place, n ast.Node) {
		e, ok := n.(ast.Expr)
		if !ok {
			return
		}
		if _, do := isCall(e, "", "Do"); !do {
			return
		}
		for _, m := range s.messages(p, e) {
			if slices.ContainsFunc(m.commands, irreversible) && len(m.commands) > len(out[m.code]) {
				out[m.code] = m.commands
			}
		}
	})
	return out
}

// asked are codes with such a command whose step a person has asked for by that very command.
var asked = map[string]string{"ReplaceSeeHowFar": "after `replace` itself, for an attempt that has failed",
	"StepDrainFirst": "after `check --for=drain` itself, which has queried every node"}

// TestNoHarm10EveryIrreversibleStepHasItsEvidence walks every code that is made with a command that cannot be undone, and every sentence that has such a step in its words.
func TestNoHarm10EveryIrreversibleStepHasItsEvidence(t *testing.T) {
	made := theSource(t).irreversible()
	for _, c := range words.All() {
		for _, command := range (evidence.Facts{}).Commands(c) {
			if text := words.Shell(command); irreversible(text) {
				made[string(c)] = append(made[string(c)], text)
			}
		}
	}
	if len(made) < 10 {
		t.Fatalf("%d codes found: the walk does not see them any more", len(made))
	}
	for c, commands := range made {
		if len(evidence.For(words.Code(c))) == 0 && asked[c] == "" {
			t.Errorf("%s prints %q without evidence: add it to internal/diagnosis/evidence, or print how to look", c, commands)
		}
	}
	for _, c := range words.All() {
		for _, command := range (evidence.Facts{}).Commands(c) {
			if evidence.Destroys(command) {
				made[string(c)] = append(made[string(c)], words.Shell(command)) // also what asks before it acts
			}
		}
	}
	for c, commands := range made {
		text, _ := words.Sentence(words.Code(c))
		if !strings.Contains(text, "cannot be undone") && !strings.Contains(text, "{cure}") && c != "StepDrainFirst" { // a Pod that moves keeps its volume
			t.Errorf("%s prints %q without the words \"cannot be undone\": %s", c, commands, text)
		}
	}
	for c := range asked {
		if made[c] == nil {
			t.Errorf("%s prints no such command any more", c)
		}
	}
	for _, s := range evidence.Steps() {
		if _, said := words.Sentence(s.Code); !said {
			t.Errorf("%s is no step", s.Code)
		}
		if len(s.Rests) == 0 {
			t.Errorf("step %s rests on nothing", s.Code)
		}
		for _, c := range s.Rests {
			if e, ok := evidence.Of(c); !ok || e.Volume == evidence.Kept {
				t.Errorf("step %s rests on %s, which the table does not have or which shows that nothing is lost", s.Code, c)
			}
		}
	}
	destroys := regexp.MustCompile(`(?i)^(?:.*[;,:] )?(delete (?:its |the )?(?:PVC|claim|PersistentVolumeClaim)|replace it\b|removenode)`)
	for _, c := range words.All() {
		text, _ := words.Sentence(c)
		if e, _ := evidence.Of(c); e.Origin == evidence.Log { // judged by TestNoHarm10EveryTextHasItsEvidence
			continue
		}
		if destroys.MatchString(text) && len(evidence.For(c)) == 0 {
			t.Errorf("%s says %q without evidence", c, text)
		}
	}
}

// TestNoHarm10EveryTextHasItsEvidence: a text of ScyllaDB without versions, source and fate decides nothing.
func TestNoHarm10EveryTextHasItsEvidence(t *testing.T) {
	known := map[words.Code]bool{}
	for _, k := range scylla.KnownFailures() {
		known[k.Code] = true
		e, ok := evidence.Of(k.Code)
		if !ok || e.First == "" || len(e.Source) == 0 || e.Volume == "" || e.Origin != evidence.Log {
			t.Errorf("%s: no evidence: %+v", k.Code, e)
		}
		cure := words.Text(scylla.Cure(k.Code))
		deletes := strings.Contains(cure, "delete the Pod's PersistentVolumeClaim")
		if cure == "" || deletes != (e.Volume == evidence.Lost) {
			t.Errorf("%s, volume %s: %q", k.Code, e.Volume, cure)
		}
	}
	for _, e := range evidence.Table() {
		if e.Origin == evidence.Log && !known[e.Code] {
			t.Errorf("%s is no text that package scylla knows", e.Code)
		}
		names := func(s evidence.Step) bool { return slices.Contains(s.Rests, e.Code) }
		if e.Origin != evidence.Log && e.Volume != evidence.Kept && !slices.ContainsFunc(evidence.Steps(), names) {
			t.Errorf("no step rests on %s", e.Code)
		}
	}
}

// TestNoHarm10NoCommandEscapesTheWalk: the arguments of these commands are written nowhere but in the packages that the walk reads.
func TestNoHarm10NoCommandEscapesTheWalk(t *testing.T) {
	root := filepath.Join("..", "..")
	// removenode has a judge of its own: replace.Ghost, on MajorityDown of each node that it names and a datacenter that is wholly ours.
	allowed := map[string]string{"internal/replace/ghost.go": "removenode", "internal/replace/nothing.go": "delete pvc", "internal/bootstrap/bootstrap.go": "delete pvc",
		"internal/diagnosis/evidence/destroys.go": "recognises them",
		"internal/diagnosis/topology.go":          "recognises what a person types"}
	for _, top := range []string{"internal", "plugin", "controller", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, _ := filepath.Rel(root, path)
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING {
					if text, _ := strconv.Unquote(b.Value); (text == "removenode" || text == "excludenode" || text == "pvc") && allowed[filepath.ToSlash(rel)] == "" {
						t.Errorf("%s makes a command with %q: is its evidence known?", rel, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
