// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

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
	// relayTimeout bounds the answers of the relays.
	relayTimeout = time.Second
)

// Confirm checks that each reporter still polls its ScyllaDB and has the row of its Pod's
// annotation, in parallel within limits. A reporter that cannot write gets a different row with the
// next change, so the judged row is out of date. Only the certificate that the annotation names
// counts, because anything at the Pod's address can answer without one.
func (r *reads) Confirm(reporters []*cluster.Member, digests map[string]string) []error {
	silent := make([]error, len(reporters))
	all, cancel := context.WithTimeout(r.ctx, askAll)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(askTogether)
	for i, m := range reporters {
		g.Go(func() error {
			silent[i] = r.confirm(all, m, digests[m.Ref.Member])
			return nil
		})
	}
	_ = g.Wait() // the functions return no error: each reporter has its own
	return silent
}

// confirm is Confirm for one reporter. It does not ask if ctx, of all reporters, has ended.
func (r *reads) confirm(ctx context.Context, m *cluster.Member, digest string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	switch {
	case m.Heartbeat() == nil:
		return gate.Unconfirmed(words.New(words.ReporterWithoutTLS))
	case m.HeartbeatAt() == "":
		return gate.Unconfirmed(words.New(words.ReporterWithoutAddress))
	case ctx.Err() != nil:
		return gate.Unconfirmed(words.New(words.ReporterNotAsked))
	case r.Ask != nil:
		err = r.Ask(ctx, m.Ref.Member, digest)
	default:
		c := pinned.NewClient(m.Heartbeat().Fingerprint)
		defer c.CloseIdleConnections()
		_, err = heartbeat.Ask(ctx, c, m.HeartbeatAt(), digest)
	}
	switch {
	case errors.Is(err, heartbeat.ErrOtherRow):
		return gate.Unconfirmed(words.New(words.ReporterHasOtherRow))
	case err != nil && ctx.Err() != nil:
		return gate.Unconfirmed(
			words.New(words.ReporterTimedOut, "address", m.HeartbeatAt(), "limit", askTimeout.String()))
	}
	return err
}

// Views asks all relays in parallel. It takes at most relayTimeout.
func (r *reads) Views(relays []gate.Relay) []gate.Told {
	// A separate timeout: the API server may have used all of the judgement's.
	ctx, cancel := context.WithTimeout(r.barrier.ctx, relayTimeout)
	defer cancel()
	out := make([]gate.Told, len(relays))
	report, direct := r.gate.Latest()
	var wg sync.WaitGroup
	for i, at := range relays {
		wg.Go(func() {
			out[i] = r.viewOf(ctx, at, viewwire.Question{
				Address: at.Address, Path: viewwire.RelayPath, Have: direct, HaveOf: report,
				Cluster: types.NamespacedName{Namespace: r.Namespace, Name: r.name}})
		})
	}
	wg.Wait()
	for i, told := range out {
		if view.StampOf(told.View).Newer(view.StampOf(direct)) && (report == "" || told.Report == report) {
			r.Log.Info("a member's reporter relays a controller view that the API server did not deliver", "member",
				relays[i].Member, "epoch", told.View.Epoch, "seq", told.View.Seq, "age", told.Age.String())
		}
	}
	return out
}

func (r *reads) viewOf(ctx context.Context, at gate.Relay, q viewwire.Question) gate.Told {
	fetch := r.AskView
	if fetch == nil {
		c := pinned.NewClient(at.Fingerprint)
		defer c.CloseIdleConnections()
		fetch = func(ctx context.Context, _ string, q viewwire.Question) (*viewwire.View, error) {
			return viewwire.Fetch(ctx, c, q)
		}
	}
	v, err := fetch(ctx, at.Member, q)
	if err != nil {
		// An answer without a view, as of an older reporter, proves that the connection works.
		_, unreachable := errors.AsType[*url.Error](err)
		return gate.Told{Answered: !unreachable}
	}
	return gate.Told{Answered: true, View: &v.StatusReportView, Report: v.ReportUID, Age: v.Age()}
}
