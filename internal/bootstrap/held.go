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

// Guarded is true for a start that depends on the present state of other nodes, so that the barrier checks it again right before opening.
func (d Decision) Guarded() bool {
	return d.Stabilises() || d == DecisionGenesis
}

// Stabilises is true for a start before which all other nodes must have been UP for a while: gossip needs some 22 seconds to detect a death, and a node that restarts again and
// again is UP in between.
func (d Decision) Stabilises() bool {
	return d == DecisionAllUp || d == DecisionReplacing
}

// Stabilising is the blocker of a member for which all has been UP for elapsed, while window is required.
func Stabilising(window, elapsed time.Duration) matrix.Blocker {
	left := (min(window, max(0, window-elapsed)) + time.Second - 1).Truncate(time.Second) // rounded up: 0s would read as finished
	return matrix.Blocker{
		Reason: words.Stabilising, Cause: words.New(words.MustStayUp, "window", window.String(), "left", left.String()),
	}
}

// ReporterSilent is the blocker of a member whose reporter does not answer at the moment of opening.
func ReporterSilent(node matrix.Ref, terms string) matrix.Blocker {
	return matrix.Blocker{Reason: words.ReporterSilent, Observed: node, Detail: terms}
}

// NoOtherSeed is the blocker of a member whose choice of seeds does not permit a start.
func NoOtherSeed(self matrix.Ref, choice SeedChoice) matrix.Blocker {
	return matrix.Blocker{Reason: words.NoOtherSeed, Observed: self, Cause: choice.Message()}
}

// NotFirst is the blocker of a member that would be the first node of its cluster, were it not for why: its seeds, or its Pod or StatefulSet, belong to another cluster.
func NotFirst(self matrix.Ref, why words.Message) matrix.Blocker {
	return matrix.Blocker{Reason: words.SeedsOfAnotherCluster, Observed: self, Cause: why}
}

// held are the blockers that the member's own barrier reports beyond those of the objects: nil where it does not run, or reports nothing that can be read. They come from the Pod,
// so only known reasons count, without their steps: commands are ours.
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
			elapsed = max(0, c.TakenAt.Sub(w.StableSince.Time)) // two machines' clocks: the rest is never more than the whole window
		}
		out = append(out, Stabilising(w.StableFor.Duration, elapsed))
	}
	return out
}

// refusal is a blocker of the barrier. Its cause is within another one, so that nobody takes a code and names of the Pod's for facts of the objects.
func refusal(c *cluster.Cluster, m *cluster.Member, reason words.Code, r api.BarrierRefusal) matrix.Blocker {
	b := matrix.Blocker{Reason: reason, Observed: c.Named(r.Observed), Observer: c.Named(r.Observer), Detail: cmp.Or(r.Detail, r.Words), Hearsay: true}
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
