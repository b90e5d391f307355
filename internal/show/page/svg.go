// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The content of <use> inherits variables, but no rules that name its surroundings. Each colour
// comes with a glyph, so that no meaning depends on colour alone. The colours suit the common
// colour blindnesses.
const svgStyle = `
.mx{--ink:#1b2026;--dim:#5b6570;--rule:#c9d1da;--up:#cfeae0;--up-i:#05604a;--down:#c84a00;--down-i:#fff;--unk:#f7d782;--unk-i:#5a4200;--mis:#e7bfd6;--mis-i:#6a1f4e;--none:#eef1f4;--none-i:#b4bdc7}
@media (prefers-color-scheme:dark){.mx{--ink:#e8edf2;--dim:#9aa5b1;--rule:#39424d;--up:#12453a;--up-i:#7fe3c4;--down:#f0741d;--down-i:#1d0c00;--unk:#6e5410;--unk-i:#ffe49a;--mis:#5d2a49;--mis-i:#ffbfe0;--none:#1c232b;--none-i:#4d5864}}
@media print{.mx{--ink:#000;--dim:#444;--rule:#999;--up:#cfeae0;--up-i:#05604a;--down:#c84a00;--down-i:#fff;--unk:#f7d782;--unk-i:#5a4200;--mis:#e7bfd6;--mis-i:#6a1f4e;--none:#eef1f4;--none-i:#b4bdc7;print-color-adjust:exact;-webkit-print-color-adjust:exact}}
.mx text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--ink)}
text.mx-num,text.mx-grp{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--dim)}.mx-r{stroke:var(--rule);fill:none}
text.mx-cnt{font:600 11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.mx-g{fill:none;stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}
.mx-UP{fill:var(--up)}.mx-UP-i{stroke:var(--up-i)}
.mx-DOWN{fill:var(--down)}.mx-DOWN-i{stroke:var(--down-i)}text.mx-DOWN-t{fill:var(--down-i)}
.mx-UNKNOWN{fill:var(--unk)}.mx-UNKNOWN-i{stroke:var(--unk-i)}text.mx-UNKNOWN-t{fill:var(--unk-i)}
.mx-MISSING{fill:var(--mis)}.mx-MISSING-i{stroke:var(--mis-i)}text.mx-MISSING-t{fill:var(--mis-i)}
.mx-none{fill:var(--none)}.mx-none-i{stroke:var(--none-i)}.mx-absent{fill:var(--none)}.mx-absent-i{stroke:var(--none-i)}.mx-self{fill:none}.mx-self-i{stroke:var(--rule)}
`

// glyphPaths are drawn, because fonts differ. Each is in a square of 24.
var glyphPaths = [grid.Marks]string{
	grid.Up: "M6.5 12.6l3.7 3.8 7.3-8.4", grid.Down: "M7.5 7.5l9 9M16.5 7.5l-9 9",
	grid.Missing: "M12 12v.1M7.4 12v.1M16.6 12v.1",
	grid.Unknown: "M8.8 9.2a3.2 3.2 0 1 1 4.9 2.7c-1.2.8-1.7 1.3-1.7 2.4M12 17.6v.1", grid.None: "M5 19L19 5",
	grid.Absent: "M12 8a4 4 0 1 0 .1 0",
	grid.Self:   "M9 12h6",
}

// drawn are the marks in the order of the legend.
var drawn = [...]grid.Mark{grid.Up, grid.Down, grid.Unknown, grid.Missing, grid.None, grid.Absent, grid.Self}

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
	_ = xml.EscapeText(&b, []byte(show.Clean(s)))
	return b.String()
}

// draw returns the picture. The surrounding page has its style. more are further definitions, for
// other pictures.
func draw(r *Report, g *picture, more string) string {
	d := newDrawing(r, g)
	d.layout()
	cells := d.cells()
	d.finish()
	d.begin()
	d.definitions(more)
	d.columns(&d.b, d.x0)
	d.labels()
	d.b.WriteString(cells)
	d.b.WriteString(d.legendText)
	d.b.WriteString("</svg>\n")
	return d.b.String()
}

type drawing struct {
	g    *picture
	r    *Report
	w    int // width of a cell
	b    strings.Builder
	used [grid.Marks]bool
	// x0, y0 is the position of the cells.
	x0, y0        int
	width, height int
	legendText    string
	// groups above the columns: datacenters, and racks if they fit.
	groups [][]span
}

// span is a name above several columns.
type span struct {
	text     string
	from, to int // columns
}

func newDrawing(r *Report, g *picture) *drawing {
	d := &drawing{g: g, r: r, w: cell}
	if g.By != grid.ByNode {
		d.w = 2 * cell
	}
	if g.By != grid.ByDatacenter {
		d.addGroup(func(l *grid.Group) string { return l.Datacenter }, 0)
	}
	if g.By == grid.ByNode {
		d.addGroup((*grid.Group).Name, 4)
	}
	return d
}

// addGroup puts names above the columns, unless most of them lack room for least characters.
func (d *drawing) addGroup(name func(*grid.Group) string, least int) {
	var out []span
	for i := range d.g.List {
		text := name(&d.g.List[i])
		if n := len(out); n > 0 && out[n-1].text == text {
			out[n-1].to = i
			continue
		}
		out = append(out, span{text, i, i})
	}
	room := 0
	for i, s := range out {
		if d.room(s) >= least {
			room++
		}
		if _, rack, found := strings.Cut(s.text, "/"); found && least > 0 {
			out[i].text = rack
		}
	}
	if 2*room > len(out) || least == 0 && len(out) > 0 {
		d.groups = append(d.groups, out)
	}
}

// room returns how many characters fit above a span.
func (d *drawing) room(s span) int {
	return int(float64(d.offset(s.to, d.w)+d.w-d.offset(s.from, d.w)) / charWidth)
}

// offset returns the distance of a line from the first, with gaps between groups.
func (d *drawing) offset(i, step int) int {
	at := 0
	for k := 1; k <= i; k++ {
		at += step + cellGap
		if !d.g.together(k, k-1) {
			at += groupGap
		}
	}
	return at
}

func (d *drawing) label(i int) string {
	name := show.Shorten(show.Clean(d.g.names[i]), maxLabel, true, "…")
	if d.g.By != grid.ByNode {
		name += fmt.Sprintf(" (%d)", len(d.g.List[i].Nodes))
	}
	return name
}

// layout computes the position of the cells.
func (d *drawing) layout() {
	labels := 0
	for i := range d.g.List {
		labels = max(labels, utf8.RuneCountInString(d.label(i)))
	}
	d.x0, d.y0 = int(float64(labels)*charWidth)+14, d.top()
	if d.g.By == grid.ByNode {
		d.x0 += 26 // for the number
	}
}

// top returns the height of the part above the columns.
func (d *drawing) top() int { return 26 + 17*len(d.groups) }

// finish computes the size of the picture, with the legend below the cells.
func (d *drawing) finish() {
	width, height := d.x0, d.y0
	if n := len(d.g.List); n > 0 {
		width += d.offset(n-1, d.w) + d.w
		height += d.offset(n-1, cell) + cell
	}
	legend, legendWidth, rows := d.legend(height+12, max(width, 300))
	d.legendText = legend
	d.width, d.height = max(width, legendWidth), height+12+rows*22
}

// title returns the heading in one line, for readers without the picture.
func (d *drawing) title() string {
	text := d.r.Namespace + "/" + d.r.Name + ": " + d.r.verdict().text + ": " + d.r.Summary
	if t := d.r.At(); !t.IsZero() {
		text += ", " + words.Moment(t)
	}
	return text
}

func (d *drawing) begin() {
	b := &d.b
	least := d.width * 5 / 8 // the picture shrinks to this width, then scrolls
	fmt.Fprintf(b,
		`<svg xmlns="http://www.w3.org/2000/svg" class="mx" viewBox="0 0 %d %d" width="%d" height="%d" style="min-width:%dpx" role="img" aria-labelledby="mx-t mx-d">`+"\n", d.width, d.height, d.width, d.height, least)
	fmt.Fprintf(b, "<title id=\"mx-t\">%s</title>\n<desc id=\"mx-d\">%s Each row is one node's status report.</desc>\n",
		esc(d.title()), esc(d.g.summary(d.r)))
}

// definitions defines a cell of each used status, and a small one for the legend.
func (d *drawing) definitions(more string) {
	b := &d.b
	b.WriteString("<defs>")
	for _, s := range drawn {
		if !d.used[s] && more == "" {
			continue
		}
		x := (d.w - cell) / 2
		if d.g.By != grid.ByNode && s.NotUp() {
			x = 2 // the count follows
		}
		fmt.Fprintf(b,
			`<g id="mx-%s"><rect class="mx-%s" width="%d" height="%d" rx="4"/><path class="mx-g mx-%s-i" transform="translate(%d 0)" d="%s"/></g>`, s, s, d.w, cell, s, x, glyphPaths[s])
		fmt.Fprintf(b,
			`<g id="mx-l-%s"><rect class="mx-%s" width="%d" height="%d" rx="4"/><path class="mx-g mx-%s-i" d="%s"/></g>`, s, s, cell, cell, s, glyphPaths[s])
	}
	b.WriteString(more)
	b.WriteString("</defs>\n")
}

// columns writes the part above the cells; x0 is the position of the first cell.
func (d *drawing) columns(b *strings.Builder, x0 int) {
	for k, group := range d.groups {
		y := d.y0 - 25 - 17*(len(d.groups)-1-k)
		for _, s := range group {
			x, room := x0+d.offset(s.from, d.w), d.room(s)
			if room < 3 && utf8.RuneCountInString(s.text) > room {
				continue
			}
			text := show.Clean(s.text)
			fmt.Fprintf(b, `<text class="mx-grp" x="%d" y="%d"><title>%s</title>%s</text>`, x, y, esc(text),
				esc(show.Shorten(text, room, true, "…")))
			fmt.Fprintf(b, `<path class="mx-r" d="M%d %dh%d"/>`+"\n", x, y+3,
				d.offset(s.to, d.w)+d.w-d.offset(s.from, d.w))
		}
	}
	for i := range d.g.List {
		x := x0 + d.offset(i, d.w) + d.w/2
		if d.g.By == grid.ByNode {
			fmt.Fprintf(b, `<text class="mx-num" x="%d" y="%d" text-anchor="middle">%d</text>`+"\n", x, d.y0-8,
				d.g.number(i))
			continue
		}
		// Groups have no numbers; their columns have names, shortened to the width.
		fmt.Fprintf(b, `<text class="mx-num" x="%d" y="%d" text-anchor="middle"><title>%s</title>%s</text>`+"\n", x,
			d.y0-8,
			esc(d.g.names[i]), esc(show.Shorten(show.Clean(cmp.Or(d.g.List[i].Rack, d.g.names[i])), 6, true, "…")))
	}
}

// labels writes the names of the rows.
func (d *drawing) labels() {
	for i := range d.g.List {
		y := d.y0 + d.offset(i, cell) + 16
		if d.g.By == grid.ByNode {
			fmt.Fprintf(&d.b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, d.x0-36, y, esc(d.label(i)))
			fmt.Fprintf(&d.b, `<text class="mx-num" x="%d" y="%d" text-anchor="end">%d</text>`+"\n", d.x0-8, y,
				d.g.number(i))
			continue
		}
		fmt.Fprintf(&d.b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", d.x0-8, y, esc(d.label(i)))
	}
}

func (d *drawing) cells() string {
	var b strings.Builder
	for i := range d.g.List {
		y := d.y0 + d.offset(i, cell)
		for j := range d.g.List {
			d.cell(&b, d.g.Mark(i, j), &d.g.Cells[i][j], d.x0+d.offset(j, d.w), y,
				func() string { return d.g.title(i, j) })
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cell draws one cell, with a title unless it is one of many UP cells.
func (d *drawing) cell(b *strings.Builder, status grid.Mark, t *grid.Tally, x, y int, title func() string) {
	d.used[status] = true
	if status == grid.Self || status == grid.Up && (len(d.g.List) > grid.Most/2 || title == nil) {
		fmt.Fprintf(b, `<use href="#mx-%s" x="%d" y="%d"/>`, status, x, y)
		return
	}
	if title != nil {
		fmt.Fprintf(b, `<g><title>%s</title>`, esc(title()))
	}
	fmt.Fprintf(b, `<use href="#mx-%s" x="%d" y="%d"/>`, status, x, y)
	if d.g.By != grid.ByNode && status.NotUp() {
		fmt.Fprintf(b, `<text class="mx-cnt mx-%s-t" x="%d" y="%d">%s</text>`, status, x+d.w/2, y+16, short(t[status]))
	}
	if title != nil {
		b.WriteString("</g>")
	}
}

// short formats a count in at most three characters.
func short(n int) string {
	if n > 999 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// legend lists the used marks, in as many lines as the width requires.
func (d *drawing) legend(y0, width int) (text string, used, lines int) {
	var b strings.Builder
	x, y := 0, y0
	lines = 1
	for _, s := range drawn {
		if !d.used[s] {
			continue
		}
		w := 26 + int(float64(len(show.WordOf(s)))*charWidth) + 16
		if x > 0 && x+w > width {
			x, y = 0, y+22
			lines++
		}
		fmt.Fprintf(&b, `<use href="#mx-l-%s" transform="translate(%d %d) scale(.75)"/><text x="%d" y="%d">%s</text>`+
			"\n", s, x, y, x+24, y+13, show.WordOf(s))
		x += w
		used = max(used, x)
	}
	return b.String(), used, lines
}
