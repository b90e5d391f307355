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

// Barrier draws the verdict: answer, state of the Pod, blockers with their next steps.
func Barrier(d *document.BarrierVerdict, o Options) string {
	g, now := o.glyphs(), d.At()
	var b strings.Builder
	add := func(lines ...string) {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	word, mark := answer(d)
	predicate := d.Verdict.Predicate()
	switch word {
	case "NOT STARTED", "PASSED":
		predicate = words.Text(d.Instead())
	case "WAIT":
		predicate = strings.TrimPrefix(predicate, "must wait: ") // the word before it
	}
	p := &painter{d: &document.ClusterStatus{Header: d.Header}, o: o, g: g}
	add(Wrap(StyleOf(mark).Paint(g.Marks[mark]+" "+word)+" "+Strong.Paint(d.Namespace+"/"+d.Name)+p.partialMark()+": "+
		Clean(predicate), o.Width, "  ")...)
	add(Wrap(Dim.Paint(Clean(standing(d, now))), o.Width, "  ")...)
	add(slices.Concat(viewLines(d, o, now), p.partial(detail{}))...)
	if r := d.Replacement; r != nil && (r.Failure != nil || r.Held || r.Cure != "") {
		title := "The replacement requires action"
		if r.Failure != nil {
			title = "The replacement failed"
		}
		add("", Bad.Paint(title))
		add(Wrap("  "+Clean(r.Summary), o.Width, "    ")...)
		add(cureLines(r, o, g, "  ")...)
	}
	if len(d.Verdict.Blockers) > 0 {
		title := "Blockers"
		if d.Verdict.Satisfied {
			title = "Overridden blockers"
		}
		total := 0
		for _, blocker := range d.Verdict.Blockers {
			total += blocker.Count()
		}
		add("", Strong.Paint(title)+fmt.Sprintf(" (%d)", total))
		add(blockerLines(d, o, now)...)
	}
	var tail []string
	for _, note := range d.Verdict.Notes {
		if note.Code == words.ReplacementAttemptFailed {
			continue // already shown above
		}
		tail = append(tail, Wrap(Dim.Paint("note:")+" "+o.Words.Text(note), o.Width, "  ")...)
	}
	if warning := contradiction(d); warning != "" {
		tail = append(tail, Wrap(Warn.Paint("warning:")+" "+Clean(warning), o.Width, "  ")...)
	}
	tail = append(tail, p.notes()...)
	if len(tail) > 0 {
		add("")
		add(tail...)
	}
	return b.String()
}

// viewLines returns the controller's view and its age; nil without one.
func viewLines(d *document.BarrierVerdict, o Options, now time.Time) []string {
	if d.View == nil {
		return nil
	}
	return Wrap(Dim.Paint(d.View.Text(now)), o.Width, "  ")
}

// blockerLines lists each blocker with both names and host IDs if they fit the screen, else grouped
// by observed node.
func blockerLines(d *document.BarrierVerdict, o Options, now time.Time) []string {
	var lines []string
	g := o.glyphs()
	for i, blocker := range d.Verdict.Blockers {
		lines = append(lines, Wrap(Bad.Paint(g.Dot)+" "+words.Aging(blocker.Message(), blocker.Since, now), o.Width,
			"  ")...)
		last := i+1 == len(d.Verdict.Blockers) || d.Verdict.Blockers[i+1].Step.Key() != blocker.Step.Key()
		if !blocker.Step.IsZero() && last {
			lines = append(lines, stepLines(blocker.Step, o)...)
		}
	}
	most := o.Height - 8
	if o.Wide || o.Height <= 0 || len(lines) <= max(most, 6) {
		return lines
	}
	groups, _ := matrix.GroupBlockers(d.Verdict.Blockers)
	return groupLines(groups, now, o, max(most, 6)/2)
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
		if groups, _ := matrix.GroupBlockers(d.Verdict.Blockers); len(groups) > 0 && !d.Verdict.Satisfied {
			why = words.Aging(groups[0].Message(), groups[0].Since, d.At())
		}
		since := words.Ago(document.TimeOf(d.Barrier.Since), d.At())
		row := []Cell{Text(d.Name), verdict, Text(string(d.Barrier.Phase)), Text(dash(since)), Text(why)}
		if !one {
			row = append([]Cell{Text(d.Namespace)}, row...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.reasons(o, len(t.Columns)-4) + views + partial + Dim.Paint("Show one: "+
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
