// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
)

// Transports of the heartbeat.
const (
	HeartbeatPoll  = "poll"
	HeartbeatLease = "lease"
)

// leaseTimeout bounds one renewal, so that polls of ScyllaDB continue.
const leaseTimeout = 2 * time.Second

// leaseInterval is the time between renewals: max(poll interval, DefaultInterval).
func (r *reporter) leaseInterval() time.Duration { return max(r.Interval, DefaultInterval) }

// leaseBeat is the last known state of this Pod's Lease; its zero value knows none.
type leaseBeat struct {
	is      *coordinationv1.Lease // last written state; nil if unknown
	digest  string
	renewed time.Time
	failed  int
}

// renew records on this Pod's Lease that the process still polls its ScyllaDB, and the digest of
// its row. After a failure the controller misses one heartbeat.
func (r *reporter) renew(ctx context.Context) {
	number, digest, ok := r.beat.Now()
	now, l := r.Clock.Now(), &r.leaseBeat
	// A poll that is slightly early must not be skipped.
	if !r.HeartbeatByLease || !ok || digest == l.digest && now.Sub(l.renewed) < r.leaseInterval()-minInterval {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	err := r.writeLease(ctx, number, digest, now)
	if ctx.Err() != nil && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		l.is = nil // the write may have arrived
		l.failed++
		r.metrics.renewals.WithLabelValues("error").Inc()
		if l.failed == 1 || l.failed%20 == 0 {
			r.Log.Warn("cannot renew the Lease of the heartbeat, retrying", "lease", heartbeat.LeaseName(r.Pod),
				"error", exit.Describe(err).Error(), "attempts", l.failed)
		}
		return
	}
	if l.failed > 0 {
		r.Log.Info("renewing the Lease of the heartbeat again", "attempts", l.failed)
	}
	l.failed, l.digest, l.renewed = 0, digest, now
	r.metrics.renewals.WithLabelValues("ok").Inc()
}

// writeLease updates the Lease by its known resourceVersion, so that a late write restores no old
// counter. It creates the Lease if it does not exist.
func (r *reporter) writeLease(ctx context.Context, number int64, digest string, now time.Time) error {
	own := types.NamespacedName{Namespace: r.Namespace, Name: r.Pod}
	fill := func(l *coordinationv1.Lease) *coordinationv1.Lease {
		heartbeat.Fill(l, heartbeat.Owner{Pod: own, UID: r.PodUID, Cluster: r.relay.question().Cluster.Name}, number,
			digest, metav1.NewMicroTime(now), int32(3*r.leaseInterval()/time.Second))
		heartbeat.FillLog(l, r.beat.Log())
		return l
	}
	l := &r.leaseBeat
	if l.is != nil {
		next := fill(l.is.DeepCopy())
		switch err := r.Client.Update(ctx, next); {
		case err == nil:
			l.is = next
			return nil
		case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			return err
		}
		l.is = nil
	}
	next := fill(&coordinationv1.Lease{})
	err := r.Client.Create(ctx, next)
	if apierrors.IsAlreadyExists(err) { // from an earlier process or Pod
		next = &coordinationv1.Lease{}
		if err = r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: heartbeat.LeaseName(r.Pod)},
			next); err == nil {
			next = fill(next)
			err = r.Client.Update(ctx, next)
		}
	}
	if err != nil {
		return err
	}
	l.is = next
	return nil
}
