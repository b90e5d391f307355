// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Wrong permit: a view lets a member start although that view, or those of the last seconds, forbid it. A barrier would not use most of them: each reading is
// judged by itself, so that what one withholds does not hide what another lets pass.

// sighted is when the controller of a term made a view that has a member as not UP, and what its own clock said, which may jump.
type sighted struct {
	epoch    int64
	at, said time.Time
}

// judgeView that a controller has made, whether or not it is written: a permit stays until it is used, also one that was in a view before whose write failed.
// A view that was made of an older cluster report is not judged: its write meets a conflict.
func (w *world) judgeView(l *leader, v *api.StatusReportView) {
	if l.cache.StatusReport != w.status {
		return
	}
	before := l.issued
	l.issued = map[string]bool{}
	for i := range v.Permits {
		x := &v.Permits[i]
		_, had := w.granted[x.Member]
		had = had || before[x.Member]
		l.issued[x.Member] = true
		p := w.pods[x.Member]
		read := l.stageOf(x)
		if p == nil || had && (p.opened != nil || read > atBarrier || p.obj.UID != x.PodUID) {
			continue // it has started, or its Pod is gone and the controller does not know yet
		}
		why := w.permitAgainst(p, v, x, had)
		if why == "" && !had && read < atBarrier {
			why = "its barrier does not run"
		}
		if why != "" {
			w.result.WrongStarts++
			w.violate("a wrong permit: %s may %s, and %s", x.Member, x.Kind, why)
		}
	}
	for i := range v.Members {
		if m := &v.Members[i]; m.State != api.NodeStatusUp {
			w.notUp[m.HostID] = sighted{v.Epoch, w.now, v.ObservedAt.Time}
		}
	}
}

func (w *world) permitAgainst(p *pod, v *api.StatusReportView, x *api.StatusReportViewPermit, had bool) string {
	dead := w.excused(p)
	for i := range v.Members {
		m, want := &v.Members[i], api.NodeStatusUp
		if slices.Contains(dead, m.HostID) {
			want = api.NodeStatusDown
		}
		away := w.notUp[m.HostID]
		ago := max(w.now.Sub(away.at), v.ObservedAt.Sub(away.said))
		switch {
		case m.State != want:
			return m.Name + " is " + string(m.State)
		case !had && want == api.NodeStatusUp && away.epoch == v.Epoch && ago < w.limits.Stabilisation.Duration-time.Second:
			return m.Name + " was not UP " + ago.String() + " ago"
		}
	}
	switch together := len(v.Permits); {
	case had:
	case together > w.most():
		return "more members than may start at once have a permit"
	case together > 1 && slices.ContainsFunc(v.Permits, func(o api.StatusReportViewPermit) bool { return o.Kind != api.PermitJoin }):
		return "it is not alone, and not all of them join"
	}
	return ""
}

// stageOf is how far the Pod of a permit is, as the controller's cache has it.
func (l *leader) stageOf(x *api.StatusReportViewPermit) stage {
	for i := range l.cache.Pods {
		o := &l.cache.Pods[i]
		isBarrier := func(s corev1.ContainerStatus) bool {
			return s.Name == api.ContainerBarrier && s.State.Running != nil
		}
		switch {
		case o.UID != x.PodUID:
		case o.Status.Phase == corev1.PodRunning:
			return running
		case slices.ContainsFunc(o.Status.InitContainerStatuses, isBarrier):
			return atBarrier
		}
	}
	return querying
}
