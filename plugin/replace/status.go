// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// look reads the cluster again and judges the member's replacement.
func (o *options) look(ctx context.Context, s *subject) (*subject, replace.Step, error) {
	read, err := o.d.Load(ctx, o.reader.Client(), s.key,
		kube.LoadOptions{Source: cluster.SourceAuto, StatefulSets: true,
			PVCs: true, StatusReport: true, Operator: true, Machines: &o.machines})
	if err != nil {
		return nil, replace.Step{}, err
	}
	r := replace.Read(read)
	in := r.Input(s.member(), o.d.Clock.Now(), "")
	if in == nil {
		return nil, replace.Step{}, fmt.Errorf("service %s/%s does not exist", s.key.Namespace, s.member())
	}
	now := &subject{reading: r, in: in, key: s.key}
	step := o.judge(ctx, now)
	return now, step, nil
}

// judge is judged, limited by the age of the objects.
func (o *options) judge(ctx context.Context, s *subject) replace.Step {
	step := o.judged(ctx, s)
	return step.Allowed(s.reading.Cluster)
}

// judged computes the step and, if an attempt may have failed, uses the container's log.
func (o *options) judged(ctx context.Context, s *subject) replace.Step {
	if s.in.Operator && s.reading.Cluster.OperatorState == nil {
		s.in.Conditions = o.conditions(ctx, s)
	}
	step := replace.State(*s.in)
	switch step.Action {
	case replace.ActionWaitJoin, replace.ActionWaitReady, replace.ActionFail:
	default:
		return step
	}
	d := o.readLog(ctx, s)
	switch {
	case d == nil:
	case replace.FailureOf(s.member(), cluster.LogError{Code: d.Code, Text: d.Text}) != nil:
		s.in.Log = replace.FailureOf(s.member(), cluster.LogError{Code: d.Code, Text: d.Text})
		step = replace.State(*s.in)
	case step.Action != replace.ActionFail:
		step.Waiting = append(step.Waiting, words.New(words.ScyllaDBSaid, "pod", s.member(), "text", d.Text))
		step.Cure = words.New(words.LogCure, "text", scylla.Cure(d.Code))
	}
	return step
}

// conditions returns the Scylla Operator's messages. If the user cannot read them, the status uses
// only the labels.
func (o *options) conditions(ctx context.Context, s *subject) []string {
	if archived := o.reader.Archived(s.reading.Cluster); archived != nil {
		return archived.Conditions
	}
	if o.reader.Client() == nil {
		return nil
	}
	conditions, _ := kube.OperatorConditions(ctx, o.reader.Client(), s.key)
	return conditions
}

// readLog returns the first known error in the log of the new Pod's ScyllaDB.
func (o *options) readLog(ctx context.Context, s *subject) *scylla.Diagnosis {
	m := s.in.Self
	db := m.ScyllaDB()
	if m.Deleting() || db.State.Running == nil && m.LastExit() == nil {
		return nil
	}
	return o.reader.Logs.FirstError(ctx, s.reading.Cluster, m.Pod.Name, string(m.Pod.UID), db.RestartCount)
}

// runStatus lists open replacements, and the last outcome of a named member.
func (o *options) runStatus(ctx context.Context) error {
	list := &StatusList{TypeMeta: metav1.TypeMeta{APIVersion: document.APIVersion, Kind: KindStatusList},
		GeneratedAt: *document.TimePtr(o.d.Clock.Now()), Items: []StatusDocument{}}
	add := func(s *subject) {
		if rec := replace.RecordOf(s.in.Self); s.in.Operator && rec.HasOriginal {
			// the operator's reporter omits operations, which contain the error texts
			o.askNodes(ctx, s)
		}
		d := newStatusDocument(o.d.Clock.Now(), s.key, s.in, o.judge(ctx, s))
		d.addAfterwards(o.reader.Now(), s)
		list.Items = append(list.Items, *d)
	}
	ghosts := func(r *replace.Reading) {
		list.Ghosts = append(list.Ghosts, newGhosts(r.Cluster.Key.String(), r.Ghosts(o.reader.Now()))...)
	}
	if o.target != "" {
		s, err := o.find(ctx)
		if err != nil {
			return err
		}
		ghosts(s.reading)
		add(s)
	} else {
		clusters, err := o.reader.All(ctx)
		if err != nil {
			return err
		}
		for _, c := range clusters {
			r := replace.Read(c)
			ghosts(r) // from the reports, as in `status`, even if nodes are queried below
			members := r.Requested()
			if o.all {
				members = r.Recorded()
			}
			for _, member := range members {
				s := &subject{reading: r, in: r.Input(member, o.reader.Now(), ""), key: c.Key}
				add(s)
				r = s.reading // query the nodes only once
			}
		}
	}
	return o.showStatus(list)
}

// showStatus prints the list. Error: exit code 3 while a replacement is blocked or has failed.
func (o *options) showStatus(list *StatusList) error {
	sortDocuments(list.Items)
	if o.output.Text() {
		opts := o.d.Options(false)
		if err := o.d.Print(list.Text(o.reader.Now(), opts), opts); err != nil {
			return err
		}
	} else if err := o.output.Document(o.d, list); err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].troubled() {
			return exit.ConditionNotMet(nil)
		}
	}
	return nil
}

func newStatusDocument(now time.Time, key cluster.Key, in *replace.Input, step replace.Step) *StatusDocument {
	d := &StatusDocument{
		TypeMeta:    metav1.TypeMeta{APIVersion: document.APIVersion, Kind: KindStatus},
		ObjectMeta:  metav1.ObjectMeta{Namespace: key.Namespace, Name: in.Self.Member},
		GeneratedAt: *document.TimePtr(now), Cluster: key.Name, Member: in.Self.Recorded(),
		ManagedBy: managedBy(in.Operator),
		Request:   step.Request, Attempt: step.Attempt, Phase: step.Phase(),
		Message: step.Message, Waiting: step.Waiting, Cure: step.Cure,
		OriginalHostID: step.Original, NewHostID: step.NewHostID, StartedAt: document.TimePtr(step.StartedAt),
		Held: step.Held(), Refused: step.Refused,
	}
	if f := step.Diagnosis; f != nil {
		d.Diagnosis = &DiagnosisInfo{Code: f.Code, Text: f.Text, Cure: f.Cure}
	}
	switch {
	case d.Held:
		d.Checks = newChecks(step.Checks)
	case step.Action == replace.ActionNone:
		if l := step.Last; l != nil && !in.Operator {
			d.Request, d.Attempt = l.Request, l.Attempts
			d.OriginalHostID, d.NewHostID, d.StartedAt, d.FinishedAt = l.HostID, l.NewHostID,
				document.TimePtr(l.StartedAt), document.TimePtr(l.FinishedAt)
			switch l.Outcome {
			case replace.OutcomeReplaced:
				d.Phase = replace.PhaseDone
			case replace.OutcomeCancelled:
				d.Phase = replace.PhaseCancel
			}
		}
	}
	return d
}

// troubled reports whether the state needs an administrator.
func (d *StatusDocument) troubled() bool { return d.Held || d.Phase == replace.PhaseFailed }

// Text returns the status as text.
func (d *StatusDocument) Text(now time.Time, o show.Options) string {
	var b strings.Builder
	line := func(text string) {
		for i, l := range show.Wrap(show.Clean(text), room(o, 2), "") {
			if i > 0 {
				l = "  " + l
			}
			b.WriteString(l + "\n")
		}
	}
	style, word := show.Warn, string(d.Phase)
	switch {
	case d.Phase == replace.PhaseFailed:
		style = show.Bad
	case d.Held:
		style, word = show.Bad, "Blocked"
	case d.Phase == replace.PhaseDone && d.FinishedAt != nil:
		style = show.Good
	}
	head := fmt.Sprintf("%s/%s: %s", d.Namespace, d.Name, words.Text(d.Message))
	for i, l := range show.Wrap(show.Clean(head), room(o, len(word)+1), "") {
		if i == 0 {
			b.WriteString(style.Paint(word) + " " + l + "\n")
		} else {
			b.WriteString("  " + l + "\n")
		}
	}
	facts := d.facts(now)
	if len(facts) > 0 {
		line("  " + strings.Join(facts, ", "))
	}
	for _, w := range d.Waiting {
		line("  - " + words.Text(w))
	}
	for _, c := range d.Conditions {
		line("  - " + c)
	}
	if !d.Cure.IsZero() {
		line("  > " + words.Text(d.Cure))
	}
	if a := d.Afterwards; a != nil {
		line("  Next" + a.Next() + ":")
		for _, l := range show.AfterwardsLines(a, o, "  ", 0) {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// facts returns host IDs, age, attempt and request.
func (d *StatusDocument) facts(now time.Time) []string {
	var facts []string
	if d.OriginalHostID != "" {
		facts = append(facts, "replaces "+string(d.OriginalHostID))
	}
	if d.NewHostID != "" {
		facts = append(facts, "new host ID "+string(d.NewHostID))
	}
	if d.StartedAt != nil {
		if d.FinishedAt != nil {
			facts = append(facts, "took "+duration.HumanDuration(d.FinishedAt.Sub(d.StartedAt.Time)), "ended "+
				words.Moment(d.FinishedAt.Time))
		} else {
			facts = append(facts, "for "+duration.HumanDuration(now.Sub(d.StartedAt.Time)))
		}
	}
	if d.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", d.Attempt))
	}
	if d.Request != "" {
		facts = append(facts, "request "+d.Request)
	}
	return facts
}

// Text returns the list as text.
func (l *StatusList) Text(now time.Time, o show.Options) string {
	var b strings.Builder
	if len(l.Items) == 0 {
		b.WriteString("No replacement is open.\n")
	}
	for i := range l.Items {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(l.Items[i].Text(now, o))
	}
	if len(l.Ghosts) > 0 {
		b.WriteString("\n" + show.Strong.Paint("Orphaned host IDs") + " (listed by the cluster)\n")
		for _, g := range l.Ghosts {
			for _, t := range show.Wrap(show.Clean(g.Cluster+": "+words.Text(g.Evidence)), room(o, 2), "") {
				b.WriteString("  " + t + "\n")
			}
			if g.Command != nil {
				if first := words.Text(g.Why); first != "" {
					b.WriteString("  > " + show.Clean(first) + "\n")
				}
				// Never wrap a command: users copy it.
				b.WriteString("  > " + show.Clean(words.Shell(g.Command)) + "\n")
			} else {
				b.WriteString("  > do not remove: " + show.Clean(words.Text(g.Why)) + "\n")
			}
		}
	}
	return b.String()
}

func sortDocuments(items []StatusDocument) {
	slices.SortFunc(items, func(a, b StatusDocument) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
}
