// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// reading is what one reconciliation has read and written before the cluster report. failed is the
// error of another report's write, or nil.
type reading struct {
	world   *world
	health  health
	local   []cluster.LocalReport
	foreign []cluster.Foreign
	unread  []string
	failed  error
}

// report returns the cluster report of a reading, and the Cluster judged by it.
func (in reading) report() (*api.ScyllaDBStatusReport, *cluster.Cluster) {
	want := in.world.ClusterReport(in.foreign, in.unread)
	want.Labels = map[string]string{api.LabelManagedBy: api.ManagedByUs}
	want.Status.HealthPolicy = in.health.policy
	if in.world.status != nil {
		want.Status.Group0ID = in.world.status.Status.Group0ID
	}
	return want, in.world.WithOwn(want)
}

// bringStatus writes the cluster report.
func (r *reconciler) bringStatus(ctx context.Context, key types.NamespacedName, m *memory, in reading,
	now time.Time) error {
	w := in.world
	if err := r.whole(); err != nil {
		return err
	}
	if w.status != nil && w.status.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return fmt.Errorf("cluster report %s has the name of our report but is not ours: delete it, or label it %s=%s",
			key, api.LabelManagedBy, api.ManagedByUs)
	}
	want, judged := in.report()
	allUp, reasons, health := judge(judged, want)
	init, initConditions := r.view(ctx, key, m, judged, w, want)
	root := r.credential(ctx, w, judged, want, now)
	conditions := []metav1.Condition{allUp, rowsDecoded(w.Malformed()),
		remotesReachable(w.remotes, in.foreign, r.o.Remotes != nil)}
	if in.failed != nil && !onlyConflicts(in.failed) {
		conditions = append(conditions, notWritten(in.failed))
	}
	if c, ok := overridden(ctx, r.o.Client, key, w); ok {
		conditions = append(conditions, c)
	}
	if c, ok := reportsComplete(key, in.local); ok {
		conditions = append(conditions, c)
	}
	if w.status != nil {
		want.Status.Conditions = slices.Clone(w.status.Status.Conditions)
	}
	conditions = slices.Concat(conditions, initConditions, in.health.conditions, root)
	for _, t := range append(init.Absent, api.ConditionOverridden, api.ConditionReportsComplete,
		api.ConditionReportsKept, api.ConditionFieldsKept,
		api.ConditionPrerequisitesMissing, api.ConditionHealthPolicyValid, api.ConditionDeadReportRetained,
		api.ConditionRootCredential) {
		if !slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Type == t }) {
			meta.RemoveStatusCondition(&want.Status.Conditions, t)
		}
	}
	for _, c := range conditions {
		c.LastTransitionTime = metav1.NewTime(now)
		meta.SetStatusCondition(&want.Status.Conditions, c)
	}
	r.measure(key, w, health, reasons)

	obj, err := r.writeStatus(ctx, key, m, w, want, first{news: init.Now != nil || init.Group0 != "", how: init.Now})
	if err != nil {
		return err
	}
	if r.o.Views != nil {
		r.o.Views.Written(key, obj.UID, obj.Status.View)
	}
	r.announce(ctx, m, obj, allUp)
	r.announcePermits(ctx, w, obj)
	r.announceOrder(ctx, w)
	return nil
}

// announce writes an Event and a log line when AllNodesUp changes.
func (r *reconciler) announce(ctx context.Context, m *memory, report *api.ScyllaDBStatusReport,
	allUp metav1.Condition) {
	if m.allUp == allUp.Status {
		return
	}
	first := m.allUp == ""
	m.allUp = allUp.Status
	if first {
		return
	}
	typ, reason := corev1.EventTypeNormal, "AllNodesUp"
	if allUp.Status != metav1.ConditionTrue {
		typ, reason = corev1.EventTypeWarning, "NotAllNodesUp"
	}
	r.o.Notice.Emit(ctx, report, typ, reason, "AssembleReport", allUp.Message)
	r.o.Log.InfoContext(ctx, "cluster changed", "namespace", report.Namespace, "cluster", report.Name, "allNodesUp",
		allUp.Status, "reason", allUp.Reason, "message", allUp.Message)
}

func (r *reconciler) measure(key types.NamespacedName, w *world, h bootstrap.Health, reasons map[string]int) {
	c := metrics.Cluster{Nodes: h.Nodes, Up: h.Up, AllUp: h.Healthy, Blockers: reasons, Remotes: map[string]bool{},
		RowsMalformed: len(w.Malformed())}
	for _, m := range w.Members() {
		if !m.RowStale.IsZero() {
			c.RowsStale++
		}
	}
	for _, s := range w.remotes {
		c.Remotes[s.Name] = s.Read && !s.Stale
	}
	r.o.Metrics.Set(key.Namespace, key.Name, c)
}

func rowsDecoded(malformed []cluster.Malformed) metav1.Condition {
	var terms []string
	for _, bad := range malformed {
		terms = append(terms, fmt.Sprintf("pod %s/%s: %v", bad.Pod.Namespace, bad.Pod.Name, bad.Err))
	}
	if len(terms) == 0 {
		return metav1.Condition{Type: api.ConditionRowsDecoded, Status: metav1.ConditionTrue, Reason: "AllDecoded",
			Message: "all status reports are valid"}
	}
	if more := len(terms) - shownBlockers; more > 0 {
		terms = append(terms[:shownBlockers], fmt.Sprintf("and %d more", more))
	}
	return metav1.Condition{Type: api.ConditionRowsDecoded, Status: metav1.ConditionFalse, Reason: "Malformed",
		Message: strings.Join(terms, "; ")}
}

func remotesReachable(states []remote.State, foreign []cluster.Foreign, on bool) metav1.Condition {
	c := metav1.Condition{Type: api.ConditionRemotesReachable, Status: metav1.ConditionTrue}
	var terms []string
	for _, s := range states {
		if s.Stale {
			terms = append(terms, fmt.Sprintf("remote %s: %s", s.Name, s.Reason))
		}
	}
	for _, f := range foreign {
		if f.Stale {
			terms = append(terms, fmt.Sprintf("datacenter %s: %s", f.Name, f.Reason))
		}
	}
	if len(terms) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Unreachable", strings.Join(terms, "; ")
		return c
	}
	for _, s := range states {
		if s.PushReason != "" {
			terms = append(terms, fmt.Sprintf("remote %s: %s", s.Name, s.PushReason))
		}
	}
	switch {
	case len(terms) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "CopiesNotWritten", strings.Join(terms, "; ")
	case slices.ContainsFunc(states, func(s remote.State) bool { return !s.Read }):
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotReadYet", "a remote is not read yet"
	case len(states) > 0:
		c.Reason, c.Message = "Reachable", fmt.Sprintf("%d remotes are read", len(states))
	case on:
		c.Reason, c.Message = "NoRemotes", "no remote is configured"
	default:
		c.Reason, c.Message = "NoRemotes", "remote datacenters are turned off"
	}
	return c
}

// overridden returns the condition that names the other report that barriers use because of an
// annotation on a StatefulSet or a member Service.
func overridden(ctx context.Context, c client.Reader, key types.NamespacedName, w *world) (metav1.Condition, bool) {
	by := map[string][]string{}
	note := func(o client.Object) {
		if ref := o.GetAnnotations()[api.AnnotationStatusReportOverrideRef]; ref != "" && ref != key.Name {
			by[ref] = append(by[ref], o.GetLabels()[api.LabelDatacenter])
		}
	}
	for i := range w.sets {
		note(&w.sets[i])
	}
	for i := range w.Services {
		note(&w.Services[i])
	}
	if len(by) == 0 {
		return metav1.Condition{}, false
	}
	out := metav1.Condition{Type: api.ConditionOverridden, Status: metav1.ConditionTrue, Reason: "OverrideRef"}
	var terms []string
	for _, ref := range slices.Sorted(maps.Keys(by)) {
		dcs := by[ref]
		slices.Sort(dcs)
		text := fmt.Sprintf("barriers of %s use ScyllaDBStatusReport %s", strings.Join(slices.Compact(dcs), ", "), ref)
		if err := c.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: ref},
			&api.ScyllaDBStatusReport{}); err != nil {
			out.Status, out.Reason = metav1.ConditionFalse, "NotFound"
			text += ", which cannot be read: they wait"
		}
		terms = append(terms, text)
	}
	out.Message = strings.Join(terms, "; ")
	return out, true
}

func reportsComplete(key types.NamespacedName, local []cluster.LocalReport) (metav1.Condition, bool) {
	var terms []string
	for _, d := range local {
		if d.TooLarge {
			terms = append(terms, d.Datacenter)
		}
	}
	if len(terms) == 0 {
		return metav1.Condition{}, false
	}
	return metav1.Condition{
		Type: api.ConditionReportsComplete, Status: metav1.ConditionFalse, Reason: "TooLarge",
		Message: fmt.Sprintf(
			"the report of %s would exceed %d bytes and contains no observations, which blocks; set annotation "+
				"%s=%s on the StatefulSets",
			strings.Join(terms, ", "), cluster.MaxReportBytes, api.AnnotationStatusReportOverrideRef, key.Name),
	}, true
}

// shownBlockers limits the blockers in a condition's message.
const shownBlockers = 5

// judge sets the printer columns and returns the AllNodesUp condition and the number of blockers
// per reason. Texts contain no ages, so that an unchanged cluster gives an unchanged report.
func judge(c *cluster.Cluster, report *api.ScyllaDBStatusReport) (metav1.Condition, map[string]int, bootstrap.Health) {
	h := bootstrap.HealthOf(c)
	s := &report.Status
	s.Nodes, s.Up, s.Blockers, s.FirstBlocker = int32(h.Nodes), fmt.Sprintf("%d/%d", h.Up, h.Nodes), int32(h.Total), ""
	reasons := map[string]int{}
	for _, b := range h.Blockers {
		reasons[string(b.Reason)] += b.Count()
	}
	out := metav1.Condition{Type: api.ConditionAllNodesUp}
	switch {
	case len(h.Blockers) > 0:
		// The cause comes first: users read the beginning of a message.
		var texts []string
		for _, f := range diagnosis.From(c, h, diagnosis.Known{}) {
			if !f.Remark {
				texts = append(texts, words.Text(f.Message))
				break
			}
		}
		cause := len(texts)
		for _, b := range h.Blockers[:min(len(h.Blockers), shownBlockers)] {
			texts = append(texts, words.Aging(b.Message(), b.Since, time.Time{}))
		}
		if more := len(h.Blockers) - shownBlockers; more > 0 {
			texts = append(texts, fmt.Sprintf("and %d more", more))
		}
		s.FirstBlocker = texts[cause]
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, string(h.Blockers[0].Reason),
			strings.Join(texts, "; ")
	case h.Healthy:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, "AllUp",
			fmt.Sprintf("all %d nodes see each other UP", h.Nodes)
	default:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, "NoNodes", "no node has joined yet"
	}
	return out, reasons, h
}
