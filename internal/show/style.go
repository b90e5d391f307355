// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Style is a meaning, not a colour. A word, a letter or a glyph also expresses every style.
type Style uint8

const (
	Plain  Style = iota
	Good         // UP, healthy
	Bad          // DOWN, not healthy
	Warn         // unknown, stale, waiting
	Odd          // missing
	Dim          // context
	Strong       // headers
)

// The terminal theme's sixteen colours: readable on the background that the user chose.
var looks = [...]lipgloss.Style{
	Plain:  lipgloss.NewStyle(),
	Good:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	Bad:    lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
	Warn:   lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	Odd:    lipgloss.NewStyle().Foreground(lipgloss.Magenta),
	Dim:    lipgloss.NewStyle().Faint(true),
	Strong: lipgloss.NewStyle().Bold(true),
}

// Paint returns text in the look of a style, with escape sequences. A writer of NewWriter removes
// what the terminal cannot show.
func (s Style) Paint(text string) string {
	if s == Plain || text == "" {
		return text
	}
	return looks[s].Render(text)
}

// ColorMode is the value of --color.
type ColorMode string

const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// String implements pflag.Value.
func (m *ColorMode) String() string { return string(*m) }

// Set implements pflag.Value.
func (m *ColorMode) Set(text string) error {
	v := ColorMode(text)
	if !slices.Contains([]ColorMode{ColorAuto, ColorAlways, ColorNever}, v) {
		return fmt.Errorf("must be one of auto, always, never")
	}
	*m = v
	return nil
}

// Type implements pflag.Value.
func (*ColorMode) Type() string { return "auto|always|never" }

// Profile returns the colours for w. The flag has priority over the environment. Then a non-empty
// NO_COLOR means none, CLICOLOR_FORCE means colour without a terminal, and TERM=dumb means none.
// environ has the form of os.Environ.
func Profile(w io.Writer, mode ColorMode, environ []string) colorprofile.Profile {
	switch mode {
	case ColorNever:
		return colorprofile.NoTTY
	case ColorAlways:
		// The colours of the terminal, at least sixteen.
		without := slices.DeleteFunc(slices.Clone(environ),
			func(kv string) bool { return strings.HasPrefix(kv, "NO_COLOR=") })
		return max(colorprofile.Env(without), colorprofile.ANSI)
	}
	for _, kv := range environ {
		// By convention NO_COLOR has any value; the library accepts only booleans, and keeps bold.
		if v, ok := strings.CutPrefix(kv, "NO_COLOR="); ok && v != "" {
			return colorprofile.NoTTY
		}
	}
	return colorprofile.Detect(w, environ)
}

// NewWriter passes text on to w, with escape sequences reduced to the profile.
func NewWriter(w io.Writer, profile colorprofile.Profile) io.Writer {
	return &colorprofile.Writer{Forward: w, Profile: profile}
}

// Unicode reports whether the locale in environ allows glyphs beyond ASCII. Containers often have
// no locale although the user's terminal is UTF-8. Only an explicit other locale, or the Linux
// console, returns false.
func Unicode(environ []string) bool {
	env := map[string]string{}
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	if env["TERM"] == "linux" {
		return false
	}
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env[k]); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// Options control how text is drawn.
type Options struct {
	// Width and Height of the terminal in cells; 0 means unlimited, as for a file.
	Width, Height int
	// Profile of the writer; the zero value shows no colour.
	Profile colorprofile.Profile
	// ASCII draws only ASCII glyphs.
	ASCII bool
	// Wide omits nothing: full host IDs, the whole matrix, every blocker.
	Wide bool
	// All draws every node, row and blocker, with the columns that fit.
	All bool
	// Problems draws only troubled nodes, SortBy orders them, NoHeaders omits all other lines.
	Problems  bool
	SortBy    document.SortFlag
	NoHeaders bool
	// Context is the kubeconfig's context if it is not the current one.
	Context string
	// Words formats messages, with the given global flags in every command.
	Words words.Printer
}

// Room returns the width for drawing; 0 for no limit.
func (o Options) Room() int {
	if o.Wide {
		return 0
	}
	return o.Width
}

func (o Options) glyphs() Glyphs { return NewGlyphs(o.ASCII) }
