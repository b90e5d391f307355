// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// mostRelays is the maximum of members that are queried for the view.
	mostRelays = 8
	// relearn is the interval between readings of their addresses while no view is fresh.
	relearn = time.Minute
)

// relays are the reporters of other members, which relay the controller's view. A view has no
// signature: a relayed one may block this member, and never opens the gate. No view is kept.
type relays struct {
	members []Relay
	learned time.Time // last reading of their addresses; zero before
	// The last query without a fresh view, zero before: how many answered, and had a current view.
	asked             time.Time
	answered, current int
}

// learn reads the addresses of the other members' reporters. If it reads none, the earlier ones
// remain.
func (g *Gate) learn(known *cluster.Cluster) {
	g.relays.learned = g.reads.Now()
	if found := g.reads.Relays(known.Relays(g.Member, mostRelays)); len(found) > 0 {
		g.relays.members = found
	}
}

// askRelays queries the relays. It returns how many answered, and their current views: of the
// present report, and not older than the view limit, counted from the request.
func (g *Gate) askRelays() (answered int, current []*api.StatusReportView) {
	if len(g.relays.members) == 0 {
		return 0, nil
	}
	asked, of := g.reads.Now(), g.permits.views.Report()
	for _, told := range g.reads.Views(g.relays.members) {
		if told.Answered {
			answered++
		}
		// A view of a deleted report, or of one that this gate has not yet read, has no order with
		// the present report's views.
		if told.View == nil || of != "" && told.Report != of || told.Age < 0 ||
			told.Age > g.policy.ViewLimit.Duration-g.reads.Now().Sub(asked) {
			continue
		}
		current = append(current, told.View)
	}
	return answered, current
}

// turned returns why a relayed view that is newer than the API server's blocks the member; nil
// without one. p uses the API server's view, which lets the member start and is about to: it may be
// out of date even if it looks recent.
func (g *Gate) turned(known *cluster.Cluster, p bootstrap.Permission,
	blockersOf func(*bootstrap.Permission) []matrix.Blocker) []matrix.Blocker {
	g.learn(known)
	direct := view.StampOf(p.View)
	_, current := g.askRelays()
	for _, relayed := range current {
		if p.View = relayed; !view.StampOf(relayed).Newer(direct) {
			continue
		}
		// The worse view counts: a view that opens does not override another that blocks.
		if blockers := blockersOf(&p); len(blockers) > 0 {
			return blockers
		}
	}
	return nil
}

// noView are the reasons of blockers that the absence of a fresh view causes.
var noView = []words.Code{words.APIUnreachable, words.ControllerSilent}

// explainNoView uses the answers of the other members' reporters to distinguish a controller that
// is not responding from a Pod without network. Both block. The verdict changes once no view can be
// fresh. known is nil while the API server is not readable: their addresses must be known before.
func (g *Gate) explainNoView(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	if v.Satisfied || !g.ByPermits() {
		return v
	}
	v = g.explainSilence(v)
	silent, r, now := waitsFor(v, noView...), &g.relays, g.reads.Now()
	if known != nil && (r.learned.IsZero() || silent && now.Sub(r.learned) >= relearn) {
		g.learn(known)
	}
	if !silent {
		return v
	}
	list := slices.Clone(v.Blockers)
	for i := range list {
		x := &list[i]
		if !slices.Contains(noView, x.Reason) || now.Sub(g.lastSign(x.Reason, now)) <= g.policy.ViewLimit.Duration {
			continue
		}
		if now.Sub(r.asked) >= g.policy.PeerCheck.Duration {
			answered, current := g.askRelays()
			r.asked, r.answered, r.current = now, answered, len(current)
		}
		asked := fmt.Sprintf("%d of %d", r.answered, len(r.members))
		switch unread := x.Reason == words.APIUnreachable; {
		case r.answered == 0 && (unread || len(r.members) > 0):
			*x = matrix.Blocker{Reason: words.Isolated, Cause: x.Cause, Detail: x.Detail,
				Since: g.lastSign(x.Reason, now)}
		case unread && r.current > 0:
			*x = matrix.Blocker{Reason: words.APIUnreachable,
				Cause: words.New(words.RelaysAreFresh, "answering", asked, "error", x.Detail)}
		case unread:
			*x = matrix.Blocker{
				Reason: words.ControllerSilent, Since: g.lastSign(x.Reason, now),
				Cause: words.New(words.RelaysAreOld, "answering", asked, "error", x.Detail),
			}
		}
	}
	matrix.SortBlockers(list)
	return v.Only(list)
}

// lastSign returns the last reading of the API server, or of an advancing view.
func (g *Gate) lastSign(r words.Code, now time.Time) time.Time {
	at := g.started
	if r == words.APIUnreachable {
		if !g.permits.heard.IsZero() {
			at = g.permits.heard
		}
	} else if age, seen := g.permits.views.Age(now); seen {
		at = now.Add(-age)
	}
	return at
}
