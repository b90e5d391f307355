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

// annotationPause is the minimum time between two writes of the annotation, even if nodes flap.
const annotationPause = 5 * time.Second

// annotation is the last known text of api.AnnotationBarrier on this Pod, and the last write.
type annotation struct {
	text, written string
	at            time.Time
}

// Annotate returns the text that api.AnnotationBarrier of this Pod must have after a verdict, empty
// for none. due is false if nothing is to be written now. The caller passes the result to
// Annotated.
func (g *Gate) Annotate(v bootstrap.Verdict) (text string, due bool) {
	if w := g.Waits(v); w != nil {
		var err error
		if text, err = api.EncodeBarrierWait(w); err != nil {
			return "", false
		}
	}
	a, now := &g.annotation, g.reads.Now()
	if text == a.text || !v.Satisfied && !a.at.IsZero() && now.Sub(a.at) < annotationPause {
		return "", false
	}
	a.written, a.at = text, now
	return text, true
}

// Annotated takes the result of a write: nil, or why it failed. After a failure that is not a
// refusal the annotation is unknown. A launcher that cannot remove the annotation stays closed: the
// controller would still judge this Pod as one that waits.
func (g *Gate) Annotated(v bootstrap.Verdict, failed *matrix.Blocker, refused bool) bootstrap.Verdict {
	switch a := &g.annotation; {
	case failed == nil:
		a.text = a.written
		return v
	case !refused:
		a.text = "?"
	}
	if v.Satisfied && g.Launcher {
		return g.Blocked(*failed)
	}
	return v
}

// Waits returns the facts about a verdict that only this Pod has, for its annotation: the remaining
// stabilisation time, the result of the final check, and its volume. Nil if the reports show all.
func (g *Gate) Waits(v bootstrap.Verdict) *api.BarrierWait {
	if v.Satisfied {
		return nil
	}
	w := g.waitBeyondReports(v)
	if empty := g.Volume == bootstrap.VolumeEmpty; empty || g.Launcher {
		w = cmp.Or(w, &api.BarrierWait{})
		w.EmptyVolume, w.Launcher = empty, g.Launcher
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
