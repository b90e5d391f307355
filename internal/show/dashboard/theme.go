// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// light is the highlighting of a cell.
type light uint8

const (
	lightOff    light = iota
	lightCross        // row or column of the cursor
	lightCursor       // the cursor itself
	lights
)

// paint is a style as escape sequences around a text: a frame paints thousands of texts.
type paint struct{ pre, post string }

func (p paint) of(text string) string {
	if p.pre == "" || text == "" {
		return text
	}
	return p.pre + text + p.post
}

func newPaint(s lipgloss.Style) paint {
	pre, post, _ := strings.Cut(s.Render("x"), "x")
	return paint{pre, post}
}

// theme is the set of looks. The zero theme paints nothing: texts and glyphs show the same.
type theme struct {
	good, bad, warn, info, dim, strong paint
	title                              paint // of panes
	focus                              paint // title of the pane with the focus
	chosen                             paint // line under the cursor of a list
	banner                             paint // important warnings
	cells                              [grid.Marks][lights]paint
	heads                              [lights]paint // labels and numbers of rows and columns
	accent                             color.Color   // of info
}

// newTheme uses the palette of Okabe and Ito, which is distinguishable with the common kinds of
// colour blindness, darkened for light backgrounds.
func newTheme(profile colorprofile.Profile, dark, grey bool) *theme {
	pick := lipgloss.LightDark(dark)
	c := func(light, dark string) color.Color { return pick(lipgloss.Color(light), lipgloss.Color(dark)) }
	green, red := c("#006B4F", "#2BC79A"), c("#B03A00", "#FF7A33")
	orange, purple, blue := c("#8A5A00", "#F0B030"), c("#9A3F78", "#E39BC6"), c("#0064A0", "#6CC4F2")
	greyed, faint := c("#8A8A8A", "#808080"), c("#6A6A6A", "#9A9A9A")
	cross, cursor := c("#E3E8EE", "#2B3440"), c("#C3D3E6", "#45597A")
	switch {
	case profile == colorprofile.ANSI256: // the nearest of the 256 colours are not greys
		cross, cursor = c("254", "236"), c("251", "240")
	// two shades of grey are too few: the brackets show the cursor
	case profile < colorprofile.ANSI256:
		cross, cursor = lipgloss.NoColor{}, c("7", "8")
	}
	if grey {
		green, red, orange, purple, blue, faint = greyed, greyed, greyed, greyed, greyed, greyed
	}
	plain := lipgloss.NewStyle()
	fg := func(c color.Color) lipgloss.Style { return plain.Foreground(c) }
	t := &theme{
		accent: blue,
		good:   newPaint(fg(green).Bold(!grey)), bad: newPaint(fg(red).Bold(!grey)), warn: newPaint(fg(orange)),
		info: newPaint(fg(blue)),
		dim:  newPaint(fg(faint)), strong: newPaint(plain.Bold(true)), title: newPaint(plain.Bold(true)),
		focus:  newPaint(fg(blue).Bold(true).Underline(true)),
		chosen: newPaint(plain.Background(cursor)),
		banner: newPaint(plain.Bold(true).Foreground(c("#FFFFFF", "#000000")).Background(c("#B03A00", "#FF7A33"))),
	}
	looks := [grid.Marks]lipgloss.Style{
		grid.None: fg(faint), grid.Absent: fg(faint), grid.Self: fg(faint), grid.Up: fg(green),
		grid.Down:    fg(red).Bold(!grey),
		grid.Unknown: fg(orange), grid.Missing: fg(purple),
	}
	for m, look := range looks {
		t.cells[m] = [lights]paint{newPaint(look), newPaint(look.Background(cross)),
			newPaint(look.Background(cursor).Bold(true))}
	}
	label := plain
	if grey {
		label = fg(greyed)
	}
	t.heads = [lights]paint{newPaint(label), newPaint(label.Background(cross)),
		newPaint(label.Background(cursor).Bold(true))}
	return t
}
