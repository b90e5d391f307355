// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// BarrierVerdict is the document of `kubectl scylla barrier MEMBER`: the verdict that the member's barrier reaches from the same objects, and the phase of that barrier.
type BarrierVerdict struct {
	Header  `json:",inline"`
	Cluster string `json:"cluster"`
	// Verdict: satisfied, decision, summary, blockers, notes, member.
	Verdict Verdict `json:"verdict"`
	// Membership is Member, Newcomer, Leaving, Ghost, Remote or Unknown.
	Membership cluster.MemberState `json:"membership"`
	// Pod is the Pod's state as in ClusterStatus.
	Pod string `json:"pod"`
	// Barrier is the state of the Pod's own barrier.
	Barrier cluster.BarrierState `json:"barrier"`
	// Waiting and Since: the reason for which the Pod waits, as Kubernetes gives it, and since when.
	Waiting string       `json:"waiting,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// Replacement is the member's open replacement, as in ClusterStatus; absent when there is none. A failed one is in the verdict's notes too.
	Replacement *Replacement `json:"replacement,omitempty"`
	// View is the controller's view, with its age; absent where our controller keeps none.
	View *ViewStamp `json:"view,omitempty"`
}

// BarrierVerdictList is the document of `kubectl scylla barrier` without a member: the members that wait.
type BarrierVerdictList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []BarrierVerdict `json:"items"`
	// Views are the controller's view of each cluster that was read, with its age; also of clusters in which no member waits.
	Views []ClusterView `json:"views,omitempty"`
	// Partial lists the parts that could not be read: members that wait may be missing from the list.
	Partial []cluster.Problem `json:"partial,omitempty"`

	at time.Time // when the clusters were read, for the ages of their views
}

// DeepCopyObject as for ClusterStatus.
func (d *BarrierVerdict) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// DeepCopyObject as for ClusterStatus.
func (d *BarrierVerdictList) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// NewBarrierVerdict is the document of one member, whose start is judged. Error: the one of the judgement.
func NewBarrierVerdict(j *diagnosis.Judged, member string) (*BarrierVerdict, error) {
	s := j.Cluster
	start, judged := j.Starts[member]
	switch {
	case !judged:
		return nil, fmt.Errorf("show the verdict of member %s: its start was not judged", member)
	case start.Err != nil:
		return nil, start.Err
	}
	m := s.Member(member)
	d := newBarrierVerdict(j, m, Verdict(start.Verdict))
	d.Pod, d.View, d.Replacement = cmp.Or(m.PodState, "None"), NewViewStamp(s), replacementOf(j, m, cmp.Or(m.PodState, "None"))
	// Only the Pod can read its data directory: without this the note would stand beside every member.
	d.Verdict.Notes = slices.DeleteFunc(slices.Clone(d.Verdict.Notes), func(note words.Message) bool { return note.Code == words.DataDirectoryUnread })
	if note := d.failure(); !note.IsZero() {
		d.Verdict.Notes = append(d.Verdict.Notes, note)
	}
	return d, nil
}

func newBarrierVerdict(j *diagnosis.Judged, m *cluster.Member, v Verdict) *BarrierVerdict {
	return &BarrierVerdict{
		Header: header(KindBarrierVerdict, m.Member, j.Cluster, j.Made), Cluster: j.Cluster.Name, Membership: m.State, Pod: m.PodState, Verdict: v,
		Waiting: words.Text(m.Waiting), Since: TimePtr(m.WaitingSince), Barrier: barrierOf(m),
	}
}

// failure is a failed attempt and its cure, zero when there is none. The verdict is about a start, which does not help after a failure.
func (d *BarrierVerdict) failure() words.Message {
	if d.Replacement == nil || d.Replacement.Failure == nil {
		return words.Message{}
	}
	var cure any = d.Replacement.Cure
	if !d.Replacement.cure.IsZero() {
		cure = d.Replacement.cure
	}
	return words.New(words.ReplacementAttemptFailed, "summary", d.Replacement.Summary, "cure", cure)
}

// NewBarrierList has every member that has not got past its barrier, in the clusters' order. The start of each member that is not past its barrier is judged.
func NewBarrierList(clusters []*diagnosis.Judged) (*BarrierVerdictList, error) {
	l := &BarrierVerdictList{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindBarrierList}, Items: []BarrierVerdict{}}
	for _, j := range clusters {
		s := j.Cluster
		l.add(s)
		for _, m := range s.Members() {
			if m.Member == "" || m.State == cluster.MemberRemote {
				continue
			}
			if m.Service == nil {
				l.Items = append(l.Items, *newBarrierVerdict(j, &m, Verdict{Self: m.Ref, Decision: bootstrap.DecisionWait, Summary: noService(&m)}))
				continue
			}
			if !m.MayWait() {
				continue
			}
			d, err := NewBarrierVerdict(j, m.Member)
			if err != nil {
				return nil, err
			}
			if d.Waits() {
				l.Items = append(l.Items, *d)
			}
		}
	}
	return l, nil
}

// NewBarrierListOf has these members of one cluster, whether or not they wait.
func NewBarrierListOf(j *diagnosis.Judged, members []string) (*BarrierVerdictList, error) {
	l := &BarrierVerdictList{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindBarrierList}, Items: []BarrierVerdict{}}
	l.add(j.Cluster)
	for _, member := range members {
		d, err := NewBarrierVerdict(j, member)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, *d)
	}
	return l, nil
}

// add adds the parts of a cluster that belong to no single member: its problems and the controller's view.
func (l *BarrierVerdictList) add(s *cluster.Cluster) {
	l.Partial, l.at = append(l.Partial, s.Partial()...), s.TakenAt
	if v := NewViewStamp(s); v != nil {
		l.Views = append(l.Views, ClusterView{Namespace: s.Namespace, Cluster: s.Name, ViewStamp: *v})
	}
}

// barrierOf is the state of a member's barrier, with how it ended where it gave no reason.
func barrierOf(m *cluster.Member) cluster.BarrierState {
	s := m.Barrier()
	if s.Message == "" && s.End != nil {
		s.Message = strings.TrimSuffix(fmt.Sprintf("exit code %d, %s", s.End.ExitCode, s.End.Reason), ", ")
	}
	return s
}

// Waits is true while the member is kept from starting, or would be if it had a Pod.
func (d *BarrierVerdict) Waits() bool {
	switch d.Barrier.Phase {
	case cluster.BarrierWaiting, cluster.BarrierFailed, cluster.BarrierPending:
		return true
	case cluster.BarrierPassed:
		return false
	}
	return d.Membership == cluster.MemberNewcomer && !d.Verdict.Satisfied
}

// answer is the verdict in one word, with its mark.
func (d *BarrierVerdict) answer() (string, grid.Mark) {
	switch {
	case bootstrap.Verdict(d.Verdict).Unsure():
		return "UNSURE", grid.Unknown
	case d.Verdict.Satisfied:
		return "OPEN", grid.Up
	case d.Verdict.Decision == bootstrap.DecisionRefuse:
		return "REFUSED", grid.Down
	}
	return "WAIT", grid.Down
}

// Text draws the verdict: answer, where the Pod stands, blockers with their next steps.
func (d *BarrierVerdict) Text(o Options) string {
	g, now := o.glyphs(), d.At()
	var b strings.Builder
	add := func(lines ...string) {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	word, mark := d.answer()
	p := &painter{d: &ClusterStatus{Header: d.Header}, o: o, g: g}
	add(Wrap(StyleOf(mark).Paint(g.Marks[mark]+" "+word)+" "+Strong.Paint(d.Namespace+"/"+d.Name)+p.partialMark()+": "+Clean(d.Verdict.Predicate()), o.Width, "  ")...)
	add(Wrap(Dim.Paint(Clean(d.standing(now))), o.Width, "  ")...)
	add(slices.Concat(d.viewLines(o, now), p.partial(detail{}))...)
	if r := d.Replacement; r != nil && (r.Failure != nil || r.Held || r.Cure != "") {
		title := "The replacement waits for a person"
		if r.Failure != nil {
			title = "The replacement failed"
		}
		add("", Bad.Paint(title))
		add(Wrap("  "+Clean(r.Summary), o.Width, "    ")...)
		add(r.cureLines(o, g, "  ")...)
	}
	if len(d.Verdict.Blockers) > 0 {
		title := "Blockers"
		if d.Verdict.Satisfied {
			title = "Blockers that were overruled"
		}
		total := 0
		for _, blocker := range d.Verdict.Blockers {
			total += blocker.Count()
		}
		add("", Strong.Paint(title)+fmt.Sprintf(" (%d)", total))
		add(d.blockerLines(o, now)...)
	}
	var tail []string
	for _, note := range d.Verdict.Notes {
		if note.Code == words.ReplacementAttemptFailed {
			continue // it has been said above
		}
		tail = append(tail, Wrap(Dim.Paint("note:")+" "+o.Words.Text(note), o.Width, "  ")...)
	}
	if warning := d.contradiction(); warning != "" {
		tail = append(tail, Wrap(Warn.Paint("warning:")+" "+Clean(warning), o.Width, "  ")...)
	}
	tail = append(tail, p.notes()...)
	if len(tail) > 0 {
		add("")
		add(tail...)
	}
	return b.String()
}

// viewLines are the controller's view and its age; none where there is none.
func (d *BarrierVerdict) viewLines(o Options, now time.Time) []string {
	if d.View == nil {
		return nil
	}
	return Wrap(Dim.Paint(d.View.Text(now)), o.Width, "  ")
}

// blockerLines lists each blocker with both names and host IDs as long as they fit the screen, else grouped by observed node.
func (d *BarrierVerdict) blockerLines(o Options, now time.Time) []string {
	var lines []string
	g := o.glyphs()
	for i, blocker := range d.Verdict.Blockers {
		lines = append(lines, Wrap(Bad.Paint(g.Dot)+" "+words.Aging(blocker.Message(), blocker.Since, now), o.Width, "  ")...)
		last := i+1 == len(d.Verdict.Blockers) || d.Verdict.Blockers[i+1].Step.Key() != blocker.Step.Key()
		if !blocker.Step.IsZero() && last {
			lines = append(lines, stepLines(blocker.Step, o)...)
		}
	}
	most := o.Height - 8
	if o.Height <= 0 {
		most = 60
	}
	if o.Wide || len(lines) <= max(most, 6) {
		return lines
	}
	groups, _ := matrix.GroupBlockers(d.Verdict.Blockers)
	return groupLines(groups, now, o, detail{maxList: max(most, 6) / 2})
}

// standing is the state of the Pod and of its barrier.
func (d *BarrierVerdict) standing(now time.Time) string {
	since := func(t *metav1.Time) string {
		return words.Since(TimeOf(t), now)
	}
	var text string
	switch d.Barrier.Phase {
	case cluster.BarrierNoPod:
		text = "there is no Pod"
	case cluster.BarrierAbsent:
		text = "the Pod (" + d.Pod + ") has no barrier container"
	case cluster.BarrierPending:
		text = "the barrier has not started (" + d.Pod + ")"
		if d.Waiting != "" {
			text = "the barrier has not started: " + d.Waiting
		}
	case cluster.BarrierWaiting:
		text = "the barrier waits" + since(d.Barrier.Since) + " (" + d.Pod + ")"
	case cluster.BarrierPassed:
		text = "the Pod is past its barrier" + since(d.Barrier.Since) + " (" + d.Pod + ")"
	case cluster.BarrierFailed:
		text = "the barrier ended with an error" + since(d.Barrier.Since) + " (" + d.Pod + ")"
		if !d.Barrier.Refused {
			text = "the barrier failed" + since(d.Barrier.Since) + ": " + d.Barrier.Message
		}
	}
	text += fmt.Sprintf("; judged from %s of cluster %s", d.Source.Used, d.Cluster)
	if d.Source.Offline {
		text += ", " + words.Saved("saved objects", d.At(), d.GeneratedAt.Time)
	}
	return text
}

// contradiction explains a verdict that differs from the state of the Pod.
func (d *BarrierVerdict) contradiction() string {
	switch {
	case d.Barrier.Phase == cluster.BarrierAbsent && d.Membership == cluster.MemberNewcomer:
		return "this Pod has no " + api.ContainerBarrier + " container: nothing holds it back, whatever the verdict says"
	case d.Barrier.Phase == cluster.BarrierWaiting && bootstrap.Verdict(d.Verdict).Unsure():
		return "the barrier has looked into the volume and still runs: the volume may not be what that needs; its log says what it found: kubectl logs " +
			d.Name + " -c " + api.ContainerBarrier + " -n " + d.Namespace
	case d.Barrier.Phase == cluster.BarrierPassed && !d.Verdict.Satisfied:
		return "the Pod got past its barrier before this verdict; it speaks of a start now"
	case d.Barrier.Phase == cluster.BarrierWaiting && d.Verdict.Satisfied:
		return "the barrier still runs: it opens within seconds, unless it asks for the verdict to hold for a while or sees other reports"
	}
	return ""
}

// Text draws one line per member that waits, and how to ask for one.
func (l *BarrierVerdictList) Text(o Options) string {
	p := &painter{d: &ClusterStatus{Header: Header{Partial: l.Partial}}, o: o}
	partial := ""
	for _, line := range p.partial(detail{}) {
		partial += line + "\n"
	}
	views := l.viewText(o)
	if len(l.Items) == 0 {
		return "No member waits at its barrier" + p.partialMark() + ".\n" + views + partial
	}
	g := o.glyphs()
	// One namespace is said once, below.
	one := !slices.ContainsFunc(l.Items, func(d BarrierVerdict) bool { return d.Namespace != l.Items[0].Namespace })
	t := &Table{Columns: []Column{{Header: "MEMBER", Min: 12, Middle: true, Last: true}, {Header: "VERDICT"}, {Header: "BARRIER"}, {Header: "SINCE"}, {Header: "WHY", Min: 16}}}
	if !one {
		t.Columns = append([]Column{{Header: "NAMESPACE", Min: 6, Last: true}}, t.Columns...)
	}
	for _, d := range l.Items {
		word, mark := d.answer()
		verdict := Cell{Text: g.Marks[mark] + " " + strings.ToLower(word), Style: StyleOf(mark)}
		why := d.Verdict.Predicate()
		if groups, _ := matrix.GroupBlockers(d.Verdict.Blockers); len(groups) > 0 && !d.Verdict.Satisfied {
			why = words.Aging(groups[0].Message(), groups[0].Since, d.At())
		}
		since := words.Ago(TimeOf(d.Barrier.Since), d.At())
		row := []Cell{Text(d.Name), verdict, Text(string(d.Barrier.Phase)), Text(dash(since)), Text(why)}
		if !one {
			row = append([]Cell{Text(d.Namespace)}, row...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.String(o.Room(), g.Ellipsis) + views + partial + Dim.Paint("Ask for one: "+o.Words.Shell(words.Scylla(l.Items[0].Namespace, "barrier", l.Items[0].Name))) + "\n"
}

// viewText gives the controller's view of each cluster, with its age; empty where there is none.
func (l *BarrierVerdictList) viewText(o Options) string {
	var b strings.Builder
	for i := range l.Views {
		v := &l.Views[i]
		line := v.Text(l.at)
		if len(l.Views) > 1 {
			line = v.Namespace + "/" + v.Cluster + ": " + line
		}
		for _, part := range Wrap(Dim.Paint(Clean(line)), o.Width, "  ") {
			b.WriteString(part + "\n")
		}
	}
	return b.String()
}

// Why is the gravest blocker in one line, the summary where there is none.
func (d *BarrierVerdict) Why() string {
	groups, _ := matrix.GroupBlockers(d.Verdict.Blockers)
	if len(groups) == 0 {
		return d.Verdict.Sentence()
	}
	return words.Aging(groups[0].Message(), groups[0].Since, d.At())
}

// InContext is Header.InContext of every document.
func (l *BarrierVerdictList) InContext(name string) {
	for i := range l.Items {
		l.Items[i].InContext(name)
	}
}
