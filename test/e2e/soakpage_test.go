// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/xml"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"
)

// panel is one chart of the page: lines over the same time axis.
type panel struct {
	title string
	limit float64 // drawn as a line of its own; 0: none
	lines []line
}

// line is one of what was measured.
type line struct {
	name, colour string
	of           func(sampleOf) float64
}

const (
	pageWidth, panelHeight, panelGap = 1000.0, 130.0, 46.0
	plotLeft, plotRight              = 60.0, 20.0
)

// draw is the page: what was measured, with the faults and operations, and what was lost.
func (s *soaking) draw() string {
	panels := []panel{
		{title: "Nodes", lines: []line{
			{"members", "#888", func(m sampleOf) float64 { return m.members }},
			{"UP for all", "#1a7f37", func(m sampleOf) float64 { return m.up }},
		}},
		{title: "Resident memory, MiB", limit: 128, lines: []line{
			{"controller, of 128", "#0550ae", func(m sampleOf) float64 { return m.memory }},
			{"a reporter, of 128", "#bc4c00", func(m sampleOf) float64 { return m.reporterMemory }},
		}},
		{title: "Goroutines of the controller", lines: []line{{"", "#0550ae", func(m sampleOf) float64 { return m.goroutines }}}},
		{title: "Writes to the API server in the minute before", lines: []line{
			{"controller", "#0550ae", func(m sampleOf) float64 { return m.byController }},
			{"members", "#bc4c00", func(m sampleOf) float64 { return m.byReporters }},
		}},
	}
	return page(time.Since(s.began), s.summary(), panels, s.samples, s.marks)
}

// summary is the text above the charts.
func (s *soaking) summary() []string {
	counts := map[string]int{}
	for _, m := range s.marks {
		counts[m.what]++
	}
	return []string{
		fmt.Sprintf("%d Pods of simulated ScyllaDB, and one more each 5 minutes, for %.0f minutes, on three Kubernetes nodes of one machine with %d cores.", *soakPods, soak.Minutes(), runtime.NumCPU()),
		"5 % of the nodes are paused once a minute, for 10 to 50 s. ScyllaDB sees a node DOWN after 20 s.",
		fmt.Sprintf("Crashes of the controller: %d. Joins: %d, cancelled by ScyllaDB: %d. Replacements: %d, further attempts: %d.", counts[crashes], counts[joined], s.lost, counts[replaced], s.again),
		fmt.Sprintf("After each round: rows of Pods that the report lacks: %d; values of another writer that are gone: %d.", s.stale, s.erased),
	}
}

// page draws the panels one below the other, as SVG.
func page(length time.Duration, summary []string, panels []panel, samples []sampleOf, marks []mark) string {
	var b strings.Builder
	top := 30 + 20*float64(len(summary)+1)
	height := top + float64(len(panels))*(panelHeight+panelGap) + 10
	x := func(at time.Duration) float64 {
		return plotLeft + (pageWidth-plotLeft-plotRight)*at.Seconds()/length.Seconds()
	}
	text := func(x, y float64, style, words string) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" %s>`, x, y, style)
		_ = xml.EscapeText(&b, []byte(words))
		b.WriteString("</text>\n")
	}
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", pageWidth, height)
	text(plotLeft, 24, `font-size="16" font-weight="bold"`, "Soak test")
	for i, words := range summary {
		text(plotLeft, 44+20*float64(i), "", words)
	}
	text(plotLeft, 44+20*float64(len(summary)), `fill="#555"`, "Red: the controller crashes, or a join is cancelled. Grey: a node fails. Green: a node has joined, or has been replaced.")
	for i, p := range panels {
		y0 := top + float64(i)*(panelHeight+panelGap) + 22
		most := p.limit
		for _, l := range p.lines {
			for _, m := range samples {
				if v := l.of(m); v > most { // never NaN
					most = v
				}
			}
		}
		most = max(most*1.05, 1)
		y := func(v float64) float64 { return y0 + panelHeight*(1-v/most) }
		text(plotLeft, y0-8, `font-weight="bold"`, p.title)
		for j, l := range p.lines {
			text(pageWidth-plotRight-170*float64(len(p.lines)-j), y0-8, fmt.Sprintf("fill=%q", l.colour), l.name)
		}
		fmt.Fprintf(&b, `<rect x="%.0f" y="%.1f" width="%.0f" height="%.0f" fill="none" stroke="#ccc"/>`+"\n", plotLeft, y0, pageWidth-plotLeft-plotRight, panelHeight)
		for _, v := range []float64{0, most / 2.1, most / 1.05} {
			text(plotLeft-6, y(v)+4, `text-anchor="end" fill="#555"`, fmt.Sprintf("%.0f", v))
		}
		for at := time.Duration(0); at <= length; at += soakRound {
			text(x(at), y0+panelHeight+14, `text-anchor="middle" fill="#555"`, fmt.Sprintf("%.0f min", at.Minutes()))
		}
		for _, m := range marks {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke=%q stroke-opacity="0.5"/>`+"\n", x(m.at), y0, y0+panelHeight, markColour[m.what])
		}
		for _, l := range p.lines {
			path, move := "", "M"
			for _, m := range samples {
				if math.IsNaN(l.of(m)) {
					move = "M"
					continue
				}
				path += fmt.Sprintf("%s%.1f %.1f", move, x(m.at), y(l.of(m)))
				move = "L"
			}
			fmt.Fprintf(&b, `<path d=%q fill="none" stroke=%q stroke-width="1.5"/>`+"\n", path, l.colour)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
