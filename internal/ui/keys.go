// SPDX-License-Identifier: Apache-2.0

package ui

import "charm.land/bubbles/v2/key"

// KeyMap is every key. Help is made from it and from nothing else.
type KeyMap struct {
	Up, Down, Left, Right, PageUp, PageDown, Top, Bottom, First, Last key.Binding
	Next, Previous                                                    key.Binding
	Enter, Back, Tab, BackTab                                         key.Binding
	Filter, Sort, Zoom                                                key.Binding
	Force, Replace                                                    key.Binding
	Help, Quit, Interrupt                                             key.Binding
}

// DefaultKeyMap has arrows for everybody and letters for those who know vi. ascii writes the arrows in words.
func DefaultKeyMap(ascii bool) KeyMap {
	bind := func(help, what string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
	}
	up, down, left, right := "↑/k", "↓/j", "←/h", "→/l"
	if ascii {
		up, down, left, right = "up/k", "down/j", "left/h", "right/l"
	}
	return KeyMap{
		Up: bind(up, "up", "up", "k"), Down: bind(down, "down", "down", "j"), Left: bind(left, "left", "left", "h"), Right: bind(right, "right", "right", "l"),
		PageUp: bind("pgup", "page up", "pgup", "ctrl+b"), PageDown: bind("pgdn", "page down", "pgdown", "ctrl+f"),
		Top: bind("g", "first row", "g"), Bottom: bind("G", "last row", "G"),
		First: bind("home/0", "first column", "home", "0"), Last: bind("end/$", "last column", "end", "$"),
		Next: bind("n", "next blocker", "n"), Previous: bind("N", "previous blocker", "N"),
		Enter: bind("enter", "open", "enter"), Back: bind("esc", "back", "esc", "backspace"),
		Tab: bind("tab", "next pane", "tab"), BackTab: bind("shift+tab", "previous pane", "shift+tab"),
		Filter: bind("/", "filter", "/"), Sort: bind("s", "sort", "s"), Zoom: bind("z", "nodes or racks", "z"),
		Force: bind("f", "force-proceed", "f"), Replace: bind("r", "replace", "r"),
		Help: bind("?", "help", "?"), Quit: bind("q", "quit", "q"), Interrupt: bind("ctrl+c", "interrupt", "ctrl+c"),
	}
}

// ShortHelp is the last line of the screen, the most needed first: what does not fit is left out.
func (k KeyMap) ShortHelp() []key.Binding {
	return []key.Binding{k.Help, k.Quit, k.Next, k.Enter, k.Tab, k.Filter, k.Zoom, k.Sort, k.Force, k.Replace}
}

// FullHelp is every key in groups.
func (k KeyMap) FullHelp() [][]key.Binding {
	return [][]key.Binding{
		{k.Up, k.Down, k.Left, k.Right, k.PageUp, k.PageDown, k.Top, k.Bottom, k.First, k.Last},
		{k.Next, k.Previous, k.Enter, k.Back, k.Tab, k.BackTab, k.Filter, k.Sort, k.Zoom},
		{k.Force, k.Replace, k.Help, k.Quit, k.Interrupt},
	}
}
