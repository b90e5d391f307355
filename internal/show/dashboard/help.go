// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// helpPane lists every key of the key map, with the legend. It covers the screen.
type helpPane struct{ view viewport.Model }

func newHelpPane(v *view, k *keyMap, w, h int) *helpPane {
	p := &helpPane{view: viewport.New(viewport.WithWidth(w), viewport.WithHeight(max(0, h)))}
	p.view.SetContentLines(helpLines(v, k, w))
	return p
}

// update scrolls and reports whether help was left.
func (p *helpPane) update(msg tea.Msg, k *keyMap) bool {
	if msg, ok := msg.(tea.KeyPressMsg); ok && key.Matches(msg, k.Help, k.Back, k.Quit, k.Enter) {
		return true
	}
	scroll(&p.view, msg, k)
	return false
}

// keyColumn is the width of one column of keys.
const keyColumn = 30

func helpLines(v *view, k *keyMap, w int) []string {
	t := v.fresh
	all := slices.Concat(k.FullHelp()...)
	per := max(1, w/keyColumn)
	h := help.New()
	h.FullSeparator = "   "
	h.Styles = help.Styles{}
	if v.color {
		h.Styles.FullKey = lipgloss.NewStyle().Foreground(t.accent)
	}
	lines := []string{t.title.of("Keys")}
	groups := slices.Collect(slices.Chunk(all, (len(all)+per-1)/per))
	for _, text := range strings.Split(h.FullHelpView(groups), "\n") {
		lines = append(lines, "  "+strings.TrimRight(text, " "))
	}
	lines = append(lines, "", t.title.of("Cells"))
	for _, c := range []struct {
		is   grid.Mark
		what string
	}{
		{grid.Up, "the reporter (row) sees the node (column) UP"}, {grid.Down, "sees it DOWN"},
		{grid.Unknown, "does not know, or its report is stale"},
		{grid.Missing, "its report does not list the node"}, {grid.Self, "itself"},
	} {
		lines = append(lines, "  "+t.cells[c.is][lightOff].of(v.Marks[c.is])+" "+v.fitted(c.what, w-4))
	}
	text := func(s string) { lines = append(lines, texts(wrapped(nil, w, "  ", paint{}, s))...) }
	text(
		"Behind a name: J joining, L leaving, R replacing, B being replaced, X decommissioned, N new node, G member " +
			"without a Pod, g known only to gossip, ? unknown.")
	text("By rack or datacenter, a cell counts pairs: not UP of all.")
	lines = append(lines, "", t.title.of("Filter"))
	text(
		"Shows reporters whose name, host ID, place, Pod, IP or version contains all words; the columns stay. " +
			"dc:NAME and rack:NAME.")
	text(
		"state:down (up, unknown, missing): the reporters and nodes of such pairs. state: with joining, stale, " +
			"error and others: nodes in that state.")
	lines = append(lines, "", t.title.of("Actions"))
	text(
		"force-proceed and replace run the commands of the same name: they show what they will do and ask for " +
			"confirmation.")
	text(
		"enter on a pair opens the page of the node with the problem, else of the reporter: the output of describe. " +
			"tab there shows the other node.")
	text(
		"nodetool runs nodetool status on that node; the dashboard returns when it ends.")
	text(
		"y copies the command of the selected finding's next step, or on a page the node's, if the terminal allows " +
			"it (OSC 52).")
	return lines
}
