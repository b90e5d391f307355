// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// askTimeout bounds the answer of one reporter, askAll the answers of all. askTogether is the
	// maximum of parallel requests.
	askTimeout  = 2 * time.Second
	askTogether = 64
	askAll      = 15 * time.Second
)

// Confirm checks that each reporter still polls its ScyllaDB and has the row of its Pod's
// annotation, in parallel within limits. A reporter that cannot write gets a different row with the
// next change, so the judged row is out of date. Only the certificate that the annotation names
// counts, because anything at the Pod's address can answer without one.
func (r *reads) Confirm(reporters []*cluster.Member, digests map[string]string) []error {
	silent := make([]error, len(reporters))
	r.together(len(reporters), func(ctx context.Context, i int) {
		m := reporters[i]
		switch h := m.Heartbeat(); {
		case h == nil:
			silent[i] = unconfirmed(words.New(words.ReporterWithoutTLS))
		case m.HeartbeatAt() == "":
			silent[i] = unconfirmed(words.New(words.ReporterWithoutAddress))
		case ctx.Err() != nil:
			silent[i] = unconfirmed(words.New(words.ReporterNotAsked))
		default:
			silent[i] = r.confirms(ctx, m, digests[m.Ref.Member])
			if errors.Is(silent[i], heartbeat.ErrOtherRow) {
				silent[i] = unconfirmed(words.New(words.ReporterHasOtherRow))
			} else if silent[i] != nil && ctx.Err() != nil {
				silent[i] = unconfirmed(
					words.New(words.ReporterTimedOut, "address", m.HeartbeatAt(), "limit", askTimeout.String()))
			}
		}
	})
	return silent
}

func (r *reads) confirms(ctx context.Context, m *cluster.Member, digest string) error {
	if r.Ask != nil {
		return r.Ask(ctx, m.Ref.Member, digest)
	}
	c := pinned.NewClient(m.Heartbeat().Fingerprint)
	defer c.CloseIdleConnections()
	_, err := heartbeat.Ask(ctx, c, m.HeartbeatAt(), digest)
	return err
}

// together calls ask for each of n reporters. After askAll it calls ask with an ended context.
func (r *reads) together(n int, ask func(ctx context.Context, i int)) {
	all, cancel := context.WithTimeout(r.ctx, askAll)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(askTogether)
	for i := range n {
		g.Go(func() error {
			one, cancel := context.WithTimeout(all, askTimeout)
			defer cancel()
			ask(one, i)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error: each reporter has its own
}

// Views asks all relays in parallel. It takes at most viewwire.RelayTimeout.
func (r *reads) Views(questions []gate.Question) []gate.Told {
	// A separate timeout: the API server may have used all of the judgement's.
	ctx, cancel := context.WithTimeout(r.barrier.ctx, viewwire.RelayTimeout)
	defer cancel()
	out, at := make([]gate.Told, len(questions)), make([]gate.Relay, len(questions))
	for i := range questions {
		at[i] = questions[i].Relay
	}
	r.relays.keep(at)
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() { out[i] = r.viewOf(ctx, q) })
	}
	wg.Wait()
	for i, told := range out {
		q := questions[i]
		if view.StampOf(told.View).Newer(view.StampOf(q.Have)) && (q.HaveOf == "" || told.Report == q.HaveOf) {
			r.Log.Info("a member's reporter relays a controller view that the API server did not deliver", "member",
				q.Member, "epoch", told.View.Epoch, "seq", told.View.Seq, "age", told.Age.String())
		}
	}
	return out
}

func (r *reads) viewOf(ctx context.Context, q gate.Question) gate.Told {
	ask := viewwire.Question{Address: q.Address, Path: viewwire.RelayPath, Have: q.Have, HaveOf: q.HaveOf,
		Cluster: types.NamespacedName{Namespace: r.Namespace, Name: r.name}}
	fetch := func() (*viewwire.View, error) { return viewwire.Fetch(ctx, r.relays[q.Relay], ask) }
	if r.AskView != nil {
		fetch = func() (*viewwire.View, error) { return r.AskView(ctx, q.Member, ask) }
	}
	v, err := fetch()
	if err != nil {
		return gate.Told{Answered: relayAnswers(err)}
	}
	return gate.Told{Answered: true, View: &v.StatusReportView, Report: v.ReportUID, Age: v.Age()}
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

// clients have one connection for each reporter, address and certificate.
type clients map[gate.Relay]*http.Client

// keep makes the clients of these reporters, and closes all others.
func (c *clients) keep(at []gate.Relay) {
	next := clients{}
	for _, r := range at {
		if next[r] = (*c)[r]; next[r] == nil {
			next[r] = pinned.NewClient(r.Fingerprint)
		}
	}
	for r, old := range *c {
		if next[r] == nil {
			old.CloseIdleConnections()
		}
	}
	*c = next
}

func unconfirmed(why words.Message) error { return gate.Unconfirmed(why) }
