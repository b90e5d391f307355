// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// WatchOptions selects what to watch.
type WatchOptions struct {
	// Kinds of the cluster. All cluster reports of the namespace are watched, because an override
	// may name any; of Leases only our controller's.
	Kinds cluster.Kinds
	// Service, if set, limits Services to one name: a barrier may have no other permission.
	Service string
	// LeaseNamespace is the namespace of our controller's Lease; empty watches no Lease.
	LeaseNamespace string
	// Quiet is how long changes are collected into one signal; default 200 ms.
	Quiet time.Duration
	// Changed is called before the signal of each change, and of each new watch, with its kind. It
	// must not block; may be nil.
	Changed func(cluster.Kinds)
	// Connected is called at each change: false with the reason if a watch was lost and could not
	// be reopened at once, true when all watches are open. It must not block.
	Connected func(ok bool, err error)
	// Problem is called once for each kind whose watch is forbidden or whose CRD is missing. Such a
	// kind does not count as a lost connection and is retried every minute.
	Problem func(cluster.Problem)
}

// WatchFor returns options that watch what Load reads.
func WatchFor(o LoadOptions) WatchOptions {
	return WatchOptions{Kinds: o.kinds(), LeaseNamespace: o.LeaseNamespace}
}

const (
	defaultQuiet = 200 * time.Millisecond
	watchRetry   = 500 * time.Millisecond
	watchRetryTo = 30 * time.Second
	// watchAnew is the retry interval for a kind whose watch is forbidden.
	watchAnew = time.Minute
)

type watched struct {
	*kind
	ns, name string
	opts     []client.ListOption
}

func (o WatchOptions) watched(key cluster.Key) []watched {
	var out []watched
	for i := range kinds {
		w := watched{kind: &kinds[i], ns: key.Namespace}
		switch {
		case o.Kinds&w.bit == 0, w.bit == cluster.KindLease && o.LeaseNamespace == "":
			continue
		case w.bit == cluster.KindLease:
			w.ns, w.name = o.LeaseNamespace, api.LeaseName
		case w.bit == cluster.KindServices:
			w.name = o.Service
		}
		w.opts = []client.ListOption{client.InNamespace(w.ns)}
		switch {
		case w.name != "":
			w.opts = append(w.opts, client.MatchingFields{metav1.ObjectNameField: w.name})
		case w.label != "":
			w.opts = append(w.opts, w.of(key.Name))
		}
		out = append(out, w)
	}
	return out
}

// Watch signals changes of the cluster, and merges many changes into one signal; the receiver must
// load again. The first signal comes at once. Only metadata is transferred. A broken watch is
// reopened with backoff and followed by a signal, because events may be lost. The channel is closed
// after ctx has ended and all goroutines have stopped. Error: nothing to watch.
func Watch(ctx context.Context, c client.WithWatch, key cluster.Key, opts WatchOptions) (<-chan struct{}, error) {
	what := opts.watched(key)
	if len(what) == 0 {
		return nil, fmt.Errorf("watch cluster %s: %w", key, errNothingToWatch)
	}
	if opts.Quiet <= 0 {
		opts.Quiet = defaultQuiet
	}
	w := &watcher{c: c, dirty: make(chan struct{}, 1), up: make([]bool, len(what)), opts: opts}
	out := make(chan struct{}, 1)
	out <- struct{}{}
	var wg sync.WaitGroup
	for i, k := range what {
		wg.Go(func() { w.run(ctx, i, k) })
	}
	wg.Go(func() { w.gather(ctx, out) })
	go func() {
		wg.Wait()
		close(out)
	}()
	return out, nil
}

type watcher struct {
	c     client.WithWatch
	opts  WatchOptions
	dirty chan struct{}

	mu   sync.Mutex
	up   []bool // watch is open, or suspended after a Problem
	told *bool
}

func (w *watcher) signal(k cluster.Kinds) {
	if w.opts.Changed != nil {
		w.opts.Changed(k)
	}
	select {
	case w.dirty <- struct{}{}:
	default: // a pending signal covers this change
	}
}

// gather merges changes into signals. A busy receiver finds exactly one signal afterwards.
func (w *watcher) gather(ctx context.Context, out chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		}
		if !pause(ctx, w.opts.Quiet) {
			return
		}
		select {
		case <-w.dirty:
		default:
		}
		select {
		case out <- struct{}{}:
		default:
		}
	}
}

// state records whether watch i is connected and reports a change of the overall state.
func (w *watcher) state(i int, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up[i] = ok
	all := true
	for _, one := range w.up {
		all = all && one
	}
	if all == ok && (w.told == nil || *w.told != all) {
		w.told = &all
		if w.opts.Connected != nil {
			w.opts.Connected(all, err)
		}
	}
}

func (w *watcher) run(ctx context.Context, i int, k watched) {
	delay, told := watchRetry, false
	for ctx.Err() == nil {
		// The time limit of a stream also applies to a request without a response.
		begun, cancel := context.WithCancel(ctx)
		unanswered := time.AfterFunc(watchSilence, cancel)
		stream, err := w.open(begun, k)
		unanswered.Stop()
		if err == nil {
			w.state(i, true, nil)
			// Events between two watches are lost.
			w.signal(k.bit)
			var events int
			events, err = w.drain(ctx, stream, k.bit)
			if events > 0 {
				delay = watchRetry
			}
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		wait := delay
		if err != nil {
			p, fatal := classify(ctx, "watch", k.resource, k.ns, k.name, err)
			switch {
			case fatal != nil:
				w.state(i, false, fatal)
			case p != nil && (p.Kind == cluster.ProblemForbidden || p.Kind == cluster.ProblemNotInstalled):
				if !told && w.opts.Problem != nil {
					w.opts.Problem(*p)
				}
				told = true
				w.state(i, true, nil)
				wait = watchAnew
			case p != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
				w.state(i, false, *p)
			}
		}
		// API servers close long watches without an error. The next watch opens at once, but not in
		// a tight loop.
		if !pause(ctx, wait/2+rand.N(wait/2)) {
			return
		}
		delay = min(2*delay, watchRetryTo)
	}
}

// open opens a watch that begins with the next change. Without a version the API server first sends
// all objects, 1,000 Services of 1,000 nodes; a list of one object has the version. A watch of one
// name has no need of it, and possibly no permission to list.
func (w *watcher) open(ctx context.Context, k watched) (watch.Interface, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.listKind())
	// Bookmarks distinguish a watch without events from one whose proxy no longer delivers.
	from := &metav1.ListOptions{AllowWatchBookmarks: true}
	if k.name == "" {
		if err := w.c.List(ctx, list, append(k.opts, client.Limit(1))...); err != nil {
			return nil, err
		}
		from.ResourceVersion = list.ResourceVersion
	}
	return w.c.Watch(ctx, list, append(k.opts, &client.ListOptions{Raw: from})...)
}

// drain reads a watch to its end and returns the number of events. err is the server's error, nil
// at a normal end or if no data arrived within WatchSilence: the caller then loads everything
// again, as after each new watch.
func (w *watcher) drain(ctx context.Context, stream watch.Interface, k cluster.Kinds) (events int, err error) {
	defer stream.Stop()
	silent := time.NewTimer(watchSilence)
	defer silent.Stop()
	for {
		select {
		case <-ctx.Done():
			return events, nil
		case <-silent.C:
			return 1, nil // reopens at once, without the pause after a failure
		case e, ok := <-stream.ResultChan():
			silent.Reset(watchSilence)
			switch {
			case !ok:
				return events, nil
			case e.Type == watch.Error:
				return events, apierrors.FromObject(e.Object)
			case e.Type != watch.Bookmark:
				events++
				w.signal(k)
			}
		}
	}
}

// pause waits for d and reports false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
