// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Waits returns the facts about a verdict that only this Pod has, for its annotation: the remaining
// stabilisation time, the result of the final check, and its volume. Nil if the reports show all.
func (g *Gate) Waits(v bootstrap.Verdict) *api.BarrierWait {
	if v.Satisfied {
		return nil
	}
	w := g.waitBeyondReports(v)
	if g.Volume == bootstrap.VolumeEmpty {
		w = cmp.Or(w, &api.BarrierWait{})
		w.EmptyVolume = true
	}
	if g.Launcher {
		w = cmp.Or(w, &api.BarrierWait{})
		w.Launcher = true
	}
	return w
}

// waitBeyondReports returns why a verdict waits beyond the reports, nil if the reports show it.
func (g *Gate) waitBeyondReports(v bootstrap.Verdict) *api.BarrierWait {
	forced := v.Summary.Code == words.ForceDoesNotCover // the next force must name what only this Pod sees
	if g.stability.since.IsZero() && !forced && !waitsFor(v, words.VolumeUnreadable) {
		return nil
	}
	if waitsFor(v, words.Stabilising) {
		since := metav1.NewTime(g.stability.since.UTC().Truncate(time.Second))
		return &api.BarrierWait{StableSince: &since, StableFor: metav1.Duration{Duration: g.window}}
	}
	if waitsFor(v, words.PermitPending) {
		return nil // the view is visible to every reader
	}
	w := &api.BarrierWait{}
	for _, x := range v.Blockers[:min(len(v.Blockers), api.MaxBarrierRefusals)] {
		r := api.BarrierRefusal{Reason: string(x.Reason), Observed: nameOf(x.Observed), Observer: nameOf(x.Observer),
			Cause: words.Coded(x.Cause)}
		if x.Cause.IsZero() {
			const enough = 300
			runes := []rune(x.Detail)
			r.Detail = string(runes[:min(len(runes), enough)])
		}
		w.Refusals = append(w.Refusals, r)
	}
	return w
}

func nameOf(r matrix.Ref) string {
	if r.HostID != "" {
		return string(r.HostID)
	}
	return r.Member
}
