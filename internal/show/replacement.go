// SPDX-License-Identifier: Apache-2.0

package show

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// replacementLines are the lines of a replacement on a screen: its state, then the remedy.
func replacementLines(r *document.Replacement, o Options, lead string) []string {
	g := o.glyphs()
	lines := Wrap(lead+Clean(r.Name()+": "+r.Summary), o.Width, lead+"  ")
	return append(lines, cureLines(r, o, g, lead+"  ")...)
}

func cureLines(r *document.Replacement, o Options, g Glyphs, lead string) []string {
	if r.Cure == "" {
		return nil
	}
	if !r.CureMessage.IsZero() {
		return stepLinesAt(lead, r.CureMessage, o)
	}
	return Wrap(lead+g.Arrow+" "+Clean(r.Cure), o.Width, lead+"  ")
}

// commandLines returns a command on its own unwrapped line, to be copied whole.
func commandLines(c words.Command, o Options, lead string) []string {
	return []string{lead + o.glyphs().Arrow + " " + Clean(o.Words.Shell(c))}
}
