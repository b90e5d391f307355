// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maxEvents limits the Events of a cluster, the newest first.
const maxEvents = 256

// reasonKilling is the kubelet's Event about a container that it ends, also by a liveness probe. It
// is not a warning.
const reasonKilling = "Killing"

// EventTime returns the time of an Event's last occurrence; zero if it has no time.
func EventTime(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time} {
		if at.IsZero() {
			at = t
		}
	}
	return at
}

// Unready returns the names of the members whose Pod does not exist or is not Ready. Only they have
// Events in a Cluster.
func (o *Objects) Unready() map[string]bool {
	out := map[string]bool{}
	for i := range o.StatefulSets {
		for _, name := range MemberNames(&o.StatefulSets[i]) {
			out[name] = true
		}
	}
	for i := range o.Services {
		if IsMemberService(&o.Services[i]) {
			out[o.Services[i].Name] = true
		}
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		if c := podCondition(p, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue &&
			p.DeletionTimestamp == nil {
			delete(out, p.Name)
		} else if IsNodePod(p) {
			out[p.Name] = true
		}
	}
	return out
}

// SetEvents keeps the Events that explain a member that is not Ready: warnings about its Pod, its
// claims and its StatefulSet, and the end of its containers. The newest of one object and reason
// counts; a StatefulSet has one for each Pod that it cannot create.
func (o *Objects) SetEvents(events []corev1.Event) {
	unready := o.Unready()
	sets := map[string]bool{}
	for name := range unready {
		if set, _, ok := cutOrdinal(name); ok {
			sets[set] = true
		}
	}
	type key struct{ kind, name, reason, of string }
	newest := map[key]*corev1.Event{}
	for i := range events {
		e := &events[i]
		k := key{e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, ""}
		ours := e.Namespace == "" || e.Namespace == o.Namespace
		switch k.kind {
		case "Pod":
			ours = ours && unready[k.name]
			k.of = e.InvolvedObject.FieldPath // its container
		case "StatefulSet":
			ours = ours && sets[k.name]
			k.of = podNamed(e.Message, k.name)
		case "PersistentVolumeClaim":
			ours = ours && claimOf(k.name, unready)
		default:
			ours = false
		}
		if !ours || e.Type != corev1.EventTypeWarning && e.Reason != reasonKilling {
			continue
		}
		if was := newest[k]; was == nil || EventTime(e).After(EventTime(was)) {
			newest[k] = e
		}
	}
	o.Events = make([]corev1.Event, 0, len(newest))
	for _, e := range newest {
		o.Events = append(o.Events, *e)
	}
	slices.SortFunc(o.Events, func(a, b corev1.Event) int {
		return cmp.Or(EventTime(&b).Compare(EventTime(&a)), cmp.Compare(a.InvolvedObject.Name, b.InvolvedObject.Name),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	o.Events = slices.Clip(o.Events[:min(len(o.Events), maxEvents)])
}

// podNamed returns the Pod of a StatefulSet that the controller's message names; empty for none.
func podNamed(message, set string) string {
	for word := range strings.FieldsFuncSeq(message, notOfName) {
		if of, _, ok := cutOrdinal(word); ok && of == set {
			return word
		}
	}
	return ""
}

func notOfName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
}

// claimOf reports whether a claim is of one of the members: TEMPLATE-MEMBER.
func claimOf(claim string, members map[string]bool) bool {
	for i := range claim {
		if claim[i] == '-' && members[claim[i+1:]] {
			return true
		}
	}
	return false
}

// event returns the newest Event of the member's objects with one of the reasons; nil without one.
// An Event about a former Pod of this name does not count.
func (c *Cluster) event(kind, name string, reasons ...string) *corev1.Event {
	for i := range c.Events {
		e := &c.Events[i]
		if e.InvolvedObject.Kind != kind || e.InvolvedObject.Name != name || !slices.Contains(reasons, e.Reason) {
			continue
		}
		if pod := c.ix.pods[name]; kind == "Pod" && pod != nil && (e.InvolvedObject.UID != "" && pod.UID != "" &&
			e.InvolvedObject.UID != pod.UID || EventTime(e).Before(pod.CreationTimestamp.Time)) {
			continue
		}
		return e
	}
	return nil
}
