// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// WatchOptions say what to watch.
type WatchOptions struct {
	// Services, Pods, StatefulSets, PVCs and Reports are those of the cluster; StatusReports all of the namespace, as an override
	// may name any.
	Services, Pods, StatefulSets, PVCs, Reports, StatusReports bool
	// Service, when set, narrows Services to one name: a barrier may have leave for nothing else.
	Service string
	// Lease of our controller in LeaseNamespace.
	Lease          bool
	LeaseNamespace string
	// Quiet is how long changes are gathered before one signal is given; 200 ms when zero.
	Quiet time.Duration
	// Connected is told of each change: false with the reason when a watch is lost and cannot be had again at once, true when all
	// are there again; first true when all watches stand. It must not block.
	Connected func(ok bool, err error)
	// Problem is told once of each kind that may not be watched or is not installed; such a kind does not count as a lost
	// connection and is tried again each minute.
	Problem func(Problem)
}

// WatchFor watches what Load reads with these options.
func WatchFor(o LoadOptions) WatchOptions {
	k := o.kinds()
	return WatchOptions{
		Services: true, Pods: k&kindPods != 0, StatefulSets: k&kindStatefulSets != 0, PVCs: k&kindPVCs != 0, Reports: k&kindReports != 0,
		StatusReports: k&kindStatusReport != 0, Lease: k&kindLease != 0, LeaseNamespace: o.LeaseNamespace,
	}
}

const (
	defaultQuiet = 200 * time.Millisecond
	watchRetry   = 500 * time.Millisecond
	watchRetryTo = 30 * time.Second
	// watchAnew is how soon a kind that may not be watched is tried again.
	watchAnew = time.Minute
)

type watched struct {
	gvk      schema.GroupVersionKind
	resource string
	ns, name string
	opts     []client.ListOption
}

func (o WatchOptions) kinds(key ClusterKey) []watched {
	ofCluster := client.MatchingLabels{api.LabelCluster: key.Name}
	ns := client.InNamespace(key.Namespace)
	var out []watched
	add := func(asked bool, gvk schema.GroupVersionKind, resource string, opts ...client.ListOption) {
		if asked {
			out = append(out, watched{gvk: gvk, resource: resource, ns: key.Namespace, opts: append(opts, ns)})
		}
	}
	if o.Services && o.Service != "" {
		out = append(out, watched{
			gvk: corev1.SchemeGroupVersion.WithKind("ServiceList"), resource: resourceServices, ns: key.Namespace, name: o.Service,
			opts: []client.ListOption{ns, client.MatchingFields{metav1.ObjectNameField: o.Service}},
		})
	} else {
		add(o.Services, corev1.SchemeGroupVersion.WithKind("ServiceList"), resourceServices, ofCluster)
	}
	add(o.Pods, corev1.SchemeGroupVersion.WithKind("PodList"), resourcePods, ofCluster)
	add(o.StatefulSets, appsv1.SchemeGroupVersion.WithKind("StatefulSetList"), resourceStatefulSets, ofCluster)
	add(o.PVCs, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"), resourcePVCs, ofCluster)
	add(o.Reports, api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReportList"), resourceReports,
		client.MatchingLabels{api.LabelReportSelector: key.Name})
	add(o.StatusReports, api.GroupVersion.WithKind("ScyllaDBStatusReportList"), resourceStatusReports)
	if o.Lease && o.LeaseNamespace != "" {
		out = append(out, watched{
			gvk: coordinationv1.SchemeGroupVersion.WithKind("LeaseList"), resource: resourceLeases, ns: o.LeaseNamespace, name: api.LeaseName,
			opts: []client.ListOption{client.InNamespace(o.LeaseNamespace), client.MatchingFields{metav1.ObjectNameField: api.LeaseName}},
		})
	}
	return out
}

// Watch signals that something of the cluster has changed, many changes as one signal; the receiver loads again. The first signal
// comes at once. Only metadata travels. Watches that break are opened again with backoff, and a signal follows, as something may have
// been missed. The channel is closed when ctx has ended and all is at rest. Error: nothing to watch.
func Watch(ctx context.Context, c client.WithWatch, key ClusterKey, opts WatchOptions) (<-chan struct{}, error) {
	kinds := opts.kinds(key)
	if len(kinds) == 0 {
		return nil, fmt.Errorf("watch cluster %s: %w", key, errNothingToWatch)
	}
	if opts.Quiet <= 0 {
		opts.Quiet = defaultQuiet
	}
	w := &watcher{c: c, dirty: make(chan struct{}, 1), up: make([]bool, len(kinds)), opts: opts}
	out := make(chan struct{}, 1)
	out <- struct{}{}
	var wg sync.WaitGroup
	for i, k := range kinds {
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
	up   []bool // watch stands, or is given up for now
	told *bool
}

func (w *watcher) signal() {
	select {
	case w.dirty <- struct{}{}:
	default: // one is pending, which covers this change too
	}
}

// gather turns many changes into one signal. A receiver that is busy finds exactly one when it comes back.
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

// state records whether watch i stands and tells of a change of the whole.
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
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(k.gvk)
		stream, err := w.c.Watch(ctx, list, k.opts...)
		if err == nil {
			w.state(i, true, nil)
			// Whatever happened while nobody watched has been missed.
			w.signal()
			var events int
			events, err = w.drain(ctx, stream)
			if events > 0 {
				delay = watchRetry
			}
		}
		if ctx.Err() != nil {
			return
		}
		wait := delay
		if err != nil {
			p, fatal := classify(ctx, "watch", k.resource, k.ns, k.name, err)
			switch {
			case fatal != nil:
				w.state(i, false, fatal)
			case p != nil && (p.Kind == ProblemForbidden || p.Kind == ProblemNotInstalled):
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
		// A stream that just ends is how API servers close long watches; the next one is asked for at once, but not in a tight loop.
		if !pause(ctx, wait/2+rand.N(wait/2)) {
			return
		}
		delay = min(2*delay, watchRetryTo)
	}
}

// drain reads a watch to its end and counts what came. The error is the server's own word about why it ended; nil when it just did.
func (w *watcher) drain(ctx context.Context, stream watch.Interface) (events int, err error) {
	defer stream.Stop()
	for {
		select {
		case <-ctx.Done():
			return events, nil
		case e, ok := <-stream.ResultChan():
			switch {
			case !ok:
				return events, nil
			case e.Type == watch.Error:
				return events, apierrors.FromObject(e.Object)
			case e.Type != watch.Bookmark:
				events++
				w.signal()
			}
		}
	}
}

// pause is false when ctx ends first.
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
