// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// BarrierVerdict is the document of `kubectl scylla barrier MEMBER`: the verdict of the member's
// barrier on the same objects, and the phase of that barrier.
type BarrierVerdict struct {
	Header  `json:",inline"`
	Cluster string `json:"cluster"`
	// Verdict: satisfied, decision, summary, blockers, notes, member.
	Verdict Verdict `json:"verdict"`
	// Findings are the findings of ClusterStatus that hold the member back; they explain blockers
	// of Verdict, by index.
	Findings []Finding `json:"findings"`
	// Membership is a value of cluster.MemberState.
	Membership cluster.MemberState `json:"membership"`
	// Pod is the Pod's state as in ClusterStatus.
	Pod string `json:"pod"`
	// Barrier is the state of the Pod's barrier.
	Barrier cluster.BarrierState `json:"barrier"`
	// Waiting is why the Pod waits, as reported by Kubernetes, and Since since when.
	Waiting string       `json:"waiting,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// MemberNotes are the notes of the node in ClusterStatus, as texts.
	MemberNotes []string `json:"memberNotes"`
	// Replacement is the member's open replacement, as in ClusterStatus; absent without one. The
	// verdict's notes include a failed one.
	Replacement *Replacement `json:"replacement,omitempty"`
	// View is the controller's view, with its age; absent if our controller writes none.
	View *ViewStamp `json:"view,omitempty"`

	running bool // its ScyllaDB runs
	causes  []diagnosis.Cause
}

// BarrierVerdictList is the document of `kubectl scylla barrier` without a member: waiting members.
type BarrierVerdictList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []BarrierVerdict `json:"items"`
	// Views are the controller views of all clusters that were read, with their ages.
	Views []ClusterView `json:"views"`
	// Partial lists the unreadable parts: the list may lack waiting members.
	Partial []cluster.Problem `json:"partial"`

	at time.Time // when the clusters were read, for the ages of their views
}

// DeepCopyObject implements runtime.Object.
func (d *BarrierVerdict) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// DeepCopyObject implements runtime.Object.
func (d *BarrierVerdictList) DeepCopyObject() runtime.Object { return DeepCopy(d) }

// NewBarrierVerdict returns the document of one judged member. Error: the error of the judgement.
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
	d.causes = start.Causes
	for _, c := range d.causes {
		if c.Finding != nil {
			d.Findings = append(d.Findings, newFindings([]diagnosis.Finding{*c.Finding})...)
		}
	}
	d.Pod, d.View, d.Replacement = cmp.Or(m.PodState, "None"), NewViewStamp(s),
		replacementOf(j, m, PodText(cmp.Or(m.PodState, "None"), d.MemberNotes))
	// Only the Pod can read its data directory: otherwise every member would have this note.
	d.Verdict.Notes = slices.DeleteFunc(slices.Clone(d.Verdict.Notes),
		func(note words.Message) bool { return note.Code == words.DataDirectoryUnread })
	if r, _ := s.LeftReport(); r != nil && d.Barrier.OfOperator {
		d.Verdict.Notes = append(d.Verdict.Notes,
			words.New(words.FindingReportLeftBehind, "report", r.Name, "datacenter", r.DatacenterName))
	}
	if note := d.failure(); !note.IsZero() {
		d.Verdict.Notes = append(d.Verdict.Notes, note)
	}
	return d, nil
}

func newBarrierVerdict(j *diagnosis.Judged, m *cluster.Member, v Verdict) *BarrierVerdict {
	return &BarrierVerdict{
		Header: header(KindBarrierVerdict, m.Member, j.Cluster, j.Made), Cluster: j.Cluster.Name, Membership: m.State,
		Pod: m.PodState, Verdict: v, Findings: []Finding{},
		Waiting: words.Text(m.Waiting), Since: TimePtr(m.WaitingSince), Barrier: barrierOf(m),
		MemberNotes: noteTexts(m.Notes(), false), running: running(m),
	}
}

// failure returns a failed attempt with its remedy, else zero. The verdict is about a start, which
// does not help after a failure.
func (d *BarrierVerdict) failure() words.Message {
	if d.Replacement == nil || d.Replacement.Failure == nil {
		return words.Message{}
	}
	var cure any = d.Replacement.Cure
	if !d.Replacement.CureMessage.IsZero() {
		cure = d.Replacement.CureMessage
	}
	return words.New(words.ReplacementAttemptFailed, "summary", d.Replacement.Summary, "cure", cure)
}

// NewBarrierList returns every member that has not passed its barrier, in the order of clusters.
// The start of each of these members must be judged.
func NewBarrierList(clusters []*diagnosis.Judged) (*BarrierVerdictList, error) {
	l := &BarrierVerdictList{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindBarrierList},
		Items: []BarrierVerdict{}}
	for _, j := range clusters {
		s := j.Cluster
		l.add(s)
		for _, m := range s.Members() {
			if m.Member == "" || m.State == cluster.MemberRemote {
				continue
			}
			if m.Service == nil && m.Pod == nil && m.State != cluster.MemberNewcomer {
				continue // an ordinal that no StatefulSet wants
			}
			if m.Service == nil {
				l.Items = append(l.Items,
					*newBarrierVerdict(j, &m,
						Verdict{Self: m.Ref, Decision: bootstrap.DecisionWait, Summary: noService(&m)}))
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

// NewBarrierListOf returns these members of one cluster, even if they do not wait.
func NewBarrierListOf(j *diagnosis.Judged, members []string) (*BarrierVerdictList, error) {
	l := &BarrierVerdictList{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindBarrierList},
		Items: []BarrierVerdict{}}
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

// List returns the list of this member alone.
func (d *BarrierVerdict) List() *BarrierVerdictList {
	l := &BarrierVerdictList{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindBarrierList},
		Items: []BarrierVerdict{*d}, Partial: d.Partial}
	if d.View != nil {
		l.Views = []ClusterView{{Namespace: d.Namespace, Cluster: d.Cluster, ViewStamp: *d.View}}
	}
	return l
}

// add adds a cluster's problems and its controller view.
func (l *BarrierVerdictList) add(s *cluster.Cluster) {
	l.Partial, l.at = append(l.Partial, s.Partial()...), s.TakenAt
	if v := NewViewStamp(s); v != nil {
		l.Views = append(l.Views, ClusterView{Namespace: s.Namespace, Cluster: s.Name, ViewStamp: *v})
	}
}

// At returns when the clusters were read, for the ages of their views.
func (l *BarrierVerdictList) At() time.Time { return l.at }

// barrierOf returns a member's barrier state, with its exit if it reported no reason.
func barrierOf(m *cluster.Member) cluster.BarrierState {
	s := m.Barrier()
	if s.Message == "" && s.End != nil {
		s.Message = strings.TrimSuffix(fmt.Sprintf("exit code %d, %s", s.End.ExitCode, s.End.Reason), ", ")
	}
	return s
}

// Waits reports whether the member is blocked, or would be if it had a Pod.
func (d *BarrierVerdict) Waits() bool {
	switch d.Barrier.Phase {
	case cluster.BarrierWaiting, cluster.BarrierFailed, cluster.BarrierPending:
		return true
	case cluster.BarrierPassed:
		return false
	}
	return d.Membership == cluster.MemberNewcomer && !d.Verdict.Satisfied
}

// Instead returns what is said of a new node in place of "may start": its ScyllaDB runs, or its
// barrier has opened or does not run yet. Zero while the barrier runs.
func (d *BarrierVerdict) Instead() words.Message {
	if d.Membership != cluster.MemberNewcomer {
		return words.Message{}
	}
	return instead(d.running, &d.Barrier)
}

// running reports whether a new node's ScyllaDB runs, so that nothing delays its start. In our Pods
// a launcher may wait in a running container.
func running(m *cluster.Member) bool {
	return cluster.NodeStarted(m.Pod) || m.OfOperator() && m.Started()
}

func instead(running bool, s *cluster.BarrierState) words.Message {
	switch {
	case running:
		return words.New(words.NewcomerRuns)
	case s.Phase == cluster.BarrierWaiting || s.Phase == cluster.BarrierAbsent:
		return words.Message{}
	case s.Phase == cluster.BarrierPassed:
		return words.New(words.BarrierHasOpened)
	}
	return words.New(words.BarrierNotReached)
}

// Causes returns why the member must wait, the decisive cause first.
func (d *BarrierVerdict) Causes() []diagnosis.Cause { return d.causes }

// Why returns the decisive cause in one line, with its age and the number of the others; else the
// summary.
func (d *BarrierVerdict) Why() string {
	if len(d.causes) == 0 {
		return d.Verdict.Sentence()
	}
	first := &d.causes[0]
	text := words.Aging(first.Message(), first.Since(), d.At())
	if more := len(d.causes) - 1; more > 0 {
		text += "; and " + words.Count(more, "more reason", "more reasons")
	}
	return text
}

// InContext is Header.InContext of every document.
func (l *BarrierVerdictList) InContext(name string) {
	for i := range l.Items {
		l.Items[i].InContext(name)
	}
}
