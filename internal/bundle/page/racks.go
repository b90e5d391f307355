// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// rack is one rack of the page, with its nodes, which are shown on a click.
type rack struct {
	Datacenter, Name             string
	Nodes, In, Up, Rows, Trouble int
	Kind, Glyph                  string
	Unread                       bool // no node could be asked
	List                         []node
	// Picture shows how each of its nodes sees each rack; empty without rows, or with too many different ones.
	Picture template.HTML

	members []int // places in the report's list of nodes
}

// racks sums up the nodes of each rack. lines are those of the table of nodes.
func racks(r *Report, lines []node) []*rack {
	var out []*rack
	at := map[[2]string]*rack{}
	for i, n := range r.Nodes {
		key := [2]string{n.Datacenter, n.Rack}
		k := at[key]
		if k == nil {
			k = &rack{Datacenter: cmp.Or(n.Datacenter, "-"), Name: cmp.Or(n.Rack, "-"), Kind: "good", Glyph: "✓"}
			at[key] = k
			out = append(out, k)
		}
		k.Nodes++
		k.List, k.members = append(k.List, lines[i]), append(k.members, i)
		if n.Membership != cluster.MemberNewcomer && n.Membership != cluster.MemberGossipOnly {
			k.In++
		}
		if n.Seen != nil && n.Seen.Status == "UP" {
			k.Up++
		}
		if n.Row.Status == render.RowOK {
			k.Rows++
		}
		if r.troubled(n) {
			k.Trouble++
		}
	}
	for _, k := range out {
		switch {
		case r.Unread():
			k.Kind, k.Glyph, k.Unread = "odd", "?", true
		case k.Up < k.In:
			k.Kind, k.Glyph = "bad", "✗"
		}
	}
	return out
}

// maxRackCells bounds the cells that rows of nodes are drawn with, those of equal rows counted once: they keep the page small enough to mail.
const maxRackCells = 20_000

// drawRacks draws the rows of each rack's nodes, with a column for each rack. Rows of one content are drawn once, in the definitions that it returns, which the
// picture of the whole must contain.
func drawRacks(r *Report, g *grid, list []*rack) string {
	if g.by == "node" {
		return ""
	}
	rows := map[int][]pairs{}
	g.count(indexRows(r), func(i int) []pairs {
		if rows[i] == nil {
			rows[i] = make([]pairs, len(g.lines))
		}
		return rows[i]
	})
	d := newDrawing(r, g)
	d.y0 = d.top()
	var defs strings.Builder
	defs.WriteString(`<g id="mx-h">`)
	d.columns(&defs, 0)
	defs.WriteString("</g>")
	ids := map[string]int{}
	for _, k := range list {
		for _, i := range k.members {
			if rows[i] == nil {
				continue
			}
			var cells strings.Builder
			for j := range g.lines {
				d.cell(&cells, rows[i][j], d.offset(j, d.w), 0, nil)
			}
			if _, there := ids[cells.String()]; there {
				continue
			}
			fmt.Fprintf(&defs, "<g id=\"mx-p%d\">%s</g>\n", len(ids), cells.String())
			ids[cells.String()] = len(ids)
			if len(ids)*len(g.lines) > maxRackCells {
				return ""
			}
		}
	}
	for _, k := range list {
		k.Picture = template.HTML(d.rackPicture(k, rows, ids)) //nolint:gosec // every text in it is escaped
	}
	return defs.String()
}

// rackPicture draws the rows of one rack from shapes that are already defined.
func (d *drawing) rackPicture(k *rack, rows map[int][]pairs, ids map[string]int) string {
	var b, body strings.Builder
	labels, y := 0, d.y0
	for n, i := range k.members {
		if rows[i] == nil {
			continue
		}
		var cells strings.Builder
		var all pairs
		for j := range d.g.lines {
			d.cell(&cells, rows[i][j], d.offset(j, d.w), 0, nil)
			for s, count := range rows[i][j].counts {
				all.counts[s] += count
			}
		}
		name := render.Shorten(k.List[n].Member, maxLabel, true, "…")
		labels = max(labels, utf8.RuneCountInString(name))
		fmt.Fprintf(&body, `<text x="-8" y="%d" text-anchor="end"><title>%s sees %s</title>%s</text><use href="#mx-p%d" y="%d"/>`+"\n",
			y+16, esc(k.List[n].Member), all.text(), esc(name), ids[cells.String()], y)
		y += cell + cellGap
	}
	if labels == 0 {
		return ""
	}
	left := int(float64(labels)*charWidth) + 14
	last := len(d.g.lines) - 1
	width := left + d.offset(last, d.w) + d.w
	fmt.Fprintf(&b, `<svg class="mx" viewBox="%d 0 %d %d" width="%d" height="%d" style="min-width:%dpx" role="img" aria-label="What the nodes of %s say of each rack"><use href="#mx-h"/>`+"\n",
		-left, width, y, width, y, width*5/8, esc(k.Datacenter+"/"+k.Name))
	b.WriteString(body.String())
	b.WriteString("</svg>")
	return b.String()
}
