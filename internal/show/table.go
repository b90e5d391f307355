// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Cell is a text with a meaning.
type Cell struct {
	Text  string
	Style Style
	// Short is the text for narrow screens; empty if there is none.
	Short string
}

// Text returns a plain cell.
func Text(s string) Cell { return Cell{Text: s} }

// Column defines how a column shrinks if the table is too wide.
type Column struct {
	Header string
	// Min is the minimum width of a shortened column; 0 forbids shortening.
	Min int
	// Middle shortens in the middle: for names that differ at their end.
	Middle bool
	// Last columns are shortened only if the others have their minimum width.
	Last bool
	// Right aligns text right.
	Right bool
}

// Table is drawn like kubectl's: no lines, two spaces between columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	// NoHeader omits the header line.
	NoHeader bool
	// Indent precedes every line.
	Indent string
}

// gap between columns, and the minimum on a narrow screen.
const gap, narrowGap = 2, 1

// String draws the table in at most width cells (0: no limit), every line ending in a newline. An
// empty table is the empty string: the caller prints a text.
func (t *Table) String(width int, ellipsis string) string {
	if len(t.Rows) == 0 {
		return ""
	}
	return t.draw(t.fit(width-len(t.Indent), ellipsis, width > 0))
}

// draw draws the rows that fit returned.
func (t *Table) draw(rows [][]Cell, space int) string {
	plain := make([][]string, len(rows))
	for r, row := range rows {
		for _, c := range row {
			plain[r] = append(plain[r], c.Text)
		}
	}
	var b strings.Builder
	table := newTable(&b, t.Columns, space)
	if !t.NoHeader {
		header := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			header[i] = c.Header
		}
		table.Header(header)
	}
	// Rendering into a strings.Builder always succeeds; Bulk fails only for other types than
	// string.
	_ = table.Bulk(plain)
	_ = table.Render()
	return t.paint(b.String(), rows)
}

// reasons draws a table that ends in a column of reasons; the first named columns name a row. If a
// reason does not fit, each has its own lines below its row. If these do not fit the height, the
// column is shortened, and the first shortened reason is below the table.
func (t *Table) reasons(o Options, named int) string {
	ellipsis, last, room := o.glyphs().Ellipsis, len(t.Columns)-1, o.Room()
	rows, space := t.fit(room-len(t.Indent), ellipsis, room > 0)
	reason := func(row []Cell) string { return cleanCell(row[last].Text) }
	cut := 0
	for cut < len(rows) && rows[cut][last].Text == reason(t.Rows[cut]) {
		cut++
	}
	if cut == len(rows) {
		return t.String(room, ellipsis)
	}
	short := Table{Columns: t.Columns[:last], Indent: t.Indent}
	for _, row := range t.Rows {
		short.Rows = append(short.Rows, row[:last])
	}
	var lines []string
	for i, line := range splitLines(short.String(room, ellipsis)) {
		lines = append(lines, line)
		if i == 0 || reason(t.Rows[i-1]) == dash("") {
			continue // the headers, or a row without a reason
		}
		lines = append(lines, Wrap("  "+reason(t.Rows[i-1]), o.Width, "  ")...)
	}
	if o.Height > 0 && len(lines) > o.Height-below {
		var name []string
		for _, c := range t.Rows[cut][:named] {
			name = append(name, cleanCell(c.Text))
		}
		first := Wrap(strings.Join(name, "/")+": "+reason(t.Rows[cut]), o.Width, "  ")
		lines = append(splitLines(t.draw(rows, space)), first...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// below is the number of lines that a table with reasons leaves for other text and the prompt.
const below = 4

// newTable is the only place that configures tablewriter. It disables the defaults: borders,
// upper-case headers, wrapping, width by locale.
func newTable(b *strings.Builder, columns []Column, space int) *tablewriter.Table {
	align := make([]tw.Align, len(columns))
	for i, c := range columns {
		align[i] = tw.AlignLeft
		if c.Right {
			align[i] = tw.AlignRight
		}
	}
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: "", Right: strings.Repeat(" ", space), Overwrite: true}},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align},
	}
	return tablewriter.NewTable(b,
		tablewriter.WithRenderer(renderer.NewBlueprint()),
		tablewriter.WithConfig(tablewriter.Config{Header: cell, Row: cell,
			Behavior: tw.Behavior{TrimSpace: tw.Off, AutoHide: tw.Off}}),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Lines:      tw.LinesNone,
				Separators: tw.SeparatorsNone,
			},
		}),
	)
}

// fit returns the rows with texts that are shortened to a table of at most width if the columns
// allow it, and the space between columns.
func (t *Table) fit(width int, ellipsis string, limited bool) (rows [][]Cell, space int) {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		if !t.NoHeader {
			widths[i] = Width(c.Header)
		}
		for _, row := range t.Rows {
			widths[i] = max(widths[i], Width(cleanCell(row[i].Text)))
		}
	}
	total := 0
	for _, w := range widths {
		total += w
	}
	space = gap
	if limited && total+gap*(len(widths)-1) > width {
		space = narrowGap
	}
	total += space * (len(widths) - 1)
	limit := slices.Clone(widths)
	least := make([]int, len(widths))
	for i, c := range t.Columns {
		least[i] = max(c.Min, headerWidth(c, t.NoHeader))
		if limited && total > width && c.Middle {
			least[i] = max(least[i], distinctWidth(t.column(i), least[i], widths[i], ellipsis))
		}
	}
	for _, last := range []bool{false, true} {
		// Shorten the widest column by one cell until the table fits: names get similar lengths.
		for limited && total > width {
			widest := -1
			for i, c := range t.Columns {
				if c.Min > 0 && c.Last == last && limit[i] > least[i] && (widest < 0 || limit[i] > limit[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			limit[widest]--
			total--
		}
	}
	rows = make([][]Cell, len(t.Rows))
	for r, row := range t.Rows {
		rows[r] = make([]Cell, len(row))
		for i, c := range row {
			text := cleanCell(c.Text)
			if limit[i] < widths[i] {
				text = Shorten(text, limit[i], t.Columns[i].Middle, ellipsis)
			}
			rows[r][i] = Cell{Text: text, Style: c.Style}
		}
	}
	return rows, space
}

func (t *Table) column(i int) []string {
	out := make([]string, len(t.Rows))
	for r, row := range t.Rows {
		out[r] = cleanCell(row[i].Text)
	}
	return out
}

// distinctWidth returns the smallest width from least to most at which different names, truncated
// in the middle, are still different.
func distinctWidth(names []string, least, most int, ellipsis string) int {
	for width := least; width < most; width++ {
		of := map[string]string{}
		if !slices.ContainsFunc(names, func(name string) bool {
			short := Shorten(name, width, true, ellipsis)
			was, known := of[short]
			of[short] = name
			return known && was != name
		}) {
			return width
		}
	}
	return most
}

func headerWidth(c Column, none bool) int {
	if none {
		return 0
	}
	return Width(c.Header)
}

// cleanCell keeps a foreign text on one line and removes control sequences.
func cleanCell(s string) string {
	return strings.TrimSpace(Clean(s))
}

// Clean is words.Clean: foreign text, safe to show on one line.
func Clean(s string) string { return words.Clean(s) }

// Shorten truncates s to width cells with the ellipsis, at the end or in the middle.
func Shorten(s string, width int, middle bool, ellipsis string) string {
	if Width(s) <= width {
		return s
	}
	room := width - Width(ellipsis)
	switch {
	case room <= 0:
		return ansi.Truncate(s, max(0, width), "")
	case !middle:
		return ansi.Truncate(s, width, ellipsis)
	}
	tail := (room + 1) / 2
	end := ansi.TruncateLeft(s, Width(s)-tail, "")
	if Width(end) > tail {
		end = ansi.TruncateLeft(end, 2, "") // it began with half of a wide character
	}
	return ansi.Truncate(s, room-tail, "") + ellipsis + end
}

// paint colours the lines after layout, because widths must exclude escape sequences.
func (t *Table) paint(text string, rows [][]Cell) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	first := 0
	if !t.NoHeader {
		first = 1
	}
	for n, line := range lines {
		line = strings.TrimRight(line, " ")
		b.WriteString(t.Indent)
		if n < first {
			fmt.Fprintln(&b, Strong.Paint(line))
			continue
		}
		if n-first < len(rows) {
			line = paintLine(line, rows[n-first])
		}
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

func paintLine(line string, cells []Cell) string {
	var b strings.Builder
	for _, c := range cells {
		if c.Text == "" {
			continue
		}
		// Only spaces separate cells, so the first match is the cell.
		before, after, found := strings.Cut(line, c.Text)
		if !found {
			break
		}
		b.WriteString(before)
		b.WriteString(c.Style.Paint(c.Text))
		line = after
	}
	b.WriteString(line)
	return b.String()
}
