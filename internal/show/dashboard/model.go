// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The smallest screen on which everything fits.
const (
	MinWidth  = 40
	MinHeight = 12
)

// Loaded carries a snapshot. It ends a lost connection.
type Loaded struct{ Snapshot *Snapshot }

// Past carries the changes before the first snapshot that its objects lack: Events, conditions,
// replacements.
type Past struct{ Changes []Change }

// Contact means that the API server answered; the objects on the screen may still be old.
type Contact struct{}

// Lost is since when the API server is not reachable. The screen is out of date until Loaded.
type Lost struct {
	Since time.Time
	Err   error
	// Reached is set if the API server answers but the cluster is unreadable: it was deleted, or a
	// permission is missing.
	Reached bool
}

type tick time.Time

// Options of a dashboard.
type Options struct {
	Now     func() time.Time
	Actions Actions
	Profile colorprofile.Profile
	ASCII   bool
	// Words formats the commands, with the given flags.
	Words words.Printer
	// Context is the kubeconfig's context if it is not the current one.
	Context string
	// Live is set if a feed exists: a time without messages is then suspicious.
	Live bool
}

// model is the dashboard: its panes, and their common state. Only Update changes it.
type model struct {
	opts          Options
	keys          keyMap
	glyphs        show.Glyphs
	look, grey    *theme // of fresh data, and of old data
	width, height int
	snap          *Snapshot
	link          link
	matrix        matrixPane
	detail        detailPane
	findings      findingsPane
	changes       changesPane
	focus         paneID
	help          *helpPane // nil while closed
	menu          *menu     // nil while closed
	page          *pagePane // nil while closed
	prompt        prompt
	note          note
	interrupted   bool // Ctrl-C ended it
	choose        bool // the key for clusters ended it
	once          bool // it is drawn once and reads no key
}

// NewModel creates the dashboard of a first snapshot.
func NewModel(first *Snapshot, opts Options) *model {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	m := &model{opts: opts, keys: defaultKeyMap(opts.ASCII), glyphs: show.NewGlyphs(opts.ASCII), prompt: newPrompt(),
		link: link{live: opts.Live, contact: opts.Now()}}
	m.findings.lister, m.changes.lister = &m.findings, &m.changes
	m.detail = detailPane{matrix: &m.matrix, view: viewport.New()}
	m.themes(true)
	m.load(first)
	return m
}

func (m *model) themes(dark bool) {
	m.look, m.grey = &theme{}, &theme{}
	if m.opts.Profile > colorprofile.NoTTY {
		m.look, m.grey = newTheme(m.opts.Profile, dark, false), newTheme(m.opts.Profile, dark, true)
	}
}

// pane returns the panes next to or below the matrix.
func (m *model) pane(p paneID) pane {
	switch p {
	case paneFindings:
		return &m.findings
	case paneHistory:
		return &m.changes
	}
	return &m.detail
}

// view is the present context for drawing.
func (m *model) view() *view {
	v := &view{theme: m.look, fresh: m.look, Glyphs: m.glyphs, color: m.opts.Profile > colorprofile.NoTTY,
		stale: m.link.stale(), once: m.once, wall: m.opts.Now(), words: m.opts.Words, context: clean(m.opts.Context)}
	v.now = v.wall
	if v.stale || m.snap.saved != "" || m.snap.at.IsZero() {
		v.now = m.snap.at
	}
	if v.stale {
		v.theme = m.grey
	}
	return v
}

// Init requests the background colour and starts the clock.
func (m *model) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, next()) }

func next() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) }) }

// Update is the only place where state changes.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := m.opts.Now()
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.help != nil {
			m.help = newHelpPane(m.view(), &m.keys, m.width, m.height-1)
		}
	case tea.BackgroundColorMsg:
		m.themes(msg.IsDark())
	case tick: // ages increase, and the note expires
		m.link.tick(now)
		m.note.tick(now)
		cmd = next()
		if m.page != nil && m.opts.Live && !m.link.stale() {
			cmd = tea.Batch(cmd, m.page.tick(now))
		}
	case Loaded:
		m.remember(m.link.loaded(now))
		m.load(msg.Snapshot)
	case Contact:
		m.link.heard(now)
	case Past:
		m.changes.before(msg.Changes)
	case Lost:
		m.remember(m.link.lose(msg, now))
	case done:
		m.finished(msg, now)
	case pageRead:
		if m.page != nil {
			m.page.take(msg)
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		if m.prompt.open {
			cmd = m.prompt.update(msg, &m.keys, &m.matrix)
		}
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	}
	m.fit()
	return m, cmd
}

// remember adds a change unless it is nil.
func (m *model) remember(c *Change) {
	if c != nil {
		m.changes.add(m.focus == paneHistory, *c)
	}
}

// load sets a snapshot. Cursor, selected finding and menu stay on their nodes.
func (m *model) load(s *Snapshot) {
	m.snap = s
	m.changes.add(m.focus == paneHistory, s.changes...)
	m.matrix.load(s)
	m.findings.load(s)
	if !m.matrix.touched {
		m.findings.jumps = 1 // the cursor is on its first pair
	}
	m.prompt.row, m.prompt.column = m.matrix.key(m.matrix.rows.item()), m.matrix.key(m.matrix.columns.item())
	if m.menu != nil {
		was := m.menu.chosen().label()
		if !m.menu.load(s) {
			m.menu, m.note.text = nil, m.menu.verb+": "+was+" is gone"
		}
	}
}

func (m *model) small() bool { return m.width < MinWidth || m.height < MinHeight }

// fit selects the level of the matrix unless the user did, and scrolls to the cursor.
func (m *model) fit() {
	if m.small() {
		return
	}
	w := m.width
	if w >= wideScreen {
		w -= sidePane + divider
	}
	m.matrix.fit(w)
	r := m.layout(m.view()).rects[paneMatrix]
	g := m.matrix.geometry(r.w, r.h)
	m.matrix.rows.show(g.rows)
	m.matrix.columns.show(g.columns)
}

func (m *model) finished(d done, now time.Time) {
	what := strings.TrimSpace(d.verb + " " + d.target)
	if d.err != nil {
		m.note.text = what + ": " + reason(d.err)
		if !d.looked {
			m.remember(&Change{At: now, Text: m.note.text, Bad: true})
		}
		return
	}
	if d.looked {
		return
	}
	m.note.text = what + ": done"
	m.remember(&Change{At: now, Text: what + " was run from here", Good: true})
}

func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := &m.keys
	if key.Matches(msg, k.Interrupt) {
		m.interrupted = true
		return tea.Quit
	}
	if m.small() { // no action on a node that a small screen cannot show
		if key.Matches(msg, k.Quit) {
			return tea.Quit
		}
		return nil
	}
	m.note.text, m.matrix.touched = "", true
	switch {
	case m.prompt.open:
		return m.prompt.update(msg, k, &m.matrix)
	case m.menu != nil:
		return m.menuKey(msg)
	case m.help != nil:
		if m.help.update(msg, k) {
			m.help = nil
		}
		return nil
	case m.page != nil:
		return m.pageKey(msg)
	}
	return m.command(msg)
}

// command handles a key while no menu, help or prompt is open.
func (m *model) command(msg tea.KeyPressMsg) tea.Cmd {
	k := &m.keys
	switch {
	case key.Matches(msg, k.Quit):
		return tea.Quit
	case key.Matches(msg, k.Clusters):
		m.choose = true
		return tea.Quit
	case key.Matches(msg, k.Help):
		m.help = newHelpPane(m.view(), k, m.width, m.height-1)
	case key.Matches(msg, k.Tab):
		m.focus = (m.focus + 1) % panes
	case key.Matches(msg, k.BackTab):
		m.focus = (m.focus + panes - 1) % panes
	case key.Matches(msg, k.Back):
		if m.focus == paneMatrix {
			m.matrix.back()
		}
		m.focus = paneMatrix
	case key.Matches(msg, k.Filter):
		return m.prompt.begin(&m.matrix)
	case key.Matches(msg, k.Next):
		m.nextFinding(1)
	case key.Matches(msg, k.Previous):
		m.nextFinding(-1)
	case key.Matches(msg, k.Copy):
		return m.copy()
	case key.Matches(msg, k.Force):
		m.ask(forceMenu(m.opts.Actions.ForceProceed), m.opts.Actions.ForceProceed != nil)
	case key.Matches(msg, k.Replace):
		m.ask(replaceMenu(m.opts.Actions.Replace, m.underCursor()...), m.opts.Actions.Replace != nil)
	case key.Matches(msg, k.Nodetool):
		return m.nodetool(m.pair())
	case key.Matches(msg, k.Enter):
		return m.enter()
	case m.focus == paneMatrix || key.Matches(msg, k.Zoom, k.Sort):
		r := m.layout(m.view()).rects[paneMatrix]
		m.matrix.update(msg, k, m.matrix.geometry(r.w, r.h).rows)
	default:
		v := m.view()
		r := m.layout(v).rects[m.focus]
		m.pane(m.focus).update(msg, k, v, r.w, max(1, r.h-1))
	}
	return nil
}

// enter opens the selection: a finding's pair, two racks, the page of a node.
func (m *model) enter() tea.Cmd {
	switch {
	case m.focus == paneFindings:
		m.jump()
	case m.focus == paneDetail, m.focus == paneMatrix && !m.matrix.open():
		return m.openPage()
	}
	return nil
}

// nextFinding goes to the next finding and its node or pair. The first press goes to the selected
// one if the cursor is elsewhere.
func (m *model) nextFinding(by int) {
	n := m.findings.len()
	if n == 0 {
		m.note.text = m.findings.none()
		return
	}
	for range n { // to one that is at a node
		if n > 1 && m.findings.jumps > 0 {
			m.findings.at, m.findings.jumps = (m.findings.at+by+n)%n, 0
		}
		if len(m.findings.chosen().stops) > 0 {
			break
		}
		m.findings.jumps = 1
	}
	m.jump()
}

// jump puts the cursor on the next pair of the selected finding.
func (m *model) jump() {
	b := m.findings.chosen()
	if b == nil {
		return
	}
	if len(b.stops) == 0 {
		m.note.text = "no single node: " + b.text(time.Time{})
		return
	}
	stop := b.stops[m.findings.jumps%len(b.stops)]
	m.findings.jumps++
	row, column := stop[0], m.snap.columnOf(stop[1])
	if m.matrix.show(row, column) {
		m.note.text = "filter cleared to show the pair"
	}
}

// copy copies the command of the selected finding's next step to the clipboard.
func (m *model) copy() tea.Cmd {
	b := m.findings.chosen()
	if b == nil || len(b.step.Commands) == 0 {
		m.note.text = "nothing to copy: this finding has no command"
		return nil
	}
	return m.clip(m.opts.Words.Shell(b.step.Commands[0]))
}

// clip copies a command that can be undone: no single key gives a node or its data up.
func (m *model) clip(command string) tea.Cmd {
	if evidence.Destroys(strings.Fields(command)) {
		m.note.text = "not copied, because it cannot be undone: " + command
		return nil
	}
	m.note.text = "copied: " + command
	return tea.SetClipboard(command)
}

// underCursor returns the keys of the nodes under the cursor, the observed first; nil while the
// matrix shows groups.
func (m *model) underCursor() []string {
	if m.matrix.level > 0 {
		return nil
	}
	return []string{m.matrix.key(m.matrix.columns.item()), m.matrix.key(m.matrix.rows.item())}
}

// ask opens the menu of an action.
func (m *model) ask(menu *menu, possible bool) {
	menu.load(m.snap)
	switch {
	case !possible:
		m.note.text = menu.verb + ": " + cmp.Or(m.opts.Actions.Why, "not available here")
	case m.link.stale():
		m.note.text = menu.verb + ": not now: the screen is out of date, do not act on it"
	case len(menu.nodes) == 0:
		m.note.text = menu.verb + ": " + menu.nobody
	default:
		menu.propose(m.underCursor()...)
		m.menu = menu
	}
}

func (m *model) menuKey(msg tea.KeyPressMsg) tea.Cmd {
	if key.Matches(msg, m.keys.Enter) && m.link.stale() {
		m.note.text = m.menu.verb + ": not now: the screen is out of date, do not act on it"
		return nil
	}
	closed, cmd := m.menu.update(msg, &m.keys)
	if closed {
		if cmd == nil {
			m.note.text = m.menu.verb + ": nothing was changed"
		}
		m.menu = nil
	}
	return cmd
}

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.Frame())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = m.snap.name + ": " + m.snap.doc.Verdict
	return v
}

// Frame returns the screen as text, one line per line of the terminal, without a final newline.
func (m *model) Frame() string {
	if m.small() {
		return m.tooSmall()
	}
	v, c := m.view(), newCanvas(m.width, m.height)
	switch {
	case m.help != nil:
		c.all(strings.Split(m.help.view.View(), "\n"))
	case m.menu != nil:
		m.menu.draw(v, c, c.all(m.snap.header(v, &m.link, m.width, m.height))+1)
	case m.page != nil:
		m.page.draw(v, c, c.all(m.snap.header(v, &m.link, m.width, m.height))+1)
	default:
		l := m.layout(v)
		c.all(l.head)
		m.matrix.draw(v, c, l.rects[paneMatrix], m.focus == paneMatrix)
		m.drawPanes(v, c, l)
	}
	if !m.once {
		c.at(0, m.height-1, m.footer(v))
	}
	return c.String()
}

func (m *model) tooSmall() string {
	lines := []string{fmt.Sprintf("%dx%d is too small:", m.width, m.height),
		fmt.Sprintf("needs %dx%d", MinWidth, MinHeight), "", m.snap.doc.Verdict}
	if m.link.stale() {
		lines[3] = "CONNECTION LOST"
	}
	lines = lines[:max(0, min(len(lines), m.height))]
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], max(0, m.width), "")
	}
	return strings.Join(lines, "\n")
}
