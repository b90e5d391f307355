// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 60}}

// thousand nodes in ten racks; one is down.
func thousand() *world { return newWorld(10, 100).down("demo-dc1-rack7-42") }

func TestGoldenFrames(t *testing.T) {
	worlds := map[string]func() *world{
		"healthy": func() *world { return newWorld(3, 1) },
		"down":    demo,
		"silent": func() *world {
			w := newWorld(3, 2)
			w.lease = start.Add(-1e12)
			w.silent["demo-dc1-rack2-1"] = true
			return w
		},
		"partial": func() *world {
			w := newWorld(3, 2)
			w.problems = []cluster.Problem{{Verb: "list", Resource: "pods", Kind: cluster.ProblemForbidden, Message: "pods may not be listed in namespace demo"}}
			return w
		},
		"partition": func() *world { return newWorld(2, 2).apart() },
		"waiting":   func() *world { w := newWorld(3, 1); w.newcomers = []string{"demo-dc1-rack1-1"}; return w },
		"no rights": func() *world {
			w := newWorld(3, 2)
			w.unread = true
			return w
		},
		"claim deleting": func() *world {
			w := newWorld(3, 2)
			w.deleting = "demo-dc1-rack2-1"
			return w
		},
		"thousand": thousand,
		"begins":   func() *world { w := newWorld(0, 0); w.newcomers = []string{"demo-dc1-rack1-0"}; return w },
		"two datacenters": func() *world {
			w := newWorld(2, 3)
			w.datacenters = []string{"dc1", "dc2"}
			w.ghosts["demo-dc2-rack2-2"] = true
			return w.sees("demo-dc2-rack1-0", "demo-dc1-rack1-1", api.NodeStatusDown)
		},
	}
	// Every state where most terminals are; the sizes at which something else is left out or broken, once each. TestAnythingGoes has that all fit.
	more := map[string][][2]int{"down": {{40, 12}, {120, 40}, {200, 60}}, "two datacenters": {{120, 40}}, "thousand": {{200, 60}}, "silent": {{40, 12}}}
	for name, w := range worlds {
		for _, size := range append(more[name], [2]int{80, 24}) {
			name := fmt.Sprintf("%s %dx%d", name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				screenFile(t, strings.ReplaceAll(name, " ", "_"), newScreen(t, w(), size[0], size[1], plain).Frame())
			})
		}
	}
}

// A frame that is printed offers no key, and every line of it is for the cluster.
func TestOnceOffersNoKey(t *testing.T) {
	for name, w := range map[string]*world{"nodes": demo(), "racks": thousand()} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s %dx%d", name, size[0], size[1]), func(t *testing.T) {
				frame := Once(w.first(), Options{Profile: colorprofile.NoTTY}, size[0], size[1])
				offers := []string{"enter opens"}
				for _, k := range defaultKeyMap(false).shortHelp(offered{true, true}) {
					offers = append(offers, k.Help().Key+" "+k.Help().Desc)
				}
				for _, o := range offers {
					if strings.Contains(frame, o) {
						t.Errorf("it offers %q:\n%s", o, frame)
					}
				}
				if n := strings.Count(frame, "\n") + 1; n != size[1] || !strings.Contains(frame, "demo/demo") {
					t.Errorf("%d lines, want %d and the name of the cluster:\n%s", n, size[1], frame)
				}
			})
		}
	}
}

// What a key opens, at the size that most terminals have.
func TestGoldenViews(t *testing.T) {
	for name, keys := range map[string]string{
		"findings": "tab tab", "changes": "shift+tab", "help": "?", "choice": "r", "filter": "/ state:down", "racks": "z", "rack": "z enter", "newcomer": "down down",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, demo(), 80, 24, plain, func(o *Options) { o.Actions.Replace = func(string) error { return nil } })
			s.press(strings.Fields(keys)...)
			screenFile(t, "view_"+name, s.Frame())
		})
	}
	t.Run("ascii", func(t *testing.T) {
		frame := newScreen(t, demo(), 120, 40, plain, func(o *Options) { o.ASCII = true }).Frame()
		screenFile(t, "view_ascii", frame)
		if i := strings.IndexFunc(frame, func(r rune) bool { return r > 126 }); i >= 0 {
			t.Errorf("not ASCII: %q", frame[i:min(i+20, len(frame))])
		}
	})
}

func TestColours(t *testing.T) {
	dark, light := newScreen(t, demo(), 80, 24), newScreen(t, demo(), 80, 24)
	light.send(lightBackground)
	screenFile(t, "colour_dark", dark.Frame())
	screenFile(t, "colour_light", light.Frame())
	if dark.Frame() == light.Frame() {
		t.Error("the background does not matter")
	}
	lost := newScreen(t, demo(), 80, 24)
	lost.send(Lost{Since: start})
	screenFile(t, "colour_lost", lost.Frame())
	none := newScreen(t, demo(), 80, 24, plain).Frame()
	if strings.Contains(none, "\x1b") {
		t.Error("NO_COLOR has escape sequences")
	}
	// Colour only repeats: without it the same is on the screen, but for capitals that stand for the highlighted tab.
	if a, b := strings.ToUpper(stripped(dark.Frame())), strings.ToUpper(none); trimmed(a) != trimmed(b) {
		t.Errorf("without colour something else is said:\n%s\n%s", a, b)
	}
}

func trimmed(s string) string { return regexp.MustCompile(` +(\n|$)`).ReplaceAllString(s, "$1") }

// Each state has a glyph of its own and a colour of its own, on both backgrounds.
func TestStatesDifferInGlyphAndColour(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		seen := map[string]grid.Mark{}
		for m, glyph := range show.NewGlyphs(ascii).Marks {
			if other, ok := seen[glyph]; ok {
				t.Errorf("marks %d and %d are both %q", m, other, glyph)
			}
			seen[glyph] = grid.Mark(m)
		}
	}
	for _, isDark := range []bool{false, true} {
		seen := map[string]grid.Mark{}
		for _, m := range []grid.Mark{grid.Up, grid.Down, grid.Unknown, grid.Missing} {
			pre := newTheme(colorprofile.TrueColor, isDark, false).cells[m][lightOff].pre
			if other, ok := seen[pre]; ok {
				t.Errorf("marks %d and %d have the same colour", m, other)
			}
			seen[pre] = m
		}
	}
}

// Row and column of the cursor have a grey background where there are enough colours for one.
func TestCrosshair(t *testing.T) {
	for profile, want := range map[colorprofile.Profile]string{
		colorprofile.ANSI256: "48;5;236", colorprofile.TrueColor: "48;2;43;52;64",
	} {
		if pre := newTheme(profile, true, false).cells[grid.Up][lightCross].pre; !strings.Contains(pre, want) {
			t.Errorf("%v: the crosshair is %q, want %s", profile, pre, want)
		}
	}
	if pre := newTheme(colorprofile.ANSI, true, false).cells[grid.Up][lightCross].pre; strings.Contains(pre, "48;") {
		t.Errorf("16 colours have no grey for the crosshair, which is %q", pre)
	}
}

// In 256 colours the greys of crosshair and cursor are greys of that palette, differ from each other, and no other line has one, on dark and light grounds.
func TestCrosshairIn256Colours(t *testing.T) {
	for dark, want := range map[bool][2]string{true: {"48;5;236", "48;5;240"}, false: {"48;5;254", "48;5;251"}} {
		theme := newTheme(colorprofile.ANSI256, dark, false)
		for _, m := range []grid.Mark{grid.None, grid.Self, grid.Up, grid.Down, grid.Unknown, grid.Missing} {
			base, cross, cursor := theme.cells[m][lightOff].pre, theme.cells[m][lightCross].pre, theme.cells[m][lightCursor].pre
			if strings.Contains(base, "48;") || !strings.Contains(cross, want[0]) || !strings.Contains(cursor, want[1]) {
				t.Errorf("dark %v, mark %d: without cursor %q, crosshair %q, cursor %q", dark, m, base, cross, cursor)
			}
		}
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		s := newScreen(t, demo(), size[0], size[1], func(o *Options) { o.Profile = colorprofile.ANSI256 })
		frame := s.Frame()
		marks := strings.Count(frame, "✓") + strings.Count(frame, "✗")
		if crossed := strings.Count(frame, "48;5;236"); crossed == 0 || crossed >= marks || !strings.Contains(frame, "48;5;240") {
			t.Errorf("%dx%d: %d grey cells among %d marks, or no cursor:\n%q", size[0], size[1], crossed, marks, frame)
		}
	}
}

// On 80x24 the last line has the keys that act on the node under the cursor; the key of replace only while there is a node to replace.
func TestFooterHasTheKeysThatAct(t *testing.T) {
	cut := demo()
	for _, a := range cut.places() {
		for _, b := range cut.places() {
			if (a.rack == "rack1") != (b.rack == "rack1") {
				cut.sees(a.name, b.name, api.NodeStatusDown)
			}
		}
	}
	cut.since = start.Add(-time.Hour)
	dead := newWorld(3, 1).down("demo-dc1-rack3-0")
	dead.since = start.Add(-time.Hour)
	young := newWorld(3, 1).down("demo-dc1-rack3-0")
	open := newWorld(3, 1)
	open.replacing = "demo-dc1-rack3-0"
	for name, tc := range map[string]struct {
		world   *world
		replace bool
	}{
		"nobody is DOWN":            {newWorld(3, 1), false},
		"one is DOWN, for a moment": {young, false},
		// no object shows that the data of a Pod that crashes is lost
		"one is DOWN, for an hour":       {dead, false},
		"a partition, for an hour":       {cut, false},
		"a replacement is asked for":     {open, true},
		"newcomers, and some are not UP": {demo(), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range [][2]int{{80, 24}, {40, 12}} {
				s := newScreen(t, tc.world, size[0], size[1], plain)
				lines := strings.Split(strings.TrimRight(ansi.Strip(s.Frame()), "\n"), "\n")
				last := lines[len(lines)-1]
				if got := strings.Contains(last, "r replace"); got != tc.replace {
					t.Errorf("%v: the footer offers to replace: %t: %s", size, got, last)
				}
				if !strings.Contains(last, "enter open") || size[0] == 80 && !strings.Contains(last, "f force-proceed") {
					t.Errorf("%v: the footer lacks a key: %s", size, last)
				}
				if ansi.StringWidth(last) > size[0] {
					t.Errorf("%v: the footer is too long: %s", size, last)
				}
			}
		})
	}
}

// Help lists every key of the map, and the last line only keys that are in it.
func TestHelpIsTheKeyMap(t *testing.T) {
	s := newScreen(t, demo(), 80, 24)
	text := stripped(strings.Join(helpLines(s.view(), &s.keys, 80), "\n"))
	full := map[string]bool{}
	for _, group := range s.keys.FullHelp() {
		for _, k := range group {
			full[k.Help().Key] = true
			if !strings.Contains(text, k.Help().Key) || !strings.Contains(text, k.Help().Desc) {
				t.Errorf("help lacks %q", k.Help())
			}
		}
	}
	for _, k := range s.keys.shortHelp(offered{true, true}) {
		if !full[k.Help().Key] {
			t.Errorf("%q is only in the last line", k.Help())
		}
	}
	taken := map[string]string{}
	for _, group := range s.keys.FullHelp() {
		for _, k := range group {
			for _, name := range k.Keys() {
				if other, ok := taken[name]; ok {
					t.Errorf("%q means %q and %q", name, other, k.Help().Desc)
				}
				taken[name] = k.Help().Desc
			}
		}
	}
	if !key.Matches(tea.KeyPressMsg{Code: 'q', Text: "q"}, s.keys.Quit) {
		t.Error("q does not quit")
	}
}

func TestThousandNodes(t *testing.T) {
	s := newScreen(t, thousand(), 120, 40)
	s.has("by rack", "✗", "demo-dc1-rack7-42 DOWN")
	s.press("enter")
	s.has("dc1/rack1 on dc1/rack7", "columns")
	if got := s.at(); got != "rack1-0 on rack7-42" {
		t.Errorf("opening the racks puts the cursor on %s", got)
	}
	s.press("esc", "z", "G", "$")
	if got := s.at(); got != "rack9-99 on rack9-99" { // racks are ordered by their names
		t.Errorf("the last pair is %s", got)
	}
	s.has("of 1000")
	s.press("/", "state:down", "enter")
	s.has("(999 by 1)")
}

func TestViewAsksForTheWholeTerminal(t *testing.T) {
	v := newScreen(t, demo(), 80, 24).View()
	if !v.AltScreen || v.MouseMode != tea.MouseModeCellMotion || v.WindowTitle != "demo/demo: NOT HEALTHY" {
		t.Errorf("%+v", v)
	}
}
