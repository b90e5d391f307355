// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// firstLook and maxLook bound the pause between two final checks that fail.
const (
	firstLook = 2 * time.Second
	maxLook   = 15 * time.Second
)

// stability is the state between a verdict that opens and the opening itself.
type stability struct {
	since   time.Time         // since when all are UP continuously; zero if they are not
	refusal bootstrap.Verdict // of the last final check
	refused int               // failed final checks in a row
	next    time.Time         // time of the next final check
}

// settle makes a verdict that would open final: all nodes must stay UP for the window. A final
// check, independent of the reports and the controller, must find no blocker.
func (g *Gate) settle(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	s := &g.stability
	if !v.Satisfied || !v.Decision.Guarded() {
		*s = stability{}
		return v
	}
	now := g.reads.Now()
	if s.since.IsZero() {
		s.since = now
	}
	if blockers := g.unpermitted(v, known, false); len(blockers) > 0 {
		return g.close(v, blockers)
	}
	g.permits.had, g.permits.by = g.ByPermits(), view.StampOf(g.permits.views.Latest())
	if s.refused > 0 && now.Before(s.next) {
		refusal := s.refusal
		refusal.Pause = s.next.Sub(now)
		return refusal
	}
	if left := g.unstable(v); s.refused == 0 && left > 0 {
		return g.stabilising(v, left)
	}
	looked := g.lastLook(v, known)
	now = g.reads.Now()
	if !looked.Satisfied {
		s.refused++
		looked.Pause = min(maxLook, firstLook<<min(s.refused-1, 4))
		s.refusal, s.next = looked, now.Add(looked.Pause)
		return looked
	}
	if s.refused > 0 {
		// The cause of the refusal is gone: its absence must also last for the window.
		*s = stability{since: now}
		if left := g.unstable(v); left > 0 {
			return g.stabilising(v, left)
		}
	}
	if blockers := g.permitted(looked, known); len(blockers) > 0 {
		return g.close(v, blockers)
	}
	return looked
}

// stabilising blocks a verdict until all have been UP for left more.
func (g *Gate) stabilising(v bootstrap.Verdict, left time.Duration) bootstrap.Verdict {
	v = wait(v, bootstrap.Stabilising(g.window, (g.window-left).Truncate(repeat)))
	// A broken watch must not hide that a node was DOWN and recovered.
	v.Pause = min(left, stabilityLook)
	return v
}

// close blocks a member without a valid permit. The stabilisation time continues, but restarts if a
// permit was withdrawn or has expired.
func (g *Gate) close(v bootstrap.Verdict, blockers []matrix.Blocker) bootstrap.Verdict {
	if g.permits.had {
		if view.StampOf(g.permits.views.Latest()).Newer(g.permits.by) {
			g.Newer++
		}
		g.stability, g.permits.had = stability{since: g.reads.Now()}, false
	}
	return wait(v, blockers...)
}

// unstable returns how much longer all must stay UP.
func (g *Gate) unstable(v bootstrap.Verdict) time.Duration {
	if !v.Decision.Stabilises() || g.Just {
		return 0
	}
	return max(0, g.window-g.reads.Now().Sub(g.stability.since))
}

// lastLook is the final check before opening. It checks the rows in the Pods' annotations, the
// member's seeds, and the reporters, which must answer. No controller is needed. The verdicts by
// report and by annotations must both open.
func (g *Gate) lastLook(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	objects, digests, trouble := g.reads.Pods(known)
	if trouble != nil {
		return wait(v, *trouble)
	}
	in, err := g.Input(cluster.New(objects, cluster.SourceReport, g.reads.Now()))
	if err != nil {
		return wait(v, NoService(words.Clean(err.Error()), words.Message{}))
	}
	carried := cluster.New(objects, cluster.SourceAnnotation, g.reads.Now())
	by := bootstrap.Decide(in)
	if carriesRows(objects.Pods, g.Member) || ours(known) {
		said, err := g.Input(carried)
		if err != nil {
			return wait(v, NoService(words.Clean(err.Error()), words.Message{}))
		}
		said.Reports = in.Reports // the lenient flag depends on it
		by = both(by, bootstrap.Decide(said))
	}
	if !by.Satisfied {
		return by
	}
	blockers := g.notFirst(v, carried)
	if choice, launched := bootstrap.SeedChoiceOf(carried, g.Member, in.Volume); launched &&
		(!choice.Usable() || choice.Code == words.SeedsFirstNode && v.Decision != bootstrap.DecisionGenesis) {
		blockers = append(blockers, bootstrap.NoOtherSeed(v.Self, choice))
	}
	if len(blockers) == 0 {
		reporters := carried.Reporters(g.Member)
		for i, err := range g.reads.Confirm(reporters, digests) {
			if err != nil {
				blockers = append(blockers, noAnswer(reporters[i].Ref, err))
			}
		}
	}
	if len(blockers) > 0 {
		return wait(v, blockers...)
	}
	return v
}

// notFirst blocks a member that would create a cluster although its seeds, or its StatefulSet,
// belong to another one. It reads all objects of the namespace: none of them has this cluster's
// label.
func (g *Gate) notFirst(v bootstrap.Verdict, known *cluster.Cluster) []matrix.Blocker {
	if v.Decision != bootstrap.DecisionGenesis {
		return nil
	}
	all, trouble := g.reads.Neighbours()
	if trouble != nil {
		return []matrix.Blocker{*trouble}
	}
	if why := known.NotFirst(g.Member, all); !why.IsZero() {
		return []matrix.Blocker{bootstrap.NotFirst(v.Self, why)}
	}
	return nil
}

// both combines the verdicts by the report and by the Pods' rows: both must open. If they differ,
// the Pods' rows show the cause.
func both(byReport, byPods bootstrap.Verdict) bootstrap.Verdict {
	outdated := slices.DeleteFunc(slices.Clone(byReport.Blockers),
		func(x matrix.Blocker) bool { return x.Reason != words.ReportOutdated })
	switch {
	case byReport.Satisfied:
		return byPods
	case byPods.Satisfied || len(outdated) == 0 || byReport.Decision == bootstrap.DecisionRefuse:
		return byReport
	case byPods.Decision == bootstrap.DecisionRefuse:
		return byPods
	}
	return wait(byPods, slices.Concat(byPods.Blockers, outdated)...)
}

// carriesRows reports whether Pods other than the member's have rows: another writer's reports may
// come from another source.
func carriesRows(pods []corev1.Pod, member string) bool {
	for i := range pods {
		if pods[i].Name != member && len(pods[i].Annotations) > 0 {
			return true
		}
	}
	return false
}

// Unconfirmed is why a reporter has not confirmed its row, as its caller determined.
type Unconfirmed words.Message

func (e Unconfirmed) Error() string { return words.Text(words.Message(e)) }

// noAnswer is the blocker of a reporter without confirmation. It quotes network errors.
func noAnswer(node matrix.Ref, err error) matrix.Blocker {
	why, ok := errors.AsType[Unconfirmed](err)
	if !ok {
		return bootstrap.ReporterSilent(node, OneLine(err))
	}
	x := bootstrap.ReporterSilent(node, "")
	x.Cause = words.Message(why)
	return x
}
