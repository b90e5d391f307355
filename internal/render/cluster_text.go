// SPDX-License-Identifier: Apache-2.0

package render

// Long: the text of status from its first line to its last; each part is a short function, and they share one painter.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// maxPlainMatrix is how many nodes a whole matrix is drawn for where nothing limits the height: beyond it nobody reads it.
const maxPlainMatrix = 40

// detail is how much of a status is drawn; each level leaves out more, so that the verdict and its reasons stay on the screen.
type detail struct {
	matrix  bool   // the whole matrix; else the rows that disagree
	blanks  bool   // empty lines between sections
	byRack  bool   // one line per rack, and only nodes with trouble on their own
	terse   bool   // one line where it would be several
	maxList int    // most lines of any one list; 0 for all
	fold    string // what the matrix is folded to: "rack" where it fits, else "datacenter"; empty for the rows that disagree
}

var details = []detail{
	{matrix: true, blanks: true},
	{matrix: true},
	{matrix: true, terse: true},
	{blanks: true},
	{},
	{terse: true},
	{terse: true, maxList: 2},
	{byRack: true, blanks: true, maxList: 6, fold: "rack"},
	{byRack: true, maxList: 6, fold: "rack"},
	{byRack: true, maxList: 3, fold: "rack"},
	{byRack: true, maxList: 6, fold: "datacenter"},
	{byRack: true, maxList: 3, fold: "datacenter"},
	{byRack: true, terse: true, maxList: 2, fold: "datacenter"},
	{byRack: true, terse: true, maxList: 2},
	{byRack: true, terse: true, maxList: 1},
}

// Text draws the document: verdict, nodes, who sees whom, blockers. It leaves out what does not fit o.Height, in a fixed order, and says
// that it did.
func (d *ClusterStatus) Text(o Options) string {
	p := &painter{d: d, o: o, g: o.glyphs()}
	p.index()
	if o.NoHeaders {
		return strings.Join(append(p.chosen(), ""), "\n")
	}
	if o.Wide || o.All {
		return p.draw(details[0])
	}
	if o.Height <= 0 {
		level := details[0]
		level.matrix = len(d.Nodes) <= maxPlainMatrix && p.matrixFits()
		return p.draw(level)
	}
	var text string
	for _, level := range details {
		if level.matrix && !p.matrixFits() || !level.byRack && len(d.Nodes) >= o.Height {
			continue
		}
		text = p.draw(level)
		// One line stays free for the prompt; without it the verdict scrolls away.
		if screenLines(text, o.Width) <= o.Height-1 {
			break
		}
	}
	return text
}

// screenLines is how many lines of the screen a text takes: a command is not broken, and may need several.
func screenLines(text string, width int) int {
	n := strings.Count(text, "\n")
	if width <= 0 {
		return n
	}
	for line := range strings.Lines(text) {
		n += max(0, lipgloss.Width(strings.TrimSuffix(line, "\n"))-1) / width
	}
	return n
}

type painter struct {
	d *ClusterStatus
	o Options
	g glyphs
	// number of a host ID or member name in the table of nodes, from 1; cells that are not UP by observer and observed number.
	number map[string]int
	notUp  map[[2]int]Pair
	// reports is set for the numbers of nodes that have a row.
	reports map[int]bool
	// trouble holds the host IDs and members that findings are about; parted is true while the cluster is in parts.
	trouble map[string]bool
	parted  bool
	folds   []string // the matrix as it is folded, which has the racks too
}

func (p *painter) index() {
	p.number, p.notUp, p.reports = map[string]int{}, map[[2]int]Pair{}, map[int]bool{}
	p.trouble, p.parted = p.d.troubledRefs(), p.d.parted()
	for i, n := range p.d.Nodes {
		if n.HostID != "" {
			p.number[n.HostID] = i + 1
		}
		if n.Member != "" {
			p.number[n.Member] = i + 1
		}
	}
	for _, r := range p.d.Rows {
		i := p.of(r.Observer)
		p.reports[i] = true
		for _, c := range r.NotUp {
			p.notUp[[2]int{i, p.number[c.Observed]}] = c
		}
	}
}

func (p *painter) of(r matrix.Ref) int {
	if i, ok := p.number[r.HostID]; ok && r.HostID != "" {
		return i
	}
	return p.number[r.Member]
}

func (p *painter) draw(level detail) string {
	sections := [][]string{slices.Concat(p.head(), p.findings(level), p.origin(level)), p.nodes(level), p.views(level), nil, p.attention(level), p.notes()}
	if p.o.Wide || p.o.All {
		sections[3] = p.explained()
	}
	var b strings.Builder
	for i, lines := range sections {
		if len(lines) == 0 {
			continue
		}
		if i > 0 && level.blanks {
			b.WriteString("\n")
		}
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// head is the verdict with its cause.
func (p *painter) head() []string {
	style, glyph := Bad, p.g.down
	switch p.d.Verdict {
	case WordHealthy:
		style, glyph = Good, p.g.up
	case WordUnknown:
		style, glyph = Warn, p.g.unknown
	}
	verdict := style.Paint(glyph+" "+p.d.Verdict) + " " + Strong.Paint(p.d.Namespace+"/"+p.d.Name) + p.partialMark()
	return p.wrap(verdict+": "+Clean(p.d.firstLine()), "  ")
}

// origin is how many nodes are UP, where that comes from, and what could not be read.
func (p *painter) origin(level detail) []string {
	from := "from " + string(p.d.Source.Used)
	if len(p.d.Problems()) > 0 {
		from = p.d.counted() + ", " + from
	}
	if p.d.Source.Reason != "" {
		from += " (" + Clean(p.d.Source.Reason) + ")"
	}
	if p.d.Source.Offline {
		from += ", saved objects"
	}
	if p.o.Context != "" && !p.d.Source.Offline {
		from = "context " + Clean(p.o.Context) + ": " + from
	}
	if p.d.ManagedBy != "" {
		from += ", managed by " + p.d.ManagedBy
	}
	if p.d.Coordinator != nil {
		from += "; " + Clean(p.d.Coordinator.Text)
	}
	if level.terse {
		return slices.Concat([]string{Dim.Paint(p.one(from))}, p.view(level), p.partial(level))
	}
	return slices.Concat(p.each(Dim, p.wrap(from, "  ")), p.view(level), p.partial(level))
}

// partialMark stands beside a name whose document does not say everything.
func (p *painter) partialMark() string {
	if len(p.d.Partial) == 0 {
		return ""
	}
	return " " + Warn.Paint("(partial)")
}

// partial says what could not be read, where nobody can overlook it.
func (p *painter) partial(level detail) []string {
	most := maxPartial
	switch {
	case p.o.Wide:
		most = 0
	case level.terse && level.maxList > 0:
		most = min(most, level.maxList)
	}
	var lines []string
	for _, text := range p.d.PartialLines(most) {
		text = Warn.Paint("partial:") + " " + text
		if level.terse {
			lines = append(lines, p.one(text))
		} else {
			lines = append(lines, p.wrap(text, "  ")...)
		}
	}
	return lines
}

// one cuts a line at the width.
func (p *painter) one(line string) string {
	if p.o.Width <= 0 {
		return line
	}
	return ansi.Truncate(line, p.o.Width, p.g.ellipsis)
}

func (*painter) each(s Style, lines []string) []string {
	for i, line := range lines {
		lines[i] = s.Paint(line)
	}
	return lines
}

// wrap breaks a line at the width, further lines indented.
func (p *painter) wrap(line, indent string) []string {
	return wrap(line, p.o.Width, indent)
}

// wrap breaks at spaces only: host IDs and names have hyphens, and a person copies them.
func wrap(line string, width int, indent string) []string {
	if width <= 0 || lipgloss.Width(line) <= width {
		return []string{line}
	}
	lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var lines []string
	current, used := lead, len(lead)
	for i, word := range strings.Fields(line) {
		w := lipgloss.Width(word)
		switch {
		case i == 0:
			current, used = lead+word, len(lead)+w
			continue
		case used+1+w > width:
			lines = append(lines, current)
			current, used = indent+word, len(indent)+w
			continue
		}
		current += " " + word
		used += 1 + w
	}
	return append(lines, current)
}

// troubled is true for a node of which something is not as it should be.
func troubled(n Node) bool {
	return n.Membership != cluster.MemberJoined && n.Membership != cluster.MemberRemote ||
		n.Row.Status != RowOK || n.Seen == nil || n.Seen.Status != "UP"
}

func (p *painter) nodes(level detail) []string {
	if len(p.d.Nodes) == 0 {
		return []string{"No nodes."}
	}
	if p.o.Problems || p.o.SortBy != "" && !level.byRack {
		if p.folds = nil; level.byRack && level.fold != "" {
			p.folds = p.folded(level)
		}
		return p.chosen()
	}
	if !level.byRack {
		return p.nodeTable(p.d.Nodes, nil)
	}
	p.folds = nil
	if level.fold != "" {
		p.folds = p.folded(level)
	}
	return p.rackTable(level)
}

// lines splits a drawn block.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// nodeTable has one line per node. numbers gives their numbers; nil counts from 1.
func (p *painter) nodeTable(nodes []Node, numbers []int) []string {
	t := &Table{NoHeader: p.o.NoHeaders, Columns: []Column{
		{Header: "#", Right: true}, {Header: "DC", Min: 4, Last: true}, {Header: "RACK", Min: 4, Last: true}, {Header: "MEMBER", Min: 12, Middle: true, Last: true}, {Header: "HOST ID"},
		{Header: "SEEN"}, {Header: "VERSION", Min: 7}, {Header: "ROW", Min: 5, Last: true}, {Header: "POD", Min: 8},
	}}
	if p.o.Wide {
		t.Columns = append(t.Columns, Column{Header: "IP"}, Column{Header: "KUBERNETES NODE"}, Column{Header: "STATE"}, Column{Header: "MODE"}, Column{Header: "MEMBERSHIP"})
	}
	for i, n := range nodes {
		number := i + 1
		if numbers != nil {
			number = numbers[i]
		}
		row := []Cell{
			{Text: fmt.Sprint(number), Style: Dim}, Text(dash(n.Datacenter)), Text(dash(n.Rack)), Text(dash(n.Member)), Text(p.hostID(n.Ref)),
			{Text: n.Seen.Text(), Style: seenStyle(n.Seen)}, Text(p.version(n)), p.row(n), p.pod(n),
		}
		if p.o.Wide {
			on := Text("-")
			if k := n.KubernetesNode; k != nil {
				on = Cell{Text: strings.TrimSpace(k.Name + " " + k.State), Style: machineStyle(*k)}
			}
			row = append(row, Text(dash(n.PodIP)), on, Text(dash(n.State)), Text(dash(n.OperationMode)), Text(string(n.Membership)))
		}
		t.Rows = append(t.Rows, row)
	}
	return splitLines(t.String(p.width(), p.g.ellipsis))
}

func machineStyle(k cluster.KubernetesNode) Style {
	switch {
	case k.State == "" || k.State == cluster.KubernetesNodeReady:
		return Plain
	case k.Lost() || k.State == cluster.KubernetesNodeGone:
		return Bad
	}
	return Warn
}

func (p *painter) width() int {
	if p.o.Wide {
		return 0
	}
	return p.o.Width
}

func dash(s string) string { return cmp.Or(s, "-") }

func (p *painter) hostID(r matrix.Ref) string {
	if p.o.Wide || r.HostID == "" {
		return dash(r.HostID)
	}
	return r.Short()
}

func (p *painter) version(n Node) string {
	if p.o.Wide || n.Version == "" {
		return dash(n.Version)
	}
	// "2025.2.1-0.20250901.abc": the build is for the wide table.
	v, _, _ := strings.Cut(n.Version, "-0.")
	return v
}

func seenStyle(s *Seen) Style {
	if s == nil {
		return Dim
	}
	return statusStyle(s.Status)
}

func statusStyle(status string) Style {
	switch status {
	case "UP":
		return Good
	case "DOWN":
		return Bad
	case "UNKNOWN":
		return Warn
	case "MISSING":
		return Odd
	}
	return Plain
}

func (p *painter) row(n Node) Cell {
	text := string(n.Row.Status)
	switch n.Row.Status {
	case RowOK:
		if a := words.Ago(TimeOf(n.Row.Written), p.d.at()); a != "" {
			text += " " + a
		}
		return Cell{Text: text, Style: Good}
	case RowStale:
		if a := words.Ago(TimeOf(n.Row.StaleSince), p.d.at()); a != "" {
			text += " " + a
		}
		return Cell{Text: text, Style: Warn}
	case RowNone:
		return Cell{Text: "-", Style: Dim}
	case RowError:
		return Cell{Text: text, Style: Bad}
	}
	return Cell{Text: text, Style: Odd}
}

func (p *painter) pod(n Node) Cell {
	text := n.Pod
	style := Plain
	phase, ready, ok := strings.Cut(text, " ")
	have, want, counted := strings.Cut(ready, "/")
	switch {
	case ok && counted && phase == "Running" && have == want:
		if !p.o.Wide {
			text = phase // all containers ready is what Running means to a reader; fewer are said
		}
	case phase == "Running" || phase == "-":
	default:
		style = Warn
		if ok && counted && !p.o.Wide {
			text = phase // why it does not run says more than how many containers do
		}
	}
	if n.Force != "" {
		text += " forced=" + n.Force
	}
	return Cell{Text: text, Style: style}
}

// rackTable has one line per rack, then the nodes with trouble.
//
// Long: the table, column by column.
func (p *painter) rackTable(level detail) []string {
	type rack struct {
		dc, name      string
		nodes, in, up int // in: those that are not newcomers
		rows          int
		versions      []string
		trouble       int
	}
	var racks []*rack
	byName := map[[2]string]*rack{}
	var bad []Node
	var numbers []int
	for i, n := range p.d.Nodes {
		key := [2]string{n.Datacenter, n.Rack}
		r := byName[key]
		if r == nil {
			r = &rack{dc: n.Datacenter, name: n.Rack}
			byName[key] = r
			racks = append(racks, r)
		}
		r.nodes++
		if n.Membership != cluster.MemberNewcomer && n.Membership != cluster.MemberGossipOnly {
			r.in++
		}
		if n.Seen != nil && n.Seen.Status == "UP" {
			r.up++
		}
		if n.Row.Status == RowOK {
			r.rows++
		}
		if v := p.version(n); v != "-" && !slices.Contains(r.versions, v) {
			r.versions = append(r.versions, v)
		}
		if p.troubled(n) {
			r.trouble++
			bad, numbers = append(bad, n), append(numbers, i+1)
		}
	}
	// Racks with trouble first: when not all fit, they are the ones to read.
	slices.SortStableFunc(racks, func(a, b *rack) int { return cmp.Compare(min(b.trouble, 1), min(a.trouble, 1)) })
	most := level.maxList * 2
	t := &Table{Columns: []Column{{Header: "DC", Min: 4}, {Header: "RACK", Min: 4}, {Header: "NODES", Right: true}, {Header: "UP"}, {Header: "ROWS"}, {Header: "VERSION", Min: 7}}}
	left, leftNodes, leftBad := 0, 0, 0
	for i, r := range racks {
		if i >= most {
			left, leftNodes, leftBad = left+1, leftNodes+r.nodes, leftBad+min(1, r.trouble)
			continue
		}
		style := Good
		if r.up < r.in {
			style = Bad
		}
		t.Rows = append(t.Rows, []Cell{Text(dash(r.dc)), Text(dash(r.name)), Text(fmt.Sprint(r.nodes)),
			{Text: fmt.Sprintf("UP %d/%d", r.up, r.in), Style: style}, Text(fmt.Sprintf("ok %d/%d", r.rows, r.in)), Text(dash(strings.Join(r.versions, ",")))})
	}
	var lines []string
	if p.folds == nil {
		lines = splitLines(t.String(p.width(), p.g.ellipsis))
	}
	if left > 0 && p.folds == nil {
		text := fmt.Sprintf("and %s with %s", count(left, "more rack", "more racks"), count(leftNodes, "node", "nodes"))
		if leftBad > 0 {
			text += fmt.Sprintf(", %d of them with trouble", leftBad)
		} else {
			text += ", all UP"
		}
		lines = append(lines, Dim.Paint(text+" (all with --all)"))
	}
	if len(bad) > 0 {
		if len(bad) > most {
			more := len(bad) - most
			bad, numbers = bad[:most], numbers[:most]
			lines = append(lines, p.nodeTable(bad, numbers)...)
			return append(lines, Dim.Paint(fmt.Sprintf("and %s with trouble (all with --all)", count(more, "more node", "more nodes"))))
		}
		lines = append(lines, p.nodeTable(bad, numbers)...)
	}
	return lines
}

// columns are the numbers of the nodes that somebody can see: those with a host ID.
func (p *painter) columns() []int {
	var c []int
	for i, n := range p.d.Nodes {
		if n.HostID != "" && (n.Seen != nil || p.reports[i+1]) {
			c = append(c, i+1)
		}
	}
	return c
}

const cellWidth = 3 // glyph, letter, space

func (p *painter) matrixFits() bool {
	return p.o.Width <= 0 || len(fmt.Sprint(len(p.d.Nodes)))+gap+12+gap+len(p.columns())*cellWidth <= p.o.Width
}

// views is who sees whom: the matrix, or the rows that disagree.
func (p *painter) views(level detail) []string {
	if len(p.d.Rows) == 0 {
		return nil
	}
	switch {
	case level.matrix:
		return p.matrix()
	case p.folds != nil && level.byRack:
		return p.folds
	}
	return p.disagreeing(level)
}

func (p *painter) matrix() []string {
	columns := p.columns()
	label := 0
	for _, i := range columns {
		label = max(label, lipgloss.Width(p.name(i)))
	}
	digits := len(fmt.Sprint(len(p.d.Nodes)))
	if p.o.Width > 0 && !p.o.Wide {
		label = min(label, p.o.Width-digits-2*gap-len(columns)*cellWidth)
	}
	lines := []string{Strong.Paint("Who sees whom") + " (each row is one node's report of the others)"}
	var head strings.Builder
	fmt.Fprintf(&head, "%*s  %-*s ", digits, "", label, "")
	for _, j := range columns {
		fmt.Fprintf(&head, " %2d", j)
	}
	lines = append(lines, Dim.Paint(head.String()))
	used := map[string]bool{}
	for _, i := range columns {
		var b strings.Builder
		name := Shorten(p.name(i), label, true, p.g.ellipsis)
		fmt.Fprintf(&b, "%s  %s%s ", Dim.Paint(fmt.Sprintf("%*d", digits, i)), name, strings.Repeat(" ", label-lipgloss.Width(name)))
		for _, j := range columns {
			text, style, key := p.cell(i, j)
			used[key] = true
			b.WriteString(" " + style.Paint(text))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return append(lines, p.legend(used)...)
}

func (p *painter) cell(i, j int) (text string, style Style, key string) {
	switch c, bad := p.notUp[[2]int{i, j}]; {
	case i == j:
		return p.g.self + p.g.self, Dim, "self"
	case !p.reports[i]:
		return "  ", Plain, "row"
	case !bad:
		return p.g.up + "U", Good, "UP"
	case c.Status == "DOWN":
		return p.g.down + "D", Bad, "DOWN"
	case c.Status == "MISSING":
		return p.g.missing + "M", Odd, "MISSING"
	default:
		return p.g.unknown + "N", Warn, "UNKNOWN"
	}
}

func (p *painter) legend(used map[string]bool) []string {
	var parts []string
	for _, l := range []struct {
		key, glyph, letter, text string
		style                    Style
	}{
		{"UP", p.g.up, "U", "UP", Good}, {"DOWN", p.g.down, "D", "DOWN", Bad}, {"UNKNOWN", p.g.unknown, "N", "not known", Warn},
		{"MISSING", p.g.missing, "M", "missing from the row", Odd},
	} {
		if used[l.key] {
			parts = append(parts, l.style.Paint(l.glyph+l.letter)+" "+l.text)
		}
	}
	if used["row"] {
		parts = append(parts, "blank: no fresh row")
	}
	return p.wrap(strings.Join(parts, "  "), "")
}

func (p *painter) name(i int) string {
	n := p.d.Nodes[i-1]
	return cmp.Or(n.Member, n.Short(), "-")
}

// disagreeing lists what rows say other than UP, equal rows together.
func (p *painter) disagreeing(level detail) []string {
	type group struct {
		text      string
		observers []int
	}
	var groups []*group
	byText := map[string]*group{}
	agree := 0
	for _, r := range p.d.Rows {
		if len(r.NotUp) == 0 {
			agree++
			continue
		}
		byStatus := map[string][]int{}
		for _, c := range r.NotUp {
			byStatus[c.Status] = append(byStatus[c.Status], p.number[c.Observed])
		}
		var parts []string
		for _, status := range []string{"DOWN", "UNKNOWN", "MISSING"} {
			if nodes := byStatus[status]; len(nodes) > 0 {
				parts = append(parts, statusStyle(status).Paint(p.statusGlyph(status)+" "+status)+" "+ranges(nodes))
			}
		}
		text := strings.Join(parts, ", ")
		g := byText[text]
		if g == nil {
			g = &group{text: text}
			byText[text] = g
			groups = append(groups, g)
		}
		g.observers = append(g.observers, p.of(r.Observer))
	}
	if len(groups) == 0 {
		if silent := p.d.Counts.Nodes - p.d.Counts.Reporting; silent > 0 {
			return p.wrap(fmt.Sprintf("%s Who sees whom: %d of %s a fresh row; these see everyone UP.", Warn.Paint(p.g.unknown), len(p.d.Rows),
				count(p.d.Counts.Nodes, "node has", "nodes have")), "  ")
		}
		return []string{fmt.Sprintf("%s Who sees whom: %s, and all agree: everyone sees everyone UP.", Good.Paint(p.g.up), count(len(p.d.Rows), "row", "rows"))}
	}
	head := Strong.Paint("Rows that disagree")
	if agree > 0 {
		head += fmt.Sprintf(" (%d more see everyone UP)", agree)
	}
	lines := []string{head}
	if level.terse && len(groups) == 1 {
		g := groups[0]
		return []string{p.one(head + ": " + ranges(g.observers) + " " + sees(g.observers) + " " + g.text)}
	}
	for i, g := range groups {
		if level.maxList > 0 && i >= level.maxList {
			lines = append(lines, Dim.Paint(fmt.Sprintf("  and %s (all with --all)", count(len(groups)-i, "more group of rows", "more groups of rows"))))
			break
		}
		lines = append(lines, p.wrap("  "+ranges(g.observers)+" "+sees(g.observers)+" "+g.text, "    ")...)
	}
	return lines
}

func sees(observers []int) string {
	if len(observers) == 1 {
		return "sees"
	}
	return "see"
}

func (p *painter) statusGlyph(status string) string {
	switch status {
	case "DOWN":
		return p.g.down
	case "MISSING":
		return p.g.missing
	}
	return p.g.unknown
}

// ranges writes node numbers short: "#1-4,7".
func ranges(numbers []int) string {
	n := slices.Clone(numbers)
	slices.Sort(n)
	n = slices.Compact(n)
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, fmt.Sprint(n[i]))
		case 1:
			parts = append(parts, fmt.Sprint(n[i]), fmt.Sprint(n[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return "#" + strings.Join(parts, ",")
}

// groupLines are blockers with their next steps; equal next steps are said once. A terse list has one line per group, and one next step per node.
func groupLines(groups []matrix.Group, now time.Time, o Options, level detail) []string {
	g := o.glyphs()
	p := &painter{o: o, g: g}
	var lines []string
	stepped := map[matrix.Ref]bool{}
	for i, group := range groups {
		if level.maxList > 0 && i >= level.maxList {
			rest := 0
			for _, r := range groups[i:] {
				rest += r.Count()
			}
			lines = append(lines, Dim.Paint(fmt.Sprintf("  and %s (all with --all)", count(rest, "more blocker", "more blockers"))))
			break
		}
		step := group.Step
		if level.terse {
			lines = append(lines, p.one(Bad.Paint(g.dot)+" "+words.Group(group, now)))
			// Ordinal is a pointer: without it equal nodes are equal.
			who := group.Observed
			who.Ordinal = nil
			if stepped[who] {
				continue
			}
			stepped[who] = true
		} else {
			lines = append(lines, wrap(Bad.Paint(g.dot)+" "+words.Group(group, now), o.Width, "  ")...)
			if i+1 < len(groups) && groups[i+1].Step.Key() == step.Key() && (level.maxList == 0 || i+1 < level.maxList) {
				continue
			}
		}
		if !step.IsZero() {
			lines = append(lines, stepLines(step, o)...)
		}
	}
	return lines
}

// attention lists newcomers, replacements, ghosts and nodes that only gossip knows.
func (p *painter) attention(level detail) []string {
	now := p.d.at()
	var lines []string
	add := func(title string, n int, line func(int) string) {
		if n == 0 {
			return
		}
		if level.terse && n == 1 {
			lines = append(lines, p.one(Strong.Paint(title)+" (1): "+Clean(line(0))))
			return
		}
		lines = append(lines, Strong.Paint(title)+fmt.Sprintf(" (%d)", n))
		for i := range n {
			if level.maxList > 0 && i >= level.maxList {
				lines = append(lines, Dim.Paint(fmt.Sprintf("  and %d more (all with --all)", n-i)))
				return
			}
			if level.terse {
				lines = append(lines, p.one("  "+Clean(line(i))))
				continue
			}
			lines = append(lines, p.wrap("  "+Clean(line(i)), "    ")...)
		}
	}
	add("Newcomers", len(p.d.Newcomers), func(i int) string {
		n := p.d.Newcomers[i]
		text := n.Ref.String()
		if level.terse {
			if a := words.Ago(TimeOf(n.Since), now); a != "" {
				text += " (" + a + ")"
			}
			return text + " " + n.Summary.Text
		}
		if n.Waiting != "" {
			text += " waits for " + n.Waiting
			if a := words.Ago(TimeOf(n.Since), now); a != "" {
				text += ", since " + a
			}
		}
		return text + ": " + n.Summary.Text
	})
	lines = append(lines, p.replacements(level)...)
	operations := p.d.UnderWay()
	add("Topology operations under way", len(operations), func(i int) string { return operations[i] })
	ghosts := "Members without a Pod"
	if p.d.Source.Offline {
		ghosts += " among the saved objects"
	}
	add(ghosts, len(p.d.Ghosts), func(i int) string { return p.d.Ghosts[i] })
	lines = append(lines, p.gossipOnly(level)...)
	lines = append(lines, p.afterwards(level)...)
	add("Schema versions disagree", len(p.d.Schemas), func(i int) string {
		version := slices.Sorted(maps.Keys(p.d.Schemas))[i]
		return version + ": " + strings.Join(p.d.Schemas[version], ", ")
	})
	return lines
}

// replacements lists those that are open. Where one line must do for each, a failure is still told whole,
// and a cure has lines of its own: they are what the reader came for.
func (p *painter) replacements(level detail) []string {
	list := slices.Clone(p.d.Replacements)
	if !p.o.Wide && !p.o.All {
		// A failed one is a finding, with its step.
		list = slices.DeleteFunc(list, func(r Replacement) bool { return r.Failure != nil && p.trouble[r.Original] })
	}
	if len(list) == 0 {
		return nil
	}
	title := Strong.Paint("Replacements") + fmt.Sprintf(" (%d)", len(list))
	if level.terse && len(list) == 1 {
		text := title + ": " + Clean(list[0].Name()+": "+list[0].Summary)
		lines := []string{p.one(text)}
		if list[0].Failure != nil {
			lines = p.wrap(text, "  ")
		}
		return append(lines, list[0].cureLines(p.o, p.g, "  ")...)
	}
	lines := []string{title}
	for i := range list {
		switch {
		case level.maxList > 0 && i >= level.maxList:
			return append(lines, Dim.Paint(fmt.Sprintf("  and %d more (all with --all)", len(list)-i)))
		case level.terse && list[i].Failure == nil:
			lines = append(lines, p.one("  "+Clean(list[i].Name()+": "+list[i].Summary)))
			lines = append(lines, list[i].cureLines(p.o, p.g, "    ")...)
		default:
			lines = append(lines, list[i].lines(p.o, "  ")...)
		}
	}
	return lines
}

// gossipOnly lists host IDs that only peers know, and how ghosts among them are removed.
func (p *painter) gossipOnly(level detail) []string {
	ids := p.d.GossipOnly
	if len(ids) == 0 {
		return nil
	}
	lines := []string{Strong.Paint("Host IDs that only their peers know") + fmt.Sprintf(" (%d)", len(ids))}
	for i, id := range ids {
		if level.maxList > 0 && i >= level.maxList {
			return append(lines, Dim.Paint(fmt.Sprintf("  and %d more (all with --all)", len(ids)-i)))
		}
		at := slices.IndexFunc(p.d.Leftovers, func(g Leftover) bool { return strings.EqualFold(g.HostID, id) })
		if at < 0 {
			lines = append(lines, "  "+Clean(id))
			continue
		}
		g := p.d.Leftovers[at]
		if level.terse {
			lines = append(lines, "  "+Clean(id))
		} else {
			lines = append(lines, p.wrap("  "+Clean(g.Evidence), "    ")...)
		}
		if g.Command != "" {
			lines = append(lines, commandLines(g.Command, p.o, "    ")...)
		} else {
			lines = append(lines, p.wrap("    "+p.g.arrow+" not to be removed: "+Clean(g.Why), "      ")...)
		}
	}
	return lines
}

// notes are remarks on the reading itself.
func (p *painter) notes() []string {
	var lines []string
	for _, note := range p.d.Notes {
		lines = append(lines, p.wrap(Dim.Paint("note:")+" "+Clean(note), "  ")...)
	}
	return lines
}
