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
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// firstLook and maxLook bound the pause between two final checks that fail.
const (
	firstLook = 2 * time.Second
	maxLook   = 15 * time.Second
)

// stability is the state between a verdict that opens and the opening itself.
type stability struct {
	since   time.Time // since when only the window or the final check blocks; else zero
	refused int       // failed final checks in a row; zero unless the last verdict is of one
}

// settle makes a verdict final: a final check, independent of the reports and the controller, must
// find no blocker. By reports, the reports must open, and all nodes must have stayed UP for the
// window. By permits, a permit is required: the controller has waited for that window. The reports,
// which may be older than the Pods' rows, then only explain why there is no permit.
func (g *Gate) settle(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	s, now := &g.stability, g.reads.Now()
	waits := v.Decision == bootstrap.DecisionWait && g.ByPermits() && known != nil
	if !waits && !v.Decision.Guarded() {
		*s = stability{}
		return v
	}
	if blockers := g.unpermitted(v, known, false); len(blockers) > 0 {
		if *s = (stability{}); waits {
			return v
		}
		s.since = now
		return wait(v, blockers...)
	}
	if s.since.IsZero() {
		s.since = now
	}
	if left := g.unstable(v); s.refused == 0 && left > 0 {
		return g.stabilising(v, left)
	}
	looked := g.lastLook(v, known)
	if !looked.Satisfied {
		s.refused++
		looked.Pause = min(maxLook, firstLook<<min(s.refused-1, 4))
		return looked
	}
	if s.refused > 0 {
		// The cause of the refusal is gone: its absence must also last for the window.
		*s = stability{since: g.reads.Now()}
		if left := g.unstable(v); left > 0 {
			return g.stabilising(v, left)
		}
	}
	if blockers := g.permitted(looked, known); len(blockers) > 0 {
		return wait(looked, blockers...)
	}
	return looked
}

// stabilising blocks a verdict until all have been UP for left more.
func (g *Gate) stabilising(v bootstrap.Verdict, left time.Duration) bootstrap.Verdict {
	v = wait(v, bootstrap.Stabilising(g.window, (g.window-left).Truncate(repeat)))
	// A broken watch must not hide that a node was DOWN and recovered.
	v.Pause = min(left, soon)
	return v
}

// unstable returns how much longer all must stay UP.
func (g *Gate) unstable(v bootstrap.Verdict) time.Duration {
	if g.ByPermits() || !v.Decision.Stabilises() || g.Just {
		return 0
	}
	return max(0, g.window-g.reads.Now().Sub(g.stability.since))
}

// lastLook is the final check before opening. It checks the rows in the Pods' annotations, the
// member's seeds, and the reporters, which must answer. No controller is needed.
func (g *Gate) lastLook(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	objects, digests, trouble := g.reads.Pods(known)
	if trouble != nil {
		return wait(v, *trouble)
	}
	carried := cluster.New(objects, cluster.SourceAnnotation, g.reads.Now())
	if v = g.both(carried, known); !v.Satisfied {
		return v
	}
	blockers := g.notFirst(v, carried)
	if choice, launched := bootstrap.SeedChoiceOf(carried, g.Member, g.Volume); launched &&
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

// both is the verdict by the Pods' rows. By reports, that by the reports must open as well; if they
// differ, the Pods' rows show the cause.
func (g *Gate) both(carried, known *cluster.Cluster) bootstrap.Verdict {
	if g.ByPermits() {
		return g.judged(carried, known)
	}
	report := cluster.New(carried.Objects, cluster.SourceReport, carried.TakenAt)
	byReport := g.judged(report, report)
	if !ours(known) && !carriesRows(carried.Pods, g.Member) {
		return byReport // another writer's reports may come from another source
	}
	byPods := g.judged(carried, report)
	outdated := slices.DeleteFunc(slices.Clone(byReport.Blockers),
		func(x matrix.Blocker) bool { return x.Reason != words.ReportOutdated })
	switch {
	case byReport.Satisfied && !byPods.Satisfied:
		return byPods
	case byReport.Satisfied, byPods.Satisfied, len(outdated) == 0, byReport.Decision == bootstrap.DecisionRefuse:
		return byReport
	case byPods.Decision == bootstrap.DecisionRefuse:
		return byPods
	}
	return wait(byPods, slices.Concat(byPods.Blockers, outdated)...)
}

// judged decides on a reading that has the Pods. reports has the reports of that reading: the
// lenient flag depends on their number.
func (g *Gate) judged(c, reports *cluster.Cluster) bootstrap.Verdict {
	in, err := g.Input(c)
	if err != nil {
		return g.Blocked(NoService(words.Clean(err.Error()), words.Message{}))
	}
	in.Reports = reports.ReportCount()
	return g.complete(bootstrap.Decide(in), c)
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

// carriesRows reports whether Pods other than the member's have rows.
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
