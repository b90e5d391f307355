// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Several clusters are a list; the key that leaves it chooses none.
func TestChooser(t *testing.T) {
	names := []string{"db/orders", "shop/carts"}
	for i := range 40 {
		names = append(names, fmt.Sprintf("test/t%02d", i))
	}
	for name, tc := range map[string]struct {
		keys              []tea.Key
		at                int
		left, interrupted bool
	}{
		"down, enter":   {keys: []tea.Key{{Code: tea.KeyDown}, {Code: tea.KeyEnter}}, at: 1},
		"the last":      {keys: []tea.Key{{Code: 'G', Text: "G"}, {Code: tea.KeyDown}, {Code: tea.KeyEnter}}, at: 41},
		"q leaves":      {keys: []tea.Key{{Code: 'q', Text: "q"}}, left: true},
		"esc leaves":    {keys: []tea.Key{{Code: tea.KeyEscape}}, left: true},
		"ctrl+c breaks": {keys: []tea.Key{{Code: 'c', Mod: tea.ModCtrl}}, interrupted: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChooser(names, -1, Options{Profile: colorprofile.NoTTY})
			c.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			var cmd tea.Cmd
			for _, k := range tc.keys {
				_, cmd = c.Update(tea.KeyPressMsg(k))
			}
			if !quits(cmd) || c.at != tc.at || c.left != tc.left || c.interrupted != tc.interrupted {
				t.Errorf("at %d, left %v, interrupted %v, ends %v", c.at, c.left, c.interrupted, quits(cmd))
			}
		})
	}
	c := newChooser(names, 1, Options{Profile: colorprofile.NoTTY})
	c.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	screenFile(t, "clusters_80x24", c.frame())
}

// The cause and its command are in view at 80x24, whatever the panes show; what is unknown is not drawn.
func TestTheCauseIsInView(t *testing.T) {
	waits := newWorld(3, 1)
	waits.newcomers = []string{"demo-dc1-rack1-1"}
	for name, tc := range map[string]struct {
		world *world
		want  []string
	}{
		"DOWN":      {demo(), []string{"demo-dc1-rack3-0 DOWN", "kubectl logs demo-dc1-rack3-0 -c scylla --previous -n demo"}},
		"partition": {newWorld(2, 2).apart(), []string{"do not see each other", "fix the network first"}},
		"waiting":   {waits, []string{"demo-dc1-rack1-1 waiting for", "kubectl scylla barrier demo-dc1-rack1-1 -n demo"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, tc.world, 80, 24, plain)
			for _, k := range []string{"", "tab", "tab", "tab", "tab", "z", "z", "n", "n", "esc"} {
				s.press(k)
				s.has(tc.want...)
				s.lacks("disk unknown", "host ID is unknown", ", IP ")
			}
		})
	}
}
