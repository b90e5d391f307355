// SPDX-License-Identifier: Apache-2.0

package show

import (
	"bytes"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	columns := []Column{{Header: "#", Right: true}, {Header: "HOST_ID"}, {Header: "MEMBER", Min: 8, Middle: true, Last: true}, {Header: "POD", Min: 4}}
	rows := [][]Cell{
		{Text("1"), Text("abc"), Text("demo-dc1-rack1-0"), {Text: "✓ Running", Style: Good}},
		{Text("10"), Text(""), Text("demo-dc1-rack1-10"), Text("Pending")},
	}
	cases := map[string]struct {
		table Table
		width int
		want  string
	}{
		"as wide as it needs, headers as they are": {Table{Columns: columns, Rows: rows}, 0,
			" #  HOST_ID  MEMBER             POD\n 1  abc      demo-dc1-rack1-0   ✓ Running\n10           demo-dc1-rack1-10  Pending\n"},
		"narrower: first the space between columns goes": {Table{Columns: columns, Rows: rows}, 38,
			" # HOST_ID MEMBER            POD\n 1 abc     demo-dc1-rack1-0  ✓ Running\n10         demo-dc1-rack1-10 Pending\n"},
		"narrower: then columns in their order": {Table{Columns: columns, Rows: rows}, 34,
			" # HOST_ID MEMBER            POD\n 1 abc     demo-dc1-rack1-0  ✓ Ru…\n10         demo-dc1-rack1-10 Pend…\n"},
		"narrower: names last and in the middle": {Table{Columns: columns, Rows: rows}, 28,
			" # HOST_ID MEMBER       POD\n 1 abc     demo-…ack1-0 ✓ R…\n10         demo-…ck1-10 Pen…\n"},
		"what may not be cut stays": {Table{Columns: []Column{{Header: "A"}}, Rows: [][]Cell{{Text("never cut this")}}}, 5, "A\nnever cut this\n"},
		"no header, indented":       {Table{Columns: columns[:2], Rows: [][]Cell{rows[0][:2]}, NoHeader: true, Indent: "  "}, 0, "  1  abc\n"},
		"nothing is nothing":        {Table{Columns: columns}, 0, ""},
		"names from outside do not move the cursor": {Table{Columns: []Column{{Header: "A"}, {Header: "B"}}, Rows: [][]Cell{{Text("x\x1b[2J\ny"), Text("\u009b31m")}}}, 0,
			"A        B\nx [2J y  <U+009B>31m\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ansi.Strip(c.table.String(c.width, "…"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableColoursAfterLayout(t *testing.T) {
	table := Table{Columns: []Column{{Header: "A"}, {Header: "B"}}, Rows: [][]Cell{{{Text: "UP", Style: Good}, {Text: "DOWN", Style: Bad}}}}
	want := "\x1b[1mA   B\x1b[m\n\x1b[32mUP\x1b[m  \x1b[1;31mDOWN\x1b[m\n"
	if diff := cmp.Diff(want, table.String(0, "…")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTableFitsWheneverItsColumnsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "columns")
		table, least := Table{}, narrowGap*(n-1)
		for i := range n {
			c := Column{Header: "H", Min: rapid.IntRange(1, 5).Draw(t, "min"), Middle: rapid.Bool().Draw(t, "middle"), Last: rapid.Bool().Draw(t, "last")}
			table.Columns = append(table.Columns, c)
			least += c.Min
			_ = i
		}
		draw := rapid.StringOf(rapid.RuneFrom([]rune("abc-.é日✓ ")))
		name := draw.Draw(t, "name") // of every row: different names may need more
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			var row []Cell
			for i := range n {
				if table.Columns[i].Middle {
					row = append(row, Cell{Text: name})
					continue
				}
				row = append(row, Cell{Text: draw.Draw(t, "text"), Style: Style(rapid.IntRange(0, 6).Draw(t, "style"))})
			}
			table.Rows = append(table.Rows, row)
		}
		// Two-cell runes may leave one cell unused, never take one too many.
		width := rapid.IntRange(least, 60).Draw(t, "width")
		text := table.String(width, "…")
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			if w := lipgloss.Width(line); w > width {
				t.Fatalf("line is %d wide, %d allowed: %q", w, width, line)
			}
		}
		if got, want := strings.Count(text, "\n"), len(table.Rows)+1; got != want {
			t.Fatalf("%d lines, want %d: %q", got, want, text)
		}
	})
}

// Two names that differ never look the same, however narrow the screen is.
func TestNamesStayDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Table{Columns: []Column{{Header: "M", Min: 1, Middle: true}, {Header: "H"}}}
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`orders-(eu|us)-[a-c]{1,6}-rack[1-3]-[0-9]{1,2}`), 1, 8, rapid.ID[string]).Draw(t, "names")
		for _, name := range names {
			table.Rows = append(table.Rows, []Cell{Text(name), Text("x")})
		}
		seen := map[string]bool{}
		for line := range strings.Lines(table.String(rapid.IntRange(1, 40).Draw(t, "width"), "…")) {
			seen[line] = true
		}
		if len(seen) != len(names)+1 {
			t.Fatalf("%d different lines of %d names", len(seen)-1, len(names))
		}
	})
}

func TestShorten(t *testing.T) {
	cases := map[string]struct {
		text   string
		width  int
		middle bool
		want   string
	}{
		"short enough":             {"abc", 3, false, "abc"},
		"at the end":               {"abcdef", 4, false, "abc…"},
		"in the middle":            {"abcdefgh", 5, true, "ab…gh"},
		"the end gets the odd one": {"abcdefgh", 6, true, "ab…fgh"},
		"no room for the mark":     {"abc", 1, false, "a"},
		"no room at all":           {"abc", 0, false, ""},
		"wide characters":          {"日本語日本語", 5, false, "日本…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Shorten(c.text, c.width, c.middle, "…"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestProfile(t *testing.T) {
	xterm := []string{"TERM=xterm-256color"}
	cases := map[string]struct {
		mode    ColorMode
		environ []string
		want    colorprofile.Profile
	}{
		"a file gets no colour":                           {ColorAuto, xterm, colorprofile.NoTTY},
		"CLICOLOR_FORCE colours a file":                   {ColorAuto, append([]string{"CLICOLOR_FORCE=1"}, xterm...), colorprofile.ANSI256},
		"NO_COLOR with any value wins over it":            {ColorAuto, append([]string{"CLICOLOR_FORCE=1", "NO_COLOR=yes"}, xterm...), colorprofile.NoTTY},
		"an empty NO_COLOR means nothing":                 {ColorAuto, append([]string{"CLICOLOR_FORCE=1", "NO_COLOR="}, xterm...), colorprofile.ANSI256},
		"--color=always wins over NO_COLOR":               {ColorAlways, append([]string{"NO_COLOR=1"}, xterm...), colorprofile.ANSI256},
		"--color=always on a dumb terminal":               {ColorAlways, []string{"TERM=dumb"}, colorprofile.ANSI},
		"--color=never wins over CLICOLOR_FORCE":          {ColorNever, append([]string{"CLICOLOR_FORCE=1"}, xterm...), colorprofile.NoTTY},
		"--color=always takes what the terminal can show": {ColorAlways, []string{"TERM=xterm", "COLORTERM=truecolor"}, colorprofile.TrueColor},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Profile(&bytes.Buffer{}, c.mode, c.environ); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestUnicode(t *testing.T) {
	cases := map[string]struct {
		environ []string
		want    bool
	}{
		"no locale, as in containers": {nil, true},
		"UTF-8":                       {[]string{"LANG=de_DE.UTF-8"}, true},
		"UTF-8 in another spelling":   {[]string{"LANG=C.utf8"}, true},
		"the C locale":                {[]string{"LANG=C"}, false},
		"LC_ALL wins":                 {[]string{"LANG=en_US.UTF-8", "LC_ALL=POSIX"}, false},
		"the Linux console":           {[]string{"TERM=linux", "LANG=en_US.UTF-8"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Unicode(c.environ); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestColorModeRefusesOtherValues(t *testing.T) {
	m := ColorAuto
	if err := m.Set("sometimes"); err == nil {
		t.Error("sometimes was taken")
	}
	if err := m.Set("never"); err != nil || m != ColorNever {
		t.Errorf("never: %v, %v", m, err)
	}
}

func TestWrapKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9-]{1,36}`), 1, 30).Draw(t, "words")
		width := rapid.IntRange(10, 80).Draw(t, "width")
		lines := Wrap(strings.Join(words, " "), width, "  ")
		if diff := cmp.Diff(words, strings.Fields(strings.Join(lines, " "))); diff != "" {
			t.Fatalf("words changed: %s", diff)
		}
		for _, line := range lines {
			if lipgloss.Width(line) > width && len(strings.Fields(line)) > 1 {
				t.Fatalf("line too long though it could be broken: %q at %d", line, width)
			}
		}
	})
}
