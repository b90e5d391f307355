// SPDX-License-Identifier: Apache-2.0

package house

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const phrasesPath = "testdata/phrases.txt"

var (
	updatePhrases = flag.Bool("update", false, "lower the counts of "+phrasesPath+" to what occurs")
	phraseHits    = flag.String("hits", "", "print the phrases found in files whose path matches this regular expression")
)

// allowedPhrases are the right word where they stand, each with why: a part of the path, a part of
// the text.
var allowedPhrases = []struct{ path, text, why string }{
	{"", "UID nobody", "a user of Linux"},
	{"internal/show/page/report.html.tmpl", ".Newcomers", "a field of the document"},
	{"cmd/gen/json.go", "'newcomers", "a field of the document"},
	{"cmd/gen/json.go", "'ghosts", "a field of the document"},
	{"cmd/gen/json.go", "'cure", "a field of the document"},
	{"docs/install/", "founder: description: |- Founder", "a field of the report"},
	{"docs/install/", "If that is not known, then using the time", "the text of Kubernetes on conditions"},
	{"docs/install/", "This field may not be empty.", "the text of Kubernetes on conditions"},
}

// A phrase counts in prose alone: not in code spans, flags, placeholders, names with hyphens or slashes, and the
// title of the matrix.
var notProse = regexp.MustCompile("(?i)who sees whom|`[^`]*`|\\{[\\w:]+|[\\w.-]+/[\\w./-]+|--[a-z-]+|\\b\\w+(-\\w+){2,}")

// prose is one text that a person reads.
type prose struct {
	path    string
	line    int
	text    string
	comment bool
}

func (p prose) String() string { return fmt.Sprintf("%s:%d: %s", p.path, p.line, p.text) }

// phrase is a line of phrases.txt. Shapes: pattern, advice, most in texts, most in comments.
type phrase struct {
	pattern *regexp.Regexp
	advice  string
	most    [2]int // in texts, in comments
}

func readPhrases() ([]phrase, error) {
	data, err := os.ReadFile(phrasesPath)
	if err != nil {
		return nil, err
	}
	var out []phrase
	for i, l := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if strings.HasPrefix(l, "#") {
			continue
		}
		f := strings.Split(l, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s:%d: %d columns, want 4", phrasesPath, i+1, len(f))
		}
		anyCase := "(?i)"
		if strings.HasPrefix(f[0], "(^") { // an inverted sentence begins with a capital
			anyCase = ""
		}
		p, err := regexp.Compile(anyCase + f[0])
		texts, err1 := strconv.Atoi(f[2])
		comments, err2 := strconv.Atoi(f[3])
		if err != nil || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%s:%d: %w", phrasesPath, i+1, errors.Join(err, err1, err2))
		}
		out = append(out, phrase{p, f[1], [2]int{texts, comments}})
	}
	return out, nil
}

// source returns the part of the pattern that phrases.txt holds.
func (p phrase) source() string { return strings.TrimPrefix(p.pattern.String(), "(?i)") }

// TestPhrases: what a person reads could stand in kubectl's documentation.
func TestPhrases(t *testing.T) {
	phrases, err := readPhrases()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := readProse("../..")
	if err != nil || len(texts) < 1000 {
		t.Fatalf("%d texts: %v", len(texts), err)
	}
	show := regexp.MustCompile(*phraseHits)
	var each sync.WaitGroup
	for i := range phrases {
		each.Go(func() {
			for kind, hits := range phrases[i].hits(texts) {
				for _, x := range hits {
					if *phraseHits != "" && show.MatchString(x.path) {
						t.Logf("%s\n\t%s -> %s", x, phrases[i].source(), phrases[i].advice)
					}
				}
				phrases[i].count(t, kind, hits)
			}
		})
	}
	each.Wait()
	if *updatePhrases {
		data, _ := os.ReadFile(phrasesPath)
		head := regexp.MustCompile(`(?m)^#.*\n`).FindAllString(string(data), -1)
		for _, p := range phrases {
			head = append(head, fmt.Sprintf("%s\t%s\t%d\t%d\n", p.source(), p.advice, p.most[0], p.most[1]))
		}
		if err := os.WriteFile(phrasesPath, []byte(strings.Join(head, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// hits returns the texts and the comments with the phrase, one for each time that it occurs.
func (p *phrase) hits(texts []prose) (found [2][]prose) {
	for _, x := range texts {
		kind := 0
		if x.comment {
			kind = 1
		}
		for range p.pattern.FindAllString(x.text, -1) {
			found[kind] = append(found[kind], x)
		}
	}
	return found
}

// count compares with what may be left.
func (p *phrase) count(t *testing.T, kind int, hits []prose) {
	where, most := [2]string{"texts", "comments"}[kind], &p.most[kind]
	switch n := len(hits); {
	case *updatePhrases:
		*most = min(*most, n)
	case n > *most:
		t.Errorf("%q occurs %d times in %s, at most %d may be left. Write: %s\n%s", p.source(), n, where, *most, p.advice, strings.Join(listed(hits), "\n"))
	case n < *most:
		t.Errorf("%q occurs %d times in %s, no longer %d: lower it with go test ./test/house -run TestPhrases -update", p.source(), n, where, *most)
	}
}

func listed(hits []prose) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = "\t" + h.String()
	}
	return out
}

// readProse returns the texts of product code, templates, manifests and of the pages that are
// written, without what notProse and allowedPhrases name.
func readProse(root string) ([]prose, error) {
	var out []prose
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		top, _, _ := strings.Cut(name, "/")
		if d.IsDir() {
			if d.Name() == "testdata" || slices.Contains([]string{".git", ".ci", "bin", "dist", "test", "completions"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		read := proseOfLines
		switch ext := filepath.Ext(name); {
		case name == "CHANGELOG.md" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(d.Name(), "zz_"):
			return nil
		case ext == ".go" && slices.Contains([]string{"plugin", "internal", "controller", "cmd"}, top):
			read = proseOfGo
		case ext == ".md" || ext == ".tmpl" || (ext == ".yaml" || ext == ".yml") && !strings.Contains(name, "/crds/"):
		default:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Ext(name) == ".md" && generated(name, data) {
			return nil
		}
		texts, err := read(name, string(data))
		out = append(out, texts...)
		return err
	})
	for i := range out {
		out[i].text = strings.Join(strings.Fields(notProse.ReplaceAllString(out[i].text, "_")), " ")
		for _, a := range allowedPhrases {
			if strings.Contains(out[i].path, a.path) {
				out[i].text = strings.ReplaceAll(out[i].text, a.text, "_")
			}
		}
	}
	return out, err
}

// generated is true of a page whose sentences come from the program.
func generated(name string, data []byte) bool {
	head := string(data[:min(len(data), 1000)])
	return strings.HasPrefix(name, "docs/reference/") || strings.Contains(head, "ade by `go run ./cmd/gen`") || strings.Contains(head, "ade by `make rehearse`")
}

// proseOfGo returns the literals with a space, and the comments.
func proseOfGo(name, text string) ([]prose, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var out []prose
	ast.Inspect(f, func(n ast.Node) bool {
		if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING {
			if s, err := strconv.Unquote(b.Value); err == nil && strings.Contains(s, " ") {
				out = append(out, prose{name, files.Position(b.Pos()).Line, s, false})
			}
		}
		return true
	})
	for _, c := range f.Comments {
		out = append(out, prose{name, files.Position(c.Pos()).Line, c.Text(), true})
	}
	return out, nil
}

// proseOfLines returns each paragraph: lines outside code blocks up to an empty one.
func proseOfLines(name, text string) ([]prose, error) {
	var out []prose
	code, last := false, ""
	for i, l := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(l), "```")
		if fence {
			code = !code
		}
		switch {
		case code || fence || strings.TrimSpace(l) == "":
			last = ""
		case last == "":
			out = append(out, prose{name, i + 1, l, false})
			last = l
		default:
			out[len(out)-1].text += " " + l
		}
	}
	return out, nil
}

func TestProseLeavesOutWhatIsNotProse(t *testing.T) {
	got := notProse.ReplaceAllString("see `that whoever` --not-known and kubectl-scylla.scylladb.com/when-controller-silent: nobody", "_")
	if want := "see _ _ and _: nobody"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	texts, err := proseOfLines("a.md", "one\ntwo\n\n```\nanew\n```\nthree\n")
	if err != nil || len(texts) != 2 || texts[0].text != "one two" || texts[1].line != 7 {
		t.Errorf("%v %v", texts, err)
	}
	texts, err = proseOfGo("a.go", "package a\n\n// A is anew.\nvar A = \"made anew\" + \"anew\"\n")
	if err != nil || len(texts) != 2 || texts[0].text != "made anew" || !texts[1].comment {
		t.Errorf("%v %v", texts, err)
	}
}
