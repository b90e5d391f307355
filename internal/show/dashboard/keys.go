// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keyMap has every key. Help and the last line of the screen come from it.
type keyMap struct {
	Up, Down, Left, Right, PageUp, PageDown, Top, Bottom, First, Last key.Binding
	Next, Previous                                                    key.Binding
	Enter, Back, Tab, BackTab                                         key.Binding
	Filter, Sort, Zoom                                                key.Binding
	Force, Replace, Copy                                              key.Binding
	Nodetool, Clusters, Help, Quit, Interrupt                         key.Binding
}

// defaultKeyMap has arrows, and the keys of vi. ascii names the arrows.
func defaultKeyMap(ascii bool) keyMap {
	bind := func(help, what string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
	}
	up, down, left, right := "↑/k", "↓/j", "←/h", "→/l"
	if ascii {
		up, down, left, right = "up/k", "down/j", "left/h", "right/l"
	}
	return keyMap{
		Up: bind(up, "up", "up", "k"), Down: bind(down, "down", "down", "j"), Left: bind(left, "left", "left", "h"),
		Right:  bind(right, "right", "right", "l"),
		PageUp: bind("pgup", "page up", "pgup", "ctrl+b"), PageDown: bind("pgdn", "page down", "pgdown", "ctrl+f"),
		Top: bind("g", "first row", "g"), Bottom: bind("G", "last row", "G"),
		First: bind("home/0", "first column", "home", "0"), Last: bind("end/$", "last column", "end", "$"),
		Next: bind("n", "next finding", "n"), Previous: bind("N", "previous finding", "N"),
		Enter: bind("enter", "open", "enter"), Back: bind("esc", "back", "esc", "backspace"),
		Tab: bind("tab", "next pane", "tab"), BackTab: bind("shift+tab", "previous pane", "shift+tab"),
		Filter: bind("/", "filter", "/"), Sort: bind("s", "sort", "s"), Zoom: bind("z", "nodes or racks", "z"),
		Force: bind("f", "force-proceed", "f"), Replace: bind("r", "replace", "r"),
		Copy:     bind("y", "copy", "y"),
		Nodetool: bind("t", "nodetool", "t"),
		Clusters: bind("C", "clusters", "C"),
		Help:     bind("?", "help", "?"), Quit: bind("q", "quit", "q"),
		Interrupt: bind("ctrl+c", "interrupt", "ctrl+c"),
	}
}

// offered are the possible actions. Other keys are not listed, but show the reason if pressed.
type offered struct {
	act     bool // force-proceed and nodetool
	replace bool
}

// shortHelp is the last line of the screen, most needed keys first. It omits keys that do not fit,
// and the key to replace if there is nothing to replace: no text may suggest a forbidden action.
func (k keyMap) shortHelp(can offered) []key.Binding {
	keys := []key.Binding{k.Help, k.Quit, k.Enter}
	if can.replace {
		keys = append(keys, k.Replace)
	}
	keys = append(keys, k.Next, k.Copy)
	if can.act {
		keys = append(keys, k.Force)
	}
	keys = append(keys, k.Filter, k.Tab, k.Zoom)
	if can.act {
		keys = append(keys, k.Nodetool)
	}
	return append(keys, k.Clusters, k.Sort)
}

// FullHelp returns every key in groups.
func (k keyMap) FullHelp() [][]key.Binding {
	return [][]key.Binding{
		{k.Up, k.Down, k.Left, k.Right, k.PageUp, k.PageDown, k.Top, k.Bottom, k.First, k.Last},
		{k.Next, k.Previous, k.Enter, k.Back, k.Tab, k.BackTab, k.Filter, k.Sort, k.Zoom},
		{k.Force, k.Replace, k.Nodetool, k.Copy, k.Clusters, k.Help, k.Quit, k.Interrupt},
	}
}

// vertical returns the number of lines that a key moves among n items, with page visible ones.
func (k *keyMap) vertical(msg tea.KeyPressMsg, page, n int) int {
	switch {
	case key.Matches(msg, k.Up):
		return -1
	case key.Matches(msg, k.Down):
		return 1
	case key.Matches(msg, k.PageUp):
		return -page
	case key.Matches(msg, k.PageDown):
		return page
	case key.Matches(msg, k.Top):
		return -n
	case key.Matches(msg, k.Bottom):
		return n
	}
	return 0
}

// horizontal returns the number of columns that a key moves among n columns.
func (k *keyMap) horizontal(msg tea.KeyPressMsg, n int) int {
	switch {
	case key.Matches(msg, k.Left):
		return -1
	case key.Matches(msg, k.Right):
		return 1
	case key.Matches(msg, k.First):
		return -n
	case key.Matches(msg, k.Last):
		return n
	}
	return 0
}
