// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// maxCells is how many nodes get a row and a column of their own; beyond, racks do, and beyond that datacenters.
const maxCells = 48

// statuses of cells, the gravest first.
var statuses = []string{"DOWN", "UNKNOWN", "MISSING", "UP"}

// words for statuses.
var statusWords = map[string]string{
	"UP": "UP", "DOWN": "DOWN", "UNKNOWN": "not known", "MISSING": "missing from the row", "none": "no fresh row", "self": "itself",
}

// line is one row and column of the picture: a node, or a rack or datacenter of nodes.
type line struct {
	number string // as in the table of nodes; empty for groups
	name   string
	group  string // lines of one group stand together
	nodes  int
}

// pairs is what the rows of one line say of the nodes of another.
type pairs struct {
	counts map[string]int
	self   bool // one node and itself
}

// worst is the gravest status, "none" without any fresh row.
func (p pairs) worst() string {
	if p.self {
		return "self"
	}
	for _, s := range statuses {
		if p.counts[s] > 0 {
			return s
		}
	}
	return "none"
}

// grid is the matrix as it is drawn.
type grid struct {
	by    string // "node", "rack" or "datacenter"
	lines []line
	cells [][]pairs
}

// newGrid makes the matrix of nodes, or of racks or datacenters when there are too many.
func newGrid(r *Report) *grid {
	index := map[string]int{}
	reports := map[int]bool{}
	for i, n := range r.Nodes {
		if n.HostID != "" {
			index[n.HostID] = i
		}
		if n.Member != "" {
			index["member "+n.Member] = i
		}
	}
	observer := func(row render.Row) (int, bool) {
		if i, ok := index[row.Observer.HostID]; ok && row.Observer.HostID != "" {
			return i, true
		}
		i, ok := index["member "+row.Observer.Member]
		return i, ok
	}
	for _, row := range r.Rows {
		if i, ok := observer(row); ok {
			reports[i] = true
		}
	}
	var seen []int // nodes that can be seen: those that have a host ID and somebody asked about
	for i, n := range r.Nodes {
		if n.HostID != "" && (n.Seen != nil || reports[i]) {
			seen = append(seen, i)
		}
	}
	g, place := gather(r, seen)
	g.cells = make([][]pairs, len(g.lines))
	for i := range g.cells {
		g.cells[i] = make([]pairs, len(g.lines))
		for j := range g.cells[i] {
			g.cells[i][j] = pairs{counts: map[string]int{}, self: i == j && g.by == "node"}
		}
	}
	for i := range reports {
		a, ok := place[i]
		if !ok {
			continue
		}
		for b, l := range g.lines {
			n := l.nodes
			if a == b {
				n-- // a node that finds itself well proves nothing
			}
			g.cells[a][b].counts["UP"] += n
		}
	}
	for _, row := range r.Rows {
		i, _ := observer(row)
		a, ok := place[i]
		if !ok {
			continue
		}
		for _, p := range row.NotUp {
			j, known := index[p.Observed]
			b, ok := place[j]
			if !known || !ok || i == j {
				continue
			}
			status := p.Status
			if status != "DOWN" && status != "MISSING" {
				status = "UNKNOWN"
			}
			g.cells[a][b].counts["UP"]--
			g.cells[a][b].counts[status]++
		}
	}
	return g
}

// gather makes the lines, and says on which line each node is.
func gather(r *Report, seen []int) (*grid, map[int]int) {
	rack := func(i int) string { return cmp.Or(r.Nodes[i].Datacenter, "?") + "/" + cmp.Or(r.Nodes[i].Rack, "?") }
	place := map[int]int{}
	if len(seen) <= maxCells {
		g := &grid{by: "node"}
		for _, i := range seen {
			n := r.Nodes[i]
			place[i] = len(g.lines)
			g.lines = append(g.lines, line{number: fmt.Sprint(i + 1), name: cmp.Or(n.Member, n.Short(), "-"), group: rack(i), nodes: 1})
		}
		return g, place
	}
	for _, by := range []string{"rack", "datacenter"} {
		g := &grid{by: by}
		at := map[string]int{}
		for _, i := range seen {
			name := rack(i)
			if by == "datacenter" {
				name = cmp.Or(r.Nodes[i].Datacenter, "?")
			}
			k, ok := at[name]
			if !ok {
				k = len(g.lines)
				at[name] = k
				g.lines = append(g.lines, line{name: name, group: cmp.Or(r.Nodes[i].Datacenter, "?")})
			}
			g.lines[k].nodes++
			place[i] = k
		}
		if len(g.lines) <= maxCells || by == "datacenter" {
			return g, place
		}
	}
	return &grid{by: "node"}, place // not reached: the loop returns
}

// title says a cell in words.
func (g *grid) title(i, j int) string {
	p := g.cells[i][j]
	a, b := g.lines[i].name, g.lines[j].name
	switch {
	case p.self:
		return a
	case p.worst() == "none" && g.by == "node":
		return a + " has no fresh row"
	case p.worst() == "none":
		return a + ": no fresh row of others about " + b
	case g.by == "node":
		return a + " sees " + b + ": " + statusWords[p.worst()]
	}
	var parts []string
	for _, s := range slices.Backward(statuses) {
		if n := p.counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, statusWords[s]))
		}
	}
	return a + " sees " + b + ": " + strings.Join(parts, ", ")
}

// summary says the picture in one sentence, for whoever does not see it.
func (g *grid) summary(r *Report) string {
	total := map[string]int{}
	for i := range g.cells {
		for j := range g.cells[i] {
			for s, n := range g.cells[i][j].counts {
				total[s] += n
			}
		}
	}
	var parts []string
	for _, s := range slices.Backward(statuses) {
		if n := total[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, statusWords[s]))
		}
	}
	if len(parts) == 0 {
		return "No row says who sees whom."
	}
	of := ""
	if g.by != "node" {
		of = ", drawn by " + g.by
	}
	return fmt.Sprintf("Rows of %d of %d nodes%s: of each node's view of each other, %s.", len(r.Rows), r.Counts.Nodes, of, strings.Join(parts, ", "))
}

// Rules for what <use> repeats must not name its surroundings: they do not reach into the copies, inherited variables do.
// Colours go with a glyph each, so that none is told by its colour alone; they are told apart with any of the common colour blindnesses.
const svgStyle = `
.mx{--ink:#1b2026;--dim:#5b6570;--rule:#c9d1da;--up:#cfeae0;--up-i:#05604a;--down:#c84a00;--down-i:#fff;--unk:#f7d782;--unk-i:#5a4200;--mis:#e7bfd6;--mis-i:#6a1f4e;--none:#eef1f4;--none-i:#b4bdc7;--back:#fff}
@media (prefers-color-scheme:dark){.mx{--ink:#e8edf2;--dim:#9aa5b1;--rule:#39424d;--up:#12453a;--up-i:#7fe3c4;--down:#f0741d;--down-i:#1d0c00;--unk:#6e5410;--unk-i:#ffe49a;--mis:#5d2a49;--mis-i:#ffbfe0;--none:#1c232b;--none-i:#4d5864;--back:#0e1318}}
@media print{.mx{--ink:#000;--dim:#444;--rule:#999;--up:#cfeae0;--up-i:#05604a;--down:#c84a00;--down-i:#fff;--unk:#f7d782;--unk-i:#5a4200;--mis:#e7bfd6;--mis-i:#6a1f4e;--none:#eef1f4;--none-i:#b4bdc7;--back:#fff;print-color-adjust:exact;-webkit-print-color-adjust:exact}}
.mx text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--ink)}
.mx .dim,.mx .num{fill:var(--dim)}.mx .num{font-size:11px}.mx .head{font:600 14px system-ui,sans-serif}
.mx .back{fill:var(--back)}
.mx .cnt{font-size:11px;font-weight:600}
.mx-g{fill:none;stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}
.mx-UP{fill:var(--up)}.mx-UP-i{stroke:var(--up-i)}
.mx-DOWN{fill:var(--down)}.mx-DOWN-i{stroke:var(--down-i)}.mx text.mx-DOWN-t{fill:var(--down-i)}
.mx-UNKNOWN{fill:var(--unk)}.mx-UNKNOWN-i{stroke:var(--unk-i)}.mx text.mx-UNKNOWN-t{fill:var(--unk-i)}
.mx-MISSING{fill:var(--mis)}.mx-MISSING-i{stroke:var(--mis-i)}.mx text.mx-MISSING-t{fill:var(--mis-i)}
.mx-none{fill:var(--none)}.mx-none-i{stroke:var(--none-i)}.mx-self{fill:none}.mx-self-i{stroke:var(--rule)}
`

// glyphPaths are drawn, not written: fonts differ. Each is in a square of 24.
var glyphPaths = map[string]string{
	"UP": "M6.5 12.6l3.7 3.8 7.3-8.4", "DOWN": "M7.5 7.5l9 9M16.5 7.5l-9 9", "UNKNOWN": "M8.8 9.2a3.2 3.2 0 1 1 4.9 2.7c-1.2.8-1.7 1.3-1.7 2.4M12 17.6v.1",
	"MISSING": "M12 12v.1M7.4 12v.1M16.6 12v.1", "none": "M5 19L19 5", "self": "M9 12h6",
}

const (
	cell      = 24 // of a node; groups are wider
	cellGap   = 2
	groupGap  = 6
	maxLabel  = 32 // characters
	charWidth = 7.3
)

func esc(s string) string {
	var b strings.Builder
	// Writing to a strings.Builder does not fail.
	_ = xml.EscapeText(&b, []byte(render.Clean(s)))
	return b.String()
}

// SVG writes the matrix as a picture that stands on its own.
func SVG(w io.Writer, r *Report) error {
	text := draw(r, true)
	if _, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+text); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// draw makes the picture. Alone it has a background, a head line and its own style; otherwise the page around it has these.
func draw(r *Report, alone bool) string {
	g := newGrid(r)
	d := &drawing{g: g, r: r, alone: alone, w: cell}
	if g.by != "node" {
		d.w = 2 * cell
	}
	return d.String()
}

type drawing struct {
	g     *grid
	r     *Report
	alone bool
	w     int // width of a cell
	b     strings.Builder
	used  map[string]bool
}

// offset of a line from the first, with room between groups.
func (d *drawing) offset(i, step int) int {
	at := 0
	for k := 1; k <= i; k++ {
		at += step + cellGap
		if d.g.lines[k].group != d.g.lines[k-1].group {
			at += groupGap
		}
	}
	return at
}

func (d *drawing) label(i int) string {
	l := d.g.lines[i]
	name := render.Shorten(render.Clean(l.name), maxLabel, true, "…")
	if d.g.by != "node" {
		name += fmt.Sprintf(" (%d)", l.nodes)
	}
	return name
}

func (d *drawing) String() string {
	n := len(d.g.lines)
	d.used = map[string]bool{}
	labels := 0
	for i := range n {
		labels = max(labels, utf8.RuneCountInString(d.label(i)))
	}
	left, top := int(float64(labels)*charWidth)+40, 26
	if d.g.by != "node" {
		left = int(float64(labels)*charWidth) + 14
	}
	x0, y0, margin := left, top, 0
	if d.alone {
		margin = 16
		x0, y0 = x0+margin, y0+margin+26
	}
	cells := d.cells(x0, y0)
	width, height := x0+margin, y0+margin
	if n > 0 {
		width += d.offset(n-1, d.w) + d.w
		height += d.offset(n-1, cell) + cell
	}
	legend, legendWidth, rows := d.legend(margin, height-margin+12, max(width-2*margin, 300))
	width, height = max(width, legendWidth+2*margin), height+12+rows*22
	head := d.r.Namespace + "/" + d.r.Name + ": who sees whom"
	if t := d.r.taken(); !t.IsZero() {
		head += ", " + t.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if d.alone {
		width = max(width, int(float64(utf8.RuneCountInString(head))*8.4)+2*margin)
	}
	b := &d.b
	least := "" // on a page it shrinks to fit, as long as a cell can be told from the next; then it scrolls
	if !d.alone {
		least = fmt.Sprintf(` style="min-width:%dpx"`, width*5/8)
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="mx" viewBox="0 0 %d %d" width="%d" height="%d"%s role="img" aria-labelledby="mx-t mx-d">`+"\n", width, height, width, height, least)
	fmt.Fprintf(b, "<title id=\"mx-t\">%s</title>\n<desc id=\"mx-d\">%s A row says of each column.</desc>\n", esc(head), esc(d.g.summary(d.r)))
	if d.alone {
		fmt.Fprintf(b, "<style>%s</style>\n<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n", svgStyle)
		fmt.Fprintf(b, "<text class=\"head\" x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+12, esc(head))
	}
	b.WriteString("<defs>")
	for _, s := range []string{"UP", "DOWN", "UNKNOWN", "MISSING", "none", "self"} {
		if !d.used[s] {
			continue
		}
		x := (d.w - cell) / 2
		if d.g.by != "node" && s != "UP" && s != "none" {
			x = 2 // beside it stands how many
		}
		fmt.Fprintf(b, `<g id="mx-%s"><rect class="mx-%s" width="%d" height="%d" rx="4"/><path class="mx-g mx-%s-i" transform="translate(%d 0)" d="%s"/></g>`, s, s, d.w, cell, s, x, glyphPaths[s])
		fmt.Fprintf(b, `<g id="mx-l-%s"><rect class="mx-%s" width="%d" height="%d" rx="4"/><path class="mx-g mx-%s-i" d="%s"/></g>`, s, s, cell, cell, s, glyphPaths[s])
	}
	b.WriteString("</defs>\n")
	for i := range n {
		x, y := x0+d.offset(i, d.w)+d.w/2, y0+d.offset(i, cell)+16
		if d.g.by == "node" {
			fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, x0-36, y, esc(d.label(i)))
			fmt.Fprintf(b, `<text class="num" x="%d" y="%d" text-anchor="end">%s</text>`, x0-8, y, d.g.lines[i].number)
			fmt.Fprintf(b, `<text class="num" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x, y0-8, d.g.lines[i].number)
			continue
		}
		// Groups have no numbers: the columns have the rows' names, as far as there is room.
		column := d.g.lines[i].name
		if _, rack, found := strings.Cut(column, "/"); found {
			column = rack
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, x0-8, y, esc(d.label(i)))
		fmt.Fprintf(b, `<text class="num" x="%d" y="%d" text-anchor="middle"><title>%s</title>%s</text>`+"\n", x, y0-8,
			esc(d.g.lines[i].name), esc(render.Shorten(render.Clean(column), 6, true, "…")))
	}
	b.WriteString(cells)
	b.WriteString(legend)
	b.WriteString("</svg>\n")
	return b.String()
}

func (d *drawing) cells(x0, y0 int) string {
	var b strings.Builder
	n := len(d.g.lines)
	xs, ys := make([]int, n), make([]int, n)
	for i := range n {
		xs[i], ys[i] = x0+d.offset(i, d.w), y0+d.offset(i, cell)
	}
	for i := range n {
		for j := range n {
			p := d.g.cells[i][j]
			status := p.worst()
			d.used[status] = true
			if status == "self" {
				fmt.Fprintf(&b, `<use href="#mx-self" x="%d" y="%d"/>`, xs[j], ys[i])
				continue
			}
			if status == "UP" && n > maxCells/2 {
				// Most cells are these, and they are the ones that nobody asks about.
				fmt.Fprintf(&b, `<use href="#mx-UP" x="%d" y="%d"/>`, xs[j], ys[i])
				continue
			}
			fmt.Fprintf(&b, `<g><title>%s</title><use href="#mx-%s" x="%d" y="%d"/>`, esc(d.g.title(i, j)), status, xs[j], ys[i])
			if d.g.by != "node" && status != "UP" && status != "none" {
				fmt.Fprintf(&b, `<text class="cnt mx-%s-t" x="%d" y="%d">%s</text>`, status, xs[j]+d.w/2, ys[i]+16, short(p.counts[status]))
			}
			b.WriteString("</g>")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// short writes a count in at most three characters.
func short(n int) string {
	if n > 999 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// legend lists what was used, in as many lines as the width asks for.
func (d *drawing) legend(x0, y0, width int) (text string, used, lines int) {
	var b strings.Builder
	x, y := x0, y0
	lines = 1
	for _, s := range []string{"UP", "DOWN", "UNKNOWN", "MISSING", "none"} {
		if !d.used[s] {
			continue
		}
		w := 26 + int(float64(len(statusWords[s]))*charWidth) + 16
		if x > x0 && x+w > x0+width {
			x, y = x0, y+22
			lines++
		}
		fmt.Fprintf(&b, `<use href="#mx-l-%s" transform="translate(%d %d) scale(.75)"/><text x="%d" y="%d">%s</text>`+"\n", s, x, y, x+24, y+13, statusWords[s])
		x += w
		used = max(used, x-x0)
	}
	return b.String(), used, lines
}
