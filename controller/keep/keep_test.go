// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

const (
	duration = 15 * time.Second
	renewal  = 2 * time.Second
	rounds   = renewal + time.Second // with a renewal
	election = 3 * renewal           // with an attempt of another process: every 2 to 4.4 s
)

var a, b = types.NamespacedName{Namespace: "ns", Name: "a"}, types.NamespacedName{Namespace: "ns", Name: "b"}

// server is an API server with one Lease.
type server struct {
	coordinationv1client.LeaseInterface
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	refuse  error // returned by every write
}

var resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *server) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s *server) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(resource, api.LeaseName)
	}
	return s.lease.DeepCopy(), nil
}

func (s *server) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return s.write(l)
}

func (s *server) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return s.write(l)
}

func (s *server) write(l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.refuse != nil:
		return nil, s.refuse
	case s.lease != nil && l.ResourceVersion != s.lease.ResourceVersion:
		return nil, apierrors.NewConflict(resource, l.Name, errors.New("changed"))
	}
	s.version++
	s.lease = l.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	return s.lease.DeepCopy(), nil
}

func (s *server) refuses(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

func (s *server) read() *coordinationv1.Lease {
	l, _ := s.Get(context.Background(), "", metav1.GetOptions{})
	return l
}

// want checks the holder, and what an annotation of the Lease lists.
func (s *server) want(t *testing.T, what, holder, annotation string, keys ...types.NamespacedName) {
	t.Helper()
	l := s.read()
	if l == nil {
		t.Fatalf("%s: no Lease", what)
	}
	var marks []string
	for _, k := range keys {
		marks = append(marks, api.KeepMark(k.Namespace, k.Name))
	}
	slices.Sort(marks)
	if h := ptr.Deref(l.Spec.HolderIdentity, ""); h != holder || !slices.Equal(strings.Fields(l.Annotations[annotation]), marks) {
		t.Errorf("%s: held by %q, %s %q; want %q, %v", what, h, annotation, l.Annotations[annotation], holder, keys)
	}
}

// process is a controller with two clusters.
type process struct {
	*Keeper
	elected chan struct{}
	stop    func()
	stale   atomic.Bool
}

// elects runs a process in the election. It writes to no Lease after stop.
func (s *server) elects(t *testing.T, holder string, off bool) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{elected: make(chan struct{}), Keeper: New(Options{
		Client: s, Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler), Duration: duration, Off: off,
	})}
	p.Of(func(context.Context) ([]types.NamespacedName, error) { return []types.NamespacedName{a, b}, nil },
		func() error {
			if p.stale.Load() {
				return errors.New("silent")
			}
			return nil
		}, "at "+holder)
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: p.Lock("kubectl-scylla", holder), LeaseDuration: duration, RenewDeadline: 10 * time.Second, RetryPeriod: renewal, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(p.elected) }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { e.Run(ctx) })
	p.stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(p.stop)
	return p
}

func (p *process) ready() error { return p.Check(p.elected)(nil) }

func (p *process) assembled(key types.NamespacedName, err error) { p.Assembled(key, time.Now(), err) }

func TestTheLeaseListsWhatIsKept(t *testing.T) {
	rejected := errors.New("exceeded quota")
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.elects(t, "x", false)
		for _, step := range []struct {
			name  string
			do    func()
			lists []types.NamespacedName
		}{
			{"nothing is assembled", func() {}, nil},
			{"one of two is assembled", func() { p.assembled(a, nil) }, []types.NamespacedName{a}},
			{"the other is rejected from the start", func() { p.assembled(b, rejected) }, []types.NamespacedName{a}},
			{"both are written", func() { p.assembled(b, nil) }, []types.NamespacedName{a, b}},
			{"one is rejected", func() { p.assembled(a, rejected) }, []types.NamespacedName{b}},
			{"it is written again", func() { p.assembled(a, nil) }, []types.NamespacedName{a, b}},
			{"the caches may be old", func() { p.stale.Store(true) }, nil},
			{"they are not", func() { p.stale.Store(false); p.assembled(a, nil); p.assembled(b, nil) }, []types.NamespacedName{a, b}},
			{"the loop hangs in one", func() { time.Sleep(duration - 2*rounds); p.assembled(a, nil); time.Sleep(rounds) }, []types.NamespacedName{a}},
			{"it hangs", func() { time.Sleep(duration) }, nil},
		} {
			step.do()
			time.Sleep(rounds)
			s.want(t, step.name, "x", api.AnnotationKeeps, step.lists...)
		}
		time.Sleep(duration)
		if err := p.ready(); err == nil || !strings.Contains(err.Error(), "out of date") {
			t.Errorf("ready: %v", err)
		}
		p.assembled(b, nil)
		time.Sleep(rounds)
		s.want(t, "one is kept again", "x", api.AnnotationKeeps, b)
		if err := p.ready(); err != nil {
			t.Error(err)
		}
	})
}

// Whoever takes over lists nothing of what the former holder has kept, and a released Lease lists nothing.
func TestAnotherLeaderProvesAnew(t *testing.T) {
	for name, off := range map[string]bool{"both keep reports": false, "the first one protects no cluster": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, first := &server{}, api.AnnotationKeeps
				if off {
					first = api.AnnotationUnprotected
				}
				one := s.elects(t, "one", off)
				synctest.Wait() // it leads
				one.assembled(a, nil)
				one.assembled(b, nil)
				time.Sleep(rounds)
				s.want(t, "one leads", "one", first, a, b)
				two := s.elects(t, "two", false)
				time.Sleep(2 * duration)
				if err := two.ready(); err != nil {
					t.Errorf("one that waits for its turn: %v", err)
				}
				one.stop()
				s.want(t, "released", "", first)
				if at := s.read().Annotations[api.AnnotationViewAt]; at != "" {
					t.Errorf("released, and views are at %q", at)
				}
				time.Sleep(election)
				s.want(t, "two has taken over", "two", first)
				if at := s.read().Annotations[api.AnnotationViewAt]; at != "at two" {
					t.Errorf("views are at %q", at)
				}
				if err := two.ready(); err != nil {
					t.Errorf("its term has begun: %v", err)
				}
				two.assembled(b, nil)
				time.Sleep(rounds)
				s.want(t, "two keeps one", "two", api.AnnotationKeeps, b)
			})
		})
	}
}

func TestALeaseThatCannotBeWrittenLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.elects(t, "x", false)
		synctest.Wait() // it leads
		p.assembled(a, nil)
		time.Sleep(rounds)
		was := s.read().Spec.RenewTime
		s.refuses(errors.New("the API server says no"))
		time.Sleep(duration)
		if !s.read().Spec.RenewTime.Equal(was) {
			t.Error("renewed")
		}
		s.refuses(nil)
		other := s.elects(t, "y", false)
		time.Sleep(duration + election)
		s.want(t, "the other leads", "y", api.AnnotationKeeps)
		other.stop()
	})
}

func TestEveryClusterIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.elects(t, "x", false)
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		if err := p.Source().Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rounds)
		for range 2 {
			r, _ := q.Get()
			p.assembled(r.NamespacedName, nil)
			q.Done(r)
		}
		time.Sleep(rounds)
		if q.Len() != 0 {
			t.Error("asked for again at once")
		}
		time.Sleep(duration / again)
		if q.Len() != 2 {
			t.Errorf("%d of 2 asked for again", q.Len())
		}
	})
}
