// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Cause is one reason why a member must wait: a finding of the cluster with the member's blockers
// that it explains, or one group of blockers that no finding explains.
type Cause struct {
	// Finding has the indexes of the verdict's blockers; nil if the cluster has none.
	Finding *Finding
	Groups  []matrix.Group
}

// Message returns the cause in one sentence.
func (c *Cause) Message() words.Message {
	if c.Finding != nil {
		return c.Finding.Message
	}
	return c.Groups[0].Message()
}

// Since returns when it began; zero if unknown.
func (c *Cause) Since() time.Time {
	if c.Finding != nil {
		return c.Finding.Since
	}
	return c.Groups[0].Since
}

// Step returns the next step; zero if none is known.
func (c *Cause) Step() words.Message {
	if c.Finding != nil {
		return c.Finding.Step
	}
	return c.Groups[0].Step
}

// given are the steps of a cluster's own blockers, and the findings that explain them.
type given struct {
	steps    map[pairKey]words.Message
	findings []Finding
	found    map[pairKey]int // index of the first finding that explains a blocker
}

// stepsOf returns the steps of the cluster's own blockers; none if the Pods were not read.
func stepsOf(c *cluster.Cluster, blockers []matrix.Blocker, findings []Finding) given {
	g := given{steps: map[pairKey]words.Message{}, found: map[pairKey]int{}, findings: findings}
	if !c.KnowsPods() {
		return g
	}
	for i := range blockers {
		g.steps[keyOf(&blockers[i])] = blockers[i].Step
		if k, ok := ofCluster(&blockers[i]); ok && g.steps[k].IsZero() {
			g.steps[k] = blockers[i].Step
		}
	}
	for i, f := range slices.Backward(findings) {
		if f.Remark {
			continue
		}
		for _, b := range f.Blockers {
			g.found[keyOf(&blockers[b])] = i
			if k, ok := ofCluster(&blockers[b]); ok {
				g.found[k] = i
			}
		}
	}
	return g
}

// key returns the key of a member's blocker that the cluster also has. A blocker without a node,
// such as a missing report, is one problem with one step, even if the cluster has it for another
// cause.
func (g given) key(b *matrix.Blocker) (pairKey, bool) {
	k := keyOf(b)
	if _, ok := g.steps[k]; ok {
		return k, true
	}
	if k, ok := ofCluster(b); ok {
		_, ok = g.steps[k]
		return k, ok
	}
	return k, false
}

// causes returns the causes of a verdict's blockers, which are sorted by severity: the cluster's
// findings in their own order, and then what no finding explains; the latter first if the most
// severe blocker is one of them.
func (g given) causes(v *bootstrap.Verdict, own func(*matrix.Blocker) bool) []Cause {
	explains := make([][]int, len(g.findings))
	var rest []matrix.Blocker
	first := false
	for i := range v.Blockers {
		b := &v.Blockers[i]
		k, ok := g.key(b)
		at, found := g.found[k]
		if !ok || !found || own(b) {
			rest, first = append(rest, *b), first || i == 0
			continue
		}
		explains[at] = append(explains[at], i)
	}
	var out, unexplained []Cause
	for i, list := range explains {
		if len(list) == 0 {
			continue
		}
		f := g.findings[i]
		f.Blockers = list
		blockers := make([]matrix.Blocker, len(list))
		for k, b := range list {
			blockers[k] = v.Blockers[b]
		}
		groups, _ := matrix.GroupBlockers(blockers)
		out = append(out, Cause{Finding: &f, Groups: groups})
	}
	groups, _ := matrix.GroupBlockers(rest)
	for _, group := range groups {
		unexplained = append(unexplained, Cause{Groups: []matrix.Group{group}})
	}
	if first {
		return append(unexplained, out...)
	}
	return append(out, unexplained...)
}
