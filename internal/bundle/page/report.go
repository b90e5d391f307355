// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/internal/version"
)

// KindClusterReport is the kind of the document.
const KindClusterReport = "ClusterReport"

// maxChanges bounds the list of changes; the newest are kept.
const maxChanges = 500

// Report is the document of `kubectl scylla report`: all of the status, and more.
type Report struct {
	render.ClusterStatus `json:",inline"`
	// Reports are the objects that the report is assembled from.
	Reports []Object `json:"reports"`
	// Changes, the newest first: what became different when, as far as rows, events and conditions tell.
	Changes []Change `json:"changes"`
	// ChangesLeftOut counts older changes that the list has no room for.
	ChangesLeftOut int `json:"changesLeftOut,omitempty"`
	// Waiting are containers that do not run as they should, with what their logs say.
	Waiting []bundle.Container `json:"waitingContainers,omitempty"`
	// LeftOut is what could not be read beyond what Partial says: events, logs.
	LeftOut []bundle.LeftOut `json:"leftOut,omitempty"`
	// Versions of everything that has one.
	Versions Versions `json:"versions"`
}

// Object is one object with rows.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Datacenter of a datacenter report.
	Datacenter string `json:"datacenter,omitempty"`
	// Nodes it lists, Rows how many of them have said something.
	Nodes int `json:"nodes"`
	Rows  int `json:"rows"`
	// Remote is true for a copy from another Kubernetes cluster, Used for those that the verdict rests on.
	Remote bool `json:"remote,omitempty"`
	Used   bool `json:"used"`
	// Written is when its rows were last written; absent when not known.
	Written *metav1.Time `json:"written,omitempty"`
}

// Change is one thing that became different.
type Change struct {
	Time metav1.Time `json:"time"`
	// Kind is Row (what a node says of another), Event, Condition or Container.
	Kind string `json:"kind"`
	// Warning is true for a change for the worse.
	Warning bool `json:"warning"`
	// About is what changed, Text what happened to it.
	About string `json:"about"`
	Text  string `json:"text"`
	// Count is how often, when more than once; Time is then the last.
	Count int32 `json:"count,omitempty"`
}

// Versions are counted where several nodes have one.
type Versions struct {
	KubectlScylla string         `json:"kubectlScylla"`
	Kubernetes    string         `json:"kubernetes,omitempty"`
	ScyllaDB      map[string]int `json:"scylladb,omitempty"`
}

// DeepCopyObject makes the report a runtime.Object, which the printers of cli-runtime ask for.
func (r *Report) DeepCopyObject() runtime.Object {
	out := new(Report)
	// Through JSON: a document is what its JSON says, and holds texts, numbers and times only.
	if data, err := json.Marshal(r); err == nil {
		_ = json.Unmarshal(data, out)
	}
	return out
}

// New makes the report of one cluster. now is when that happens; logs is what somebody read of the logs of replacements, nil when nobody did.
func New(c *bundle.Cluster, now time.Time, logs render.Logs) *Report {
	s := c.Snapshot
	r := &Report{
		ClusterStatus: *render.NewClusterStatusWithLogs(s, now, logs), Reports: []Object{}, Changes: []Change{}, Waiting: c.Waiting,
		Versions: Versions{KubectlScylla: version.Get().Version, Kubernetes: c.Kubernetes, ScyllaDB: map[string]int{}},
	}
	r.Kind = KindClusterReport
	said := map[string]bool{}
	for _, p := range s.Problems {
		said[bundle.Text(p.Message)] = true // in Partial, or of no weight
	}
	for _, l := range c.LeftOut {
		if !said[l.Detail] {
			r.LeftOut = append(r.LeftOut, l)
		}
	}
	for _, n := range r.Nodes {
		if n.Version != "" {
			r.Versions.ScyllaDB[n.Version]++
		}
	}
	r.addObjects(s)
	r.addChanges(c)
	return r
}

// taken is the moment that ages count to; zero leaves ages out.
func (r *Report) taken() time.Time {
	if r.TakenAt == nil {
		return time.Time{}
	}
	return r.TakenAt.Time
}

// ago is "12s ago", empty when either moment is not known.
func (r *Report) ago(t time.Time) string {
	if t.IsZero() || r.taken().IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, r.taken().Sub(t))) + " ago"
}

func (r *Report) addObjects(s *kube.Snapshot) {
	byReport := s.Source == kube.SourceReport
	for i := range s.Reports {
		o := &s.Reports[i]
		_, remote := o.Labels[api.LabelRemoteReport]
		obj := Object{Kind: "ScyllaDBDatacenterNodesStatusReport", Name: o.Name, Datacenter: o.DatacenterName, Remote: remote, Used: byReport && s.OverrideRef == "", Written: written(o.ManagedFields)}
		for _, rack := range o.Racks {
			obj.Nodes += len(rack.Nodes)
			for _, n := range rack.Nodes {
				if n.ObservedNodes != nil {
					obj.Rows++
				}
			}
		}
		r.Reports = append(r.Reports, obj)
	}
	if o := s.StatusReport; o != nil {
		obj := Object{Kind: "ScyllaDBStatusReport", Name: o.Name, Used: byReport && (s.OverrideRef != "" || len(s.Reports) == 0), Written: written(o.ManagedFields)}
		for _, dc := range o.Datacenters {
			obj.Nodes += len(dc.Nodes)
			for _, n := range dc.Nodes {
				if n.ObservedNodes != nil || n.MembershipDigest != "" {
					obj.Rows++
				}
			}
		}
		r.Reports = append(r.Reports, obj)
	}
}

func written(entries []metav1.ManagedFieldsEntry) *metav1.Time {
	var last *metav1.Time
	for i := range entries {
		if t := entries[i].Time; t != nil && (last == nil || t.After(last.Time)) {
			last = t
		}
	}
	return last
}

func (r *Report) addChanges(c *bundle.Cluster) {
	add := func(at time.Time, kind string, warning bool, about, text string, count int32) {
		if at.IsZero() {
			return
		}
		ch := Change{Time: metav1.NewTime(at.UTC().Truncate(time.Second)), Kind: kind, Warning: warning, About: about, Text: render.Clean(text)}
		if count > 1 {
			ch.Count = count
		}
		r.Changes = append(r.Changes, ch)
	}
	groups, _ := matrix.GroupBlockers(r.Blockers)
	for _, g := range groups {
		about := g.Observed.Name()
		if g.Observed == (matrix.Ref{}) {
			about = r.Name
		}
		// The name stands beside the text already.
		add(g.Since, "Row", true, about, strings.TrimPrefix(g.Text(time.Time{}), g.Observed.String()+" "), 0)
	}
	s := c.Snapshot
	for i := range c.Events {
		e := &c.Events[i]
		count := e.Count
		if e.Series != nil {
			count = max(count, e.Series.Count)
		}
		add(bundle.EventTime(e), "Event", e.Type == corev1.EventTypeWarning, e.InvolvedObject.Kind+" "+e.InvolvedObject.Name, e.Reason+": "+e.Message, count)
	}
	if s.StatusReport != nil {
		for _, cond := range s.StatusReport.Status.Conditions {
			add(cond.LastTransitionTime.Time, "Condition", cond.Status != metav1.ConditionTrue, "ScyllaDBStatusReport "+s.StatusReport.Name, sentence(cond.Type, string(cond.Status), cond.Reason, cond.Message), 0)
		}
	}
	for i := range s.Pods {
		r.podChanges(&s.Pods[i], add)
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.About, b.About), cmp.Compare(a.Text, b.Text))
	})
	r.Changes = slices.Compact(r.Changes)
	if more := len(r.Changes) - maxChanges; more > 0 {
		r.Changes, r.ChangesLeftOut = r.Changes[:maxChanges], more
	}
}

func (r *Report) podChanges(p *corev1.Pod, add func(at time.Time, kind string, warning bool, about, text string, count int32)) {
	about := "Pod " + p.Name
	if p.DeletionTimestamp != nil {
		add(p.DeletionTimestamp.Time, "Condition", true, about, "is being deleted", 0)
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodReady || cond.Type == corev1.PodScheduled && cond.Status != corev1.ConditionTrue {
			add(cond.LastTransitionTime.Time, "Condition", cond.Status != corev1.ConditionTrue, about, sentence(string(cond.Type), string(cond.Status), cond.Reason, cond.Message), 0)
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
		text += ": " + bundle.Text(t.Message)
	}
	return text
}

func sentence(typ, status, reason, message string) string {
	text := typ + " became " + status
	if reason != "" && reason != typ {
		text += " (" + reason + ")"
	}
	if message != "" {
		text += ": " + bundle.Text(message)
	}
	return text
}
