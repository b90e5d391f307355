// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// mostRelays is the maximum of members that are queried for the view, relearn the interval
	// between readings of their addresses.
	mostRelays = 8
	relearn    = time.Minute
	// AskRelays is how often a gate that is about to open queries them.
	AskRelays = 2 * time.Second
)

// relays are the reporters of other members. They relay the controller's view if this gate does not
// see it advance. A view has no signature: a relayed one may block this member, and never opens the
// gate. Only the API server's view opens.
type relays struct {
	// views are the relayed views, by member. A forged view with a high stamp does not hide another
	// member's view.
	views   map[string]*view.Relayed
	report  types.UID // UID of the cluster report in the API server
	members []Relay
	learned time.Time // last reading of their addresses; zero before
	asked   time.Time // last query; zero before
	// Result of the last round: how many answered, and when the controller last confirmed the
	// relayed view; zero without one.
	answered int
	stoodBy  time.Time
	closed   view.Stamp // the view that blocked this member, for the count
}

// of sets the UID of the present cluster report.
func (r *relays) of(report types.UID) {
	r.report = report
	for _, v := range r.views {
		v.Of(report)
	}
}

// by returns the state of one member's relayed views.
func (r *relays) by(member string) *view.Relayed {
	if r.views[member] == nil {
		if r.views == nil {
			r.views = map[string]*view.Relayed{}
		}
		r.views[member] = &view.Relayed{}
		r.views[member].Of(r.report)
	}
	return r.views[member]
}

// learn reads the addresses of the other members' reporters.
func (g *Gate) learn(known *cluster.Cluster) {
	r, now := &g.relays, g.reads.Now()
	if !g.ByPermits() || !r.learned.IsZero() && now.Sub(r.learned) < relearn {
		return
	}
	r.learned = now
	found, unread := g.reads.Relays(known.Relays(g.Member, mostRelays))
	for _, m := range r.members {
		if slices.Contains(unread, m.Member) {
			found = append(found, m)
		}
	}
	r.members = found
}

// Relearn makes the next judgement read the addresses of the relays, as for another cluster.
func (g *Gate) Relearn() { g.relays.learned = time.Time{} }

// askForViews queries all relays for their views, unless it did so within pause.
func (g *Gate) askForViews(pause time.Duration) {
	r, asked := &g.relays, g.reads.Now()
	if len(r.members) == 0 || !r.asked.IsZero() && asked.Sub(r.asked) < pause {
		return
	}
	r.asked = asked
	direct, of := g.permits.views.Latest(), r.report
	questions := make([]Question, len(r.members))
	for i, m := range r.members {
		have := direct
		if handed, _ := r.by(m.Member).Newest(asked); view.StampOf(handed).Newer(view.StampOf(have)) {
			have = handed
		}
		questions[i] = Question{Relay: m, Have: have, HaveOf: of}
	}
	r.answered, r.stoodBy = 0, time.Time{}
	for i, told := range g.reads.Views(questions) {
		if told.Answered {
			r.answered++
		}
		// A view of a deleted report, or of one that this gate has not yet read, has no order with
		// the present report's views.
		if told.View == nil || of != "" && told.Report != of {
			continue
		}
		if at := asked.Add(-told.Age); at.After(r.stoodBy) {
			r.stoodBy = at
		}
		r.by(r.members[i].Member).Adopt(told.View, told.Age, asked)
	}
}

// turned returns why a relayed view that is newer than the API server's blocks the member; nil
// without one. p uses the API server's view, which lets the member start.
func (g *Gate) turned(p bootstrap.Permission,
	blockersOf func(*bootstrap.Permission) []matrix.Blocker) []matrix.Blocker {
	// The API server's view may be out of date even if it looks recent, and it is about to open.
	g.askForViews(AskRelays)
	direct := p.View
	p.Old = words.Message{}
	for _, member := range slices.Sorted(maps.Keys(g.relays.views)) {
		if p.View = g.relays.views[member].Against(direct, g.reads.Now(), g.policy.ViewLimit.Duration); p.View == nil {
			continue
		}
		// The worse view counts: a view that opens does not override another that blocks.
		blockers := blockersOf(&p)
		if len(blockers) == 0 {
			continue
		}
		if is := view.StampOf(p.View); is != g.relays.closed {
			g.relays.closed = is
			g.Relayed++
		}
		return blockers
	}
	return nil
}

// noView are the reasons of blockers that the absence of a fresh view causes.
var noView = []words.Code{words.APIUnreachable, words.ControllerSilent}

// explainNoView uses the answers of the other members' reporters to distinguish a controller that
// is not responding from a Pod without network. Both block. The verdict changes once no view can be
// fresh.
func (g *Gate) explainNoView(v bootstrap.Verdict) bootstrap.Verdict {
	if v.Satisfied || !g.ByPermits() || !waitsFor(v, noView...) {
		return v
	}
	g.askForViews(g.policy.PeerCheck.Duration)
	now := g.reads.Now()
	fresh := !g.relays.stoodBy.IsZero() && now.Sub(g.relays.stoodBy) <= g.policy.ViewLimit.Duration
	list := slices.Clone(v.Blockers)
	for i := range list {
		x := &list[i]
		if !slices.Contains(noView, x.Reason) || now.Sub(g.lastSign(x.Reason, now)) <= g.policy.ViewLimit.Duration {
			continue
		}
		asked := fmt.Sprintf("%d of %d", g.relays.answered, len(g.relays.members))
		switch unread := x.Reason == words.APIUnreachable; {
		case g.relays.answered == 0 && (unread || len(g.relays.members) > 0):
			*x = matrix.Blocker{Reason: words.Isolated, Cause: x.Cause, Detail: x.Detail,
				Since: g.lastSign(x.Reason, now)}
		case unread && fresh:
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
