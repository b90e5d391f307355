// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
)

// ErrChoose means that the user wants to choose another cluster.
var ErrChoose = errors.New("another cluster is to be chosen")

// chooser is the list of clusters, before a dashboard is shown.
type chooser struct {
	names         []string
	at            int
	left          bool // without a choice
	interrupted   bool
	keys          keyMap
	v             *view
	width, height int
}

func newChooser(names []string, at int, opts Options) *chooser {
	c := &chooser{names: names, at: max(0, at), keys: defaultKeyMap(opts.ASCII),
		v: &view{fresh: &theme{}, Glyphs: show.NewGlyphs(opts.ASCII)}}
	if opts.Profile > colorprofile.NoTTY {
		c.v.fresh = newTheme(opts.Profile, true, false)
	}
	return c
}

// Choose shows the clusters and returns the chosen one; -1 if the user left without a choice.
// Errors: ErrInterrupted; ctx's; the terminal's.
func Choose(ctx context.Context, names []string, at int, opts Options, term Terminal) (int, error) {
	c := newChooser(names, at, opts)
	_, err := program(ctx, c, term, opts.Profile).Run()
	switch {
	case c.interrupted:
		return -1, ErrInterrupted
	case ctx.Err() != nil:
		return -1, ctx.Err()
	case err != nil:
		return -1, terminalFailed(err)
	case c.left:
		return -1, nil
	}
	return c.at, nil
}

// Init implements tea.Model.
func (*chooser) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (c *chooser) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.width, c.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		c.at = max(0, min(c.at+c.keys.vertical(msg, c.height-4, len(c.names)), len(c.names)-1))
		c.interrupted = key.Matches(msg, c.keys.Interrupt)
		c.left = key.Matches(msg, c.keys.Quit, c.keys.Back)
		if c.interrupted || c.left || key.Matches(msg, c.keys.Enter) {
			return c, tea.Quit
		}
	}
	return c, nil
}

// View implements tea.Model.
func (c *chooser) View() tea.View {
	v := tea.NewView(c.frame())
	v.AltScreen = true
	return v
}

func (c *chooser) frame() string {
	if c.height < 4 {
		return ""
	}
	out := newCanvas(c.width, c.height)
	out.at(0, 0, c.v.fresh.title.of(c.v.fitted("Which cluster? They are listed as NAMESPACE/NAME.", c.width)))
	rows := c.height - 3
	first := max(0, min(c.at-rows/2, len(c.names)-rows))
	for i := first; i < min(len(c.names), first+rows); i++ {
		mark, look := "  ", paint{}
		if i == c.at {
			mark, look = c.v.Cursor+" ", c.v.fresh.chosen
		}
		out.at(0, 2+i-first, look.of(c.v.fitted(mark+clean(c.names[i]), c.width)))
	}
	out.at(0, c.height-1, c.v.fresh.dim.of(c.v.fitted("up, down choose   enter opens   esc leaves", c.width)))
	return out.String()
}
