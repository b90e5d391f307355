// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// replay writes an earlier view over the present one, with that stamp.
func (w *world) replay(epoch, seq int64, v statusView) {
	w.ofCluster(func(r *api.ScyllaDBStatusReport) {
		v.Epoch, v.Seq = epoch, seq
		r.Status.View = v.DeepCopy()
	})
}

// away runs something while a member's reporter does not respond, so that a permit alone does not open.
func (w *world) away(run func()) {
	w.setSilent("demo-rack1-0", errUnreachable)
	w.runs(alone)
	run()
	w.setSilent("demo-rack1-0", nil)
}

// A permit that was true once opens for nobody else and never again, neither the barrier nor the launcher; all nodes are UP, and their reporters
// confirm it.
func TestAttack2AReplayedPermitOpensNothing(t *testing.T) {
	t.Parallel()
	// given is the world whose view has the permit, changed, and is renewed.
	given := func(change func(*api.StatusReportViewPermit)) func(*world) {
		return func(w *world) {
			w.ofCluster(func(r *api.ScyllaDBStatusReport) { change(&r.Status.View.Permits[0]) })
			w.runs(alone).renewTimes(12)
		}
	}
	backup := func(uid types.UID) func(*world) {
		return func(w *world) {
			w.anew(uid, permittedView())
			w.runs(alone)
			for range 12 { // as often as somebody restores it
				time.Sleep(view5)
				w.replay(1, 1, permittedView())
			}
		}
	}
	// afterJoin is a member that has joined, in its Pod, and whose ScyllaDB starts again.
	afterJoin := func(listed string, readable bool) func(*world) {
		return func(w *world) {
			svc := &corev1.Service{ObjectMeta: named(newcomer)}
			w.update(svc, func() { stage.Joined(svc, idNew) })
			cells := saw(idA, "UP", idB, "UP", idNew, listed)
			w.reports(cells, cells)
			for _, name := range []string{"demo-rack1-0", "demo-rack2-0"} {
				pod := &corev1.Pod{ObjectMeta: named(name)}
				w.update(pod, func() { carry(cells, pod) })
			}
			if w.ran(idNew); readable {
				w.dataDir()
			}
			w.runs(alone).renewTimes(12)
		}
	}
	for name, tc := range map[string]struct {
		replay func(*world)
		opens  bool
	}{
		"its own, once":                  {given(func(*api.StatusReportViewPermit) {}), true},
		"of an earlier Pod of this name": {given(func(p *api.StatusReportViewPermit) { p.PodUID = "uid-0" }), false},
		"of a permit without a Pod":      {given(func(p *api.StatusReportViewPermit) { p.PodUID = "" }), false},
		"of an earlier volume":           {given(func(p *api.StatusReportViewPermit) { p.PVCUID = "claim-0" }), false},
		"of the first node":              {given(func(p *api.StatusReportViewPermit) { p.Kind = api.PermitForm }), false},
		"of a replacement":               {given(func(p *api.StatusReportViewPermit) { p.Kind = api.PermitReplace }), false},
		"of another member":              {given(func(p *api.StatusReportViewPermit) { p.Member = other }), false},
		"that was withdrawn": {func(w *world) {
			w.away(func() {
				w.renewTimes(6)
				w.renew(withoutPermit)
				time.Sleep(view5)
			})
			for seq := range int64(12) {
				time.Sleep(time.Second)
				w.replay(1, seq%7+1, permittedView()) // 1.8 has withdrawn it
			}
		}, false},
		"of a former leader": {func(w *world) {
			w.away(func() {
				w.renewTimes(2)
				w.replay(2, 1, changedView(withoutPermit))
				time.Sleep(view5)
			})
			for seq := range int64(12) {
				time.Sleep(time.Second)
				w.replay(1, 900+seq, permittedView())
			}
		}, false},
		"of a backup of the report":                                   {backup(""), false},
		"of a backup under its former name":                           {backup("report-2"), false},
		"of a member that has joined, and whose volume is empty":      {afterJoin("DOWN", true), false},
		"of a member that has joined, and whose volume is unreadable": {afterJoin("DOWN", false), false},
		"of a member that has joined a second ago":                    {afterJoin("UP", true), false},
	} {
		for _, launcher := range []bool{false, true} {
			inBubble(t, name+map[bool]string{true: ", the launcher"}[launcher], func(t *testing.T) {
				w := withView(t, permittedView())
				w.o.Launcher, w.o.Just = launcher, launcher
				tc.replay(w)
				w.opensOr(tc.opens, 10*time.Minute)
			})
		}
	}
}
