// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func mark(c CheckInfo) show.Cell {
	switch {
	case c.Result == replace.OK:
		return show.Cell{Text: "ok", Style: show.Good}
	case c.Skipped:
		return show.Cell{Text: string(c.Result) + ", skipped", Style: show.Warn}
	case c.Result == replace.Failed:
		return show.Cell{Text: "failed", Style: show.Bad}
	}
	return show.Cell{Text: "unknown", Style: show.Warn}
}

// checksTable lists checks. Evidence wraps in its column and is never cut, because the user decides
// by it.
func checksTable(checks []CheckInfo, o show.Options) string {
	t := show.Table{Indent: "  ", Columns: []show.Column{{Header: "CHECK"}, {Header: "RESULT"}, {Header: "EVIDENCE"}}}
	used := 2
	wide := [2]int{len("CHECK"), len("RESULT")}
	for _, c := range checks {
		wide[0], wide[1] = max(wide[0], len(c.Name)), max(wide[1], len(mark(c).Text))
	}
	used += wide[0] + wide[1] + 4
	room := 0
	if o.Width > used+20 {
		room = o.Width - used
	}
	for _, c := range checks {
		for i, line := range show.Wrap(show.Clean(words.Text(c.Evidence)), room, "") {
			if i == 0 {
				t.Rows = append(t.Rows, []show.Cell{show.Text(c.Name), mark(c), show.Text(line)})
			} else {
				t.Rows = append(t.Rows, []show.Cell{show.Text(""), show.Text(""), show.Text(line)})
			}
		}
	}
	return t.String(0, "...")
}

// Text returns the plan as text.
func (d *PlanDocument) Text(o show.Options) string {
	b := &lines{}
	if !d.Allowed {
		// The most important parts first; the reasons are below, with their evidence.
		b.line("%s", show.Bad.Paint("Refused: "+d.heldUp()+"."))
		b.line("")
	}
	// Text from objects may contain terminal control sequences, which Clean removes.
	title := "Replace"
	if d.Resume {
		title = "Resume the replacement of"
	}
	b.line("%s",
		show.Strong.Paint(
			show.Clean(fmt.Sprintf("%s %s/%s, a node of cluster %s", title, d.Namespace, d.Name, d.Cluster))))
	how := "by host ID"
	if d.Procedure == replace.ByAddress {
		how = fmt.Sprintf("by its address %s, which is deprecated: upgrade to ScyllaDB 5.2, 2023.1 or later", d.Address)
	}
	b.line("  host ID   %s", show.Clean(orDash(string(d.Member.HostID))))
	b.line("  place     %s/%s", show.Clean(orDash(d.Member.Datacenter)), show.Clean(orDash(d.Member.Rack)))
	b.line("  how       ScyllaDB %s, %s, done by %s", show.Clean(orDash(d.Version)), show.Clean(how), d.ManagedBy)
	b.line("")
	d.status(b, o)
	d.deleted(b)
	b.line("%s", show.Strong.Paint("Then"))
	from := "streams the data from"
	if !d.StreamsKnown {
		from = "streams the data that has replicas on"
	}
	b.line("  the StatefulSet recreates both, and a new node with a new host ID %s", from)
	for _, l := range show.Wrap(strings.Join(d.Streams, ", "), room(o, 4), "") {
		b.line("    %s", show.Clean(l))
	}
	if len(d.Streams) == 0 {
		why := "no other node is known to be running"
		if d.StreamsKnown {
			why = "no running node has a replica of its data"
		}
		b.line("    none: %s", why)
	}
	b.line("%s", show.Strong.Paint("Cannot be undone"))
	b.line(
		"  the deleted data; and as soon as the new node requests the replacement, even if that fails, the cluster " +
			"permanently bans")
	for _, id := range d.Banned {
		b.line("    %s", show.Clean(string(id)))
	}
	b.line("")
	b.WriteString(checksTable(d.Checks, o))
	d.outcome(b, o)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// lines builds a text from lines.
type lines struct{ strings.Builder }

func (l *lines) line(format string, args ...any) { _, _ = fmt.Fprintf(l, format+"\n", args...) }

// status repeats the problems of the cluster before the person is asked. A step that names this
// very command is left out.
func (d *PlanDocument) status(b *lines, o show.Options) {
	const most = 4
	if len(d.Findings) == 0 {
		return
	}
	b.line("%s", show.Strong.Paint("Status"))
	for i := range d.Findings[:min(most, len(d.Findings))] {
		f := &d.Findings[i]
		texts := []string{f.Text(d.at)}
		if !f.Step.IsZero() && !diagnosis.MayReplace(f.Step) {
			texts = append(texts, "> "+o.Words.Text(f.Step))
		}
		for _, text := range texts {
			for _, l := range show.Wrap(text, room(o, 4), "  ") {
				b.line("  %s", show.Clean(l))
			}
		}
	}
	if more := len(d.Findings) - most; more > 0 {
		b.line("  and %s", words.Count(more, "more problem", "more problems"))
	}
	b.line("")
}

// deleted lists the objects to delete.
func (d *PlanDocument) deleted(b *lines) {
	b.line("%s", show.Strong.Paint("Would be deleted"))
	for _, c := range d.Claims {
		size := ""
		if c.Size != "" {
			size = c.Size + ", "
		}
		b.line("  PersistentVolumeClaim %s (%sUID %s) with all its data", show.Clean(c.Name), size, c.UID)
	}
	if len(d.Claims) == 0 {
		b.line("  no PersistentVolumeClaim: none exists")
	}
	if d.Pod != nil {
		on := ""
		if d.Pod.KubernetesNode != "" {
			on = " on Kubernetes node " + d.Pod.KubernetesNode
		}
		b.line("  Pod %s (UID %s)%s, by eviction", show.Clean(d.Pod.Name), d.Pod.UID, show.Clean(on))
	}
}

// outcome shows whether the replacement is allowed, and if not, why.
func (d *PlanDocument) outcome(b *lines, o show.Options) {
	for _, c := range d.Checks {
		if !c.blocks() {
			continue
		}
		for i, l := range show.Wrap(c.Name+": "+words.Text(c.Cure), room(o, 4), "") {
			lead := "  > "
			if i > 0 {
				lead = "    "
			}
			b.line("%s%s", lead, show.Clean(l))
		}
	}
	for _, text := range document.ProblemLines(d.Partial) {
		b.line("  %s %s", show.Warn.Paint("not read:"), show.Clean(text))
	}
	b.line("")
	if d.Allowed {
		b.line("%s", passed(d.Checks))
	}
}

// heldUp counts and names the checks that block: those that failed, then those that could not be
// evaluated.
func (d *PlanDocument) heldUp() string {
	var failed, unknown, parts []string
	for _, c := range d.Checks {
		switch {
		case !c.blocks():
		case c.Result == replace.Unknown:
			unknown = append(unknown, c.Name)
		default:
			failed = append(failed, c.Name)
		}
	}
	if len(failed) > 0 {
		parts = append(parts, words.Count(len(failed), "check", "checks")+" failed ("+strings.Join(failed, ", ")+")")
	}
	if len(unknown) > 0 {
		parts = append(parts, words.Count(len(unknown), "check", "checks")+" could not be evaluated ("+
			strings.Join(unknown, ", ")+")")
	}
	return strings.Join(parts, ", ")
}

func passed(checks []CheckInfo) string {
	skipped := 0
	for _, c := range checks {
		if c.Skipped {
			skipped++
		}
	}
	if skipped == 0 {
		return show.Good.Paint(fmt.Sprintf("All %d checks passed.", len(checks)))
	}
	return show.Warn.Paint(fmt.Sprintf("%d of %d checks passed, %d skipped on request.", len(checks)-skipped,
		len(checks), skipped))
}

func room(o show.Options, indent int) int {
	if o.Width <= indent+20 {
		return 0
	}
	return o.Width - indent
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
