// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// mostRelays is the maximum of members that are queried for the view, relearn the interval
	// between readings of their addresses.
	mostRelays = 8
	relearn    = time.Minute
)

// relays are the reporters of other members. They relay the controller's view if this barrier does
// not see it advance. A view has no signature: a relayed one may block this barrier, and never
// opens it. Only the API server's view opens.
type relays struct {
	// views are the relayed views, by member. A forged view with a high stamp does not hide another
	// member's view.
	views   map[string]*view.Relayed
	report  types.UID // UID of the cluster report in the API server
	members []relayAt
	learned time.Time // last reading of their addresses; zero before
	asked   time.Time // last query; zero before
	// Result of the last round: how many answered, and when the controller last confirmed the
	// relayed view; zero without one.
	answered int
	stoodBy  time.Time
	closed   view.Stamp // the view that blocked this barrier, for the metric
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

// relayAt is the address of one relay.
type relayAt struct {
	member, address, fingerprint string
	client                       *http.Client
}

// learn reads the addresses of the other members' reporters from the API server.
func (b *barrier) learn(ctx context.Context, snap *cluster.Cluster) {
	r, now := &b.relays, b.Clock.Now()
	if !b.byPermits() || !r.learned.IsZero() && now.Sub(r.learned) < relearn {
		return
	}
	r.learned = now
	var found []relayAt
	for _, name := range snap.Relays(b.Service, mostRelays) {
		i := slices.IndexFunc(r.members, func(m relayAt) bool { return m.member == name })
		pod := &corev1.Pod{}
		err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: name}, pod)
		address, fingerprint, serves := cluster.ServedAt(pod)
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			if i >= 0 {
				found = append(found, r.members[i])
			}
		case err == nil && serves && i >= 0 && r.members[i].address == address &&
			r.members[i].fingerprint == fingerprint:
			found = append(found, r.members[i])
		case err == nil && serves:
			found = append(found, relayAt{name, address, fingerprint, pinned.NewClient(fingerprint)})
		}
	}
	for _, m := range r.members {
		if !slices.Contains(found, m) {
			m.client.CloseIdleConnections()
		}
	}
	r.members = found
}

func (r *relays) close() {
	for _, m := range r.members {
		m.client.CloseIdleConnections()
	}
}

// askForViews queries all relays in parallel for their views, unless it did so within pause. It
// takes at most viewwire.RelayTimeout.
func (b *barrier) askForViews(pause time.Duration) {
	r, asked := &b.relays, b.Clock.Now()
	if len(r.members) == 0 || !r.asked.IsZero() && asked.Sub(r.asked) < pause {
		return
	}
	r.asked = asked
	// A separate timeout: the API server may have used all of the caller's.
	ctx, cancel := context.WithTimeout(b.ctx, viewwire.RelayTimeout)
	defer cancel()
	direct, of := b.permits.views.Latest(), r.report
	answers, errs := make([]*viewwire.View, len(r.members)), make([]error, len(r.members))
	var wg sync.WaitGroup
	for i, m := range r.members {
		have := direct
		if handed, _ := r.by(m.member).Newest(asked); view.StampOf(handed).Newer(view.StampOf(have)) {
			have = handed
		}
		wg.Go(func() {
			answers[i], errs[i] = b.viewOf(ctx, m, viewwire.Question{
				Address: m.address, Path: viewwire.RelayPath, Have: have, HaveOf: of,
				Cluster: types.NamespacedName{Namespace: b.Namespace, Name: b.name},
			})
		})
	}
	wg.Wait()
	r.answered, r.stoodBy = 0, time.Time{}
	for i, m := range r.members {
		if errs[i] != nil {
			if relayAnswers(errs[i]) {
				r.answered++
			}
			continue
		}
		r.answered++
		// A view of a deleted report, or of one that this barrier has not yet read, has no order
		// with the present report's views.
		if of != "" && answers[i].ReportUID != of {
			continue
		}
		v, age := &answers[i].StatusReportView, answers[i].Age()
		if at := asked.Add(-age); at.After(r.stoodBy) {
			r.stoodBy = at
		}
		if r.by(m.member).Adopt(v, age, asked) && view.StampOf(v).Newer(view.StampOf(direct)) {
			b.Log.Info("a member's reporter relays a controller view that the API server did not deliver", "member",
				m.member, "epoch", v.Epoch, "seq", v.Seq, "age", age.String())
		}
	}
	b.metrics.relays.Set(float64(r.answered))
}

func (b *barrier) viewOf(ctx context.Context, m relayAt, q viewwire.Question) (*viewwire.View, error) {
	if b.AskView != nil {
		return b.AskView(ctx, m.member, q)
	}
	return viewwire.Fetch(ctx, m.client, q)
}

// relayAnswers reports whether err is an answer without a view: 404 (older reporter), 204 (no
// view), 503, or an unreadable body. The pinned certificate proves that the connection works.
func relayAnswers(err error) bool {
	return bounded.IsTooLarge(err) ||
		slices.ContainsFunc([]error{viewwire.ErrNone, viewwire.ErrUnknown, viewwire.ErrNotLeading, viewwire.ErrGarbled},
			func(known error) bool {
				return errors.Is(err, known)
			})
}

// turned returns why a relayed view that is newer than the API server's blocks the member; nil
// without one. p uses the API server's view, which lets the member start.
func (b *barrier) turned(p bootstrap.Permission,
	blockersOf func(*bootstrap.Permission) []matrix.Blocker) []matrix.Blocker {
	// The API server's view may be out of date even if it looks recent, and it is about to open.
	b.askForViews(viewwire.AskRelays)
	direct := p.View
	p.Old = words.Message{}
	for _, member := range slices.Sorted(maps.Keys(b.relays.views)) {
		if p.View = b.relays.views[member].Against(direct, b.Clock.Now(), b.policy.ViewLimit.Duration); p.View == nil {
			continue
		}
		// The worse view counts: a view that opens does not override another that blocks.
		blockers := blockersOf(&p)
		if len(blockers) == 0 {
			continue
		}
		if is := view.StampOf(p.View); is != b.relays.closed {
			b.relays.closed = is
			b.metrics.relayed.Inc()
		}
		return blockers
	}
	return nil
}

// explainNoView uses the answers of the other members' reporters to distinguish a controller that
// is not responding from a Pod without network. Both block. The verdict changes once no view can be
// fresh.
func (b *barrier) explainNoView(v bootstrap.Verdict) bootstrap.Verdict {
	if v.Satisfied || !b.byPermits() || !slices.ContainsFunc(v.Blockers, isNoViewBlocker) {
		return v
	}
	b.askForViews(b.policy.PeerCheck.Duration)
	now := b.Clock.Now()
	fresh := !b.relays.stoodBy.IsZero() && now.Sub(b.relays.stoodBy) <= b.policy.ViewLimit.Duration
	list := slices.Clone(v.Blockers)
	for i := range list {
		x := &list[i]
		if !isNoViewBlocker(*x) || now.Sub(b.lastSign(x.Reason, now)) <= b.policy.ViewLimit.Duration {
			continue
		}
		asked := fmt.Sprintf("%d of %d", b.relays.answered, len(b.relays.members))
		switch unread := x.Reason == words.APIUnreachable; {
		case b.relays.answered == 0 && (unread || len(b.relays.members) > 0):
			*x = matrix.Blocker{Reason: words.Isolated, Cause: x.Cause, Detail: x.Detail,
				Since: b.lastSign(x.Reason, now)}
		case unread && fresh:
			*x = matrix.Blocker{Reason: words.APIUnreachable,
				Cause: words.New(words.RelaysAreFresh, "answering", asked, "error", x.Detail)}
		case unread:
			*x = matrix.Blocker{
				Reason: words.ControllerSilent, Since: b.lastSign(x.Reason, now),
				Cause: words.New(words.RelaysAreOld, "answering", asked, "error", x.Detail),
			}
		}
	}
	matrix.SortBlockers(list)
	return v.Only(list)
}

func isNoViewBlocker(x matrix.Blocker) bool {
	return x.Reason == words.APIUnreachable || x.Reason == words.ControllerSilent
}

// lastSign returns the last reading of the API server, or of an advancing view.
func (b *barrier) lastSign(r words.Code, now time.Time) time.Time {
	at := b.started
	if r == words.APIUnreachable {
		if !b.permits.heard.IsZero() {
			at = b.permits.heard
		}
	} else if age, seen := b.permits.views.Age(now); seen {
		at = now.Add(-age)
	}
	return at
}
