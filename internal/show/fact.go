// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// FactColumn is where the texts of facts begin.
const FactColumn = 17

// Fact is one line of a page about one object: a name and a text. Without a name it continues the fact before it; without both it is a blank line. Texts are clean.
type Fact struct {
	Name, Text string
	Style      Style
	// Command is true for a line that is a command and nothing else: it is never broken, so that it can be copied whole.
	Command bool
}

// StepFacts is a next step under a name: its words, then each command on a line of its own.
func StepFacts(name string, style Style, m words.Message, p words.Printer) []Fact {
	var out []Fact
	for _, part := range p.Parts(m) {
		text := strings.Trim(part.Text, " ;&")
		if text == "" {
			continue
		}
		out = append(out, Fact{Name: name, Text: text, Style: style, Command: part.Command})
		name = ""
	}
	return out
}

// Facts is the page as text. The first line's name stands out.
func Facts(facts []Fact) string {
	var b strings.Builder
	for i, f := range facts {
		name := f.Name
		if name != "" {
			name += ":"
		}
		if f.Text != "" {
			pad := strings.Repeat(" ", max(1, FactColumn-len(name)))
			if i == 0 {
				name = Strong.Paint(f.Name) + ":"
			}
			b.WriteString(name + pad + f.Style.Paint(f.Text))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
