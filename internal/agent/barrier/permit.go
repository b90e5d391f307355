// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ParsePolicy parses "permits", "reports", or "" (cluster.Cluster's DefaultPolicy decides). The
// error lists the values.
func ParsePolicy(text string) (api.Policy, error) {
	switch p := api.Policy(text); p {
	case "", api.PolicyPermits, api.PolicyReports:
		return p, nil
	}
	return "", fmt.Errorf("unknown policy %q: use one of %s, %s", text, api.PolicyPermits, api.PolicyReports)
}

// aboutPermits are the reasons of blockers that the next view, or a relayed one, may remove.
var aboutPermits = []words.Code{words.PermitForOther, words.ViewHeld, words.Isolated}

// permits is what the barrier has read of the controller's views.
type permits struct {
	views view.Receiver
	// had is set after a judgement that found a permit.
	had bool
	// by is the view with that permit.
	by view.Stamp
	// behind is since when the API server has returned older views than the newest one seen; zero
	// if it does not.
	behind time.Time
	// heard is when the API server was last read, by the barrier's clock.
	heard time.Time
	// otherwise is the policy if Options.Policy is empty, from the last Service read; empty before.
	otherwise api.Policy
}

// byPermits reports whether the member needs a permit. True before the first reading, which only
// makes the barrier wait.
func (b *barrier) byPermits() bool {
	return cmp.Or(b.Policy, b.permits.otherwise, api.PolicyPermits) == api.PolicyPermits
}

// unpermitted returns why the controller's view does not let the member start; nil if it does, or
// if no permit is required, as for a restart.
func (b *barrier) unpermitted(ctx context.Context, key cluster.Key, v bootstrap.Verdict,
	known *cluster.Cluster) []matrix.Blocker {
	if !b.byPermits() || v.Decision.Permit() == "" {
		return nil
	}
	p := bootstrap.Permission{Claim: b.claim(known.ClaimName(b.Service))}
	p.From(known.StatusReport, key.Name)
	if p.View != nil {
		now := b.Clock.Now()
		if b.adopt(known.StatusReport, key.Name) {
			p.Back = b.wentBack(p.View, now)
			// This reading may be older than an earlier one: the newest view counts.
			p.View = b.permits.views.Latest()
			p.Old = b.tooOld(now)
		} else {
			// the report was deleted: its views never advance
			p.Old = words.New(words.ViewNotSeenToAdvance)
		}
		// A view with an open permit advances at each renewal. If it has not, the reporters of
		// other members may have a newer one.
		if age, seen := b.permits.views.Age(now); !seen || age > b.policy.PeerCheck.Duration {
			b.askForViews(b.policy.PeerCheck.Duration)
		}
	}
	var dead []hostid.ID
	if m := known.Member(b.Service); m != nil {
		dead = m.MustBeDown()
	}
	blockersOf := func(p *bootstrap.Permission) []matrix.Blocker {
		return p.Blockers(v.Self, v.Decision.Permit(), dead)
	}
	if blockers := blockersOf(&p); len(blockers) > 0 {
		return blockers
	}
	// Only a member with a permit needs its PVC's UID.
	claim := &metav1.PartialObjectMetadata{}
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	switch err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: p.Claim}, claim); {
	case err == nil && claim.DeletionTimestamp != nil:
		// Kubernetes keeps it only for this Pod, so no permit is for it.
		return []matrix.Blocker{{Reason: words.PermitForOther, Observed: v.Self,
			Cause: words.New(words.ClaimIsBeingDeleted, "claim", p.Claim, "pod", b.Pod)}}
	case err == nil:
		p.ClaimUID = claim.UID
	case apierrors.IsForbidden(err):
		return []matrix.Blocker{{Reason: words.ReadingIncomplete, Detail: oneLine(err)}}
	case !apierrors.IsNotFound(err):
		b.metrics.apiErrors.Inc()
		return []matrix.Blocker{{Reason: words.APIUnreachable, Detail: oneLine(exit.Describe(err))}}
	}
	p.ClaimKnown = true
	uid, trouble := b.ownPod(ctx)
	if trouble != nil {
		return []matrix.Blocker{*trouble}
	}
	p.PodUID = uid
	if blockers := blockersOf(&p); len(blockers) > 0 {
		return blockers
	}
	return b.turned(p, blockersOf)
}

// adopt takes the view of the cluster's report, if it is newer. False for a report that was deleted
// since, or that is another cluster's.
func (b *barrier) adopt(r *api.ScyllaDBStatusReport, cluster string) bool {
	if r == nil || r.Name != cluster || r.Status.View == nil ||
		!b.permits.views.Of(r.UID, r.CreationTimestamp.Time) {
		return false
	}
	b.relays.of(r.UID)
	b.permits.views.Adopt(r.Status.View, b.Clock.Now())
	return true
}

// ownPod returns the UID of this Pod: from the downward API, else by its name.
func (b *barrier) ownPod(ctx context.Context) (types.UID, *matrix.Blocker) {
	if b.PodUID != "" {
		return b.PodUID, nil
	}
	pod := &metav1.PartialObjectMetadata{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Pod}, pod); err != nil {
		return "", new(b.unlisted(err))
	}
	return pod.UID, nil
}

// tooOld returns why the newest view may be out of date. Only a view that this barrier has seen
// advance, by its own clock, counts.
func (b *barrier) tooOld(now time.Time) words.Message {
	age, seen := b.permits.views.Age(now)
	switch {
	case !seen:
		return words.New(words.ViewNotSeenToAdvance)
	case age > b.policy.ViewLimit.Duration:
		return words.New(words.ViewTooOld, "age", age.Truncate(time.Second).String(), "limit",
			b.policy.ViewLimit.Duration.String())
	}
	return words.Message{}
}

// wentBack is set if the API server has returned older views for longer than any delay. After an
// etcd restore, views count from the backup's stamp. An outdated API server looks the same, even if
// its views advance. The barrier therefore stays closed and reports the state; a person decides.
func (b *barrier) wentBack(shown *api.StatusReportView, now time.Time) words.Message {
	p, seen := &b.permits, view.StampOf(b.permits.views.Latest())
	switch is := view.StampOf(shown); {
	case !seen.Newer(is):
		p.behind = time.Time{}
	case p.behind.IsZero():
		p.behind = now
	case now.Sub(p.behind) > b.policy.ViewLimit.Duration:
		return words.New(words.ViewWentBack, "shown", is.String(), "seen", seen.String(), "limit",
			b.policy.ViewLimit.Duration.String())
	}
	return words.Message{}
}

// permitted reads the view again after the final check: a newer view blocks at once.
func (b *barrier) permitted(ctx context.Context, key cluster.Key, v bootstrap.Verdict,
	known *cluster.Cluster) []matrix.Blocker {
	if !b.byPermits() || v.Decision.Permit() == "" {
		return nil
	}
	r := &api.ScyllaDBStatusReport{}
	if err := b.client.Get(ctx, types.NamespacedName(key), r); err != nil {
		return []matrix.Blocker{b.unread(fmt.Errorf("read ScyllaDBStatusReport %s: %w", key, err))}
	}
	return b.unpermitted(ctx, key, v, known.WithReport(r))
}
