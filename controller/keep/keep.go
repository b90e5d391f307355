// SPDX-License-Identifier: Apache-2.0

// Package keep proves that reports are kept. Barriers trust a report while the controller's Lease
// advances. So only the results of the loop that assembles and writes reports renew the Lease. Each
// renewal lists the clusters whose reports were recently assembled and then written, or found
// equal. A cluster whose report cannot be written is removed from the list at once, and delays no
// other cluster. If no cluster's reports can be kept, the controller releases the Lease.
//
// It must not assemble or judge anything.
package keep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// requestTimeout limits each request about the Lease.
	requestTimeout = 5 * time.Second
	// maxMarks keeps the annotation well below the API server's limit (256 KiB of annotations).
	maxMarks = 10_000
)

// Options are the dependencies of a Keeper.
type Options struct {
	// Client writes the Lease, Live reads it from the API server.
	Client client.Writer
	Live   client.Reader
	Clock  clock.WithTicker
	Log    *slog.Logger
	// Namespace of the Lease, Holder is this process's identity in it.
	Namespace, Holder string
	// Duration is the Lease's duration, and how long an assembly counts as proof. Interval is the
	// time between renewals.
	Duration, Interval time.Duration
	// Clusters lists the clusters whose reports this controller must keep.
	Clusters func(context.Context) ([]types.NamespacedName, error)
	// Off is set if feature gate BootstrapSynchronisation is off: the Lease then lists the clusters
	// as unprotected, and none as kept.
	Off bool
	// ViewAt is the value of api.AnnotationViewAt; empty if this process serves no views.
	ViewAt string
	// Alive returns an error if the loop does not run or its cache may be out of date, else nil.
	Alive func() error
}

// Keeper renews the Lease. It is safe for concurrent use.
type Keeper struct {
	o Options

	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	proof  *Proof
	reason error // why there was no renewal since the last one, else nil

	lease *coordinationv1.Lease // as last written or read; nil after an error
	holds bool                  // this process has written it and not released it
	taken bool                  // this process has held it before
}

// New returns a Keeper; it renews nothing until assemblies are reported to it.
func New(o Options) *Keeper {
	return &Keeper{o: o, proof: NewProof(o.Duration, time.Time{})}
}

// Source passes the loop's queue to the keeper, which adds every cluster to it at intervals.
func (k *Keeper) Source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.queue = q
		return nil
	})
}

// Assembled records the result of one assembly of a cluster's reports; began is when it began to
// read. The loop calls it after each assembly. A nil error means that all reports were written or
// found equal.
func (k *Keeper) Assembled(key types.NamespacedName, began time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.proof.Assembled(key, began, err)
}

// Start renews until ctx ends, and then releases the Lease. The manager starts it on the leader
// only. Error: another process has taken the Lease, so this one must end.
func (k *Keeper) Start(ctx context.Context) error {
	k.mu.Lock()
	k.proof.started = k.o.Clock.Now()
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

// errLost ends the process: two processes that both consider themselves leader must not both write.
var errLost = errors.New("another controller has taken the Lease")

// Round queues the clusters that are due for another assembly, and renews the Lease if at least one
// cluster's reports are proven.
func (k *Keeper) Round(ctx context.Context) error {
	keys, err := k.o.Clusters(ctx)
	if err == nil && k.o.Alive != nil {
		err = k.o.Alive()
	}
	var marks []string
	switch {
	case err != nil:
	case k.o.Off:
		marks = marksOf(keys)
	default:
		marks, err = k.marks(keys)
	}
	if err == nil {
		switch err = k.renew(ctx, marks); {
		case errors.Is(err, errLost):
			return err
		case err == nil:
			k.mu.Lock()
			k.proof.Renewed(k.o.Clock.Now())
			k.reason = nil
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
	silent := k.proof.Silent(k.o.Clock.Now())
	k.mu.Unlock()
	if news {
		k.o.Log.WarnContext(ctx, "Lease not renewed: barriers will not trust the reports", "error", err)
	}
	if silent >= k.o.Duration && k.holds {
		k.giveUp(ctx)
	}
	return nil
}

// marks returns the marks of the clusters whose reports are kept, and queues clusters that are due.
func (k *Keeper) marks(keys []types.NamespacedName) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	proven, due, err := k.proof.Of(keys, k.o.Clock.Now())
	for _, key := range due {
		if k.queue != nil {
			k.queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
	if err == nil && len(proven) > maxMarks {
		k.o.Log.Error("too many clusters for one controller: divide the namespaces with --namespaces", "clusters",
			len(proven), "limit", maxMarks)
	}
	return marksOf(proven), err
}

// marksOf returns the sorted marks of at most maxMarks clusters.
func marksOf(keys []types.NamespacedName) []string {
	var marks []string
	for _, key := range keys[:min(len(keys), maxMarks)] {
		marks = append(marks, api.KeepMark(key.Namespace, key.Name))
	}
	slices.Sort(marks)
	return marks
}

// renew writes the Lease with this process as holder.
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
		// The leader takes over the Lease once. If another process holds it afterwards, that
		// process leads.
		if k.taken && holder != "" {
			return fmt.Errorf("%w: %s is held by %s", errLost, name, holder)
		}
		l.Spec.LeaseTransitions = ptr.To(ptr.Deref(l.Spec.LeaseTransitions, 0) + 1)
		l.Spec.AcquireTime, l.Spec.HolderIdentity = &now, &k.o.Holder
	}
	l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &now, ptr.To(int32(max(1, k.o.Duration/time.Second)))
	list, other := api.AnnotationKeeps, api.AnnotationUnprotected
	if k.o.Off {
		list, other = other, list
	}
	delete(l.Annotations, other)
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, list, strings.Join(marks, " "))
	if delete(l.Annotations, api.AnnotationViewAt); k.o.ViewAt != "" {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationViewAt, k.o.ViewAt)
	}
	return k.write(ctx, l)
}

func (k *Keeper) write(ctx context.Context, l *coordinationv1.Lease) error {
	k.lease = nil // read again after an error: the write may have happened
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

// giveUp removes the holder and the marks from the Lease, so that barriers stop trusting the
// reports at once instead of after twice the Lease's duration. If the Lease cannot be written, it
// expires.
func (k *Keeper) giveUp(ctx context.Context) {
	if !k.holds {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l := k.lease
	if l == nil {
		l = &coordinationv1.Lease{}
		if err := k.o.Live.Get(ctx, types.NamespacedName{Namespace: k.o.Namespace, Name: api.LeaseName},
			l); err != nil {
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
	delete(l.Annotations, api.AnnotationUnprotected)
	delete(l.Annotations, api.AnnotationViewAt)
	if err := k.write(ctx, l); err != nil {
		k.o.Log.WarnContext(ctx, "Lease not released; it will expire", "error", err)
		return
	}
	k.o.Log.InfoContext(ctx, "Lease released: barriers will not trust the reports")
}

// Check returns the readiness check: it fails if this process leads and has not renewed for longer
// than the Lease's duration.
func (k *Keeper) Check(elected <-chan struct{}) func(*http.Request) error {
	return func(*http.Request) error {
		select {
		case <-elected:
		default:
			return nil
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		silent := k.proof.Silent(k.o.Clock.Now())
		switch {
		case k.proof.started.IsZero() || silent <= k.o.Duration:
			return nil
		case k.reason == nil:
			return fmt.Errorf("no report was updated for %s", silent.Round(time.Second))
		}
		return fmt.Errorf("no report was updated for %s: %w", silent.Round(time.Second), k.reason)
	}
}
