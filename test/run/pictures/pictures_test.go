// SPDX-License-Identifier: Apache-2.0

// Package pictures makes the pictures of the README from the shipped samples: `make pictures`. It draws what the plugin printed and nothing else.
package pictures

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/docs/samples"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const (
	sample        = "incident"
	width, height = 110, 30 // cells of the dashboard
)

var dir = filepath.Join("..", "..", "..", "docs", "pictures")

// TestDashboardPictureIsCurrent draws one frame of the dashboard. With -update it writes the picture.
func TestDashboardPictureIsCurrent(t *testing.T) {
	r := plugintest.Run{
		Args:    []string{"dashboard", "--from", samples.Prefix + sample, "--once", fmt.Sprintf("--width=%d", width), fmt.Sprintf("--height=%d", height), "--color=always"},
		Environ: []string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8"},
	}.Do(t)
	if r.Code != 3 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	compare(t, "dashboard.svg", picture(r.Stdout))
}

// TestPagePictureIsCurrent holds the page against the one that page.png was taken of; two runs of a browser need not give the same bytes. With
// -update it takes the picture with Chromium.
func TestPagePictureIsCurrent(t *testing.T) {
	r := plugintest.Run{Args: []string{"report", "--from", samples.Prefix + sample, "-o", "html"}}.Do(t)
	if r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	sum := sha256.Sum256([]byte(r.Stdout))
	if plugintest.Updating() {
		screenshot(t, r.Stdout)
	}
	compare(t, "page.sha256", hex.EncodeToString(sum[:])+"\n")
	if info, err := os.Stat(filepath.Join(dir, "page.png")); err != nil || info.Size() == 0 {
		t.Errorf("page.png: %v: run `make pictures`", err)
	}
}

func compare(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if plugintest.Updating() {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // a picture is for everybody
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run `make pictures`", err)
	}
	if diff := cmp.Diff(string(have), text); diff != "" {
		t.Errorf("%s is not what the plugin shows (-have +shown), run `make pictures`:\n%s", file, diff)
	}
}

func screenshot(t *testing.T, page string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is missing: the picture of the page cannot be taken")
	}
	work := t.TempDir()
	file := filepath.Join(work, "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	png, err := filepath.Abs(filepath.Join(dir, "page.png"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+work, "--hide-scrollbars", "--window-size=1100,1000", "--screenshot="+png, "file://"+file).CombinedOutput()
	if err != nil {
		t.Fatalf("take the picture: %v\n%s", err, out)
	}
}

// Cells of the picture, in pixels.
const (
	cellWidth, cellHeight = 8.4, 18.0
	margin                = 14.0
)

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// pen is how the next characters are drawn.
type pen struct {
	front, back             string
	bold, underline, invert bool
}

// picture draws lines with escape sequences for colours as an SVG.
func picture(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	w, h := 2*margin+width*cellWidth, 2*margin+float64(len(lines))*cellHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">`+"\n", w, h)
	fmt.Fprintf(&b, `<title>kubectl scylla dashboard --from %s%s</title>`+"\n", samples.Prefix, sample)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#14181f"/>`+"\n")
	for i, line := range lines {
		drawLine(&b, line, margin+float64(i)*cellHeight)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawLine(b *strings.Builder, line string, top float64) {
	column, p := 0, pen{}
	for line != "" {
		at := sgr.FindStringSubmatchIndex(line)
		plain := line
		if at != nil {
			plain = line[:at[0]]
		}
		drawText(b, plain, p, column, top)
		column += utf8.RuneCountInString(plain) // the dashboard uses no wide characters
		if at == nil {
			return
		}
		p.set(strings.Split(line[at[2]:at[3]], ";"))
		line = line[at[1]:]
	}
}

func drawText(b *strings.Builder, text string, p pen, column int, top float64) {
	n := utf8.RuneCountInString(text)
	x := margin + float64(column)*cellWidth
	front, back := p.front, p.back
	if p.invert {
		front, back = "#14181f", "#d8dee9"
	}
	if back != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`+"\n", x, top, float64(n)*cellWidth, cellHeight, back)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if front == "" {
		front = "#d8dee9"
	}
	style := ""
	if p.bold {
		style += ` font-weight="bold"`
	}
	if p.underline {
		style += ` text-decoration="underline"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.0f" fill="%s" textLength="%.1f" xml:space="preserve"%s>%s</text>`+"\n",
		x, top+13, front, float64(n)*cellWidth, style, html.EscapeString(text))
}

// set changes the pen by the numbers of one escape sequence. The plugin uses these when the terminal has all colours.
func (p *pen) set(codes []string) {
	for i := 0; i < len(codes); i++ {
		switch codes[i] {
		case "", "0":
			*p = pen{}
		case "1":
			p.bold = true
		case "4":
			p.underline = true
		case "7":
			p.invert = true
		case "38", "48":
			if i+4 >= len(codes) || codes[i+1] != "2" {
				return
			}
			color := "rgb(" + strings.Join(codes[i+2:i+5], ",") + ")"
			if codes[i] == "38" {
				p.front = color
			} else {
				p.back = color
			}
			i += 4
		}
	}
}
