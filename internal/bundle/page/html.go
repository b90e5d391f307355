// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

//go:embed report.html.tmpl
var pageText string

//go:embed report.css
var styleText string

// pageTemplate is parsed when it is first needed: most runs draw no page.
func pageTemplate() (*template.Template, error) {
	t, err := template.New("report").Funcs(template.FuncMap{"leftOut": LeftOutLine}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	return t, nil
}

// allNodes is up to how many nodes the page lists each; beyond, racks and nodes with trouble, and all of them folded away.
const allNodes = 100

// node is one line of the table of nodes.
type node struct {
	Number                                          int
	Datacenter, Rack, Member, HostID, Short         string
	Seen, SeenKind, SeenGlyph                       string
	Version, Row, RowKind, RowDetail, Pod, PodKind  string
	Force, Membership, Detail, State, OperationMode string
}

// rack is one line of the table of racks.
type rack struct {
	Datacenter, Name             string
	Nodes, In, Up, Rows, Trouble int
	Kind, Glyph                  string
}

// change is one line of the list of changes.
type change struct {
	Change
	At, Day, Clock, Ago, Text string
	Symbol                    string
}

type pageData struct {
	*Report
	Style             template.CSS
	Verdict, Kind     string
	Glyph             string
	FactList          []fact
	PartitionText     string
	BlockerList       []blocker
	Matrix            template.HTML
	MatrixText        string
	MatrixBy          string
	WideMatrix        bool
	NodeList, Trouble []node
	Racks             []rack
	Folded            bool
	ChangeList        []change
	Lists             []list
	Taken, Generated  string
	TakenISO          string
	ObjectList        []objectLine
}

type objectLine struct {
	Object
	Age, UsedText string
}

// HTML writes the report as one page that needs nothing else: no script, no font, no picture from anywhere.
func HTML(w io.Writer, r *Report) error {
	t, err := pageTemplate()
	if err != nil {
		return err
	}
	v := r.verdict()
	g := newGrid(r)
	d := &pageData{
		Report: r, Style: template.CSS(svgStyle + styleText), //nolint:gosec // both are constants of this package
		Verdict: v.text, Kind: v.kind, Glyph: v.glyph, FactList: r.facts(), PartitionText: r.partitionText(), BlockerList: r.blockers(),
		MatrixText: g.summary(r), MatrixBy: g.by, WideMatrix: len(g.lines) > 8, Lists: r.lists(), Generated: r.GeneratedAt.UTC().Format("2006-01-02 15:04:05 UTC"), Folded: len(r.Nodes) > allNodes,
	}
	if len(g.lines) > 0 {
		d.Matrix = template.HTML(draw(r, false)) //nolint:gosec // the drawing escapes every text that it did not make itself
	}
	if t := r.taken(); !t.IsZero() {
		d.Taken, d.TakenISO = t.UTC().Format("2006-01-02 15:04:05 UTC"), t.UTC().Format(time.RFC3339)
	}
	for i, n := range r.Nodes {
		line := newNode(i+1, n)
		d.NodeList = append(d.NodeList, line)
		if troubled(n) {
			d.Trouble = append(d.Trouble, line)
		}
	}
	d.Racks = racks(r)
	for _, o := range r.Reports {
		d.ObjectList = append(d.ObjectList, objectLine{o, cmp.Or(r.objectAge(o), "not known"), used(o)})
	}
	for _, c := range r.Changes {
		at := c.Time.UTC()
		symbol := "•"
		if c.Warning {
			symbol = "!"
		}
		d.ChangeList = append(d.ChangeList, change{Change: c, At: at.Format(time.RFC3339), Day: at.Format("2006-01-02"), Clock: at.Format("15:04:05"), Ago: r.ago(at), Text: c.about(), Symbol: symbol})
	}
	if err := t.Execute(w, d); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// troubled says whether a node is listed when racks stand for the rest.
func troubled(n render.Node) bool {
	return n.Membership != kube.MemberJoined && n.Membership != kube.MemberRemote || n.Row.Status != render.RowOK || n.Seen == nil || n.Seen.Status != "UP"
}

func newNode(number int, n render.Node) node {
	out := node{
		Number: number, Datacenter: cmp.Or(n.Datacenter, "-"), Rack: cmp.Or(n.Rack, "-"), Member: cmp.Or(n.Member, "-"), HostID: n.HostID, Short: cmp.Or(n.Short(), "-"),
		Seen: n.Seen.Text(), Version: cmp.Or(n.Version, "-"), Row: string(n.Row.Status), RowDetail: n.Row.Detail, Pod: n.Pod, Force: n.Force,
		Membership: string(n.Membership), Detail: n.Detail, State: n.State, OperationMode: n.OperationMode,
	}
	if n.Seen != nil {
		out.SeenKind = kindOf(n.Seen.Status)
		out.SeenGlyph, _ = glyph(n.Seen.Status, render.Options{})
	}
	switch n.Row.Status {
	case render.RowOK:
		out.RowKind = "good"
	case render.RowNone:
		out.Row = "-"
	case render.RowStale:
		out.RowKind = "odd"
	default:
		out.RowKind = "bad"
	}
	phase, ready, _ := strings.Cut(n.Pod, " ")
	if have, want, counted := strings.Cut(ready, "/"); phase != "Running" && n.Pod != "-" || counted && have != want {
		out.PodKind = "odd"
	}
	return out
}

func kindOf(status string) string {
	switch status {
	case "UP":
		return "good"
	case "DOWN":
		return "bad"
	}
	return "odd"
}

func racks(r *Report) []rack {
	var out []rack
	at := map[[2]string]int{}
	for _, n := range r.Nodes {
		key := [2]string{n.Datacenter, n.Rack}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, rack{Datacenter: cmp.Or(n.Datacenter, "-"), Name: cmp.Or(n.Rack, "-")})
		}
		k := &out[i]
		k.Nodes++
		if n.Membership != kube.MemberNewcomer && n.Membership != kube.MemberGossipOnly {
			k.In++
		}
		if n.Seen != nil && n.Seen.Status == "UP" {
			k.Up++
		}
		if n.Row.Status == render.RowOK {
			k.Rows++
		}
		if troubled(n) {
			k.Trouble++
		}
	}
	for i := range out {
		out[i].Kind, out[i].Glyph = "good", "✓"
		if out[i].Up < out[i].In {
			out[i].Kind, out[i].Glyph = "bad", "✗"
		}
	}
	return out
}
