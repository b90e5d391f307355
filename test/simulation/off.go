// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Off is a protection that does nothing in a run. The code that ships has no switch for it: the world answers as if there were nothing to protect from.
type Off string

// Values of Off.
const (
	OffHostID      Off = "the volume's host ID"
	OffFiles       Off = "the volume's files"
	OffOwner       Off = "whose volume it is"
	OffSeeds       Off = "the launcher's seeds"
	OffFounder     Off = "one first node"
	OffNeighbours  Off = "the namespace's other clusters"
	OffReport      Off = "the report's rows"
	OffPods        Off = "the Pods' rows"
	OffRest        Off = "at rest"
	OffHold        Off = "the controller's hold"
	OffWindow      Off = "the barrier's window"
	OffGrantWindow Off = "the controller's window"
	OffLease       Off = "the controller's Lease"
	OffKept        Off = "the Lease's mark of kept reports"
	OffReporters   Off = "the reporters' answers"
	OffDigest      Off = "their rows in these answers"
	OffHeartbeats  Off = "heartbeats"
	OffPermit      Off = "permits"
	OffFirst       Off = "the permit before the final check"
	OffSecond      Off = "the permit after the final check"
	OffAge         Off = "the age of a view"
	OffClaim       Off = "the permit's Pod and volume"
	OffServed      Off = "GET /view"
	OffRelays      Off = "relays"
	OffOne         Off = "one at a time"
	OffLauncher    Off = "the launcher's judgement"
)

// Protection is one row of the published table.
type Protection struct {
	Off     []Off
	How     string // it is switched off
	Permits bool   // under policy permits only
}

// Protections are all that can be switched off from outside, and the pairs that guard against the same.
func Protections() []Protection {
	return []Protection{
		{[]Off{OffHostID}, "no volume returns its host ID", false},
		{[]Off{OffFiles}, "each volume seems to have files", false},
		{[]Off{OffOwner}, "the host ID is compared with nobody's", false},
		{[]Off{OffSeeds}, "the first Pod is every member's seed", false},
		{[]Off{OffFounder}, "each member seems the oldest, and no first node is stored", false},
		{[]Off{OffNeighbours}, "the namespace seems empty", false},
		{[]Off{OffReport}, "all are UP", false},
		{[]Off{OffPods}, "all are UP", false},
		{[]Off{OffRest}, "each StatefulSet seems at rest for barriers", false},
		{[]Off{OffHold}, "and for the controller", true},
		{[]Off{OffWindow}, "it is 0 s", false},
		{[]Off{OffGrantWindow}, "it is 0 s", true},
		{[]Off{OffLease}, "it seems renewed and to name the cluster", false},
		{[]Off{OffKept}, "it seems to name the cluster", false},
		{[]Off{OffReporters}, "each seems to confirm its row", false},
		{[]Off{OffDigest}, "each seems to have its Pod's row", false},
		{[]Off{OffHeartbeats}, "each seems to advance, for the controller", true},
		{[]Off{OffPermit}, "barrier and launcher have policy reports", true},
		{[]Off{OffFirst}, "the first reading has a permit", true},
		{[]Off{OffSecond}, "the second reading is the first", true},
		{[]Off{OffAge}, "each reading seems newer", true},
		{[]Off{OffClaim}, "they seem to match the permit", true},
		{[]Off{OffServed}, "reporters read the API server", true},
		{[]Off{OffRelays}, "they hand on no view", true},
		{[]Off{OffOne}, "eight permits at once", true},
		{[]Off{OffLauncher}, "it starts ScyllaDB as soon as it has seeds", false},

		{[]Off{OffReport, OffPods}, "", false},
		{[]Off{OffPods, OffReporters}, "", false},
		{[]Off{OffReporters, OffHeartbeats}, "", true},
		{[]Off{OffDigest, OffHeartbeats}, "", true},
		{[]Off{OffRest, OffHold}, "", true},
		{[]Off{OffSeeds, OffFounder}, "", false},
		{[]Off{OffFirst, OffSecond}, "", true},
		{[]Off{OffAge, OffLease}, "", true},
		{[]Off{OffRelays, OffSecond}, "", true},
		{[]Off{OffServed, OffRelays}, "", true},
		{[]Off{OffLease, OffDigest}, "", false},
		{[]Off{OffPermit, OffLauncher}, "", true},
	}
}

func (w *world) without(o Off) bool { return len(w.Off) > 0 && slices.Contains(w.Off, o) }

// wellRows has in each member's row every member as UP, but those that are replaced.
func (w *world) wellRows(o *cluster.Objects, but string) {
	var all []api.ObservedNodeStatusReport
	members := map[string]hostid.ID{}
	for name, svc := range w.service { // a set: the order does not matter
		_, replaced := svc.Labels[api.LabelReplace]
		if id := hostid.ID(svc.Annotations[api.AnnotationHostID]); svc.Annotations[api.AnnotationNodeJoined] == "true" && !replaced && w.member(string(id)) {
			all, members[name] = append(all, api.ObservedNodeStatusReport{HostID: id, Status: api.NodeStatusUp}), id
		}
	}
	o.Pods, o.Decoder = slices.Clone(o.Pods), nil
	for i := range o.Pods {
		p, q := w.pods[o.Pods[i].Name], o.Pods[i].DeepCopy()
		if members[p.name] == "" || p.name == but || p.row == nil {
			continue
		}
		row := *p.row
		row.HostID, row.ObservedNodes, row.OperationMode, row.Error, row.Fault = members[p.name], all, rules.ModeNormal, nil, ""
		text, err := api.EncodeNodeStatusReport(&row)
		if err != nil {
			panic(err) // strings and times always marshal
		}
		q.Annotations[api.AnnotationNodeStatusReport] = text
		for _, list := range [][]corev1.ContainerStatus{q.Status.InitContainerStatuses, q.Status.ContainerStatuses} {
			for j := range list {
				list[j].Ready = true
			}
		}
		o.Pods[i] = *q
	}
}

// wellReport replaces the rows of the report, and leaves all else.
func (w *world) wellReport(o *cluster.Objects) {
	if !w.without(OffReport) || o.StatusReport == nil {
		return
	}
	well := w.objects(everything)
	w.wellRows(&well, "")
	reports, status := w.assembled(cluster.New(well, cluster.SourceAnnotation, w.now))
	status.ObjectMeta, status.Status = o.StatusReport.ObjectMeta, o.StatusReport.Status
	o.Reports, o.StatusReport = reports, status
}

// calm has all StatefulSets at rest.
func calm(o *cluster.Objects) {
	o.StatefulSets = slices.Clone(o.StatefulSets)
	for i := range o.StatefulSets {
		s := o.StatefulSets[i].DeepCopy()
		st := &s.Status
		st.ObservedGeneration, st.CurrentRevision = s.Generation, st.UpdateRevision
		st.Replicas = *s.Spec.Replicas
		st.ReadyReplicas, st.UpdatedReplicas, st.CurrentReplicas, st.AvailableReplicas = st.Replicas, st.Replicas, st.Replicas, st.Replicas
		o.StatefulSets[i] = *s
	}
}

// eldest makes a member the oldest, and has no founder.
func eldest(o *cluster.Objects, member string) {
	o.Services = slices.Clone(o.Services)
	for i := range o.Services {
		if o.Services[i].Name == member {
			o.Services[i].CreationTimestamp = metav1.NewTime(start.Add(-time.Hour))
		}
	}
	if r := o.StatusReport; r != nil && r.Status.View != nil {
		out := *r
		out.Status.View = r.Status.View.DeepCopy()
		out.Status.View.Founder = ""
		o.StatusReport = &out
	}
}

// leftOut answers to a gate, or a launcher, what is left of the objects.
func (w *world) leftOut(o *cluster.Objects, member string) {
	w.wellReport(o)
	if w.without(OffRest) && o.StatefulSets != nil {
		calm(o)
	}
	if w.without(OffFounder) {
		eldest(o, member)
	}
}

// window of a barrier; nil for that of the health policy.
func (w *world) window() *time.Duration {
	standard, none := view.Stabilisation, time.Duration(0)
	switch {
	case w.without(OffWindow):
		return &none
	case w.without(OffGrantWindow):
		return &standard
	}
	return nil
}
