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
	// mostRelays is how many members are asked for the view, relearn how often their addresses are read again.
	mostRelays = 8
	relearn    = time.Minute
)

// relays are the reporters of other members, which relay the controller's view where this barrier does not see it advance. A view has no signature: a relayed one may close this
// barrier, and never opens it. Only the API server's view opens.
type relays struct {
	// views are the relayed views, by member: a forged one, with a stamp of any height, does not hide another member's.
	views   map[string]*view.Relayed
	report  types.UID // of the cluster report that the API server has
	members []relayAt
	learned time.Time // when their addresses were last read; zero before
	asked   time.Time // when they were last asked; zero before
	// Of the last round: how many answered at all, and when the controller last stood by the view that they have; zero where they have none.
	answered int
	stoodBy  time.Time
	closed   view.Stamp // the view that has closed this barrier, for the metric
}

// of names the cluster report that the API server has now.
func (r *relays) of(report types.UID) {
	r.report = report
	for _, v := range r.views {
		v.Of(report)
	}
}

// by is the state of one member's relayed views.
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

// learn reads the addresses of the other members' reporters while the API server answers.
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
		case err == nil && serves && i >= 0 && r.members[i].address == address && r.members[i].fingerprint == fingerprint:
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

// askForViews asks all of them at once for the view that they have, unless that was done within pause. Their answers take at most viewwire.RelayTimeout of this barrier's time.
func (b *barrier) askForViews(pause time.Duration) {
	r, asked := &b.relays, b.Clock.Now()
	if len(r.members) == 0 || !r.asked.IsZero() && asked.Sub(r.asked) < pause {
		return
	}
	r.asked = asked
	// A timeout of its own: the API server may have used all of the caller's.
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
				Address: m.address, Path: viewwire.RelayPath, Have: have, HaveOf: of, Cluster: types.NamespacedName{Namespace: b.Namespace, Name: b.Cluster},
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
		// A view of a report that no longer exists, or that the API server has not shown to this barrier yet, has no order with the present report's views.
		if of != "" && answers[i].ReportUID != of {
			continue
		}
		v, age := &answers[i].StatusReportView, answers[i].Age()
		if at := asked.Add(-age); at.After(r.stoodBy) {
			r.stoodBy = at
		}
		if r.by(m.member).Adopt(v, age, asked) && view.StampOf(v).Newer(view.StampOf(direct)) {
			b.Log.Info("a member's reporter relays a controller view that the API server did not deliver", "member", m.member, "epoch", v.Epoch, "seq", v.Seq, "age", age.String())
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

// relayAnswers is true for an answer without a view: 404 of an older reporter, 204 of one without a view, 503, and an unreadable body. The connection to the member works all the
// same: its certificate is pinned.
func relayAnswers(err error) bool {
	return bounded.IsTooLarge(err) || slices.ContainsFunc([]error{viewwire.ErrNone, viewwire.ErrUnknown, viewwire.ErrNotLeading, viewwire.ErrGarbled}, func(known error) bool {
		return errors.Is(err, known)
	})
}

// turned are the reasons why a relayed view, newer than the API server's, does not let the member start; none where there is no such view. p is by the API server's view, which
// lets it start.
func (b *barrier) turned(p bootstrap.Permission, blockersOf func(*bootstrap.Permission) []matrix.Blocker) []matrix.Blocker {
	// The API server's view may be behind, however young it looks: this member is about to start by it.
	b.askForViews(viewwire.AskRelays)
	direct := p.View
	p.Old = words.Message{}
	for _, member := range slices.Sorted(maps.Keys(b.relays.views)) {
		if p.View = b.relays.views[member].Against(direct, b.Clock.Now(), b.policy.ViewLimit.Duration); p.View == nil {
			continue
		}
		// The graver view counts: one that lets the member start does not override another that does not.
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

// silence distinguishes, by the answers of the other members' reporters, a silent controller from a Pod that reaches nothing. Both keep it closed. The verdict changes once a view
// can no longer be fresh.
func (b *barrier) silence(v bootstrap.Verdict) bootstrap.Verdict {
	if v.Satisfied || !b.byPermits() || !slices.ContainsFunc(v.Blockers, aboutSilence) {
		return v
	}
	b.askForViews(b.policy.PeerCheck.Duration)
	now := b.Clock.Now()
	fresh := !b.relays.stoodBy.IsZero() && now.Sub(b.relays.stoodBy) <= b.policy.ViewLimit.Duration
	list := slices.Clone(v.Blockers)
	for i := range list {
		x := &list[i]
		if !aboutSilence(*x) || now.Sub(b.lastSign(x.Reason, now)) <= b.policy.ViewLimit.Duration {
			continue
		}
		asked := fmt.Sprintf("%d of %d", b.relays.answered, len(b.relays.members))
		switch unread := x.Reason == words.APIUnreachable; {
		case b.relays.answered == 0 && (unread || len(b.relays.members) > 0):
			*x = matrix.Blocker{Reason: words.Isolated, Cause: x.Cause, Detail: x.Detail, Since: b.lastSign(x.Reason, now)}
		case unread && fresh:
			*x = matrix.Blocker{Reason: words.APIUnreachable, Cause: words.New(words.RelaysAreFresh, "answering", asked, "error", x.Detail)}
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

func aboutSilence(x matrix.Blocker) bool {
	return x.Reason == words.APIUnreachable || x.Reason == words.ControllerSilent
}

// lastSign is when the API server, or an advancing view, was last heard, by the barrier's own clock.
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
