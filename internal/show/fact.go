// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// FactColumn is the column at which the texts of facts begin.
const FactColumn = 17

// Fact is one line about an object: a name and a text. Without a name it continues the previous
// fact; without both it is a blank line. Texts are clean.
type Fact struct {
	Name, Text string
	Style      Style
	// Command is set if the line is only a command: it is never broken, to be copied whole.
	Command bool
}

// StepFacts returns a next step under a name: its text, then each command on its own line.
func StepFacts(name string, style Style, m words.Message, p words.Printer) []Fact {
	var out []Fact
	for _, part := range p.Parts(m) {
		// a full stop or semicolon would begin the line after a command
		text := strings.TrimRight(strings.TrimLeft(part.Text, " ;&."), " ;&")
		if text == "" {
			continue
		}
		out = append(out, Fact{Name: name, Text: text, Style: style, Command: part.Command})
		name = ""
	}
	return out
}

// Facts returns the page as text, with a bold first name.
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
