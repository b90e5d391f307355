// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// The smallest screen on which everything has its place.
const (
	MinWidth  = 40
	MinHeight = 12
)

// silence is how long nothing may be heard from the feed before the screen says so by itself.
const silence = 30 * time.Second

// noteTime is how long the last line says what was just done.
const noteTime = 10 * time.Second

// Loaded brings a snapshot. It ends a lost connection.
type Loaded struct{ Snapshot *Snapshot }

// Contact says that the API server was heard; it does not say that what is shown is new.
type Contact struct{}

// Lost says that the API server cannot be reached since a moment; what is shown is old until Loaded comes.
type Lost struct {
	Since time.Time
	Err   error
	// Reached is true when the API server does answer, but not with the cluster: it is gone, or may not be read any more.
	Reached bool
}

func (l *Lost) what() string {
	if l.Reached {
		return "cannot read the cluster"
	}
	return "connection lost"
}

type tick time.Time

// done is how an action ended.
type done struct {
	verb, target string
	err          error
}

// Actions change things. They get the terminal for themselves, ask and say how it went; a nil one cannot be done, and Why says why not.
type Actions struct {
	ForceProceed, Replace func(target string) error
	Why                   string
}

// Options of a dashboard.
type Options struct {
	Now     func() time.Time
	Actions Actions
	Profile colorprofile.Profile
	ASCII   bool
	// Live is true when a feed sends: then silence is suspicious.
	Live bool
}

type pane uint8

const (
	paneMatrix pane = iota
	paneDetail
	paneBlockers
	paneHistory
	panes
)

var paneNames = [panes]string{"Who sees whom", "Detail", "Blockers", "Changes"}

type zoom uint8

const (
	zoomNodes zoom = iota
	zoomRacks
)

type sorting uint8

const (
	sortPlace sorting = iota
	sortTrouble
	sortName
	sortings
)

var sortNames = [sortings]string{"place", "trouble", "name"}

// axis is the rows or the columns: nodes, or racks.
type axis struct {
	items []int
	at    int // position of the cursor in items
	top   int // first visible position
}

// item under the cursor; -1 when there is none.
func (a *axis) item() int {
	if a.at < 0 || a.at >= len(a.items) {
		return -1
	}
	return a.items[a.at]
}

func (a *axis) move(by int) { a.at = max(0, min(a.at+by, len(a.items)-1)) }

// show scrolls so that the cursor is among size visible positions.
func (a *axis) show(size int) {
	size = max(1, size)
	if a.at < a.top {
		a.top = a.at
	}
	if a.at >= a.top+size {
		a.top = a.at - size + 1
	}
	a.top = max(0, min(a.top, len(a.items)-size))
}

// scroll moves what is visible and takes the cursor along.
func (a *axis) scroll(by, size int) {
	size = max(1, size)
	a.top = max(0, min(a.top+by, len(a.items)-size))
	a.at = max(0, min(max(a.at, a.top), a.top+size-1, len(a.items)-1))
}

func (a *axis) seek(item int) bool {
	i := slices.Index(a.items, item)
	if i >= 0 {
		a.at = i
	}
	return i >= 0
}

// list is the cursor of a pane.
type list struct{ at, top int }

// picker asks which node an action is for.
type picker struct {
	verb   string
	nodes  []int
	at     int
	run    func(target string) error
	target func(n *node) string
}

// Model is the whole state of the dashboard. Only Update changes it.
type Model struct {
	opts  Options
	keys  KeyMap
	g     glyphs
	dark  bool
	color bool
	look  *theme // of what is fresh
	grey  *theme // of what is old

	width, height int
	snap          *Snapshot
	contact       time.Time // last word of the feed
	lost          *Lost
	history       []Change

	rows, columns axis
	nodeColumns   int // columns at the zoom of nodes
	names         [2]names
	zoom          zoom
	zoomChosen    bool // by the person; else what fits
	touched       bool // the person has moved the cursor; before that it follows the trouble
	drill         *[2]int
	sort          sorting
	filter        filter
	filterErr     error

	focus   pane
	lists   [panes]list
	jump    int // observer of the chosen blocker to which enter jumps next
	input   textinput.Model
	typing  bool
	before  string // filter as it was when typing began
	anchor  [2]int // row and column as they were then: half a word must not move the cursor
	help    bool
	pick    *picker
	note    string
	noted   string // the note at the last tick, and since when
	notedAt time.Time
	// Interrupted is set when Ctrl-C ended it.
	interrupted bool
}

// NewModel makes the dashboard of a first snapshot.
func NewModel(first *Snapshot, opts Options) *Model {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	m := &Model{opts: opts, keys: DefaultKeyMap(opts.ASCII), g: newGlyphs(opts.ASCII), dark: true, color: opts.Profile > colorprofile.NoTTY, contact: opts.Now()}
	m.input = textinput.New()
	m.input.Prompt = "/"
	styles := m.input.Styles()
	styles.Cursor.Blink = false
	m.input.SetStyles(styles)
	m.themes()
	m.load(first)
	return m
}

func (m *Model) themes() {
	m.look, m.grey = &theme{}, &theme{}
	if m.color {
		m.look, m.grey = newTheme(m.dark, false), newTheme(m.dark, true)
	}
}

// Init asks for the background and starts the clock.
func (m *Model) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, next()) }

func next() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) }) }

// Update is the only place where state changes.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.fit()
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.themes()
	case tick:
		// Ages grow, and what was said is read by now.
		if m.note != m.noted {
			m.noted, m.notedAt = m.note, m.opts.Now()
		} else if m.note != "" && m.opts.Now().Sub(m.notedAt) > noteTime {
			m.note, m.noted = "", ""
		}
		return m, next()
	case Loaded:
		m.heard()
		if m.lost != nil {
			m.remember(Change{At: m.opts.Now(), Text: fmt.Sprintf("the cluster can be read again after %s", age(m.opts.Now().Sub(m.lost.Since))), Good: true})
			m.lost = nil
		}
		m.load(msg.Snapshot)
	case Contact:
		m.heard()
	case Lost:
		if m.lost == nil {
			m.remember(Change{At: m.opts.Now(), Text: msg.what() + ": " + reason(msg.Err), Bad: true})
		} else {
			msg.Since = m.lost.Since
		}
		m.lost = &msg
	case done:
		m.finished(msg)
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case tea.PasteMsg:
		if m.typing {
			return m, m.edit(msg)
		}
	case tea.MouseClickMsg:
		return m, m.click(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	}
	return m, nil
}

func (m *Model) heard() { m.contact = m.opts.Now() }

func reason(err error) string {
	if err == nil {
		return "no reason known"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

func (m *Model) remember(changes ...Change) {
	m.history = append(m.history, changes...)
	if n := len(m.history) - maxHistory; n > 0 {
		m.history = slices.Delete(m.history, 0, n)
	}
	// The newest is the first line; who looks at an older one keeps it.
	if l := &m.lists[paneHistory]; m.focus == paneHistory && l.at > 0 {
		l.at = min(l.at+len(changes), len(m.history)-1)
	}
}

func (m *Model) finished(d done) {
	what := strings.TrimSpace(d.verb + " " + d.target)
	if d.err != nil {
		m.note = what + ": " + reason(d.err)
		m.remember(Change{At: m.opts.Now(), Text: m.note, Bad: true})
		return
	}
	m.note = what + ": done"
	m.remember(Change{At: m.opts.Now(), Text: what + " was run from here", Good: true})
}

// load takes a snapshot in and keeps the cursor on the nodes where it was.
func (m *Model) load(s *Snapshot) {
	var row, column, blocker matrix.Ref
	var rowRack, columnRack string
	had := m.snap != nil
	var drilled [2]string
	if had {
		if m.zoom == zoomNodes {
			row, column = m.ref(m.rows.item()), m.ref(m.columns.item())
		} else {
			rowRack, columnRack = m.rackName(m.rows.item()), m.rackName(m.columns.item())
		}
		if m.drill != nil {
			drilled = [2]string{m.rackName(m.drill[0]), m.rackName(m.drill[1])}
		}
		if g := m.group(); g != nil {
			blocker = g.Observed
		}
	}
	m.snap = s
	if m.drill != nil {
		a, b := m.rackIndex(drilled[0]), m.rackIndex(drilled[1])
		if m.drill = nil; a >= 0 && b >= 0 {
			m.drill = &[2]int{a, b}
		}
	}
	m.remember(s.changes...)
	m.arrange()
	if had {
		if m.zoom == zoomNodes {
			m.seek(row, column)
		} else {
			m.rows.seek(m.rackIndex(rowRack))
			m.columns.seek(m.rackIndex(columnRack))
		}
	}
	if !m.touched {
		m.point()
	}
	if i := slices.IndexFunc(s.groups, func(g matrix.Group) bool { return sameRef(g.Observed, blocker) }); i >= 0 {
		m.lists[paneBlockers].at = i
	} else {
		m.lists[paneBlockers] = list{}
	}
	m.anchor = [2]int{m.rows.item(), m.columns.item()}
	if m.pick != nil {
		m.pick = nil // its nodes are numbers of the snapshot before
		m.note = "the cluster has changed: choose again"
	}
	m.fit()
}

// point puts the cursor where it matters: on the gravest pair.
func (m *Model) point() {
	if len(m.snap.groups) == 0 {
		return
	}
	g := &m.snap.groups[0]
	by := g.Observed
	if len(g.Observers) > 0 {
		by = g.Observers[0]
	}
	if m.zoom == zoomNodes {
		m.seek(by, g.Observed)
		m.jump = 1
		return
	}
	if i, ok := m.snap.find(by); ok {
		m.rows.seek(m.snap.nodes[i].rack)
	}
	if i, ok := m.snap.find(g.Observed); ok {
		m.columns.seek(m.snap.nodes[i].rack)
	}
}

func (m *Model) seek(row, column matrix.Ref) {
	if i, ok := m.snap.find(row); ok {
		m.rows.seek(i)
	}
	if i, ok := m.snap.find(column); ok {
		m.columns.seek(i)
	}
}

func sameRef(a, b matrix.Ref) bool { return a.HostID == b.HostID && a.Member == b.Member }

func (m *Model) ref(i int) matrix.Ref {
	if i < 0 || i >= len(m.snap.nodes) {
		return matrix.Ref{}
	}
	return m.snap.nodes[i].Ref
}

func (m *Model) rackName(i int) string {
	if i < 0 || i >= len(m.snap.racks) {
		return ""
	}
	return m.snap.racks[i].String()
}

func (m *Model) rackIndex(name string) int {
	return slices.IndexFunc(m.snap.racks, func(r rack) bool { return r.String() == name })
}

// arrange makes rows and columns from filter, zoom and sorting.
func (m *Model) arrange() {
	s := m.snap
	rows, columns := m.filter.apply(s)
	if m.drill != nil && m.zoom == zoomNodes {
		in := func(r int) func(int) bool { return func(i int) bool { return s.nodes[i].rack != r } }
		rows, columns = slices.DeleteFunc(rows, in(m.drill[0])), slices.DeleteFunc(columns, in(m.drill[1]))
	}
	m.nodeColumns, m.names = len(columns), s.names()
	if m.zoom == zoomRacks {
		rows, columns = s.racksOf(rows), s.racksOf(columns)
	}
	m.order(rows, true)
	m.order(columns, false)
	m.rows.items, m.columns.items = rows, columns
	m.rows.move(0)
	m.columns.move(0)
}

func (s *Snapshot) racksOf(nodes []int) []int {
	in := make([]bool, len(s.racks))
	var out []int
	for _, i := range nodes {
		if r := s.nodes[i].rack; !in[r] {
			in[r] = true
			out = append(out, r)
		}
	}
	return out
}

// order sorts; nodes come in the order of places.
func (m *Model) order(items []int, rows bool) {
	s := m.snap
	var trouble func(i int) int
	var name func(i int) string
	if m.zoom == zoomNodes {
		name = func(i int) string { return s.nodes[i].name() }
		trouble = func(i int) int {
			if rows {
				n := &s.nodes[i]
				t := 2 * n.notUp
				if !n.reports {
					t = 1
				}
				return t
			}
			return s.nodes[i].trouble()
		}
	} else {
		name = func(i int) string { return s.racks[i].String() }
		trouble = func(i int) int {
			t := 0
			for j := range s.racks {
				if rows {
					t += s.cells[i][j].notUp()
				} else {
					t += s.cells[j][i].notUp()
				}
			}
			return t
		}
	}
	switch m.sort {
	case sortPlace:
		slices.Sort(items)
	case sortTrouble:
		weight := make(map[int]int, len(items))
		for _, i := range items {
			weight[i] = trouble(i)
		}
		slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	case sortName:
		slices.SortStableFunc(items, func(a, b int) int { return strings.Compare(name(a), name(b)) })
	}
}

// fit chooses the zoom where the person has not, and brings the cursor onto the screen.
func (m *Model) fit() {
	if m.width < MinWidth || m.height < MinHeight {
		return
	}
	if !m.zoomChosen && m.drill == nil {
		want := zoomNodes
		if len(m.snap.racks) > 1 && !m.nodesFit() {
			want = zoomRacks
		}
		if want != m.zoom {
			m.setZoom(want)
		}
	}
	geo := m.geometry(m.layout())
	m.rows.show(geo.rows)
	m.columns.show(geo.columns)
}

// setZoom changes between nodes and racks and stays where the cursor was.
func (m *Model) setZoom(z zoom) {
	row, column := m.rows.item(), m.columns.item()
	was := m.zoom
	m.zoom, m.drill = z, nil
	m.arrange()
	switch {
	case was == z:
	case z == zoomRacks:
		if row >= 0 {
			m.rows.seek(m.snap.nodes[row].rack)
		}
		if column >= 0 {
			m.columns.seek(m.snap.nodes[column].rack)
		}
	default:
		if row >= 0 {
			m.rows.seek(m.snap.racks[row].members[0])
		}
		if column >= 0 {
			m.columns.seek(m.snap.racks[column].members[0])
		}
	}
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := m.keys
	if key.Matches(msg, k.Interrupt) {
		m.interrupted = true
		return tea.Quit
	}
	if m.width < MinWidth || m.height < MinHeight {
		if key.Matches(msg, k.Quit) {
			return tea.Quit
		}
		return nil // nobody should act on what cannot be seen
	}
	m.note, m.touched = "", true
	switch {
	case m.typing:
		return m.typed(msg)
	case m.pick != nil:
		return m.picked(msg)
	case m.help:
		m.helpKey(msg)
		return nil
	}
	switch {
	case key.Matches(msg, k.Quit):
		return tea.Quit
	case key.Matches(msg, k.Help):
		m.help, m.lists[paneMatrix] = true, list{}
	case key.Matches(msg, k.Tab):
		m.focus = (m.focus + 1) % panes
	case key.Matches(msg, k.BackTab):
		m.focus = (m.focus + panes - 1) % panes
	case key.Matches(msg, k.Back):
		m.back()
	case key.Matches(msg, k.Filter):
		m.typing, m.before, m.anchor = true, m.filter.text, [2]int{m.rows.item(), m.columns.item()}
		m.input.SetValue(m.filter.text)
		m.input.CursorEnd()
		return m.input.Focus()
	case key.Matches(msg, k.Sort):
		row, column := m.rows.item(), m.columns.item()
		m.sort = (m.sort + 1) % sortings
		m.arrange()
		m.rows.seek(row)
		m.columns.seek(column)
		if m.sort == sortTrouble {
			m.rows.at, m.columns.at = 0, 0 // the worst is what one wants to see
		}
	case key.Matches(msg, k.Zoom):
		m.zoomChosen = true
		m.setZoom(1 - m.zoom)
	case key.Matches(msg, k.Next):
		m.nextBlocker(1)
	case key.Matches(msg, k.Previous):
		m.nextBlocker(-1)
	case key.Matches(msg, k.Force):
		m.ask("force-proceed", m.opts.Actions.ForceProceed)
	case key.Matches(msg, k.Replace):
		m.ask("replace", m.opts.Actions.Replace)
	case key.Matches(msg, k.Enter):
		m.enter()
	case m.focus == paneMatrix:
		m.moveKey(msg)
	default:
		m.listKey(msg, &m.lists[m.focus], m.listLen(m.focus), m.listHeight(m.focus))
	}
	m.fit()
	return nil
}

// back leaves one thing: the pane, the rack, the filter.
func (m *Model) back() {
	switch {
	case m.focus != paneMatrix:
		m.focus = paneMatrix
	case m.drill != nil:
		d := *m.drill
		m.setZoom(zoomRacks)
		m.rows.seek(d[0])
		m.columns.seek(d[1])
	case m.filter.text != "":
		m.setFilter("")
	}
}

func (m *Model) enter() {
	switch {
	case m.focus == paneBlockers:
		m.jumpTo(m.lists[paneBlockers].at)
	case m.focus == paneMatrix && m.zoom == zoomRacks:
		a, b := m.rows.item(), m.columns.item()
		if a < 0 || b < 0 {
			return
		}
		m.zoom, m.drill = zoomNodes, &[2]int{a, b}
		m.arrange()
		m.rows.at, m.columns.at = 0, 0
		// Onto the first pair of the rack that is not UP.
		for i, r := range m.rows.items {
			for j, c := range m.columns.items {
				if k := m.snap.cell(r, c); k != markUp && k != markSelf && k != markNone {
					m.rows.at, m.columns.at = i, j
					return
				}
			}
		}
	case m.focus == paneMatrix:
		m.focus = paneDetail
	}
}

func (m *Model) moveKey(msg tea.KeyPressMsg) {
	k, geo := m.keys, m.geometry(m.layout())
	switch {
	case key.Matches(msg, k.Up):
		m.rows.move(-1)
	case key.Matches(msg, k.Down):
		m.rows.move(1)
	case key.Matches(msg, k.Left):
		m.columns.move(-1)
	case key.Matches(msg, k.Right):
		m.columns.move(1)
	case key.Matches(msg, k.PageUp):
		m.rows.move(-geo.rows)
	case key.Matches(msg, k.PageDown):
		m.rows.move(geo.rows)
	case key.Matches(msg, k.Top):
		m.rows.at = 0
	case key.Matches(msg, k.Bottom):
		m.rows.move(len(m.rows.items))
	case key.Matches(msg, k.First):
		m.columns.at = 0
	case key.Matches(msg, k.Last):
		m.columns.move(len(m.columns.items))
	}
}

// listKey moves in a list of n lines of which size are visible.
func (m *Model) listKey(msg tea.KeyPressMsg, l *list, n, size int) {
	k := m.keys
	was := l.at
	switch {
	case key.Matches(msg, k.Up):
		l.at--
	case key.Matches(msg, k.Down):
		l.at++
	case key.Matches(msg, k.PageUp):
		l.at -= size
	case key.Matches(msg, k.PageDown):
		l.at += size
	case key.Matches(msg, k.Top), key.Matches(msg, k.First):
		l.at = 0
	case key.Matches(msg, k.Bottom), key.Matches(msg, k.Last):
		l.at = n
	}
	l.at = max(0, min(l.at, n-1))
	if l.at != was && m.focus == paneBlockers {
		m.jump = 0
	}
}

func (m *Model) helpKey(msg tea.KeyPressMsg) {
	k := m.keys
	if key.Matches(msg, k.Help, k.Back, k.Quit, k.Enter) {
		m.help = false
		return
	}
	n, size := len(m.helpLines(m.width)), m.height-1
	l := &m.lists[paneMatrix]
	m.listKey(msg, l, max(1, n-size+1), size)
	l.top = l.at
}

// group is the chosen blocker; nil when there is none.
func (m *Model) group() *matrix.Group {
	if i := m.lists[paneBlockers].at; i >= 0 && i < len(m.snap.groups) {
		return &m.snap.groups[i]
	}
	return nil
}

// nextBlocker goes to the next blocker and its pair. The first press goes to the chosen one where the cursor is elsewhere.
func (m *Model) nextBlocker(by int) {
	n := len(m.snap.groups)
	if n == 0 {
		m.note = "no blockers: a newcomer could join now"
		return
	}
	l := &m.lists[paneBlockers]
	if n > 1 {
		if m.jump > 0 {
			l.at = (l.at + by + n) % n
		}
		m.jump = 0
	}
	m.jumpTo(l.at)
}

// jumpTo puts the cursor on a pair of the blocker, on the next one each time.
func (m *Model) jumpTo(i int) {
	if i < 0 || i >= len(m.snap.groups) {
		return
	}
	g := &m.snap.groups[i]
	by := g.Observed
	if len(g.Observers) > 0 {
		by = g.Observers[m.jump%len(g.Observers)]
	}
	m.jump++
	row, ok := m.snap.find(by)
	if !ok {
		m.note = "nothing to jump to: " + g.Text(time.Time{})
		return
	}
	column, ok := m.snap.find(g.Observed)
	if !ok || !m.snap.nodes[column].column() {
		column = -1
	}
	if m.zoom != zoomNodes || m.drill != nil {
		m.zoomChosen = true
		m.setZoom(zoomNodes)
	}
	if there := m.rows.seek(row); !there || column >= 0 && !m.columns.seek(column) {
		if m.filter.text != "" {
			m.setFilter("")
			m.note = "filter cleared to show the pair"
		}
		m.rows.seek(row)
		m.columns.seek(column)
	}
}

func (m *Model) setFilter(text string) {
	f, err := parseFilter(text)
	m.filterErr = err
	if err != nil {
		return // the old one stays until the new one can be read
	}
	row, column := m.rows.item(), m.columns.item()
	if m.typing {
		row, column = m.anchor[0], m.anchor[1]
	}
	m.filter = f
	m.arrange()
	if !m.rows.seek(row) {
		m.rows.at = 0
	}
	if !m.columns.seek(column) {
		m.columns.at = 0
	}
}

func (m *Model) typed(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(msg, m.keys.Enter):
		if m.filterErr != nil {
			return nil
		}
		m.typing = false
		m.input.Blur()
		return nil
	case msg.String() == "esc":
		m.setFilter(m.before)
		m.typing = false
		m.input.Blur()
		m.fit()
		return nil
	}
	return m.edit(msg)
}

func (m *Model) edit(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	m.setFilter(m.input.Value())
	m.fit()
	return cmd
}

// ask opens the choice of the node that an action is for.
func (m *Model) ask(verb string, run func(string) error) {
	if run == nil {
		m.note = verb + ": " + cmp.Or(m.opts.Actions.Why, "cannot be done from here")
		return
	}
	if m.stale() {
		m.note = verb + ": not now: what is shown is old, and nobody should act on it"
		return
	}
	p := &picker{verb: verb, run: run}
	var row, column int
	if m.zoom == zoomNodes {
		row, column = m.rows.item(), m.columns.item()
	} else {
		row, column = -1, -1
	}
	if verb == "force-proceed" {
		m.waiting(p, row)
	} else {
		m.replaceable(p, row, column)
	}
	if len(p.nodes) == 0 {
		m.note = verb + ": no newcomer waits, so there is nobody to let through"
		if verb == "replace" {
			m.note = verb + ": there is no node to replace"
		}
		return
	}
	m.pick = p
}

// waiting are those that force-proceed can help.
func (m *Model) waiting(p *picker, row int) {
	p.target = func(n *node) string { return n.Member }
	for i := range m.snap.nodes {
		n := &m.snap.nodes[i]
		if n.Member != "" && (n.Membership == kube.MemberNewcomer || n.Membership == kube.MemberUnknown) {
			if i == row {
				p.at = len(p.nodes)
			}
			p.nodes = append(p.nodes, i)
		}
	}
}

// replaceable are nodes that are not UP, and those under the cursor.
func (m *Model) replaceable(p *picker, row, column int) {
	p.target = func(n *node) string { return cmp.Or(n.HostID, n.Member) }
	bad := func(i int) bool {
		n := &m.snap.nodes[i]
		return n.Seen != nil && n.Seen.Status != "UP" || n.Membership == kube.MemberGhost
	}
	for i := range m.snap.nodes {
		n := &m.snap.nodes[i]
		if n.HostID == "" || n.Membership == kube.MemberNewcomer || n.Membership == kube.MemberGossipOnly || !bad(i) && i != row && i != column {
			continue
		}
		p.nodes = append(p.nodes, i)
	}
	p.at = slices.Index(p.nodes, column)
	if p.at < 0 || !bad(p.nodes[p.at]) {
		if i := slices.IndexFunc(p.nodes, bad); i >= 0 {
			p.at = i
		}
	}
	p.at = max(0, p.at)
}

func (m *Model) picked(msg tea.KeyPressMsg) tea.Cmd {
	p, k := m.pick, m.keys
	switch {
	case key.Matches(msg, k.Up):
		p.at = max(0, p.at-1)
	case key.Matches(msg, k.Down):
		p.at = min(p.at+1, len(p.nodes)-1)
	case key.Matches(msg, k.Back, k.Quit):
		m.pick = nil
		m.note = p.verb + ": nothing was changed"
	case key.Matches(msg, k.Enter):
		m.pick = nil
		n := &m.snap.nodes[p.nodes[p.at]]
		target, name := p.target(n), n.name()
		return tea.Exec(&execution{run: func() error { return p.run(target) }}, func(err error) tea.Msg {
			return done{verb: p.verb, target: name, err: err}
		})
	}
	return nil
}

// execution runs a function with the terminal handed over. The function has its own streams.
type execution struct{ run func() error }

func (e *execution) Run() error        { return e.run() }
func (*execution) SetStdin(io.Reader)  {}
func (*execution) SetStdout(io.Writer) {}
func (*execution) SetStderr(io.Writer) {}

// stale is true when what is shown may be old: the feed said so, or it has said nothing for too long.
func (m *Model) stale() bool {
	return m.lost != nil || m.opts.Live && m.opts.Now().Sub(m.contact) > silence
}

func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft || m.help || m.pick != nil || m.width < MinWidth || m.height < MinHeight {
		return nil
	}
	m.note, m.touched = "", true
	lay := m.layout()
	if r := lay.rects[paneMatrix]; r.contains(msg.X, msg.Y) {
		m.focus = paneMatrix
		geo := m.geometry(lay)
		if y := msg.Y - r.y - geo.head; y >= 0 && y < geo.rows && m.rows.top+y < len(m.rows.items) {
			m.rows.at = m.rows.top + y
		}
		if x := msg.X - r.x - geo.prefix; x >= 0 {
			if c := x / geo.cell; c < geo.columns && m.columns.top+c < len(m.columns.items) {
				m.columns.at = m.columns.top + c
			}
		}
		m.fit()
		return nil
	}
	for p := paneDetail; p < panes; p++ {
		if lay.tabs[p].contains(msg.X, msg.Y) {
			m.focus = p
			m.fit()
			return nil
		}
	}
	for p := paneDetail; p < panes; p++ {
		r := lay.rects[p]
		if !r.contains(msg.X, msg.Y) {
			continue
		}
		if p == paneBlockers {
			if i := m.blockerAt(r, msg.Y-r.y-1); i >= 0 && msg.Y > r.y {
				m.lists[p].at, m.jump = i, 0
				m.jumpTo(i)
			}
		}
		m.focus = p
		m.fit()
		return nil
	}
	return nil
}

func (m *Model) wheel(msg tea.MouseWheelMsg) {
	if m.width < MinWidth || m.height < MinHeight || m.pick != nil {
		return
	}
	by, sideways := 3, msg.Mod.Contains(tea.ModShift)
	switch msg.Button {
	case tea.MouseWheelUp:
		by = -by
	case tea.MouseWheelDown:
	case tea.MouseWheelLeft:
		by, sideways = -by, true
	case tea.MouseWheelRight:
		sideways = true
	default:
		return
	}
	if m.help {
		l := &m.lists[paneMatrix]
		l.at = max(0, min(l.at+by, len(m.helpLines(m.width))-m.height+1))
		l.top = l.at
		return
	}
	lay := m.layout()
	if lay.rects[paneMatrix].contains(msg.X, msg.Y) {
		geo := m.geometry(lay)
		if sideways {
			m.columns.scroll(by, geo.columns)
		} else {
			m.rows.scroll(by, geo.rows)
		}
		return
	}
	for p := paneDetail; p < panes; p++ {
		if lay.rects[p].contains(msg.X, msg.Y) {
			l := &m.lists[p]
			l.at = max(0, min(l.at+by/3, m.listLen(p)-1))
		}
	}
}
