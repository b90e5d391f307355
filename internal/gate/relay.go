// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// mostRelays is the maximum of members that are queried for the view.
const mostRelays = 8

// turned returns why a relayed view that is newer than the API server's blocks the member; nil
// without one. p uses the API server's view, which lets the member start and is about to: it may be
// out of date even if it looks recent. Only a view of the present report counts, because views of
// two reports have no order, and one not older than the view limit, counted from the request. A
// view has no signature: a relayed one may block this member, and never opens the gate.
func (g *Gate) turned(known *cluster.Cluster, p bootstrap.Permission,
	blockersOf func(*bootstrap.Permission) []matrix.Blocker) []matrix.Blocker {
	g.learn(known)
	direct, of, asked := view.StampOf(p.View), g.permits.views.Report(), g.reads.Now()
	for _, told := range g.reads.Views(g.relays) {
		old := told.Age < 0 || told.Age > g.policy.ViewLimit.Duration-g.reads.Now().Sub(asked)
		if old || of != "" && told.Report != of || !view.StampOf(told.View).Newer(direct) {
			continue
		}
		p.View = told.View
		// The worse view counts: a view that opens does not override another that blocks.
		if blockers := blockersOf(&p); len(blockers) > 0 {
			return blockers
		}
	}
	return nil
}

// learn reads the addresses of the relays. If it reads none, the earlier ones remain.
func (g *Gate) learn(known *cluster.Cluster) {
	if found := g.reads.Relays(known.Relays(g.Member, mostRelays)); len(found) > 0 {
		g.relays = found
	}
}

// explain names what is known to be gone as the reason why no permit comes: a controller that does
// not renew its Lease; or, if for the view limit neither the API server nor any other member's
// reporter has answered, this Pod's network.
func (g *Gate) explain(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	since := g.permits.heard
	switch {
	case !g.ByPermits():
		return v
	case known != nil:
		if g.relays == nil {
			g.learn(known) // the API server may be unreachable later
		}
		return g.explainSilence(v)
	case since.IsZero():
		since = g.started
	}
	x := v.Blockers[0]
	if x.Reason != words.APIUnreachable || g.reads.Now().Sub(since) <= g.policy.ViewLimit.Duration ||
		slices.ContainsFunc(g.reads.Views(g.relays), func(t Told) bool { return t.Answered }) {
		return v
	}
	return g.Blocked(matrix.Blocker{Reason: words.Isolated, Cause: x.Cause, Detail: x.Detail, Since: since})
}
