// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/viewwire"
)

const (
	// followInterval is how often the controller is asked for its view while nobody asks this reporter for it, followTimeout how long that may take. Somebody who has asked
	// within wanted is about to start by what the API server shows him: for him it is viewwire.FollowAsked.
	followInterval = 5 * time.Second
	wanted         = 15 * time.Second
	followTimeout  = 2 * time.Second
	// maxFollow bounds the pause between two looks at the API server, for where the controller is and for the view itself, while it does not answer. It is shorter than
	// bootstrap.ViewLimit: after a longer one nobody could tell that a view that is new is young.
	maxFollow = 15 * time.Second
)

// relay keeps the newest view of the own cluster, and hands it on to whoever has lost the controller. Nothing signs a view: who gets it from here may be held back by
// it, and never starts by it. The zero value hands nothing on.
type relay struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	cluster types.NamespacedName // empty while it is not known
	views   view.Receiver
	asked   time.Time     // when somebody has asked for it last; zero before
	first   chan struct{} // told of somebody who asks after nobody has for a while; nil tells nobody
}

// pause is how long to wait until the next look at the controller.
func (r *relay) pause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked.IsZero() && r.clock.Since(r.asked) <= wanted {
		return viewwire.FollowAsked
	}
	return followInterval
}

// asks notes that somebody asks. The caller holds mu.
func (r *relay) asks() {
	now := r.clock.Now()
	if r.asked.IsZero() || now.Sub(r.asked) > wanted {
		select {
		case r.first <- struct{}{}:
		default: // it is going to look, or nobody does
		}
	}
	r.asked = now
}

// of names the cluster whose view it is.
func (r *relay) of(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster = key
}

// handed takes what the controller answered when it was asked, read what the API server has. Both say whether it was newer than what was known.
func (r *relay) handed(v *viewwire.View, asked time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views.Of(v.ReportUID, time.Time{}) && r.views.Handed(&v.StatusReportView, v.Age(), asked)
}

func (r *relay) read(report types.UID, created time.Time, v *api.StatusReportView, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views.Of(report, created) && r.views.Adopt(v, now)
}

// question is what to ask the controller next; of no cluster while that is not known.
func (r *relay) question() viewwire.Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	return viewwire.Question{Path: viewwire.Path, Cluster: r.cluster, Have: r.views.Latest(), HaveOf: r.views.Report()}
}

// age is how old the view is that is handed on; false while none is: there is none, it was never seen to advance, or it is older than bootstrap.ViewLimit.
func (r *relay) age() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fresh()
}

// fresh is age for whoever holds mu.
func (r *relay) fresh() (time.Duration, bool) {
	age, known := r.views.Age(r.clock.Now())
	return age, known && age <= bootstrap.ViewLimit
}

// serve is a viewwire.Source. A view that nobody has stood by for longer than bootstrap.ViewLimit is none: the controller may be away, and it may count from the beginning
// again.
func (r *relay) serve(key types.NamespacedName) (*viewwire.View, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key != r.cluster {
		return nil, viewwire.ErrUnknown
	}
	r.asks()
	age, known := r.fresh()
	if !known {
		return nil, viewwire.ErrNone
	}
	return &viewwire.View{StatusReportView: *r.views.Latest(), ReportUID: r.views.Report(), AgeMillis: age.Milliseconds()}, nil
}

// follower keeps a relay up to date. It asks the controller; the API server only for where that is, and for the view itself while the controller does not answer. So a
// controller that answers costs the API server one reading, and one that does not costs two small ones each maxFollow.
type follower struct {
	*reporter
	address, fingerprint string
	client               *http.Client // of address; nil while that is not known
	tries                int          // without an answer of the controller
	next                 time.Time    // when the API server may be asked again
}

// follow looks until ctx ends. Nothing that fails here changes what the reporter says of its ScyllaDB.
func (r *reporter) follow(ctx context.Context) {
	f := &follower{reporter: r}
	defer f.forget()
	for {
		f.look(ctx)
		timer := r.Clock.NewTimer(r.relay.pause())
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-r.relay.first:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

func (f *follower) forget() {
	if f.client != nil {
		f.client.CloseIdleConnections()
	}
	f.client, f.address, f.fingerprint = nil, "", ""
}

func (f *follower) look(ctx context.Context) {
	q := f.relay.question()
	if q.Cluster.Name == "" {
		return // the own Pod was not read yet, or is of no cluster
	}
	answered := f.ask(ctx, q)
	now := f.Clock.Now()
	if !answered && !now.Before(f.next) {
		f.tries++
		f.next = now.Add(min(maxFollow, followInterval<<min(f.tries-1, 4)))
		moved, err := f.find(ctx)
		if moved {
			answered = f.ask(ctx, q)
		}
		if !answered && err == nil {
			err = f.readReport(ctx, q.Cluster)
		}
		if err != nil && ctx.Err() == nil && f.tries%20 == 1 {
			f.Log.Info("no view of the controller, nor from the API server", "error", exit.Describe(err).Error())
		}
	}
	if answered {
		f.tries, f.next = 0, time.Time{}
	}
	f.metrics.followed(answered, f.relay)
}

// ask is true when the controller has answered with a view.
func (f *follower) ask(ctx context.Context, q viewwire.Question) bool {
	if f.client == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	// What it says is not younger than the moment at which it was asked.
	asked := f.Clock.Now()
	q.Address = f.address
	v, err := f.fetch(ctx, f.client, q)
	switch {
	case errors.Is(err, viewwire.ErrNone), errors.Is(err, viewwire.ErrUnknown):
		// It lives, and has none yet, as one that has just taken over: what was known grows old.
		return true
	case err != nil:
		if ctx.Err() == nil {
			f.Log.Debug("the controller does not answer with its view", "address", f.address, "error", err.Error())
		}
		return false
	}
	if f.relay.handed(v, asked) {
		f.metrics.adopted.WithLabelValues("controller").Inc()
	}
	return true
}

// find learns from the Lease where the controller serves its views, and says whether that is somewhere else than before.
func (f *follower) find(ctx context.Context) (moved bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var l coordinationv1.Lease
	if err := f.Client.Get(ctx, types.NamespacedName{Namespace: f.LeaseNamespace, Name: api.LeaseName}, &l); err != nil {
		return false, err
	}
	address, fingerprint, ok := api.ViewAt(l.Annotations)
	if !ok || address == f.address && fingerprint == f.fingerprint {
		return false, nil
	}
	f.forget()
	f.address, f.fingerprint, f.client = address, fingerprint, pinned.NewClient(fingerprint)
	return true, nil
}

// readReport takes the view from the API server, as it is stored: how old it is is known once it is seen to advance.
func (f *follower) readReport(ctx context.Context, key types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var r api.ScyllaDBStatusReport
	if err := f.Client.Get(ctx, key, &r); err != nil {
		return err
	}
	if f.relay.read(r.UID, r.CreationTimestamp.Time, r.Status.View, f.Clock.Now()) {
		f.metrics.adopted.WithLabelValues("report").Inc()
	}
	return nil
}
