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

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter/publish"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

const (
	// followInterval is the interval of polls of the controller's view, followTimeout the limit of
	// one poll.
	followInterval = 5 * time.Second
	followTimeout  = 2 * time.Second
	// maxFollow bounds the pause between two readings of the API server (controller's address and
	// view) while the controller does not answer. maxFollow < healthpolicy.ViewLimit: after a
	// longer pause the age of a new view would be unknown.
	maxFollow = 15 * time.Second
)

// relay stores the newest view of this cluster and serves it to barriers that do not receive the
// controller's. A view has no signature: a relayed one may block a barrier, and never opens it. The
// zero value serves nothing.
type relay struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	cluster types.NamespacedName // empty if unknown
	views   view.Receiver
}

// of sets the cluster of the view.
func (r *relay) of(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster = key
}

// handed stores a view from the controller's answer, read one from the API server. Both report
// whether it was newer than the stored one.
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

// question returns the next query of the controller; without a cluster if that is unknown.
func (r *relay) question() viewwire.Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	return viewwire.Question{Path: viewwire.Path, Cluster: r.cluster, Have: r.views.Latest(), HaveOf: r.views.Report()}
}

// age returns the age of the served view. False if none is served: there is none, it was never seen
// to advance, or age > healthpolicy.MostViewLimit.
func (r *relay) age() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fresh()
}

// fresh is age for callers that hold mu.
func (r *relay) fresh() (time.Duration, bool) {
	age, known := r.views.Age(r.clock.Now())
	// a barrier applies its own cluster's limit
	return age, known && age <= healthpolicy.MostViewLimit
}

// serve is a viewwire.Source. It serves no view that the controller has not confirmed within
// healthpolicy.MostViewLimit: the controller may be unreachable, and its views may have restarted.
func (r *relay) serve(key types.NamespacedName) (*viewwire.View, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key != r.cluster {
		return nil, viewwire.ErrUnknown
	}
	age, known := r.fresh()
	if !known {
		return nil, viewwire.ErrNone
	}
	return &viewwire.View{StatusReportView: *r.views.Latest(), ReportUID: r.views.Report(),
		AgeMillis: age.Milliseconds()}, nil
}

// follower keeps a relay up to date. It queries the controller. It reads the controller's address,
// and the view itself, from the API server only while the controller does not answer. A controller
// that answers costs the API server one reading; otherwise two small ones every maxFollow.
type follower struct {
	*reporter
	address, fingerprint string
	client               *http.Client // of address; nil if unknown
	tries                int          // without an answer of the controller
	next                 time.Time    // next permitted reading of the API server
}

// follow updates the relay until ctx ends. A failure does not change the reporter's row.
func (r *reporter) follow(ctx context.Context) {
	f := &follower{reporter: r}
	defer f.forget()
	ticker := r.Clock.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		f.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
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
		return // this Pod was not read yet, or has no cluster
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

// ask reports whether the controller has answered, with or without a view.
func (f *follower) ask(ctx context.Context, q viewwire.Question) bool {
	if f.client == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	// The content of the answer is at least as recent as the request.
	asked := f.Clock.Now()
	q.Address = f.address
	v, err := f.fetch(ctx, f.client, q)
	switch {
	case errors.Is(err, viewwire.ErrNone), errors.Is(err, viewwire.ErrUnknown):
		// The controller is running without a view, as right after an election: the stored view
		// ages.
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

// find reads the controller's address from the Lease and reports whether it has changed.
func (f *follower) find(ctx context.Context) (moved bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, publish.RequestTimeout)
	defer cancel()
	var l coordinationv1.Lease
	if err := f.Client.Get(ctx, types.NamespacedName{Namespace: f.LeaseNamespace, Name: api.LeaseName},
		&l); err != nil {
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

// readReport reads the view from the API server. Its age is unknown until it advances.
func (f *follower) readReport(ctx context.Context, key types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(ctx, publish.RequestTimeout)
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
