// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// maxChanges bounds the list of changes; the newest are kept.
const maxChanges = 500

// change is one difference over time.
type change struct {
	Time metav1.Time `json:"time"`
	// Kind is Row (one node's state in another's row), Event, Condition, Container or Replacement.
	Kind string `json:"kind"`
	// Warning is set for a change for the worse.
	Warning bool `json:"warning"`
	// About is the changed object, Text the change.
	About string `json:"about"`
	Text  string `json:"text"`
	// Count is the number of times, if more than 1; Time is then the last.
	Count int32 `json:"count,omitempty"`
	// Routine is set for the Events of every normal Pod start.
	Routine bool `json:"routine,omitempty"`
}

// routine are the reasons of Events at every Pod start.
var routine = map[string]bool{
	"Scheduled": true, "Pulling": true, "Pulled": true, "Created": true, "Started": true,
	"SuccessfulAttachVolume": true, "SuccessfulMountVolume": true,
	"AddedInterface": true, "ProvisioningSucceeded": true, "ExternalProvisioning": true, "Provisioning": true,
	"SuccessfulCreate": true,
}

// split separates routine changes from the others.
func (r *Report) split() (others, routine []change) {
	for _, c := range r.Changes {
		if c.Routine {
			routine = append(routine, c)
		} else {
			others = append(others, c)
		}
	}
	return others, routine
}

// adder adds one change, except for a zero time.
type adder func(at time.Time, kind string, warning bool, about, text string, count int32)

func (r *Report) add(at time.Time, kind string, warning bool, about, text string, count int32) {
	if at.IsZero() {
		return
	}
	ch := change{Time: metav1.NewTime(at.UTC().Truncate(time.Second)), Kind: kind, Warning: warning, About: about,
		Text: show.Clean(text)}
	if count > 1 {
		ch.Count = count
	}
	r.Changes = append(r.Changes, ch)
}

func (r *Report) addChanges(c *support.Cluster) {
	r.rowChanges()
	r.eventChanges(c.Events)
	s := c.Snapshot
	if s.StatusReport != nil {
		for _, cond := range s.StatusReport.Status.Conditions {
			r.add(cond.LastTransitionTime.Time, "Condition", cond.Status != metav1.ConditionTrue,
				"ScyllaDBStatusReport "+s.StatusReport.Name,
				sentence(cond.Type, string(cond.Status), cond.Reason, cond.Message), 0)
		}
	}
	for i := range s.Pods {
		r.podChanges(&s.Pods[i], r.add)
	}
	for _, rep := range support.Replacements(s) {
		r.add(rep.At, "Replacement", rep.Bad, rep.Member, rep.Text, 0)
	}
	slices.SortStableFunc(r.Changes, func(a, b change) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.About, b.About),
			cmp.Compare(a.Text, b.Text))
	})
	r.Changes = slices.Compact(r.Changes)
	r.cutChanges()
}

// cutChanges keeps the newest changes; it drops routine changes first.
func (r *Report) cutChanges() {
	more := len(r.Changes) - maxChanges
	if more <= 0 {
		return
	}
	r.ChangesLeftOut = more
	for i := len(r.Changes) - 1; i >= 0 && more > 0; i-- {
		if r.Changes[i].Routine {
			r.Changes = slices.Delete(r.Changes, i, i+1)
			more--
		}
	}
	r.Changes = r.Changes[:min(len(r.Changes), maxChanges)]
}

func (r *Report) rowChanges() {
	groups, _ := matrix.GroupBlockers(r.Blockers)
	for _, g := range groups {
		about := g.Observed.Name()
		if g.Observed == (matrix.Ref{}) {
			about = r.Name
		}
		r.add(g.Since, "Row", true, about, words.Aging(g.Message(), g.Since, time.Time{}), 0)
	}
}

func (r *Report) eventChanges(events []corev1.Event) {
	for i := range events {
		e := &events[i]
		count, before := e.Count, len(r.Changes)
		if e.Series != nil {
			count = max(count, e.Series.Count)
		}
		r.add(cluster.EventTime(e), "Event", e.Type == corev1.EventTypeWarning, e.InvolvedObject.Kind+" "+
			e.InvolvedObject.Name, e.Reason+": "+e.Message, count)
		if len(r.Changes) > before {
			r.Changes[before].Routine = e.Type != corev1.EventTypeWarning && routine[e.Reason]
		}
	}
}

func (r *Report) podChanges(p *corev1.Pod, add adder) {
	about := "Pod " + p.Name
	if p.DeletionTimestamp != nil {
		add(p.DeletionTimestamp.Time, "Condition", true, about, "is being deleted", 0)
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodReady || cond.Type == corev1.PodScheduled && cond.Status != corev1.ConditionTrue {
			add(cond.LastTransitionTime.Time, "Condition", cond.Status != corev1.ConditionTrue, about,
				sentence(string(cond.Type), string(cond.Status), cond.Reason, cond.Message), 0)
		}
	}
	for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := st.LastTerminationState.Terminated; t != nil {
			add(t.FinishedAt.Time, "Container", t.ExitCode != 0, about, ended(st.Name, t), st.RestartCount)
		}
		switch {
		case st.State.Terminated != nil && st.State.Terminated.ExitCode != 0:
			add(st.State.Terminated.FinishedAt.Time, "Container", true, about, ended(st.Name, st.State.Terminated), 0)
		case st.State.Running != nil && (st.RestartCount > 0 || st.Name == api.ContainerBarrier):
			add(st.State.Running.StartedAt.Time, "Container", false, about, "container "+st.Name+" started", 0)
		}
	}
}

func ended(name string, t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("container %s ended with exit code %d", name, t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		text += " (" + t.Reason + ")"
	}
	if t.Message != "" {
		text += ": " + support.Text(t.Message)
	}
	return text
}

func sentence(typ, status, reason, message string) string {
	text := typ + " became " + status
	if reason != "" && reason != typ {
		text += " (" + reason + ")"
	}
	if message != "" {
		text += ": " + support.Text(message)
	}
	return text
}
