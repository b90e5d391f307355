// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// rack is one rack of the page, with its nodes, which are shown on a click.
type rack struct {
	*document.RackSum
	Name, Kind, Glyph string
	Unread            bool // no node could be queried
	List              []tableLine
	// Picture shows how each of its nodes sees each rack; empty without rows, or with too many
	// different ones.
	Picture template.HTML
}

// racks summarises the nodes of each rack. lines are the lines of the table of nodes.
func racks(r *Report, lines []tableLine) []*rack {
	var out []*rack
	for _, sum := range r.Racks(r.troubled) {
		k := &rack{RackSum: sum, Name: cmp.Or(sum.Datacenter, "-") + "/" + cmp.Or(sum.Rack, "-"), Unread: r.Unread()}
		for _, i := range sum.Nodes {
			k.List = append(k.List, lines[i])
		}
		is := grid.Up
		switch {
		case k.Unread:
			is = grid.Unknown
		case k.Up < k.In:
			is = grid.Down
		}
		k.Kind, k.Glyph = kind(show.StyleOf(is)), show.NewGlyphs(false).Marks[is]
		out = append(out, k)
	}
	return out
}

// maxRackCells bounds the drawn cells of nodes' rows, with equal rows counted once, so that the
// page can be mailed.
const maxRackCells = 20_000

// drawRacks draws the rows of each rack's nodes, with a column for each rack. Equal rows are drawn
// once, in the returned definitions, which the picture of the whole must contain.
func drawRacks(r *Report, g *picture, list []*rack) string {
	if g.By == grid.ByNode {
		return ""
	}
	d := newDrawing(r, g)
	d.y0 = d.top()
	var defs strings.Builder
	defs.WriteString(`<g id="mx-h">`)
	d.columns(&defs, 0)
	defs.WriteString("</g>")
	ids := map[string]int{}
	for _, k := range list {
		for _, i := range k.Nodes {
			cells := d.row(g.Row(i))
			if _, there := ids[cells]; there || cells == "" {
				continue
			}
			fmt.Fprintf(&defs, "<g id=\"mx-p%d\">%s</g>\n", len(ids), cells)
			ids[cells] = len(ids)
			if len(ids)*len(g.List) > maxRackCells {
				return ""
			}
		}
	}
	for _, k := range list {
		k.Picture = template.HTML(d.rackPicture(k, ids)) //nolint:gosec // every text in it is escaped
	}
	return defs.String()
}

// row draws the row of one node; empty without a usable one.
func (d *drawing) row(tallies []grid.Tally) string {
	var cells strings.Builder
	for j := range tallies {
		d.cell(&cells, tallies[j].Worst(), &tallies[j], d.offset(j, d.w), 0, nil)
	}
	return cells.String()
}

// rackPicture draws the rows of one rack from defined shapes.
func (d *drawing) rackPicture(k *rack, ids map[string]int) string {
	var b, body strings.Builder
	labels, y := 0, d.y0
	for _, i := range k.Nodes {
		tallies := d.g.Row(i)
		if tallies == nil {
			continue
		}
		var all grid.Tally
		for j := range tallies {
			all.Add(&tallies[j])
		}
		member := cmp.Or(d.r.Nodes[i].Member, "-")
		name := show.Shorten(member, maxLabel, true, "…")
		labels = max(labels, utf8.RuneCountInString(name))
		fmt.Fprintf(&body,
			`<text x="-8" y="%d" text-anchor="end"><title>%s sees %s</title>%s</text><use href="#mx-p%d" y="%d"/>`+"\n",
			y+16, esc(member), show.TallyText(all), esc(name), ids[d.row(tallies)], y)
		y += cell + cellGap
	}
	if labels == 0 {
		return ""
	}
	left := int(float64(labels)*charWidth) + 14
	last := len(d.g.List) - 1
	width := left + d.offset(last, d.w) + d.w
	fmt.Fprintf(&b,
		`<svg class="mx" viewBox="%d 0 %d %d" width="%d" height="%d" style="min-width:%dpx" role="img" aria-label="How the nodes of %s see each rack"><use href="#mx-h"/>`+"\n",
		-left, width, y, width, y, width*5/8, esc(k.Name))
	b.WriteString(body.String())
	b.WriteString("</svg>")
	return b.String()
}
