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

func newHelpPane(v *view, k *KeyMap, w, h int) *helpPane {
	p := &helpPane{view: viewport.New(viewport.WithWidth(w), viewport.WithHeight(max(0, h)))}
	p.view.SetContentLines(helpLines(v, k, w))
	return p
}

// update scrolls; true says that help is left.
func (p *helpPane) update(msg tea.Msg, k *KeyMap) bool {
	if msg, ok := msg.(tea.KeyPressMsg); ok && key.Matches(msg, k.Help, k.Back, k.Quit, k.Enter) {
		return true
	}
	scroll(&p.view, msg, k)
	return false
}

// keyColumn is the width that one column of keys needs.
const keyColumn = 30

func helpLines(v *view, k *KeyMap, w int) []string {
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
		{grid.Up, "the reporter (row) sees the node (column) UP"}, {grid.Down, "sees it DOWN"}, {grid.Unknown, "cannot say, or its row is old"},
		{grid.Missing, "its row lacks the node"}, {grid.Self, "itself"},
	} {
		lines = append(lines, "  "+t.cells[c.is][lightOff].of(v.Marks[c.is])+" "+v.fitted(c.what, w-4))
	}
	text := func(s string) { lines = append(lines, texts(wrapped(nil, w, "  ", paint{}, s))...) }
	text("Behind a name: J joining, L leaving, R replacing, B being replaced, X decommissioned, N newcomer, G member without a Pod, g known to gossip only, ? not known.")
	text("By rack or datacenter, a cell counts pairs: not UP of all.")
	lines = append(lines, "", t.title.of("Filter"))
	text("Words that name, host ID, place, Pod, IP or version of the reporter contain, all of them; the columns stay. dc:NAME and rack:NAME; of: before a word is for the columns (of:rack3-0: how each node sees it).")
	text("state:down (up, unknown, missing): the reporters that say so, and the nodes of which they say it. state: with newcomer, ghost, joining, stale, error...: such nodes.")
	lines = append(lines, "", t.title.of("Actions"))
	text("force-proceed and replace run the commands of the same name: they show what they will do and ask.")
	text("enter on a pair opens the page of the node in trouble, else of the reporter: all that describe says of it; tab there goes to the other of the two.")
	text("logs, exec (a shell), cqlsh and nodetool (status) run the verbs of the same name on that node; the dashboard comes back when they end.")
	text("y copies the command of the chosen blocker's next step, on a page that of the node's, where the terminal allows it (OSC 52).")
	return lines
}
