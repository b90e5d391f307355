// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// wires is an API server whose watches the test controls.
type wires struct {
	mu      sync.Mutex
	fail    map[string]error
	streams map[string]*watch.FakeWatcher
	opened  map[string]int
	opts    map[string]client.ListOptions
	silent  bool // no bookmarks come
}

func newWires() *wires {
	return &wires{fail: map[string]error{}, streams: map[string]*watch.FakeWatcher{}, opened: map[string]int{}, opts: map[string]client.ListOptions{}}
}

func (w *wires) connect() client.WithWatch {
	return fake.NewClientBuilder().WithScheme(NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Watch: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			kind := strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List")
			if err := w.fail[kind]; err != nil {
				return nil, err
			}
			w.opened[kind]++
			var lo client.ListOptions
			lo.ApplyOptions(opts)
			w.opts[kind] = lo
			stream := &stoppable{FakeWatcher: watch.NewFakeWithChanSize(100, false)}
			w.streams[kind] = stream.FakeWatcher
			go func() {
				for !w.silent {
					select {
					case <-ctx.Done():
						return
					case <-time.After(45 * time.Second):
					}
					if !stream.bookmark() {
						return
					}
				}
			}()
			return stream, nil
		},
	}).Build()
}

// stoppable may be stopped while a bookmark is being sent, which a FakeWatcher by itself may not.
type stoppable struct {
	*watch.FakeWatcher
	mu sync.Mutex
}

func (s *stoppable) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.FakeWatcher.Stop()
}

// bookmark is false when the watch has ended.
func (s *stoppable) bookmark() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.IsStopped() {
		return false
	}
	s.Action(watch.Bookmark, stage.NewService("x-0", 1, "h"))
	return true
}

// asked gives the options of the last watch of a kind.
func (w *wires) asked(kind string) client.ListOptions {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opts[kind]
}

func (w *wires) set(kind string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail[kind] = err
}

func (w *wires) stream(kind string) *watch.FakeWatcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams[kind]
}

func (w *wires) times(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened[kind]
}

// said collects what a Watch tells from its own goroutines.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *said) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

func (s *said) connected(ok bool, err error) { s.add(fmt.Sprint(ok, " ", err)) }

// signals counts what has come and does not wait.
func signals(ch <-chan struct{}) int {
	n := 0
	for {
		select {
		case _, ok := <-ch:
			if !ok {
				return n
			}
			n++
		default:
			return n
		}
	}
}

func TestWatchGathersChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := newWires()
		var told said
		ch, err := Watch(ctx, w.connect(), key, WatchOptions{Kinds: cluster.KindServices | cluster.KindReports, Connected: told.connected})
		if err != nil {
			t.Fatal(err)
		}
		if signals(ch) != 1 {
			t.Error("the first signal does not come at once")
		}
		time.Sleep(time.Second)
		signals(ch)
		for range 50 {
			w.stream("Service").Modify(stage.NewService("x-0", 1, "h"))
			time.Sleep(time.Millisecond)
		}
		if signals(ch) != 0 {
			t.Error("a signal comes before the changes are gathered")
		}
		time.Sleep(time.Second)
		if n := signals(ch); n != 1 {
			t.Errorf("50 changes at once give %d signals, want 1", n)
		}
		w.stream("Service").Action(watch.Bookmark, stage.NewService("x-0", 1, "h"))
		time.Sleep(time.Second)
		if signals(ch) != 0 {
			t.Error("a bookmark is no change")
		}
		if diff := cmp.Diff([]string{"true <nil>"}, told.all()); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		cancel()
		synctest.Wait()
		if _, open := <-ch; open {
			t.Error("the channel is open after the end")
		}
	})
}

func TestWatchAsksForItsClusterOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWires()
		opts := WatchFor(Everything(cluster.SourceAuto, "sys"))
		opts.Service = "demo-rack1-0"
		ch, err := Watch(ctx, w.connect(), key, opts)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		got := map[string]string{}
		for kind, o := range w.opts {
			got[kind] = o.Namespace
			if o.LabelSelector != nil {
				got[kind] += " " + o.LabelSelector.String()
			}
			if o.FieldSelector != nil {
				got[kind] += " " + o.FieldSelector.String()
			}
		}
		want := map[string]string{
			"Service": "db metadata.name=demo-rack1-0", "Pod": "db scylla/cluster=demo", "StatefulSet": "db scylla/cluster in (demo,own_demo)",
			"PersistentVolumeClaim":               "db scylla/cluster=demo",
			"ScyllaDBDatacenterNodesStatusReport": "db " + api.LabelReportSelector + "=demo",
			"ScyllaDBStatusReport":                "db", "Lease": "sys metadata.name=kubectl-scylla-controller",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("watches (-want +got):\n%s", diff)
		}
		cancel()
		for range ch {
		}
	})
}

func TestWatchComesBackAfterALoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWires()
		var told said
		ch, err := Watch(ctx, w.connect(), key, WatchOptions{Kinds: cluster.KindPods | cluster.KindServices, Connected: told.connected})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		signals(ch)

		// How every API server ends a long watch: no loss.
		w.stream("Pod").Stop()
		time.Sleep(2 * time.Second)
		states := told.all()
		if w.times("Pod") != 2 || len(states) != 1 || signals(ch) != 1 {
			t.Errorf("after an ordinary end: opened %d times, states %v", w.times("Pod"), states)
		}
		// The server is gone: one loss is told, and nothing is asked in a tight loop.
		w.set("Pod", refused)
		w.set("Service", refused)
		w.stream("Pod").Stop()
		w.stream("Service").Stop()
		time.Sleep(5 * time.Minute)
		states = told.all()
		if len(states) != 2 || !strings.HasPrefix(states[1], "false watch ") || !strings.Contains(states[1], "is not reachable") {
			t.Errorf("states %q", states)
		}
		w.set("Pod", nil)
		time.Sleep(time.Minute)
		states = told.all()
		if len(states) != 2 {
			t.Errorf("half of the watches stand, and the state is %q", states[len(states)-1])
		}
		w.set("Service", nil)
		time.Sleep(time.Minute)
		states = told.all()
		if len(states) != 3 || states[2] != "true <nil>" {
			t.Errorf("states %q", states)
		}
		if signals(ch) != 1 {
			t.Error("no signal after the return, though changes may have been missed")
		}
		// The server's own word that the watch is too old.
		gone := apierrors.NewResourceExpired("too old").Status()
		w.stream("Pod").Error(&gone)
		time.Sleep(time.Minute)
		states = told.all()
		if len(states) != 3 || w.times("Pod") != 4 {
			t.Errorf("after 410: states %q, opened %d times", states, w.times("Pod"))
		}
		internal := apierrors.NewInternalError(errors.New("etcd lost")).Status()
		w.stream("Pod").Error(&internal)
		time.Sleep(time.Minute)
		states = told.all()
		if len(states) != 5 || !strings.Contains(states[3], "etcd lost") || states[4] != "true <nil>" {
			t.Errorf("states %q", states)
		}
		cancel()
		for range ch {
		}
	})
}

func TestWatchGoesOnWithoutWhatItMayNotWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWires()
		w.set("Pod", forbidden("pods"))
		w.set("ScyllaDBDatacenterNodesStatusReport", noCRD)
		var problems, told said
		ch, err := Watch(ctx, w.connect(), key, WatchOptions{
			Kinds:     cluster.KindServices | cluster.KindPods | cluster.KindReports,
			Connected: told.connected,
			Problem:   func(p cluster.Problem) { problems.add(string(p.Kind) + " " + p.Resource) },
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if states := told.all(); len(problems.all()) != 2 || len(states) != 1 || states[0] != "true <nil>" {
			t.Errorf("problems %v, states %v; want each problem once, and connected", problems.all(), states)
		}
		signals(ch)
		w.set("Pod", nil)
		time.Sleep(2 * time.Minute)
		if w.times("Pod") != 1 || signals(ch) != 1 {
			t.Errorf("the right was given, and Pods were watched %d times", w.times("Pod"))
		}
		cancel()
		for range ch {
		}
	})
}

func TestWatchOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if _, err := Watch(t.Context(), newWires().connect(), key, WatchOptions{}); !errors.Is(err, errNothingToWatch) {
			t.Errorf("err = %v", err)
		}
	})
}

// TestWatchOverTheFakeServer goes through the ordinary fake client, so that kinds and options are real ones.
func TestWatchOverTheFakeServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newStage(t, 1, 1).client(interceptor.Funcs{})
		ch, err := Watch(ctx, c, key, WatchFor(LoadOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		signals(ch)
		pod := stage.NewPod(t, "demo-rack1-1", 1, nil)
		if err := c.Create(ctx, pod); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if signals(ch) != 1 {
			t.Error("a new Pod gives no signal")
		}
		if err := c.Delete(ctx, &corev1.Pod{ObjectMeta: pod.ObjectMeta}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if signals(ch) != 1 {
			t.Error("a deleted Pod gives no signal")
		}
		cancel()
		for range ch {
		}
	})
}

// A stream that a proxy keeps open and no longer serves looks like a cluster in which nothing happens.
func TestASilentWatchIsOpenedAgainAndAllIsLoadedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		w.silent = true
		ctx, cancel := context.WithCancel(t.Context())
		var s said
		ch, err := Watch(ctx, w.connect(), key, WatchOptions{Kinds: cluster.KindServices, Connected: s.connected})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		signals(ch)
		for range 10 { // bookmarks say that the stream lives
			time.Sleep(time.Minute)
			w.stream("Service").Action(watch.Bookmark, &corev1.Service{})
		}
		time.Sleep(time.Second)
		if n := signals(ch); n != 0 || w.times("Service") != 1 {
			t.Errorf("%d signals, opened %d times, while bookmarks came", n, w.times("Service"))
		}
		if raw := w.asked("Service").Raw; raw == nil || !raw.AllowWatchBookmarks {
			t.Error("bookmarks are not asked for")
		}
		time.Sleep(watchSilence + 2*time.Second)
		if n := signals(ch); n != 1 || w.times("Service") != 2 {
			t.Errorf("%d signals, opened %d times, after silence", n, w.times("Service"))
		}
		if got := s.all(); !slices.Equal(got, []string{"true <nil>"}) {
			t.Errorf("told %q: silence is no loss", got)
		}
		cancel()
		for range ch {
		}
	})
}
