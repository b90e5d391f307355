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

// Style is a meaning, not a colour. Every style is also expressed by a word, a letter or a glyph.
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

// The sixteen colours of the terminal's own theme: readable on light and dark backgrounds because the person chose them.
var looks = [...]lipgloss.Style{
	Plain:  lipgloss.NewStyle(),
	Good:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	Bad:    lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
	Warn:   lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	Odd:    lipgloss.NewStyle().Foreground(lipgloss.Magenta),
	Dim:    lipgloss.NewStyle().Faint(true),
	Strong: lipgloss.NewStyle().Bold(true),
}

// Paint gives text in the look of a style, with escape sequences; a writer of NewWriter takes out what the terminal cannot show.
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

// String, Set and Type make ColorMode a flag that refuses other values when it is parsed.
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

// Profile decides the colours for w. The flag wins over the environment; then NO_COLOR with any value but the empty one means none, CLICOLOR_FORCE means colour without a
// terminal, and TERM=dumb means none. environ has the form of os.Environ.
func Profile(w io.Writer, mode ColorMode, environ []string) colorprofile.Profile {
	switch mode {
	case ColorNever:
		return colorprofile.NoTTY
	case ColorAlways:
		// The colours that the terminal could show; at least the sixteen.
		without := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "NO_COLOR=") })
		return max(colorprofile.Env(without), colorprofile.ANSI)
	}
	for _, kv := range environ {
		// The NO_COLOR convention accepts any value; the library below only knows boolean ones, and keeps bold.
		if v, ok := strings.CutPrefix(kv, "NO_COLOR="); ok && v != "" {
			return colorprofile.NoTTY
		}
	}
	return colorprofile.Detect(w, environ)
}

// NewWriter passes text on to w, with escape sequences reduced to what the profile can show.
func NewWriter(w io.Writer, profile colorprofile.Profile) io.Writer {
	return &colorprofile.Writer{Forward: w, Profile: profile}
}

// Unicode tells from the locale in environ whether glyphs beyond ASCII can be shown. Containers often have no locale at all while the
// terminal at the other end is UTF-8, so only an explicit other locale, or the Linux console, means no.
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
	// Width and Height of the terminal in cells; 0 means unlimited, as when standard output is a file.
	Width, Height int
	// Profile of the writer; the zero value shows no colour.
	Profile colorprofile.Profile
	// ASCII draws without glyphs beyond ASCII.
	ASCII bool
	// Wide leaves nothing out: full host IDs, the whole matrix, every blocker.
	Wide bool
	// All draws every node, row and blocker, with the columns that fit.
	All bool
	// Problems draws only nodes in trouble, SortBy orders them, NoHeaders leaves all but their lines out.
	Problems  bool
	SortBy    document.SortFlag
	NoHeaders bool
	// Context is the kubeconfig's context, where it is not the current one.
	Context string
	// Words says messages, with the global flags that were given in every command.
	Words words.Printer
}

// Room is the width of what is drawn; 0 for no limit.
func (o Options) Room() int {
	if o.Wide {
		return 0
	}
	return o.Width
}

func (o Options) glyphs() Glyphs { return NewGlyphs(o.ASCII) }
