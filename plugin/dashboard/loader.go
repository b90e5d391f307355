// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/dashboard"
)

const (
	// heartbeat is the interval of a small request that checks whether the API server responds.
	heartbeat = 5 * time.Second
	// answer is the time limit of that request.
	answer = 5 * time.Second
	// resync is the interval of complete reads without a change; poll is the interval without a
	// watch.
	resync = 30 * time.Second
	poll   = 5 * time.Second
	// breath is the shortest pause between two reads, for a cluster that changes constantly;
	// breathTo is the longest.
	breath   = 500 * time.Millisecond
	breathTo = 10 * time.Second
	// loading is the time limit of one read; queries of nodes have their own limits.
	loading = 30 * time.Second
	// retry is the pause after the first failure; it doubles up to retryTo.
	retry   = time.Second
	retryTo = 10 * time.Second
)

var errNoAnswer = errors.New("the API server did not respond")

// loader keeps the dashboard up to date: it reads after each change, and reports when the API
// server does not respond.
type loader struct {
	clock    clock.WithTicker
	readLive func(context.Context, *cluster.Cluster, kube.LiveOptions) (*cluster.Cluster, error)
	c        client.WithWatch
	key      cluster.Key
	source   cluster.Source
	leases   string // namespace of the controller's Lease
	// banned adds the log errors of new nodes that can never join; nil reads no logs.
	banned   func(context.Context, *cluster.Cluster) *cluster.Cluster
	machines kube.Machines // cached between reads
	looked   bool
	ask      bool // query the nodes themselves
	last     *dashboard.Snapshot

	send func(any)

	mu    sync.Mutex
	heard time.Time // last response of the API server
	deaf  bool      // Lost was sent, and Loaded not since
}

// run sends messages until ctx ends.
func (l *loader) run(ctx context.Context, send func(any)) {
	l.send, l.heard = send, l.clock.Now()
	nudge := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { l.beat(ctx, nudge) })
	changed := l.watch(ctx, nudge)
	every := resync
	if changed == nil {
		every = poll
	}
	tick := l.clock.NewTicker(every)
	defer tick.Stop()
	// The first signal means that the watch is established. It counts, because earlier reads may
	// have missed a change.
	for pause := retry; ; {
		select {
		case <-ctx.Done():
			return
		case <-nudge:
		case <-tick.C():
		case _, ok := <-changed:
			if !ok {
				changed = nil
				continue
			}
		}
		begun := l.clock.Now()
		err := l.load(ctx)
		// Reading a large cluster loads the API server: pause twice as long as the read. Time in
		// which the dashboard runs a command does not count.
		wait := max(breath, min(2*l.clock.Since(begun), breathTo))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.lost(err)
			wait, pause = pause, min(2*pause, retryTo)
			push(nudge)
		default:
			l.tell(dashboard.Loaded{Snapshot: l.last})
			pause = retry
		}
		if !l.sleep(ctx, wait) {
			return
		}
	}
}

func push(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // a pending signal covers this
	}
}

func (l *loader) sleep(ctx context.Context, d time.Duration) bool {
	t := l.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C():
		return true
	}
}

// watch signals changes; nil if only the nodes are queried.
func (l *loader) watch(ctx context.Context, nudge chan<- struct{}) <-chan struct{} {
	if l.ask {
		return nil
	}
	opts := kube.WatchFor(l.options())
	// One broken watch is not a lost connection: only load shows whether the API server is
	// reachable.
	opts.Connected = func(bool, error) { push(nudge) }
	changed, err := kube.Watch(ctx, l.c, l.key, opts)
	if err != nil {
		return nil // nothing to watch: polled
	}
	return changed
}

func (l *loader) options() kube.LoadOptions {
	return kube.LoadOptions{Source: l.source, StatefulSets: true, PVCs: true, StatusReport: true, Lease: l.leases != "",
		LeaseNamespace: l.leases, Operator: true, Machines: &l.machines}
}

// load reads the cluster into last.
func (l *loader) load(ctx context.Context) error {
	rctx, cancel := context.WithTimeout(ctx, loading)
	defer cancel()
	taken := l.clock.Now()
	objects, err := kube.Load(rctx, l.c, l.key, l.options())
	if err != nil {
		return err
	}
	s := cluster.New(objects, l.source, taken)
	if l.ask && (l.source == cluster.SourceLive || s.Source != cluster.SourceReport) {
		l.hear()
		if s, err = l.readLive(ctx, s, kube.LiveOptions{}); err != nil {
			return fmt.Errorf("query the nodes of %s: %w", l.key, err)
		}
	}
	if err := unread(s); err != nil {
		return err
	}
	if l.banned != nil {
		s = l.banned(rctx, s)
	}
	now := l.clock.Now()
	l.last = dashboard.NewSnapshot(s, statusOf(s, now), l.last, l.looked, now)
	l.mu.Lock()
	l.heard, l.deaf = l.clock.Now(), false
	l.mu.Unlock()
	return nil
}

// tell sends a message. The dashboard accepts none while a command has the terminal; that time does
// not count as missing responses.
func (l *loader) tell(msg any) {
	begun := l.clock.Now()
	l.send(msg)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	// Both the watch and the read were blocked.
	if l.heard = l.heard.Add(now.Sub(begun)); l.heard.After(now) {
		l.heard = now
	}
}

// unread returns an error if the read timed out in part: a complete screen must not lose parts
// because the API server was slow.
func unread(s *cluster.Cluster) error {
	i := slices.IndexFunc(s.Problems, func(p cluster.Problem) bool {
		return p.Kind == cluster.ProblemTimeout && p.Resource != "pods/portforward"
	})
	if i < 0 {
		return nil
	}
	return s.Problems[i]
}

// plainly converts a connection error to kube's, which names the server and the cause, without a
// changing address.
func plainly(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return &kube.UnreachableError{Attempt: "query the API server", Err: err}
	}
	return err
}

func isTimeout(err error) bool {
	p, ok := errors.AsType[cluster.Problem](err)
	return ok && p.Kind == cluster.ProblemTimeout || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		errors.Is(err, context.DeadlineExceeded)
}

// hear records a response of the API server.
func (l *loader) hear() {
	l.mu.Lock()
	l.heard = l.clock.Now()
	deaf := l.deaf
	l.mu.Unlock()
	if !deaf {
		l.tell(dashboard.Contact{})
	}
}

// lost reports that the API server is not reachable, since its last response.
func (l *loader) lost(err error) {
	l.mu.Lock()
	l.deaf = true
	since := l.heard
	l.mu.Unlock()
	_, unreachable := errors.AsType[*kube.UnreachableError](err)
	l.tell(dashboard.Lost{Since: since, Err: exit.Describe(err), Reached: !unreachable &&
		!errors.Is(err, errNoAnswer) && !isTimeout(err)})
}

// beat requests one object's name at intervals. A watch receives no data if nothing changes or if
// its connection is broken; only a response distinguishes the two.
func (l *loader) beat(ctx context.Context, nudge chan<- struct{}) {
	for l.sleep(ctx, heartbeat) {
		bctx, cancel := context.WithTimeout(ctx, answer)
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceList"))
		err := l.c.List(bctx, list, client.InNamespace(l.key.Namespace), client.Limit(1))
		if errors.Is(bctx.Err(), context.DeadlineExceeded) && err != nil {
			err = fmt.Errorf("%w within %s", errNoAnswer, answer)
		} else if err != nil {
			err = plainly(err)
		}
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil || apierrors.IsForbidden(err):
			l.mu.Lock()
			deaf := l.deaf
			l.mu.Unlock()
			if deaf {
				push(nudge) // recovered: read now, without the pause
			}
			l.hear()
		default:
			l.lost(err)
			push(nudge)
		}
	}
}
