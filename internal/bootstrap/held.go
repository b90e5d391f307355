// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Guarded reports whether the start depends on the present state of other nodes, so that the
// barrier checks it again right before opening.
func (d Decision) Guarded() bool {
	return d.Stabilises() || d == DecisionGenesis
}

// Stabilises reports whether all other nodes must have been UP for some time before the start.
// Gossip needs about 22 seconds to detect a stopped node, and a node in a restart loop is UP in
// between.
func (d Decision) Stabilises() bool {
	return d == DecisionAllUp || d == DecisionReplacing
}

// Stabilising returns the blocker of a member for which all nodes have been UP for elapsed, while
// window is required.
func Stabilising(window, elapsed time.Duration) matrix.Blocker {
	// rounded up: 0s would mean finished
	left := (min(window, max(0, window-elapsed)) + time.Second - 1).Truncate(time.Second)
	return matrix.Blocker{
		Reason: words.Stabilising, Cause: words.New(words.MustStayUp, "window", window.String(), "left", left.String()),
	}
}

// ReporterSilent returns the blocker of a member whose reporter does not respond when the barrier
// is about to open.
func ReporterSilent(node matrix.Ref, terms string) matrix.Blocker {
	return matrix.Blocker{Reason: words.ReporterSilent, Observed: node, Detail: terms}
}

// NoOtherSeed returns the blocker of a member whose choice of seeds does not permit a start.
func NoOtherSeed(self matrix.Ref, choice SeedChoice) matrix.Blocker {
	return matrix.Blocker{Reason: words.NoOtherSeed, Observed: self, Cause: choice.Message()}
}

// NotFirst returns the blocker of a member that would be the first node of its cluster, except for
// why: its seeds, Pod or StatefulSet belong to another cluster.
func NotFirst(self matrix.Ref, why words.Message) matrix.Blocker {
	return matrix.Blocker{Reason: words.SeedsOfAnotherCluster, Observed: self, Cause: why}
}

// held returns the blockers that the member's own barrier reports in addition to the objects'
// blockers; nil if it does not run or its report is not readable. They come from the Pod, so only
// known reasons count, without their steps: commands come only from us.
func held(c *cluster.Cluster, m *cluster.Member) []matrix.Blocker {
	w := m.BarrierWait()
	if w == nil {
		return nil
	}
	var out []matrix.Blocker
	for _, r := range w.Refusals {
		if reason := words.Code(r.Reason); slices.Contains(matrix.Reasons(), reason) {
			out = append(out, refusal(c, m, reason, r))
		}
	}
	if len(out) == 0 && w.StableSince != nil && w.StableFor.Duration > 0 {
		elapsed := time.Duration(0)
		if !c.TakenAt.IsZero() {
			// clocks of two machines: the rest never exceeds the whole window
			elapsed = max(0, c.TakenAt.Sub(w.StableSince.Time))
		}
		out = append(out, Stabilising(w.StableFor.Duration, elapsed))
	}
	return out
}

// refusal returns a blocker of the barrier. Its cause is nested, so that no code treats the Pod's
// code and names as facts of the objects.
func refusal(c *cluster.Cluster, m *cluster.Member, reason words.Code, r api.BarrierRefusal) matrix.Blocker {
	b := matrix.Blocker{Reason: reason, Observed: c.Named(r.Observed), Observer: c.Named(r.Observer),
		Detail: cmp.Or(r.Detail, r.Words), Hearsay: true}
	switch reason {
	case words.ReporterSilent:
		b.Observer = matrix.Ref{}
	case words.NoOtherSeed, words.SeedsOfAnotherCluster:
		b.Observed, b.Observer = m.Recorded(), matrix.Ref{}
	}
	if r.Cause.Code != "" {
		b.Cause, b.Detail = words.New(words.BarrierFound, "why", words.Message(r.Cause)), ""
	}
	return b
}
