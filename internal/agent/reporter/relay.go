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
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

const (
	// followInterval is how often the reporter asks the controller for its view while no barrier asks this reporter for it, followTimeout how long that may take. A barrier that
	// has asked within wanted is about to start by the API server's view: for it the interval is viewwire.FollowAsked.
	followInterval = 5 * time.Second
	wanted         = 15 * time.Second
	followTimeout  = 2 * time.Second
	// maxFollow bounds the pause between two readings of the API server, for the controller's address and for the view itself, while it does not answer. It is shorter than
	// healthpolicy.ViewLimit: after a longer pause a new view could not be known to be young.
	maxFollow = 15 * time.Second
)

// relay keeps the newest view of the own cluster, and serves it to barriers that do not receive the controller's. A view has no signature: a relayed one may block a barrier, and
// never opens it. The zero value serves nothing.
type relay struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	cluster types.NamespacedName // empty while it is not known
	views   view.Receiver
	asked   time.Time     // when a barrier has last asked for it; zero before
	first   chan struct{} // signals a barrier's request after a time without any; nil signals nothing
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

// asks records a barrier's request. The caller holds mu.
func (r *relay) asks() {
	now := r.clock.Now()
	if r.asked.IsZero() || now.Sub(r.asked) > wanted {
		select {
		case r.first <- struct{}{}:
		default: // a signal is pending, or no follower runs
		}
	}
	r.asked = now
}

// of names the cluster of the view.
func (r *relay) of(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster = key
}

// handed takes a view from the controller's answer, read one from the API server. Both return whether it was newer than the known one.
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

// question is the next question to the controller; of no cluster while that is not known.
func (r *relay) question() viewwire.Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	return viewwire.Question{Path: viewwire.Path, Cluster: r.cluster, Have: r.views.Latest(), HaveOf: r.views.Report()}
}

// age is the age of the view that is served; false while none is: there is none, it was never seen to advance, or it is older than any cluster's view limit.
func (r *relay) age() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fresh()
}

// fresh is age for callers that hold mu.
func (r *relay) fresh() (time.Duration, bool) {
	age, known := r.views.Age(r.clock.Now())
	return age, known && age <= healthpolicy.MostViewLimit // a barrier compares it with its own cluster's
}

// serve is a viewwire.Source. A view that its controller has not confirmed for longer than healthpolicy.MostViewLimit is not served: the controller may be away, and its views may count
// from the beginning again.
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

// follower keeps a relay up to date. It asks the controller; the API server only for the controller's address, and for the view itself while the controller does not answer. So a
// controller that answers costs the API server one reading, and one that does not costs two small ones each maxFollow.
type follower struct {
	*reporter
	address, fingerprint string
	client               *http.Client // of address; nil while that is not known
	tries                int          // without an answer of the controller
	next                 time.Time    // when the API server may be asked again
}

// follow updates the relay until ctx ends. A failure here does not change the reporter's row.
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
			f.Log.Info("no controller view from the controller or the API server", "error", exit.Describe(err).Error())
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
	// The answer's content is not younger than the moment of the request.
	asked := f.Clock.Now()
	q.Address = f.address
	v, err := f.fetch(ctx, f.client, q)
	switch {
	case errors.Is(err, viewwire.ErrNone), errors.Is(err, viewwire.ErrUnknown):
		// The controller is alive and has no view yet, as right after taking over: the known view grows old.
		return true
	case err != nil:
		if ctx.Err() == nil {
			f.Log.Debug("the controller does not respond with its view", "address", f.address, "error", err.Error())
		}
		return false
	}
	if f.relay.handed(v, asked) {
		f.metrics.adopted.WithLabelValues("controller").Inc()
	}
	return true
}

// find reads from the Lease the address at which the controller serves its views, and returns whether it has changed.
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

// readReport takes the view from the API server, as it is stored: its age is known once it is seen to advance.
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
