// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// View draws the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(m.Frame())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = fmt.Sprintf("%s/%s: %s", m.snap.doc.Namespace, m.snap.doc.Name, verdict(m.snap.doc))
	return v
}

// theme of what is shown: grey when it may be old.
func (m *Model) theme() *theme {
	if m.stale() {
		return m.grey
	}
	return m.look
}

// Frame is the screen as text, one line per line of the terminal, without a final newline.
func (m *Model) Frame() string {
	if m.width < MinWidth || m.height < MinHeight {
		return m.tooSmall()
	}
	c := newCanvas(m.width, m.height)
	switch {
	case m.help:
		lines := m.helpLines(m.width)
		top := max(0, min(m.lists[paneMatrix].top, len(lines)-m.height+1))
		for y := 0; y < m.height-1 && top+y < len(lines); y++ {
			c.put(y, lines[top+y])
		}
	case m.pick != nil:
		m.drawPicker(c)
	default:
		l := m.layout()
		for y, line := range l.head {
			c.put(y, line)
		}
		m.drawMatrix(c, l)
		m.drawPanes(c, l)
	}
	c.put(m.height-1, m.foot())
	return c.String()
}

func (m *Model) tooSmall() string {
	lines := []string{
		fmt.Sprintf("%dx%d is too small:", m.width, m.height), fmt.Sprintf("needs %dx%d", MinWidth, MinHeight), "", verdict(m.snap.doc),
	}
	if m.stale() {
		lines[3] = "CONNECTION LOST"
	}
	lines = lines[:max(0, min(len(lines), m.height))]
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], max(0, m.width), "")
	}
	return strings.Join(lines, "\n")
}

// canvas collects lines from the left to the right.
type canvas struct {
	lines []string
	used  []int
	width int
}

func newCanvas(w, h int) *canvas {
	return &canvas{lines: make([]string, h), used: make([]int, h), width: w}
}

// put appends text to line y, cut at the width.
func (c *canvas) put(y int, text string) { c.at(0, y, text) }

// at appends text to line y from column x on. Lines are filled from the left to the right.
func (c *canvas) at(x, y int, text string) {
	if y < 0 || y >= len(c.lines) || text == "" {
		return
	}
	gap := max(0, x-c.used[y])
	w := ansi.StringWidth(text)
	if room := c.width - c.used[y] - gap; w > room {
		text = ansi.Truncate(text, max(0, room), "")
		w = max(0, room)
	}
	c.lines[y] += strings.Repeat(" ", gap) + text
	c.used[y] += gap + w
}

func (c *canvas) String() string {
	for i, line := range c.lines {
		c.lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(c.lines, "\n")
}

// age is a duration as kubectl writes it.
func age(d time.Duration) string { return duration.HumanDuration(max(0, d)) }

// now is the moment that ages count to; zero where nobody knows. While the connection is lost it stands still: nobody knows whether what was
// DOWN still is.
func (m *Model) now() time.Time {
	if m.snap.at.IsZero() || m.stale() {
		return m.snap.at
	}
	return m.opts.Now()
}

// since is " since 12s", or nothing when either moment is not known.
func (m *Model) since(t time.Time) string {
	if now := m.now(); !t.IsZero() && !now.IsZero() {
		return " since " + age(now.Sub(t))
	}
	return ""
}

func (m *Model) clock(t time.Time) string { return t.In(m.opts.Now().Location()).Format("15:04:05") }

// fitted cuts a text without escape sequences at a width.
func (m *Model) fitted(text string, w int) string {
	if len(text) <= w {
		return text
	}
	return ansi.Truncate(text, max(0, w), m.g.ellipsis)
}

// head is verdict, origin, and what must not be overlooked.
func (m *Model) head() []string {
	d, t := m.snap.doc, m.theme()
	word := verdict(d)
	mark, look := markDown, t.bad
	switch word {
	case "HEALTHY":
		mark, look = markUp, t.good
	case "UNKNOWN":
		mark, look = markUnknown, t.warn
	}
	if len(d.Partial) > 0 {
		word += " (partial)"
	}
	if m.stale() {
		word, mark = "LAST KNOWN: "+word, markUnknown
	}
	word = m.g.marks[mark] + " " + word
	name := d.Namespace + "/" + d.Name
	room := m.width - ansi.StringWidth(word) - 1 - len(name)
	rest := ": " + render.Clean(d.Summary)
	if len(rest) > room {
		rest = strings.Replace(rest, " in every row", "", 1) // the counts behind it matter more
	}
	rest = m.fitted(rest, room)
	lines := []string{look.of(word) + " " + t.strong.of(name) + rest, m.origin()}
	if text := m.silence(); text != "" {
		for i, l := range m.wrapped(nil, m.width-2, "", paint{}, text) {
			if i == 1 && m.height < 20 || i == 2 {
				break
			}
			lines = append(lines, m.look.banner.of(" "+l.text+strings.Repeat(" ", max(0, m.width-1-ansi.StringWidth(l.text)))))
		}
	}
	if len(d.Partition) > 0 {
		lines = append(lines, m.look.bad.of(m.fitted(m.partition(), m.width)))
	}
	if m.height > MinHeight {
		lines = append(lines, m.partial()...)
	}
	return lines
}

// partial says what could not be read, as far as an eighth of the screen has room for it.
func (m *Model) partial() []string {
	texts, room := m.snap.doc.PartialLines(0), max(1, m.height/8)
	var lines []line
	for i, text := range texts {
		lead := "partial: "
		if i == 0 && len(texts) > 1 {
			lead = fmt.Sprintf("partial (%d): ", len(texts))
		}
		lines = m.wrapped(lines, m.width, "  ", paint{}, lead+text)
	}
	if len(lines) > room {
		lines = lines[:room]
		last := &lines[room-1].text
		*last = m.fitted(*last, m.width-2) + " " + m.g.ellipsis
	}
	var out []string
	for _, l := range lines {
		out = append(out, m.theme().warn.of(l.text))
	}
	return out
}

// silence is the banner of a connection that is not there; empty while all is well.
func (m *Model) silence() string {
	now := m.opts.Now()
	switch {
	case m.lost != nil:
		return fmt.Sprintf("%s since %s (%s): %s", strings.ToUpper(m.lost.what()), m.clock(m.lost.Since), age(now.Sub(m.lost.Since)), reason(m.lost.Err))
	case m.stale():
		return fmt.Sprintf("NOTHING HEARD since %s (%s): what is shown may be old", m.clock(m.contact), age(now.Sub(m.contact)))
	}
	return ""
}

func (m *Model) partition() string {
	var parts []string
	for _, part := range m.snap.doc.Partition {
		var numbers []string
		for _, id := range part[:min(4, len(part))] {
			numbers = append(numbers, strconv.Itoa(m.snap.known[id]+1))
		}
		text := "#" + strings.Join(numbers, ",")
		if n := len(part) - 4; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		parts = append(parts, text)
	}
	return "PARTITION: " + strings.Join(parts, " | ") + " do not see each other. Mend the network; replace no node."
}

// origin is age, source and controller, the most needed first.
func (m *Model) origin() string {
	d, t := m.snap.doc, m.theme()
	type part struct {
		text string
		look paint
	}
	var parts []part
	at := m.now() // so that a controller is not called silent for what we could not hear
	switch {
	case at.IsZero():
		parts = append(parts, part{"saved objects", t.dim})
	case m.stale():
		parts = append(parts, part{fmt.Sprintf("read %s ago, at %s", age(m.opts.Now().Sub(m.snap.at)), m.clock(m.snap.at)), t.warn})
	default:
		parts = append(parts, part{fmt.Sprintf("read %s ago", age(at.Sub(m.snap.at))), t.dim})
	}
	source := part{"from " + string(d.Source.Used), t.dim}
	controller, ok := m.snap.leaseAt(at)
	look := t.dim
	if !ok {
		look = t.bad
	}
	if controller != "" && !ok {
		parts = append(parts, part{controller, look}, source)
	} else {
		parts = append(parts, source)
		if controller != "" {
			parts = append(parts, part{controller, look})
		}
	}
	sep := " " + m.g.middot + " "
	w := 0
	for _, p := range parts {
		w += len(p.text) + 3
	}
	if reason := render.Clean(d.Source.Reason); reason != "" && w+len(reason)+3 <= m.width {
		for i := range parts {
			if parts[i] == source {
				parts[i].text += " (" + reason + ")"
			}
		}
	}
	var b strings.Builder
	used := 0
	for i, p := range parts {
		if i > 0 {
			if used+3+ansi.StringWidth(p.text) > m.width {
				break
			}
			b.WriteString(t.dim.of(sep))
			used += 3
		}
		text := m.fitted(p.text, m.width-used)
		b.WriteString(p.look.of(text))
		used += ansi.StringWidth(text)
	}
	return b.String()
}

// title of the matrix: what is shown of it, and how.
func (m *Model) title(g geometry) string {
	s := m.snap
	parts := []string{paneNames[paneMatrix]}
	switch {
	case m.zoom == zoomRacks:
		parts[0] += " by rack"
	case m.drill != nil:
		parts = append(parts, s.racks[m.drill[0]].String()+" on "+s.racks[m.drill[1]].String())
	}
	if m.filter.text != "" {
		parts = append(parts, fmt.Sprintf("/%s (%d by %d)", m.filter.text, len(m.rows.items), len(m.columns.items)))
	}
	if m.sort != sortPlace {
		parts = append(parts, "sorted by "+sortNames[m.sort])
	}
	visible := func(what string, a *axis, n int) {
		if len(a.items) > n {
			parts = append(parts, fmt.Sprintf("%s %d-%d of %d", what, a.top+1, min(a.top+n, len(a.items)), len(a.items)))
		}
	}
	visible("rows", &m.rows, g.rows)
	visible("columns", &m.columns, g.columns)
	return strings.Join(parts, " "+m.g.middot+" ")
}

func (m *Model) drawMatrix(c *canvas, l layout) {
	r, g, t := l.rects[paneMatrix], m.geometry(l), m.theme()
	look := t.title
	if m.focus == paneMatrix {
		look = t.focus
	}
	if m.stale() {
		look = t.dim
	}
	c.put(r.y, look.of(m.fitted(m.title(g), r.w)))
	if len(m.rows.items) == 0 || len(m.columns.items) == 0 {
		text := "nobody has said anything yet"
		if m.filter.text != "" {
			text = "the filter leaves nothing: esc clears it"
		}
		if len(m.rows.items) == 0 || m.filter.text != "" {
			c.put(r.y+2, t.dim.of(m.fitted(text, r.w)))
			return
		}
	}
	y := r.y + 1
	if g.grouped {
		c.at(g.prefix, y, t.dim.of(m.groups(g)))
		y++
	}
	c.put(y, m.numbers(g))
	for i := range min(g.rows, len(m.rows.items)-m.rows.top) {
		c.put(y+1+i, m.row(g, m.rows.top+i, r.w))
	}
}

// groups names the racks above their columns, or the datacenters above their racks.
func (m *Model) groups(g geometry) string {
	var b strings.Builder
	items := m.columns.items[m.columns.top:min(m.columns.top+g.columns, len(m.columns.items))]
	long := func(i int) string {
		if m.zoom == zoomRacks {
			return cmp.Or(m.snap.racks[i].datacenter, "?")
		}
		return m.snap.racks[m.snap.nodes[i].rack].String()
	}
	for i := 0; i < len(items); {
		j := i
		for j < len(items) && long(items[j]) == long(items[i]) {
			j++
		}
		w := (j - i) * g.cell
		name := long(items[i])
		if len(name) > w-2 && m.zoom == zoomNodes {
			name = cmp.Or(m.snap.racks[m.snap.nodes[items[i]].rack].name, "?")
		}
		name = m.fitted(name, w-2)
		b.WriteString(m.g.bar + name + strings.Repeat(" ", max(0, w-1-ansi.StringWidth(name))))
		i = j
	}
	return b.String()
}

// numbers stand above the columns: that of the cursor always, the others where there is room.
func (m *Model) numbers(g geometry) string {
	t := m.theme()
	lead := "reporter"
	if g.prefix >= 18 {
		lead = "reporter, sees " + m.g.arrow
	}
	lead = " " + m.fitted(lead, g.prefix-2)
	lead += strings.Repeat(" ", max(0, g.prefix-ansi.StringWidth(lead)))
	w := g.columns*g.cell + 1
	line := []byte(strings.Repeat(" ", w))
	free := func(from, to int) bool {
		for i := max(0, from-1); i < min(to+1, w); i++ {
			if line[i] != ' ' {
				return false
			}
		}
		return from >= 0 && to <= w
	}
	// Ends below its last digit is the glyph.
	place := func(k int) (from int, text string) {
		i := m.columns.items[m.columns.top+k]
		if m.zoom == zoomRacks {
			return k*g.cell + 1, render.Shorten(m.rackHead(i, g), g.cell-1, true, "~")
		}
		text = strconv.Itoa(i + 1)
		return k*g.cell + 2 - len(text), text
	}
	cursor, from, to := m.columns.at-m.columns.top, 0, 0
	if cursor >= 0 && cursor < g.columns && cursor < len(m.columns.items)-m.columns.top {
		var text string
		from, text = place(cursor)
		if from < 0 { // the first column of many
			text, from = text[-from:], 0
		}
		to = from + copy(line[from:], toASCII(text))
	}
	for k := range min(g.columns, len(m.columns.items)-m.columns.top) {
		if k == cursor {
			continue
		}
		a, text := place(k)
		text = toASCII(text)
		if free(a, a+len(text)) {
			copy(line[a:], text)
		}
	}
	return t.dim.of(lead) + t.dim.of(string(line[:from])) + t.heads[lightCursor].of(string(line[from:to])) + t.dim.of(string(line[to:]))
}

// rackHead names a rack above its column; its datacenter stands in the line above where there are several.
func (m *Model) rackHead(i int, g geometry) string {
	if r := &m.snap.racks[i]; g.grouped || m.snap.datacenters < 2 {
		return cmp.Or(r.name, "?")
	}
	return m.snap.racks[i].String()
}

// toASCII keeps bytes and cells the same: names are ASCII but for the ellipsis of a cut one.
func toASCII(s string) string { return strings.ReplaceAll(s, "…", "~") }

func (*Model) stripped(name string, n int) string {
	if n < len(name) {
		return name[n:]
	}
	return name
}

// title of a rack with its number of nodes.
func (r *rack) title() string { return fmt.Sprintf("%s (%d)", r, len(r.members)) }

func (m *Model) row(g geometry, at, width int) string {
	t, i := m.theme(), m.rows.items[at]
	on := at == m.rows.at
	light, marker := lightOff, " "
	if on {
		light, marker = lightCross, m.g.cursor
		if m.focus == paneMatrix {
			light = lightCursor
		}
	}
	var name, lead, tail string
	if m.zoom == zoomRacks {
		name = m.snap.racks[i].title()
		lead = marker
	} else {
		n := &m.snap.nodes[i]
		name = n.name()
		number := strconv.Itoa(i + 1)
		lead = marker + strings.Repeat(" ", g.digits-len(number)) + number + " "
		tail = " " + string(n.flag)
	}
	name = render.Shorten(m.stripped(name, g.strip), g.label, true, m.g.ellipsis)
	name += strings.Repeat(" ", max(0, g.label-ansi.StringWidth(name)))
	if m.zoom == zoomRacks {
		tail = " "
	}
	var b strings.Builder
	b.WriteString(t.heads[light].of(lead + name + tail))
	if m.zoom == zoomRacks {
		m.rackCells(&b, g, i, on)
		return b.String()
	}
	if n := &m.snap.nodes[i]; !n.reports {
		b.WriteString(t.warn.of(m.fitted(" "+m.noRow(n), width-g.prefix)))
		return b.String()
	}
	for k := range min(g.columns, len(m.columns.items)-m.columns.top) {
		m.putCell(&b, g, on, k, m.snap.cell(i, m.columns.items[m.columns.top+k]), "")
	}
	m.closeRow(&b, g, on)
	return b.String()
}

// putCell draws one cell: a space or bracket, the glyph, and padding. The bracket that closes the cursor is the space of the next cell.
func (m *Model) putCell(b *strings.Builder, g geometry, on bool, k int, c mark, text string) {
	t, at := m.theme(), m.columns.top+k
	light := lightOff
	switch here := at == m.columns.at; {
	case on && here:
		light = lightCursor
	case on || here:
		light = lightCross
	}
	lead := " "
	switch {
	case !on:
	case at == m.columns.at:
		lead = "["
	case at == m.columns.at+1 && g.cell == minCell:
		lead = "]"
	}
	p := t.cells[c][light]
	b.WriteString(p.pre)
	b.WriteString(lead)
	b.WriteString(m.g.marks[c])
	b.WriteString(text)
	if pad := g.cell - 2 - len(text); pad > 0 {
		last := " "
		if on && at == m.columns.at {
			last = "]"
		}
		b.WriteString(strings.Repeat(" ", pad-1))
		b.WriteString(last)
	}
	b.WriteString(p.post)
}

// closeRow closes the bracket behind the last visible cell of narrow cells.
func (m *Model) closeRow(b *strings.Builder, g geometry, on bool) {
	if on && g.cell == minCell && m.columns.at == m.columns.top+min(g.columns, len(m.columns.items)-m.columns.top)-1 {
		b.WriteString(m.theme().cells[markNone][lightCursor].of("]"))
	}
}

func (m *Model) rackCells(b *strings.Builder, g geometry, i int, on bool) {
	for k := range min(g.columns, len(m.columns.items)-m.columns.top) {
		c := m.snap.cells[i][m.columns.items[m.columns.top+k]]
		text := ""
		if n := c.notUp(); n > 0 {
			text = fmt.Sprintf("%d/%d", n, c.of())
			if len(text) > g.cell-3 {
				text = thousands(n)
			}
		} else if c.up > 0 {
			text = thousands(c.up)
		}
		m.putCell(b, g, on, k, c.mark(), text)
	}
}

// thousands writes a number in at most four characters, as the narrowest cell of racks has room for.
func thousands(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(min(999, n/1_000_000)) + "M"
}

// noRow says why a node's row is not drawn.
func (m *Model) noRow(n *node) string {
	var text string
	switch {
	case n.newcomer != nil:
		text = "newcomer" + m.waitingSince(n) + ": " + n.summary()
	case n.Row.Status == render.RowError:
		text = "row error: " + n.Row.Detail
	case n.Row.Status == render.RowStale:
		text = "row stale"
		if n.Row.StaleSince != nil {
			text += m.since(n.Row.StaleSince.Time)
		}
		text += ": " + n.Row.Detail
	case n.Membership == kube.MemberGhost:
		text = "no row, no Pod"
	default:
		text = "no row"
	}
	return render.Clean(text)
}

func (m *Model) waitingSince(n *node) string {
	if n.newcomer.Since == nil {
		return ""
	}
	return m.since(n.newcomer.Since.Time)
}

// tab is a pane's title.
func (m *Model) tab(p pane) string {
	switch p {
	case paneBlockers:
		return fmt.Sprintf("%s %d", paneNames[p], m.snap.total)
	case paneHistory:
		return fmt.Sprintf("%s %d", paneNames[p], len(m.history))
	}
	return paneNames[p]
}

func (m *Model) drawPanes(c *canvas, l layout) {
	t := m.theme()
	look := func(p pane) paint {
		switch {
		case p == m.focus:
			return m.look.focus
		case l.side || p == m.shown():
			return t.title
		}
		return t.dim
	}
	if !l.side {
		r := l.rects[m.shown()]
		for p := paneDetail; p < panes; p++ {
			name := m.tab(p)
			if p == m.shown() && !m.color {
				name = strings.ToUpper(name)
			}
			c.at(l.tabs[p].x, l.tabs[p].y, look(p).of(name))
		}
		x := l.tabs[panes-1].x + l.tabs[panes-1].w + 1
		more := m.more(m.shown(), r)
		c.at(x, l.tabs[paneDetail].y, t.dim.of(strings.Repeat(m.g.line, max(0, m.width-x-len(more)))+more))
		m.drawPane(c, m.shown(), r)
		if p := m.also(); p != paneMatrix && l.rects[p].h > 0 {
			r := l.rects[p]
			c.at(r.x, r.y, t.title.of(m.tab(p))+t.dim.of(m.more(p, r)))
			m.drawPane(c, p, r)
		}
		return
	}
	for y := l.rects[paneMatrix].y; y < m.height-1; y++ {
		c.at(l.rects[paneDetail].x-2, y, t.dim.of(m.g.bar))
	}
	for p := paneDetail; p < panes; p++ {
		r := l.rects[p]
		name := m.tab(p)
		if p == m.focus && !m.color {
			name = strings.ToUpper(name)
		}
		c.at(r.x, r.y, look(p).of(name))
		c.at(r.x+len(name)+1, r.y, t.dim.of(m.more(p, r)))
		m.drawPane(c, p, r)
	}
}

// more says how many lines of a pane are out of sight.
func (m *Model) more(p pane, r rect) string {
	if n := m.linesOf(p, r.w) - r.h + 1; n > 0 && p != paneHistory {
		if n == 1 {
			return " +1 line"
		}
		return fmt.Sprintf(" +%d lines", n)
	}
	return ""
}

// line is a text with its look.
type line struct {
	text string
	look paint
}

func (m *Model) drawPane(c *canvas, p pane, r rect) {
	h := r.h - 1
	var lines []line
	if p == paneDetail {
		lines = m.detail(r.w)
		at := min(m.lists[paneDetail].at, max(0, len(lines)-h))
		lines = lines[at:]
	} else {
		lines = m.listLines(p, r.w, h)
	}
	for i := range min(h, len(lines)) {
		c.at(r.x, r.y+1+i, lines[i].look.of(lines[i].text))
	}
}

// linesOf is how many lines a pane could use.
func (m *Model) linesOf(p pane, w int) int {
	switch p {
	case paneDetail:
		return len(m.detail(w))
	case paneBlockers:
		if len(m.snap.groups) == 0 {
			return 1
		}
		return len(m.snap.groups) - 1 + len(m.blockerBlock(m.lists[p].at, w))
	}
	return max(1, len(m.history)) + 1
}

func (m *Model) listLen(p pane) int {
	switch p {
	case paneBlockers:
		return len(m.snap.groups)
	case paneHistory:
		return len(m.history)
	}
	l := m.layout()
	r := l.rects[paneDetail]
	return max(1, len(m.detail(r.w))-(r.h-1)+1)
}

func (m *Model) listHeight(p pane) int { return max(1, m.layout().rects[p].h-1) }

// listLines draws a list: the chosen item in full, the others in one line each.
func (m *Model) listLines(p pane, w, h int) []line {
	n := m.listLen(p)
	if n == 0 {
		text := "none: every node sees every node UP"
		if p == paneHistory {
			text = "nothing has changed since the start"
		} else if !m.snap.doc.Healthy {
			text = "none, but nothing says who sees whom"
		}
		return []line{{m.fitted(text, w), m.theme().dim}}
	}
	at := m.lists[p].at
	block := m.block(p, at, w)
	first := m.firstLine(p, n, at, len(block), h)
	var lines []line
	for i := first; i < n && len(lines) < h; i++ {
		if i == at {
			lines = append(lines, block...)
			continue
		}
		lines = append(lines, m.short(p, i, w))
	}
	return lines
}

// firstLine is the first item shown so that the chosen one, size lines high, is in the middle of h lines.
func (*Model) firstLine(_ pane, n, at, size, h int) int {
	return max(0, min(at-max(0, h-size)/2, n-1+size-h))
}

// blockerAt is the item of a line of the pane; -1 when there is none.
func (m *Model) blockerAt(r rect, y int) int {
	n := len(m.snap.groups)
	if n == 0 {
		return -1
	}
	at := m.lists[paneBlockers].at
	size := len(m.blockerBlock(at, r.w))
	i := m.firstLine(paneBlockers, n, at, size, r.h-1) + y
	switch {
	case i < at:
		return i
	case i < at+size:
		return at
	}
	if i -= size - 1; i < n {
		return i
	}
	return -1
}

func (m *Model) block(p pane, i, w int) []line {
	if p == paneBlockers {
		return m.blockerBlock(i, w)
	}
	c := m.history[len(m.history)-1-i]
	look := m.changeLook(c)
	if m.focus != paneHistory {
		return []line{m.short(p, i, w)}
	}
	return m.wrapped(nil, w, "         ", look, m.g.cursor+m.stamp(c)+" "+c.Text)
}

// short is an item in one line.
func (m *Model) short(p pane, i, w int) line {
	if p == paneBlockers {
		return line{m.fitted(m.g.dot+" "+render.Clean(m.snap.groups[i].Text(m.now())), w), m.theme().bad}
	}
	c := m.history[len(m.history)-1-i]
	return line{m.fitted(m.stamp(c)+" "+render.Clean(c.Text), w), m.changeLook(c)}
}

func (m *Model) stamp(c Change) string {
	if c.At.IsZero() {
		return "        "
	}
	return m.clock(c.At)
}

func (m *Model) changeLook(c Change) paint {
	switch t := m.theme(); {
	case c.Bad:
		return t.bad
	case c.Good:
		return t.good
	}
	return paint{}
}

// blockerBlock is a blocker in full, with the next step.
func (m *Model) blockerBlock(i, w int) []line {
	g, t := &m.snap.groups[i], m.theme()
	mark := m.g.dot
	if m.focus == paneBlockers {
		mark = m.g.cursor
	}
	lines := m.wrapped(nil, w, "  ", t.bad, mark+" "+g.Text(m.now()))
	if g.NextStep != "" {
		lines = m.wrapped(lines, w, "    ", paint{}, "  "+m.g.arrow+" "+g.NextStep)
	}
	return lines
}

// wrapped appends text in lines of at most w cells, further lines indented. It breaks at spaces only, because people copy host IDs.
func (m *Model) wrapped(lines []line, w int, indent string, look paint, text string) []line {
	text = render.Clean(text)
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	current, used := lead, len(lead)
	begun := false
	for _, word := range strings.Fields(text) {
		n := ansi.StringWidth(word)
		if begun && used+1+n > w {
			lines = append(lines, line{current, look})
			current, used, begun = indent, len(indent), false
		}
		if begun {
			current += " "
			used++
		}
		if used+n > w { // one word that is longer than a line
			for _, piece := range strings.SplitAfter(ansi.Hardwrap(word, max(1, w-used), true), "\n") {
				if rest, cut := strings.CutSuffix(piece, "\n"); cut {
					lines = append(lines, line{current + rest, look})
					current, used = indent, len(indent)
				} else {
					current += piece
					used += ansi.StringWidth(piece)
				}
			}
			begun = true
			continue
		}
		current += word
		used += n
		begun = true
	}
	return append(lines, line{current, look})
}

// foot is the filter being typed, what was just said, or the keys.
func (m *Model) foot() string {
	t := m.look
	switch {
	case m.typing:
		text := m.input.View()
		if !m.color {
			text = "/" + m.input.Value() + "_"
		}
		hint := "  dc: rack: state: by: of: or text, enter, esc"
		look := t.dim
		if m.filterErr != nil {
			hint, look = "  "+m.filterErr.Error(), t.bad
		}
		return text + look.of(m.fitted(hint, m.width-len(m.input.Value())-3))
	case m.note != "":
		return t.strong.of(m.fitted(render.Clean(m.note), m.width))
	case m.pick != nil:
		return t.dim.of(m.fitted("up, down choose   enter goes on   esc changes nothing", m.width))
	case m.help:
		return t.dim.of("esc leaves help, up and down scroll")
	}
	var b strings.Builder
	used := 0
	for _, k := range m.keys.ShortHelp() {
		h := k.Help()
		w := len(h.Key) + 1 + len(h.Desc) + 2
		if !k.Enabled() || used+w-2 > m.width {
			continue
		}
		if used > 0 {
			b.WriteString("  ")
		}
		b.WriteString(t.info.of(h.Key) + " " + t.dim.of(h.Desc))
		used += w
	}
	return b.String()
}
