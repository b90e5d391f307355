// SPDX-License-Identifier: Apache-2.0

// Package keep proves that reports are kept. Barriers trust a report while the controller's Lease advances, so the Lease is renewed by what the
// loop that assembles and writes reports has done, and by nothing beside it: at each renewal the Lease lists the clusters whose reports were
// assembled and written, or found equal, a moment ago. A cluster whose report cannot be written is taken off the list at once, and holds up no
// other cluster; when none can be kept, the Lease is given up.
//
// It must not assemble or judge anything.
package keep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

const (
	// requestTimeout bounds each request about the Lease.
	requestTimeout = 5 * time.Second
	// again is after which part of the Lease's duration a report that was found equal is looked at once more.
	again = 3
	// maxMarks bounds the annotation well below what an API server takes (256 KiB of annotations).
	maxMarks = 10_000
)

// Options are what a Keeper needs.
type Options struct {
	// Client writes the Lease, Live reads it from the API server.
	Client client.Writer
	Live   client.Reader
	Clock  clock.WithTicker
	Log    *slog.Logger
	// Namespace of the Lease, Holder the name of this process in it.
	Namespace, Holder string
	// Duration of the Lease: also how long an assembly proves anything. Interval is how often the Lease is renewed.
	Duration, Interval time.Duration
	// Clusters lists those whose reports are to be kept.
	Clusters func(context.Context) ([]types.NamespacedName, error)
	// ViewAt is what api.AnnotationViewAt says; empty where no views are served.
	ViewAt string
	// Alive says why what the loop reads may be older than it knows, or that it does not run; nil when all is well.
	Alive func() error
}

// Keeper renews the Lease. It is safe for concurrent use.
type Keeper struct {
	o Options

	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	kept    map[types.NamespacedName]time.Time // when the last assembly began that was written or found equal; none after a failure
	failed  map[types.NamespacedName]error     // the last failure, until the next success
	started time.Time
	proven  time.Time // the last renewal
	reason  error     // why there was none since

	lease *coordinationv1.Lease // as last written or read; nil before and after an error
	holds bool                  // this process has written it and not given it up
	taken bool                  // this process has held it before
}

// New returns a Keeper that has proven nothing yet.
func New(o Options) *Keeper {
	return &Keeper{o: o, kept: map[types.NamespacedName]time.Time{}, failed: map[types.NamespacedName]error{}}
}

// Source hands the queue of the loop to the keeper, which puts every cluster through it again and again.
func (k *Keeper) Source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.queue = q
		return nil
	})
}

// Assembled is told by the loop of each assembly of a cluster's reports, with when it began to read. A nil error says that all of them are
// written or were found equal.
func (k *Keeper) Assembled(key types.NamespacedName, began time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		delete(k.kept, key)
		k.failed[key] = err
		return
	}
	k.kept[key] = began
	delete(k.failed, key)
}

// Start renews until ctx ends, and then gives the Lease back. The manager starts it on the leader only. Error: another process has taken the
// Lease, so that this one must end.
func (k *Keeper) Start(ctx context.Context) error {
	k.mu.Lock()
	k.started = k.o.Clock.Now()
	k.mu.Unlock()
	t := k.o.Clock.NewTicker(k.o.Interval)
	defer t.Stop()
	for {
		if err := k.Round(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
			defer cancel()
			k.giveUp(ctx)
			return nil
		case <-t.C():
		}
	}
}

// errLost ends the process: two that both believe to lead must not both write.
var errLost = errors.New("another controller has taken the Lease")

// Round asks for what has to be assembled again, and renews the Lease when there is something to prove.
func (k *Keeper) Round(ctx context.Context) error {
	keys, err := k.o.Clusters(ctx)
	if err == nil && k.o.Alive != nil {
		err = k.o.Alive()
	}
	var marks []string
	if err == nil {
		marks, err = k.proof(keys)
	}
	if err == nil {
		switch err = k.renew(ctx, marks); {
		case errors.Is(err, errLost):
			return err
		case err == nil:
			k.mu.Lock()
			k.proven, k.reason = k.o.Clock.Now(), nil
			k.mu.Unlock()
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it is being stopped, and what failed by that is no news
	}
	k.mu.Lock()
	news := k.reason == nil || k.reason.Error() != err.Error()
	k.reason = err
	silent := k.o.Clock.Since(k.last())
	k.mu.Unlock()
	if news {
		k.o.Log.WarnContext(ctx, "the Lease by which barriers trust the reports is not renewed", "error", err)
	}
	if silent >= k.o.Duration && k.holds {
		k.giveUp(ctx)
	}
	return nil
}

// last is when anything was proven, or could have been. The caller holds mu.
func (k *Keeper) last() time.Time {
	if k.proven.Before(k.started) {
		return k.started
	}
	return k.proven
}

// proof gives the marks of the clusters that are kept. Error: nothing is proven.
func (k *Keeper) proof(keys []types.NamespacedName) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.o.Clock.Now()
	wanted := map[types.NamespacedName]bool{}
	var marks []string
	var missing []types.NamespacedName
	for _, key := range keys {
		wanted[key] = true
		began, ok := k.kept[key]
		if ok = ok && now.Sub(began) < k.o.Duration; ok {
			marks = append(marks, api.KeepMark(key.Namespace, key.Name))
		} else {
			missing = append(missing, key)
		}
		if k.queue != nil && (!ok || now.Sub(began) >= k.o.Duration/again) {
			k.queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
	forget := func(key types.NamespacedName) bool { return !wanted[key] }
	maps.DeleteFunc(k.kept, func(key types.NamespacedName, _ time.Time) bool { return forget(key) })
	maps.DeleteFunc(k.failed, func(key types.NamespacedName, _ error) bool { return forget(key) })

	switch {
	case len(missing) > 0 && len(marks) == 0:
		return nil, fmt.Errorf("the reports of none of %d clusters are kept: %w", len(keys), k.why(missing[0]))
	// A new leader proves nothing before it has seen all there is, or has waited for those that fail as long as anybody waits for it.
	case len(missing) > 0 && k.proven.IsZero() && now.Sub(k.started) < k.o.Duration:
		return nil, fmt.Errorf("the reports of %d of %d clusters were not assembled yet", len(missing), len(keys))
	case len(marks) > maxMarks:
		k.o.Log.Error("too many clusters for one controller: divide the namespaces with --namespaces", "clusters", len(marks), "limit", maxMarks)
		marks = marks[:maxMarks]
	}
	slices.Sort(marks)
	return marks, nil
}

// why is the last failure of a cluster. The caller holds mu.
func (k *Keeper) why(key types.NamespacedName) error {
	if err := k.failed[key]; err != nil {
		return fmt.Errorf("cluster %s: %w", key, err)
	}
	return fmt.Errorf("cluster %s: not assembled for %s", key, k.o.Duration)
}

// renew writes the Lease in this process's name.
func (k *Keeper) renew(ctx context.Context, marks []string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name := types.NamespacedName{Namespace: k.o.Namespace, Name: api.LeaseName}
	if k.lease == nil {
		l := &coordinationv1.Lease{}
		err := k.o.Live.Get(ctx, name, l)
		switch {
		case apierrors.IsNotFound(err):
			l = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		case err != nil:
			return fmt.Errorf("read Lease %s: %w", name, err)
		}
		k.lease = l
	}
	l := k.lease.DeepCopy()
	now := metav1.NewMicroTime(k.o.Clock.Now())
	if holder := ptr.Deref(l.Spec.HolderIdentity, ""); holder != k.o.Holder {
		// Whoever leads takes it once. Who finds it taken afterwards leads no more.
		if k.taken && holder != "" {
			return fmt.Errorf("%w: %s is held by %s", errLost, name, holder)
		}
		l.Spec.LeaseTransitions = ptr.To(ptr.Deref(l.Spec.LeaseTransitions, 0) + 1)
		l.Spec.AcquireTime, l.Spec.HolderIdentity = &now, &k.o.Holder
	}
	l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &now, ptr.To(int32(max(1, k.o.Duration/time.Second)))
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationKeeps, strings.Join(marks, " "))
	if delete(l.Annotations, api.AnnotationViewAt); k.o.ViewAt != "" {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationViewAt, k.o.ViewAt)
	}
	return k.write(ctx, l)
}

func (k *Keeper) write(ctx context.Context, l *coordinationv1.Lease) error {
	k.lease = nil // read it again after an error: the write may have happened
	write := func() error { return k.o.Client.Update(ctx, l) }
	if l.ResourceVersion == "" {
		write = func() error { return k.o.Client.Create(ctx, l) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("write Lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	k.lease = l
	k.holds = ptr.Deref(l.Spec.HolderIdentity, "") != ""
	k.taken = k.taken || k.holds
	return nil
}

// giveUp tells barriers at once, instead of after twice the Lease's duration, that nobody keeps the reports. Where the Lease cannot be written
// it lapses.
func (k *Keeper) giveUp(ctx context.Context) {
	if !k.holds {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l := k.lease
	if l == nil {
		l = &coordinationv1.Lease{}
		if err := k.o.Live.Get(ctx, types.NamespacedName{Namespace: k.o.Namespace, Name: api.LeaseName}, l); err != nil {
			return
		}
	}
	if ptr.Deref(l.Spec.HolderIdentity, "") != k.o.Holder {
		k.holds = false
		return
	}
	l = l.DeepCopy()
	now := metav1.NewMicroTime(k.o.Clock.Now())
	l.Spec.HolderIdentity, l.Spec.RenewTime = ptr.To(""), &now
	delete(l.Annotations, api.AnnotationKeeps)
	delete(l.Annotations, api.AnnotationViewAt)
	if err := k.write(ctx, l); err != nil {
		k.o.Log.WarnContext(ctx, "the Lease could not be given up; it lapses", "error", err)
		return
	}
	k.o.Log.InfoContext(ctx, "gave up the Lease by which barriers trust the reports")
}

// Check fails when this process leads and has kept no reports for longer than the Lease's duration, as /readyz does.
func (k *Keeper) Check(elected <-chan struct{}) func(*http.Request) error {
	return func(*http.Request) error {
		select {
		case <-elected:
		default:
			return nil
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.started.IsZero() || k.o.Clock.Since(k.last()) <= k.o.Duration {
			return nil
		}
		if k.reason == nil {
			return fmt.Errorf("no report was kept for %s", k.o.Clock.Since(k.last()).Round(time.Second))
		}
		return fmt.Errorf("no report was kept for %s: %w", k.o.Clock.Since(k.last()).Round(time.Second), k.reason)
	}
}
