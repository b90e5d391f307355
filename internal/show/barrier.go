// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// answer returns the verdict in one word, with its mark.
func answer(d *document.BarrierVerdict) (string, grid.Mark) {
	switch {
	case bootstrap.Verdict(d.Verdict).Unsure():
		return "UNSURE", grid.Unknown
	case d.Verdict.Satisfied && d.Instead().Code == words.BarrierNotReached:
		return "NOT STARTED", grid.Unknown
	case d.Verdict.Satisfied && !d.Instead().IsZero():
		return "PASSED", grid.Up
	case d.Verdict.Satisfied:
		return "OPEN", grid.Up
	case d.Verdict.Decision == bootstrap.DecisionRefuse:
		return "REFUSED", grid.Down
	}
	return "WAIT", grid.Down
}

// Barrier draws the verdict: answer with its cause and next step, state of the Pod, blockers by
// cause.
func Barrier(d *document.BarrierVerdict, o Options) string {
	if o.NoHeaders {
		return PlainBarrier([]document.BarrierVerdict{*d})
	}
	p := &painter{d: &document.ClusterStatus{Header: d.Header}, o: o, g: o.glyphs()}
	sections := [][]string{p.answerLines(d), p.failureLines(d), p.blockerLines(d), p.remarkLines(d)}
	var b strings.Builder
	for _, lines := range sections {
		if len(lines) > 0 && b.Len() > 0 {
			b.WriteString("\n")
		}
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// answerLines are the answer, the decisive cause with its step, and the state of the Pod.
func (p *painter) answerLines(d *document.BarrierVerdict) []string {
	word, mark := answer(d)
	predicate := d.Verdict.Predicate()
	var cause []string
	switch word {
	case "NOT STARTED", "PASSED":
		predicate = words.Text(d.Instead())
	case "WAIT":
		predicate = strings.TrimPrefix(predicate, "must wait: ") // the word before it
		if causes := d.Causes(); len(causes) > 0 && d.Verdict.Summary.Code == words.MustWait {
			predicate = d.Why()
			if f := causes[0].Finding; f != nil && !f.Evidence.IsZero() {
				cause = p.each(Dim, p.wrap("  "+words.Text(f.Evidence), "    "))
			}
			cause = append(cause, stepLines(causes[0].Step(), p.o)...)
		}
	}
	lines := p.wrap(StyleOf(mark).Paint(p.g.Marks[mark]+" "+word)+" "+Strong.Paint(d.Namespace+"/"+d.Name)+
		p.partialMark()+": "+Clean(predicate), "  ")
	return slices.Concat(lines, cause, p.wrap(Dim.Paint(Clean(standing(d, d.At()))), "  "), viewLines(d, p.o, d.At()),
		p.partial(detail{}))
}

// failureLines are a replacement that failed or requires action, with its remedy.
func (p *painter) failureLines(d *document.BarrierVerdict) []string {
	r := d.Replacement
	if r == nil || r.Failure == nil && !r.Held && r.Cure == "" {
		return nil
	}
	title := "The replacement requires action"
	if r.Failure != nil {
		title = "The replacement failed"
	}
	return slices.Concat([]string{Bad.Paint(title)}, p.wrap("  "+Clean(r.Summary), "    "),
		cureLines(r, p.o, p.g, "  "))
}

// remarkLines are the notes of the verdict, a warning if it differs from the Pod, and the notes of
// the cluster.
func (p *painter) remarkLines(d *document.BarrierVerdict) []string {
	var lines []string
	for _, note := range d.Verdict.Notes {
		if note.Code == words.ReplacementAttemptFailed {
			continue // already shown above
		}
		lines = append(lines, p.wrap(Dim.Paint("note:")+" "+p.o.Words.Text(note), "  ")...)
	}
	if warning := contradiction(d); warning != "" {
		lines = append(lines, p.wrap(Warn.Paint("warning:")+" "+Clean(warning), "  ")...)
	}
	return append(lines, p.notes()...)
}

// viewLines returns the controller's view and its age; nil without one.
func viewLines(d *document.BarrierVerdict, o Options, now time.Time) []string {
	if d.View == nil {
		return nil
	}
	return Wrap(Dim.Paint(d.View.Text(now)), o.Width, "  ")
}

// sameReason is how many nodes with one blocker a terminal names before it counts them.
const sameReason = 3

// blockerLines lists the blockers by cause: its groups, and its step unless the answer has it. It
// lists each pair of nodes if everything is requested; a terminal counts what is repeated.
func (p *painter) blockerLines(d *document.BarrierVerdict) []string {
	if len(d.Verdict.Blockers) == 0 {
		return nil
	}
	title, total := "Blockers", 0
	if d.Verdict.Satisfied {
		title = "Overridden blockers"
	}
	for _, blocker := range d.Verdict.Blockers {
		total += blocker.Count()
	}
	causes, answered := d.Causes(), d.Verdict.Summary.Code == words.MustWait
	if answered && len(causes) == 1 && causes[0].Finding == nil {
		return nil // the answer is this blocker
	}
	head := Strong.Paint(title) + fmt.Sprintf(" (%d)", total)
	if p.o.Wide {
		return append([]string{head}, p.pairLines(d)...)
	}
	lines := []string{head}
	told := map[string]bool{}
	for i := range causes {
		cause, margin := &causes[i], ""
		step := cause.Step().Key()
		told[step] = told[step] || i == 0 && answered
		if i > 0 && cause.Finding != nil {
			lines = append(lines, p.wrap(Bad.Paint(p.g.Dot)+" "+
				Clean(words.Aging(cause.Message(), cause.Since(), d.At())), "  ")...)
			margin = "  "
		}
		lines = append(lines, p.groupLines(cause.Groups, margin, d.At())...)
		if last := i+1 == len(causes) || causes[i+1].Step().Key() != step; last && step != "" && !told[step] {
			lines, told[step] = append(lines, stepLines(cause.Step(), p.o)...), true
		}
	}
	return lines
}

// groupLines returns one line per group; on a terminal one line per reason if it has many groups.
func (p *painter) groupLines(groups []matrix.Group, margin string, now time.Time) []string {
	nodes, told := map[words.Code]int{}, map[words.Code]bool{}
	for i := range groups {
		if groups[i].Observed != (matrix.Ref{}) {
			nodes[groups[i].Reason]++
		}
	}
	var lines []string
	for i := range groups {
		g := &groups[i]
		text := words.Aging(g.Message(), g.Since, now)
		if n := nodes[g.Reason]; p.o.Height > 0 && n > sameReason && g.Observed != (matrix.Ref{}) {
			if told[g.Reason] {
				continue
			}
			told[g.Reason] = true
			text = words.Text(words.New(words.AndOfMoreNodes, "fact", text, "more", n-1))
		}
		lines = append(lines, p.wrap(margin+Bad.Paint(p.g.Dot)+" "+text, margin+"  ")...)
	}
	return lines
}

// pairLines lists each blocker, with the names and host IDs of both nodes.
func (p *painter) pairLines(d *document.BarrierVerdict) []string {
	var lines []string
	for i, blocker := range d.Verdict.Blockers {
		text := words.Aging(blocker.Message(), blocker.Since, d.At())
		lines = append(lines, p.wrap(Bad.Paint(p.g.Dot)+" "+text, "  ")...)
		last := i+1 == len(d.Verdict.Blockers) || d.Verdict.Blockers[i+1].Step.Key() != blocker.Step.Key()
		if !blocker.Step.IsZero() && last {
			lines = append(lines, stepLines(blocker.Step, p.o)...)
		}
	}
	return lines
}

// standing returns the state of the Pod and of its barrier.
func standing(d *document.BarrierVerdict, now time.Time) string {
	since := func(t *metav1.Time) string {
		return words.Since(document.TimeOf(t), now)
	}
	ago := func(t *metav1.Time) string {
		if age := words.Ago(document.TimeOf(t), now); age != "" {
			return " " + age + " ago"
		}
		return ""
	}
	var text string
	pod := document.PodText(d.Pod, d.MemberNotes)
	switch d.Barrier.Phase {
	case cluster.BarrierNoPod:
		text = "there is no Pod"
	case cluster.BarrierAbsent:
		text = "the Pod (" + pod + ") has no barrier container"
	case cluster.BarrierPending:
		text = "the barrier has not started (" + pod + ")"
		if d.Waiting != "" {
			text = "the barrier has not started: " + d.Waiting
		}
	case cluster.BarrierWaiting:
		text = "the barrier is waiting" + since(d.Barrier.Since) + " (" + pod + ")"
	case cluster.BarrierPassed:
		text = "the Pod passed its barrier" + ago(d.Barrier.Since) + " (" + pod + ")"
	case cluster.BarrierFailed:
		text = "the barrier ended with an error" + ago(d.Barrier.Since) + " (" + pod + ")"
		if !d.Barrier.Refused {
			text = "the barrier failed" + ago(d.Barrier.Since) + ": " + d.Barrier.Message
		}
	}
	text += fmt.Sprintf("; verdict from %s of cluster %s", d.Source.Used, d.Cluster)
	if d.Source.Offline {
		text += ", " + words.Saved("saved objects", d.At(), d.GeneratedAt.Time)
	}
	return text
}

// contradiction explains a verdict that differs from the state of the Pod.
func contradiction(d *document.BarrierVerdict) string {
	switch {
	case d.Barrier.Phase == cluster.BarrierAbsent && d.Membership == cluster.MemberNewcomer:
		return "this Pod has no " + api.ContainerBarrier + " container: it starts regardless of the verdict"
	case d.Barrier.Phase == cluster.BarrierWaiting && bootstrap.Verdict(d.Verdict).Unsure():
		return "the barrier has checked the volume and is still running: the volume may not allow the start; check " +
			"its log: kubectl logs " +
			d.Name + " -c " + api.ContainerBarrier + " -n " + d.Namespace
	case d.Barrier.Phase == cluster.BarrierPassed && !d.Verdict.Satisfied:
		return "the Pod has already passed its barrier; this verdict applies to a restart"
	case d.Barrier.Phase == cluster.BarrierWaiting && d.Verdict.Satisfied && d.Barrier.OfOperator:
		return "the Scylla Operator's barrier is still running: a node that joined can take 35s to appear in its " +
			"report, and it may wait although this verdict is OPEN"
	case d.Barrier.Phase == cluster.BarrierWaiting && d.Verdict.Satisfied:
		return "the barrier is still running: it opens within seconds, unless all nodes must stay UP for longer or " +
			"its reports differ"
	}
	return ""
}

// Barriers draws one line per waiting member, and the command for one member.
func Barriers(l *document.BarrierVerdictList, o Options) string {
	if o.NoHeaders {
		return PlainBarrier(l.Items)
	}
	p := &painter{d: &document.ClusterStatus{Header: document.Header{Partial: l.Partial}}, o: o}
	partial := ""
	for _, line := range p.partial(detail{}) {
		partial += line + "\n"
	}
	views := viewText(l, o)
	if len(l.Items) == 0 {
		return "No member is waiting at its barrier" + p.partialMark() + ".\n" + views + partial
	}
	g := o.glyphs()
	// A common namespace is shown once, below.
	one := !slices.ContainsFunc(l.Items,
		func(d document.BarrierVerdict) bool { return d.Namespace != l.Items[0].Namespace })
	t := &Table{Columns: []Column{{Header: "MEMBER", Min: 12, Middle: true, Last: true}, {Header: "VERDICT"},
		{Header: "BARRIER"}, {Header: "SINCE"}, {Header: "WHY", Min: 16}}}
	if !one {
		t.Columns = append([]Column{{Header: "NAMESPACE", Min: 6, Last: true}}, t.Columns...)
	}
	for i := range l.Items {
		d := &l.Items[i]
		word, mark := answer(d)
		verdict := Cell{Text: g.Marks[mark] + " " + strings.ToLower(word), Style: StyleOf(mark)}
		why := d.Verdict.Predicate()
		if not := d.Instead(); d.Verdict.Satisfied && !not.IsZero() {
			why = words.Text(not)
		}
		if !d.Verdict.Satisfied && len(d.Causes()) > 0 {
			why = d.Why()
		}
		since := words.Ago(document.TimeOf(d.Barrier.Since), d.At())
		row := []Cell{Text(d.Name), verdict, Text(string(d.Barrier.Phase)), Text(dash(since)), Text(why)}
		if !one {
			row = append([]Cell{Text(d.Namespace)}, row...)
		}
		t.Rows = append(t.Rows, row)
	}
	steps := stepsOf(l, o)
	if o.Height > 0 {
		o.Height = max(1, o.Height-strings.Count(steps, "\n"))
	}
	return t.reasons(o, len(t.Columns)-4) + steps + views + partial + Dim.Paint("Show one: "+
		o.Words.Shell(words.Scylla(l.Items[0].Namespace, "barrier", l.Items[0].Name))) + "\n"
}

// viewText returns the controller's view of each cluster, with its age; empty without one.
func viewText(l *document.BarrierVerdictList, o Options) string {
	var b strings.Builder
	for i := range l.Views {
		v := &l.Views[i]
		line := v.Text(l.At())
		if len(l.Views) > 1 {
			line = v.Namespace + "/" + v.Cluster + ": " + line
		}
		for _, part := range Wrap(Dim.Paint(Clean(line)), o.Width, "  ") {
			b.WriteString(part + "\n")
		}
	}
	return b.String()
}

// stepsOf returns the step of each decisive cause once, with the cause if there are several.
func stepsOf(l *document.BarrierVerdictList, o Options) string {
	var first []*diagnosis.Cause // one for each step
	steps, told := map[string]bool{}, map[string]bool{"": true}
	for i := range l.Items {
		causes := l.Items[i].Causes()
		if len(causes) == 0 {
			continue
		}
		step := causes[0].Step().Key()
		if steps[step] = true; !told[step] && !l.Items[i].Verdict.Satisfied {
			first, told[step] = append(first, &causes[0]), true
		}
	}
	var b strings.Builder
	for _, c := range first {
		var lines []string
		if len(steps) > 1 {
			lines = Wrap(Bad.Paint(o.glyphs().Dot)+" "+Clean(words.Text(c.Message())), o.Width, "  ")
		}
		for _, line := range append(lines, stepLines(c.Step(), o)...) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
