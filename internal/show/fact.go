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

// Facts returns the page as text of at most width cells, 0 for no limit, with a bold first name.
// A text continues at FactColumn; the text after the first name at column 2.
func Facts(facts []Fact, width int) string {
	var b strings.Builder
	for i, f := range facts {
		name := f.Name
		if name != "" {
			name += ":"
		}
		if f.Text != "" {
			pad := strings.Repeat(" ", max(1, FactColumn-len(name)))
			indent := strings.Repeat(" ", FactColumn)
			if i == 0 {
				name, indent = Strong.Paint(f.Name)+":", "  "
			}
			limit := width
			if f.Command {
				limit = 0
			}
			// A word as wide as what precedes the text stands for it.
			lead := Width(name + pad)
			lines := Wrap(strings.Repeat("_", lead)+f.Text, limit, indent)
			lines[0] = lines[0][lead:]
			for k, line := range lines {
				rest := strings.TrimLeft(line, " ")
				lines[k] = line[:len(line)-len(rest)] + f.Style.Paint(rest)
			}
			b.WriteString(name + pad + strings.Join(lines, "\n"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
