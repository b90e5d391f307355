// SPDX-License-Identifier: Apache-2.0

package document

import "github.com/kubectl-scylla/kubectl-scylla/internal/words"

// Repeat adds the given flags to every command of the items.
func Repeat[T any, P interface {
	*T
	Repeat(words.Printer)
}](p words.Printer, items []T) {
	for i := range items {
		P(&items[i]).Repeat(p)
	}
}

// Repeat adds the given flags to every command of the document.
func (d *ClusterStatus) Repeat(p words.Printer) {
	Repeat(p, d.Findings)
	repeatBlockers(p, d.Blockers)
	Repeat(p, d.Newcomers)
	Repeat(p, d.Replacements)
	Repeat(p, d.Leftovers)
	Repeat(p, d.Afterwards)
}

// Repeat as for ClusterStatus.
func (l *ClusterStatusList) Repeat(p words.Printer) { Repeat(p, l.Items) }

// Repeat as for ClusterStatus.
func (d *BarrierVerdict) Repeat(p words.Printer) {
	Repeat(p, d.Findings)
	repeatBlockers(p, d.Verdict.Blockers)
	p.Flag(&d.Verdict.Summary)
	for i := range d.Verdict.Notes {
		p.Flag(&d.Verdict.Notes[i])
	}
	if d.Replacement != nil {
		d.Replacement.Repeat(p)
	}
}

// Repeat as for ClusterStatus.
func (l *BarrierVerdictList) Repeat(p words.Printer) { Repeat(p, l.Items) }

// Repeat as for ClusterStatus.
func (f *Finding) Repeat(p words.Printer) { p.Flag(&f.Message, &f.Evidence, &f.Step) }

// Repeat as for ClusterStatus.
func (n *Newcomer) Repeat(p words.Printer) { p.Flag(&n.Summary) }

// Repeat as for ClusterStatus.
func (r *Replacement) Repeat(p words.Printer) {
	if !r.CureMessage.IsZero() {
		r.Cure = p.Text(r.CureMessage)
	}
	if r.Failure != nil && !r.Failure.cure.IsZero() {
		r.Failure.Cure = p.Text(r.Failure.cure)
	}
}

// Repeat as for ClusterStatus.
func (g *Leftover) Repeat(p words.Printer) {
	if g.Remove != nil {
		g.Command = p.Shell(g.Remove)
	}
}

// Repeat as for ClusterStatus.
func (a *Afterwards) Repeat(p words.Printer) {
	for i := range a.Tasks {
		t := &a.Tasks[i]
		p.Flag(&t.Text)
		t.Command = p.WithFlags(t.Command)
	}
}

func repeatBlockers(p words.Printer, blockers Blockers) {
	for i := range blockers {
		p.Flag(&blockers[i].Cause, &blockers[i].Step)
	}
}
