// SPDX-License-Identifier: Apache-2.0

// Package keep proves that reports are kept. The controllers elect their leader by one Lease, and
// barriers trust a report while that Lease is renewed and lists the report's cluster. Each renewal
// lists the clusters whose reports were recently assembled and then written, or found equal. A
// cluster whose report cannot be written is removed from the list at once, and delays no other
// cluster.
//
// It must not assemble or judge anything.
package keep

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// maxMarks keeps the annotation well below the API server's limit (256 KiB of annotations).
const maxMarks = 10_000

// Options are the dependencies of a Keeper.
type Options struct {
	// Client writes the Lease.
	Client coordinationv1client.LeasesGetter
	Clock  clock.PassiveClock
	Log    *slog.Logger
	// Duration is the Lease's duration, and how long an assembly counts as proof.
	Duration time.Duration
	// Off is set if feature gate BootstrapSynchronisation is off: the Lease then lists the clusters
	// as unprotected, and none as kept.
	Off bool
}

// Keeper lists the kept clusters in the Lease of the election. It is safe for concurrent use.
type Keeper struct {
	o Options

	// Set by Of.
	clusters func(context.Context) ([]types.NamespacedName, error)
	alive    func() error
	viewAt   string

	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	proof  *Proof // of this process's term
	reason error  // why no cluster is listed, else nil
}

// New returns a Keeper; it lists no cluster until assemblies are reported to it.
func New(o Options) *Keeper { return &Keeper{o: o, proof: NewProof(o.Duration, o.Clock.Now())} }

// Of sets, before the election, whose reports this controller must keep. alive returns an error if
// the loop that writes them does not run or its cache may be out of date. viewAt is the value of
// api.AnnotationViewAt; empty if this process serves no views.
func (k *Keeper) Of(clusters func(context.Context) ([]types.NamespacedName, error), alive func() error, viewAt string) {
	k.clusters, k.alive, k.viewAt = clusters, alive, viewAt
}

// Lock returns the lock of the election: the Lease in that namespace, with holder as this process's
// identity.
func (k *Keeper) Lock(namespace, holder string) resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: api.LeaseName}, Client: k,
		LockConfig: resourcelock.ResourceLockConfig{Identity: holder},
	}
}

// Leases returns a client that adds the list to each Lease that it writes.
func (k *Keeper) Leases(namespace string) coordinationv1client.LeaseInterface {
	return leases{k.o.Client.Leases(namespace), k}
}

type leases struct {
	coordinationv1client.LeaseInterface
	keeper *Keeper
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (
	*coordinationv1.Lease, error) {
	l.keeper.mark(ctx, lease)
	return l.LeaseInterface.Create(ctx, lease, o)
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (
	*coordinationv1.Lease, error) {
	l.keeper.mark(ctx, lease)
	return l.LeaseInterface.Update(ctx, lease, o)
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

// mark replaces the former holder's list by this process's. A released Lease has none, so that
// barriers stop trusting the reports at once.
func (k *Keeper) mark(ctx context.Context, l *coordinationv1.Lease) {
	for _, a := range []string{api.AnnotationKeeps, api.AnnotationUnprotected, api.AnnotationViewAt} {
		delete(l.Annotations, a)
	}
	if ptr.Deref(l.Spec.HolderIdentity, "") == "" {
		return
	}
	if l.Spec.AcquireTime.Equal(l.Spec.RenewTime) { // the term begins
		k.mu.Lock()
		k.proof = NewProof(k.o.Duration, k.o.Clock.Now())
		k.mu.Unlock()
	}
	list := api.AnnotationKeeps
	if k.o.Off {
		list = api.AnnotationUnprotected
	}
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, list, strings.Join(k.marks(ctx), " "))
	if k.viewAt != "" {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationViewAt, k.viewAt)
	}
}

// marks returns the sorted marks of the clusters whose reports are kept, and queues clusters that
// are due for another assembly.
func (k *Keeper) marks(ctx context.Context) []string {
	keys, err := k.clusters(ctx)
	if err == nil {
		err = k.alive()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.o.Clock.Now()
	if err == nil && !k.o.Off {
		var due []types.NamespacedName
		keys, due, err = k.proof.Of(keys, now)
		for _, key := range due {
			if k.queue != nil {
				k.queue.Add(reconcile.Request{NamespacedName: key})
			}
		}
	}
	switch {
	case err == nil:
		k.proof.Renewed(now)
	case k.proof.Silent(now) >= k.o.Duration && (k.reason == nil || k.reason.Error() != err.Error()):
		k.o.Log.WarnContext(ctx, "the Lease lists no cluster: barriers will not trust the reports", "error", err)
	}
	if k.reason = err; err != nil {
		return nil
	}
	if len(keys) > maxMarks {
		k.o.Log.Error("too many clusters for one controller: divide the namespaces with --namespaces", "clusters",
			len(keys), "limit", maxMarks)
	}
	var marks []string
	for _, key := range keys[:min(len(keys), maxMarks)] {
		marks = append(marks, api.KeepMark(key.Namespace, key.Name))
	}
	slices.Sort(marks)
	return marks
}

// Check returns the readiness check: it fails if this process leads and no report was proven for
// longer than the Lease's duration.
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
		case silent <= k.o.Duration:
			return nil
		case k.reason == nil:
			return fmt.Errorf("no report was updated for %s", silent.Round(time.Second))
		}
		return fmt.Errorf("no report was updated for %s: %w", silent.Round(time.Second), k.reason)
	}
}
