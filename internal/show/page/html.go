// SPDX-License-Identifier: Apache-2.0

package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

//go:embed report.html.tmpl
var pageText string

//go:embed report.css
var styleText string

// pageTemplate is parsed on demand: most runs draw no page.
func pageTemplate(r *Report) (*template.Template, error) {
	said := map[string]bool{}
	// once returns a step's text unless the page has it already.
	once := func(text string) string {
		if said[text] {
			return ""
		}
		said[text] = true
		return text
	}
	t, err := template.New("report").Funcs(template.FuncMap{
		"leftOut": LeftOutLine, "commandWords": commandWords, "proseParts": proseParts, "ago": r.ago,
		"about": change.about, "used": used, "age": r.objectAge,
		"finding": func(f *document.Finding) string { return f.Text(r.At()) },
		"text":    words.Text, "once": once, "membership": document.MembershipText,
		"step": func(m words.Message) []words.Part {
			if once(words.Text(m)) == "" {
				return nil
			}
			return words.Printer{}.Parts(m)
		},
	}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	return t, nil
}

// commandWord is a word of a command. A Whole one must not be broken at hyphens and slashes.
type commandWord struct {
	Text  string
	Whole bool
}

// commandWords returns the words of a command, the only places for line breaks in a page. The text
// is unchanged, so that a copied command runs.
func commandWords(text string) []commandWord {
	other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	var out []commandWord
	for word := range strings.SplitSeq(text, " ") {
		out = append(out, commandWord{Text: word, Whole: strings.ContainsFunc(word, other)})
	}
	return out
}

// proseParts splits a text. Whole parts (names and addresses) must not be broken: half of
// "demo-dc1-rack1-0" at the end of a line looks like another name. The parts concatenate to the
// text.
func proseParts(text string) []commandWord {
	var out []commandWord
	last := 0
	for i := 0; i < len(text); {
		end := i + len(text[i:])
		if n := strings.IndexAny(text[i:], " \n\t"); n >= 0 {
			end = i + n
		}
		if strings.ContainsAny(text[i:end], "-/") && strings.ContainsFunc(text[i:end], unicode.IsLetter) {
			if last < i {
				out = append(out, commandWord{Text: text[last:i]})
			}
			out, last = append(out, commandWord{Text: text[i:end], Whole: true}), end
		}
		i = end + 1
	}
	if last < len(text) {
		out = append(out, commandWord{Text: text[last:]})
	}
	return out
}

// allNodes is the maximum number of nodes that the page lists separately. For more, it lists racks
// and troubled nodes, and all nodes in a folded section.
const allNodes = 100

// tableLine is one line of the table of nodes.
type tableLine struct {
	*document.Node
	Number int
	Place  Place
}

// kind returns the class of a style in the page; empty for plain text.
func kind(s show.Style) string {
	return map[show.Style]string{show.Good: "good", show.Bad: "bad", show.Warn: "odd", show.Odd: "odd"}[s]
}

// SeenKind returns the class of how the other nodes see it.
func (l tableLine) SeenKind() string { return kind(show.StyleOf(l.Seen.Mark())) }

// SeenGlyph returns the glyph of how the other nodes see it.
func (l tableLine) SeenGlyph() string { return show.NewGlyphs(false).Marks[l.Seen.Mark()] }

// RowText returns the state of its row.
func (l tableLine) RowText() string {
	if l.Row.Status == document.RowNone {
		return "-"
	}
	return l.Row.Word()
}

// RowKind returns the class of the state of its row.
func (l tableLine) RowKind() string {
	if k, known := map[document.RowStatus]string{document.RowOK: "good", document.RowNone: "",
		document.RowStale: "odd"}[l.Row.Status]; known {
		return k
	}
	return "bad"
}

// PodKind marks a Pod that does not run, or not with all its containers.
func (l tableLine) PodKind() string {
	phase, ready, _ := strings.Cut(l.Pod, " ")
	if have, want, counted := strings.Cut(ready, "/"); phase != "Running" && l.Pod != "-" || counted && have != want {
		return "odd"
	}
	return ""
}

// MachineKind marks a Kubernetes node that is not Ready.
func (l tableLine) MachineKind() string {
	return kind(show.MachineStyle(cluster.KubernetesNode{State: l.Place.State}))
}

type pageData struct {
	*Report
	Style             template.CSS
	Verdict, Kind     string
	Glyph             string
	FactList          []fact
	BlockerList       []string
	MoreBlockers      []string
	BlockerLines      int
	Matrix            template.HTML
	MatrixText        string
	MatrixBy          string
	WideMatrix        bool
	NodeList, Trouble []tableLine
	Racks             []*rack
	Folded            bool
	Several           bool // too many troubled nodes to list separately
	ChangeList        []change
	RoutineList       []change
	RoutineText       string
	Lists             []list
	Taken, Generated  string
	TakenISO          string
}

// HTML writes the report as one self-contained page, without scripts, fonts or external pictures.
func HTML(w io.Writer, r *Report) error {
	t, err := pageTemplate(r)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, newPage(r)); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	// Escaped texts may contain invisible characters, or ones that reorder others; the template has
	// none.
	if _, err := io.WriteString(w, words.VisibleMarkup(b.String())); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// manyTroubled is the maximum number of troubled nodes that are listed separately with racks.
const manyTroubled = 50

// fewBlockers is the maximum number of unfolded blocker lines; the findings summarise the others.
const fewBlockers = 10

// newPage returns the data for the template.
func newPage(r *Report) *pageData {
	v := r.verdict()
	g := newGrid(r)
	d := &pageData{
		Report: r, Style: template.CSS(svgStyle + styleText), //nolint:gosec // both are constants of this package
		Verdict: v.text, Kind: v.kind, Glyph: v.glyph, FactList: r.facts(),
		MatrixText: g.summary(r), MatrixBy: g.By.String(), WideMatrix: len(g.List) > 8, Lists: r.lists(),
		Generated: words.Moment(r.GeneratedAt.Time), Folded: len(r.Nodes) > allNodes,
	}
	if t := r.At(); !t.IsZero() {
		d.Taken, d.TakenISO = words.Moment(t), t.UTC().Format(time.RFC3339)
	}
	if d.BlockerList, d.BlockerLines = r.blockers(); len(d.BlockerList) > fewBlockers {
		d.BlockerList, d.MoreBlockers = d.BlockerList[:fewBlockers], d.BlockerList[fewBlockers:]
	}
	d.addNodes()
	more := ""
	if d.Folded {
		d.Racks = racks(r, d.NodeList)
		more = drawRacks(r, g, d.Racks)
	}
	if len(g.List) > 0 {
		d.Matrix = template.HTML(
			draw(r, g, more)) //nolint:gosec // the drawing escapes every text that it did not make itself
	}
	d.ChangeList, d.RoutineList = r.split()
	d.RoutineText = routineText(len(d.RoutineList))
	return d
}

func (d *pageData) addNodes() {
	places := d.places()
	for i := range d.Nodes {
		n := &d.Nodes[i]
		line := tableLine{n, i + 1, places[n.Member]}
		d.NodeList = append(d.NodeList, line)
		if d.troubled(n) {
			d.Trouble = append(d.Trouble, line)
		}
	}
	d.Several = len(d.Trouble) > manyTroubled
}

// troubled reports whether a node is listed separately with racks. If no node could be queried,
// none is.
func (r *Report) troubled(n *document.Node) bool { return !r.Unread() && n.Troubled() }
