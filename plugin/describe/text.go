// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// maxNames limits the node names per line, maxEvents the Events without -o wide.
	maxNames, maxEvents = 6, 8
)

// page collects the text.
type page struct {
	facts []show.Fact
	o     show.Options
	now   time.Time
}

// Facts returns the document as one screen: the cause first, then the node's statuses in the rows,
// then the Kubernetes objects. The command prints them; the dashboard shows them as a page.
func (d *Document) Facts(o show.Options) []show.Fact {
	p := &page{o: o, now: document.TimeOf(d.TakenAt)}
	d.head(p)
	p.line(show.Plain, "Based on", d.View.Text(p.now))
	p.line(show.Plain, "Credential", d.RootCredential)
	d.seen(p)
	d.kubernetes(p)
	d.said(p)
	for _, line := range d.Partial {
		p.line(show.Warn, "Not read", line)
	}
	return p.facts
}

// logFacts are the facts of a log alone.
func (d *Document) logFacts(o show.Options) []show.Fact {
	p := &page{o: o}
	d.log(p)
	return p.facts[1:] // without the blank line before the log
}

// line adds one fact. It removes control sequences from external text.
func (p *page) line(s show.Style, name, text string) {
	if text != "" {
		p.facts = append(p.facts, show.Fact{Name: name, Text: show.Clean(text), Style: s})
	}
}

// more adds a line that continues the previous one.
func (p *page) more(s show.Style, text string) { p.line(s, "", text) }

// command adds a command on its own line.
func (p *page) command(c words.Command) {
	p.facts = append(p.facts, show.Fact{Text: p.o.Words.Shell(c), Style: show.Strong, Command: true})
}

func (p *page) blank() { p.facts = append(p.facts, show.Fact{}) }

func (d *Document) head(p *page) {
	n := &d.Node
	name := cmp.Or(n.Member, string(n.HostID))
	verdict, style := "no problems found", show.Good
	problems := slices.DeleteFunc(slices.Clone(d.Findings), func(f document.Finding) bool { return f.Remark })
	remarks := slices.DeleteFunc(slices.Clone(d.Findings), func(f document.Finding) bool { return !f.Remark })
	switch {
	case len(problems) > 0:
		// The line begins with the name already.
		verdict, style = strings.TrimPrefix(problems[0].Text(p.now), name+" "), show.Bad
	case d.Newcomer != nil && !d.Newcomer.MayStart:
		verdict, style = words.Text(d.Newcomer.Summary), show.Warn
	case len(remarks) > 0:
		verdict, style, remarks = strings.TrimPrefix(remarks[0].Text(p.now), name+" "), show.Warn, remarks[1:]
	}
	p.line(style, show.Clean(d.Namespace+"/"+name), verdict)
	for _, f := range d.Findings {
		if !f.Evidence.IsZero() && !f.Remark {
			p.line(show.Plain, "Evidence", words.Text(f.Evidence))
		}
	}
	for _, f := range remarks {
		p.line(show.Plain, "Remark", f.Text(p.now))
	}
	for _, f := range problems[min(1, len(problems)):] {
		p.line(show.Bad, "Also", f.Text(p.now))
	}
	d.next(p)
	p.blank()
	p.line(show.Plain, "Host ID", cmp.Or(string(n.HostID), "unknown"))
	p.line(show.Plain, "Place", placeText(n))
	membership := document.MembershipText(n.Membership)
	if n.Detail != "" && n.Membership != cluster.MemberGhost { // its text has the detail
		membership += ", " + n.Detail
	}
	p.line(show.Plain, "Membership", membership)
	p.line(show.Plain, "Version",
		strings.Join(slices.DeleteFunc([]string{n.Version, n.OperationMode, n.Image},
			func(s string) bool { return s == "" }), ", "))
	p.line(show.Plain, "Process", processText(n))
	p.notes(n)
	if d.Replacement != nil {
		p.line(show.Warn, "Replacement", d.Replacement.Summary)
	}
	if !d.Automatic.IsZero() {
		p.line(show.Warn, "Automatic", words.Text(d.Automatic))
	}
}

// next adds the next step, and where to read of the cluster's other problems.
func (d *Document) next(p *page) {
	switch {
	case !d.NextStep.IsZero():
		step := d.NextStep
		if step.Code == words.SeeHaltedScyllaDB {
			step.Commands = step.Commands[:min(1, len(step.Commands))] // the second is this page
		}
		p.facts = append(p.facts, show.StepFacts("Next", show.Strong, step, p.o.Words)...)
		for _, c := range d.evidence() {
			p.more(show.Plain, "cannot be undone; evidence: "+words.Text(evidence.Message(c)))
		}
	case d.Newcomer != nil && !d.Newcomer.MayStart:
		p.line(show.Strong, "Next", "show what to do:")
		p.command(words.Scylla(d.Namespace, "barrier", d.Node.Member))
	}
	if d.OtherProblems > 0 {
		which := "the cluster has " + words.Count(d.OtherProblems, "problem", "problems")
		if d.Newcomer != nil && !d.Newcomer.MayStart {
			which += ", which may block this new node:"
		} else {
			which += " unrelated to this node:"
		}
		p.line(show.Warn, "Elsewhere", which)
		p.command(words.Scylla(d.Namespace, "status", d.Cluster))
	}
}

func (p *page) notes(n *document.Node) {
	style := show.Plain
	if len(n.WarnTexts()) > 0 {
		style = show.Warn
	}
	p.line(style, "Notes", strings.Join(n.NoteTexts(), ", "))
}

// evidence returns the evidence for the next step: the log error if that is enough, else the fields
// and objects that can prove it. It is nil for a step that can be undone.
func (d *Document) evidence() []words.Code {
	var out []words.Code
	for _, c := range evidence.For(d.NextStep.Code) {
		if d.Log != nil && d.Log.Diagnosis != nil && d.Log.Diagnosis.Code == c {
			return []words.Code{c}
		}
		if e, _ := evidence.Of(c); e.Origin != evidence.Log {
			out = append(out, c)
		}
	}
	return out
}

// placeText returns "dc1/rack3/0", or the known part.
func placeText(n *document.Node) string {
	place := n.Datacenter
	if n.Rack != "" {
		place += "/" + n.Rack
	}
	if n.Ordinal != nil {
		place += fmt.Sprintf("/%d", *n.Ordinal)
	}
	return strings.TrimPrefix(place, "/")
}

// processText returns the node's process and data facts, empty if it was not queried.
func processText(n *document.Node) string {
	var parts []string
	if p := n.Process; p != nil { // from supervisord
		parts = append(parts, p.State)
		if p.ExitStatus != nil {
			parts = append(parts, fmt.Sprintf("exit status %d", *p.ExitStatus))
		}
		if p.Ended != nil {
			parts = append(parts, "ended "+words.Moment(p.Ended.Time))
		}
	}
	up, load, _ := document.VitalsTexts(n.Vitals)
	if up != "" {
		parts = append(parts, "up for "+up)
	}
	if load != "" {
		parts = append(parts, load+" of data")
	}
	if n.Tokens != nil {
		parts = append(parts, words.Count(*n.Tokens, "token", "tokens"))
	}
	return strings.Join(parts, ", ")
}

func (d *Document) seen(p *page) {
	none := "no node has a usable status report"
	if d.Node.HostID == "" {
		none = "its host ID is unknown"
	}
	p.opinions("Seen by", d.SeenBy, none)
	own := d.Node.Row
	text := ""
	if own.Status != document.RowOK && own.Status != document.RowNone {
		text = string(own.Status)
		if own.Detail != "" {
			text += ": " + own.Detail
		}
	}
	p.line(show.Warn, "Status report", text)
	p.opinions("It sees", d.Sees, "it has no usable status report")
}

// opinions counts the nodes by status, most severe first, and names those that do not see the node
// UP.
func (p *page) opinions(name string, all []Opinion, none string) {
	if len(all) == 0 {
		p.line(show.Dim, name, none)
		return
	}
	first := true
	for _, status := range []api.NodeStatus{api.NodeStatusDown, api.NodeStatusUnknown, api.NodeStatusMissing, noRow,
		api.NodeStatusUp} {
		var names []string
		var since time.Time
		for i := range all {
			if all[i].Status != status {
				continue
			}
			names = append(names, nameOf(&all[i].Ref))
			if t := document.TimeOf(all[i].Since); t.After(since) {
				since = t
			}
		}
		if len(names) == 0 {
			continue
		}
		said, style := string(status), show.Good
		switch status {
		case noRow:
			said, style = "no usable report", show.Dim
		case api.NodeStatusDown:
			said, style = said+words.Since(since, p.now), show.Bad
		case api.NodeStatusUp:
		default:
			style = show.Warn
		}
		text := fmt.Sprintf("%s: %d of %d", said, len(names), len(all))
		if status != api.NodeStatusUp || p.o.Wide {
			text += " (" + p.list(names) + ")"
		}
		if first {
			p.line(style, name, text)
		} else {
			p.more(style, text)
		}
		first = false
	}
}

func nameOf(r *matrix.Ref) string { return cmp.Or(r.Member, string(r.HostID)) }

func (p *page) list(names []string) string {
	if more := len(names) - maxNames; more > 0 && !p.o.Wide {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

func (d *Document) kubernetes(p *page) {
	p.blank()
	if d.Pod == nil {
		p.line(show.Warn, "Pod", "none")
	} else {
		d.pod(p)
	}
	if c := d.Claim; c != nil {
		text, style := c.Name+": does not exist", show.Warn
		if c.Exists {
			text, style = strings.Join(
				slices.DeleteFunc([]string{c.Name + ": " + cmp.Or(c.Phase, "phase unknown"), c.Size, c.Volume},
					func(s string) bool { return s == "" }), ", "), show.Plain
		}
		p.line(style, "PVC", text)
	}
	if k := d.KubernetesNode; k != nil {
		text, style := k.Name+": "+
			map[string]string{"Ready": "Ready", "NotReady": "not ready", "Gone": "does not exist",
				"Unknown": "state unknown"}[k.State], show.Plain
		if k.State == "NotReady" {
			text += words.Since(document.TimeOf(k.Since), p.now)
		}
		if k.Cordoned {
			text += ", cordoned"
		}
		if k.Why != "" {
			text += ": " + k.Why
		}
		if k.State != "Ready" || k.Cordoned {
			style = show.Warn
		}
		p.line(style, "Kubernetes node", text)
	}
}

func (d *Document) pod(p *page) {
	text := d.Pod.Name + ": " + d.Pod.State
	if d.Pod.IP != "" {
		text += ", IP " + d.Pod.IP
	}
	if age := words.Ago(document.TimeOf(d.Pod.Created), p.now); age != "" {
		text += ", created " + age + " ago"
	}
	p.line(show.Plain, "Pod", text+", "+words.Count(int(d.Pod.Restarts), "restart", "restarts"))
	if d.Pod.Waiting != "" {
		text := d.Pod.Waiting
		if age := words.Ago(document.TimeOf(d.Pod.Since), p.now); age != "" {
			text += " (for " + age + ")"
		}
		p.line(show.Warn, "Waiting for", text)
	}
	for i := range d.Pod.Containers {
		c := &d.Pod.Containers[i]
		text := c.Name + ": " + c.State
		if c.State == "Running" {
			text += words.Since(document.TimeOf(c.Since), p.now)
			if !c.Ready && !c.Init {
				text += ", not ready"
			}
		}
		if c.Restarts > 0 {
			text += ", " + words.Count(int(c.Restarts), "restart", "restarts")
		}
		if c.LastEnd != "" {
			text += ", last run " + c.LastEnd
		}
		name := ""
		if i == 0 {
			name = "Containers"
		}
		p.line(show.Plain, name, text)
	}
}

// said adds the evidence from the log and from Kubernetes.
func (d *Document) said(p *page) {
	if d.Log != nil {
		d.log(p)
	}
	if len(d.Events) == 0 {
		return
	}
	events := d.Events
	more := len(events) - maxEvents
	if more > 0 && !p.o.Wide {
		events = events[more:]
	}
	p.blank()
	for i := range events {
		e := &events[i]
		text := e.Type + " " + e.Reason + " (" + e.Object + "): " + e.Message
		if age := words.Ago(document.TimeOf(e.Time), p.now); age != "" {
			text = age + " ago: " + text
		}
		if e.Count > 1 {
			text += fmt.Sprintf(" (%d times)", e.Count)
		}
		style := show.Plain
		if e.Type != "Normal" {
			style = show.Warn
		}
		if i == 0 {
			p.line(style, "Events", text)
		} else {
			p.more(style, text)
		}
	}
	if more > 0 && !p.o.Wide {
		p.more(show.Dim, fmt.Sprintf("and %d older (all with -o wide)", more))
	}
}

func (d *Document) log(p *page) {
	l := d.Log
	p.blank()
	if l.First == nil && l.Diagnosis == nil {
		p.line(show.Plain, "Log", "no error in the log of container "+l.Container)
		return
	}
	if l.Diagnosis != nil {
		p.line(show.Bad, "Log", string(l.Diagnosis.Code)+": "+l.Diagnosis.Text)
		p.more(show.Strong, l.Cure)
		p.more(show.Plain, "evidence: "+l.Evidence)
	}
	of := func(previous bool) string {
		if previous {
			return "first error of the previous run, container " + l.Container + ": "
		}
		return "first error, container " + l.Container + ": "
	}
	switch {
	case l.First == nil || l.Diagnosis != nil && strings.Contains(l.First.Line, l.Diagnosis.Text):
	case l.Diagnosis != nil:
		p.more(show.Warn, of(l.First.Previous)+l.First.Line)
	default:
		p.line(show.Warn, "Log", of(l.First.Previous)+l.First.Line)
	}
	if l.Last != nil && (l.First == nil || l.Last.Line != l.First.Line) {
		p.more(show.Warn, "last error: "+l.Last.Line)
	}
}
