// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
)

var demo = types.NamespacedName{Namespace: ns, Name: "demo"}

func stamped(epoch, seq int64) *api.StatusReportView {
	return &api.StatusReportView{Epoch: epoch, Seq: seq}
}

// leader is a controller without a socket, which answers with the view and its age; err instead where it is set.
type leader struct {
	v     *api.StatusReportView
	of    types.UID // the report's
	age   time.Duration
	err   error
	asked []viewwire.Question
}

func (l *leader) fetch(_ context.Context, _ *http.Client, q viewwire.Question) (*viewwire.View, error) {
	l.asked = append(l.asked, q)
	if l.err != nil {
		return nil, l.err
	}
	return &viewwire.View{StatusReportView: *l.v, ReportUID: l.of, AgeMillis: l.age.Milliseconds()}, nil
}

// follows is a reporter of cluster demo that has found the controller, and looks when a test says so.
func (w *world) follows(l *leader) *follower {
	w.t.Helper()
	w.tells("10.0.0.9:8443 " + strings.Repeat("a", 64))
	w.o.LeaseNamespace = "kubectl-scylla"
	r := w.byHand()
	r.fetch = l.fetch
	r.relay.of(demo)
	f := &follower{reporter: r}
	w.t.Cleanup(f.forget)
	return f
}

// tells has the Lease say where the views are served.
func (w *world) tells(at string) {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName}}
	_ = w.c.Delete(w.t.Context(), lease.DeepCopy())
	lease.Annotations = map[string]string{api.AnnotationViewAt: at}
	if err := w.c.Create(w.t.Context(), lease); err != nil {
		w.t.Fatal(err)
	}
}

// stores is a view that the API server has.
func (w *world) stores(v *api.StatusReportView) {
	w.t.Helper()
	r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
	_ = w.c.Delete(w.t.Context(), r.DeepCopy())
	r.Status.View = v
	if err := w.c.Create(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

// handsOn is a relay's answer: the stamp and the age, or why there is none.
func handsOn(r *relay) (view.Stamp, time.Duration, error) {
	v, err := r.serve(demo)
	if err != nil {
		return view.Stamp{}, 0, err
	}
	return view.StampOf(&v.StatusReportView), v.Age(), nil
}

func wantRelayed(t *testing.T, f *follower, seq int64, age time.Duration) {
	t.Helper()
	if is, old, err := handsOn(f.relay); is != (view.Stamp{Epoch: 1, Seq: seq}) || old != age || err != nil {
		t.Errorf("%+v, %v old, %v; want seq %d, %v old", is, old, err, seq, age)
	}
}

// metric is the sum of one over its labels.
func (w *world) metric(f *follower, name string) (sum float64) {
	w.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "kubectl_scylla_reporter_"+name {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// Applications and probes see no difference while the controller is away for an hour: the row has all UP, and the reporter is ready.
func TestAReporterIsReadyWithoutAController(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.follows(&leader{err: errors.New("connection refused")})
		for range int(time.Hour / DefaultInterval) {
			w.step(f.reporter)
			f.look(t.Context())
			if err := f.ready(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(DefaultInterval)
		}
	})
}

// The controller's view is relayed with its age, which goes on by the reporter's own clock, and ends at the greatest view limit of any cluster.
func TestARelayHandsOnWhatTheControllerSaysWithItsAge(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := &leader{v: stamped(1, 41), age: 3 * time.Second}
		l.v.ObservedAt = metav1.NewTime(time.Now().Add(1000 * time.Hour)) // its clock is a matter for people
		f := w.follows(l)
		f.look(t.Context())
		wantRelayed(t, f, 41, 3*time.Second)
		if epoch := w.metric(f, "view_epoch"); epoch != 1 {
			t.Errorf("epoch %v, want 1", epoch)
		}
		time.Sleep(healthpolicy.MostViewLimit - 3*time.Second)
		wantRelayed(t, f, 41, healthpolicy.MostViewLimit)
		time.Sleep(time.Millisecond)
		if _, _, err := handsOn(f.relay); !errors.Is(err, viewwire.ErrNone) {
			t.Errorf("a view older than any limit is handed on: %v", err)
		}
		// The controller stands by it: it is young again.
		l.age = 0
		f.look(t.Context())
		wantRelayed(t, f, 41, 0)
		if last := l.asked[len(l.asked)-1]; last.Have == nil || last.Have.Seq != 41 || last.Path != viewwire.Path || last.Cluster != demo || last.Address != "10.0.0.9:8443" {
			t.Errorf("asked %+v", last)
		}
		if _, err := f.relay.serve(types.NamespacedName{Namespace: ns, Name: "other"}); !errors.Is(err, viewwire.ErrUnknown) {
			t.Errorf("another cluster's view: %v", err)
		}
	})
}

// Which answer of the controller is taken, after 1.41 was, 3 seconds old. Whatever it is, it costs the reporter nothing else.
func TestWhichAnswerOfTheControllerIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		v    *api.StatusReportView
		age  time.Duration
		err  error
		seq  int64
		want time.Duration
	}{
		"a newer view":                    {stamped(1, 42), time.Second, nil, 42, time.Second},
		"an older view":                   {stamped(1, 40), 0, nil, 41, 3 * time.Second},
		"the same, younger":               {stamped(1, 41), time.Second, nil, 41, time.Second},
		"the same, older":                 {stamped(1, 41), 9 * time.Second, nil, 41, 3 * time.Second},
		"404: it does not know it":        {nil, 0, viewwire.ErrUnknown, 41, 3 * time.Second},
		"204: it has none yet":            {nil, 0, viewwire.ErrNone, 41, 3 * time.Second},
		"503: it does not lead":           {nil, 0, viewwire.ErrNotLeading, 41, 3 * time.Second},
		"nobody is there, and no address": {nil, 0, errors.New("connection refused"), 41, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				l := &leader{v: stamped(1, 41), age: 3 * time.Second}
				f := w.follows(l)
				f.look(t.Context())
				l.v, l.age, l.err = c.v, c.age, c.err
				f.look(t.Context())
				wantRelayed(t, f, c.seq, c.want)
			})
		})
	}
}

// The Lease has the controller's address: another one is found, and the API server's view is read while none answers.
func TestARelayFindsAnotherControllerAndReadsTheReportMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := &leader{v: stamped(1, 41)}
		f := w.follows(l)
		f.look(t.Context())
		if w.metric(f, "controller_reachable") != 1 {
			t.Error("the controller is reachable")
		}
		l.err = errors.New("connection refused")
		w.stores(stamped(1, 44))
		f.look(t.Context())
		wantRelayed(t, f, 44, 0)
		if w.metric(f, "controller_reachable") != 0 || w.metric(f, "views_adopted_total") != 2 {
			t.Error("the controller is not reachable, and two views were adopted")
		}
		l.err, l.v = nil, stamped(2, 1)
		w.tells("10.0.0.10:8443 " + strings.Repeat("b", 64))
		for range 6 {
			time.Sleep(followInterval)
			f.look(t.Context())
		}
		if f.address != "10.0.0.9:8443" { // it answers: no other is looked for
			t.Errorf("asked %s", f.address)
		}
		l.err = viewwire.ErrNotLeading
		f.look(t.Context())
		if f.address != "10.0.0.10:8443" || f.fingerprint != strings.Repeat("b", 64) {
			t.Errorf("asked %s", f.address)
		}
	})
}

// A view that was read once may be an hour old: it is handed on once it was seen to advance.
func TestARelayHandsOnNothingThatItHasNotSeenToAdvance(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.follows(&leader{err: errors.New("connection refused")})
		w.stores(stamped(1, 44))
		f.look(t.Context())
		if _, _, err := handsOn(f.relay); !errors.Is(err, viewwire.ErrNone) {
			t.Errorf("handed on: %v", err)
		}
		w.stores(stamped(1, 45))
		time.Sleep(maxFollow)
		f.look(t.Context())
		wantRelayed(t, f, 45, 0)
	})
}

// A controller that is away for an hour costs the API server two readings each quarter of a minute, one that answers none, and one that hangs keeps no row waiting.
func TestWhatFollowingCostsTheAPIServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := &leader{v: stamped(1, 41)}
		f := w.follows(l)
		w.stores(nil)
		hour := func() int {
			_, before := w.count()
			for range int(time.Hour / followInterval) {
				time.Sleep(followInterval)
				f.look(t.Context())
			}
			_, after := w.count()
			return after - before
		}
		if n := hour(); n != 1 {
			t.Errorf("%d readings in an hour in which the controller answers", n)
		}
		l.err = errors.New("connection refused")
		if n := hour(); n > 2*int(time.Hour/maxFollow)+10 {
			t.Errorf("%d readings in an hour in which it does not", n)
		}
	})
}

// labels sets those of the Pod.
func (w *world) labels(labels map[string]string) {
	w.t.Helper()
	p := w.pod()
	p.Labels = labels
	if err := w.c.Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// served runs the reporter with a heartbeat, and gives the address of its server and a client for it.
func (w *world) served(leaseNamespace string) (address string, c *http.Client) {
	w.t.Helper()
	w.labels(map[string]string{api.LabelCluster: "demo"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.o.Heartbeat, w.o.LeaseNamespace, w.o.Interval, w.o.Log = l, leaseNamespace, minInterval, slog.New(slog.DiscardHandler)
	w.wrote = make(chan struct{})
	end := w.start()
	<-w.wrote
	c = pinned.NewClient(w.row().Heartbeat.Fingerprint)
	go func() { // it goes on, and the last words are a write, too
		for range w.wrote {
		}
	}()
	w.t.Cleanup(func() {
		end()
		close(w.wrote)
		c.CloseIdleConnections()
	})
	return l.Addr().String(), c
}

// The whole of it over sockets: the view of the controller that the Lease names is served beside the heartbeat, with the reporter's own certificate.
func TestTheViewIsServedBesideTheHeartbeat(t *testing.T) {
	controller := pinnedserver.Start(t, "controller", viewwire.Handler(func(types.NamespacedName) (*viewwire.View, error) {
		return &viewwire.View{StatusReportView: *stamped(3, 7), AgeMillis: 5}, nil
	}))
	w := newWorld(t, "")
	w.tells(controller.Address + " " + controller.Fingerprint)
	address, c := w.served("kubectl-scylla")
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		v, err := viewwire.Fetch(ctx, c, viewwire.Question{Address: address, Path: viewwire.RelayPath, Cluster: demo})
		if err == nil && (v.Epoch != 3 || v.Seq != 7 || v.AgeMillis < 5) {
			t.Errorf("%+v", v)
		}
		return err == nil, nil
	}); err != nil {
		t.Fatalf("no view: %v", err)
	}
}

// A controller that starts again makes a certificate, and may keep its address.
func TestAControllerThatStartsAgainIsFollowed(t *testing.T) {
	controller := pinnedserver.Start(t, "controller", viewwire.Handler(func(types.NamespacedName) (*viewwire.View, error) {
		return &viewwire.View{StatusReportView: *stamped(3, 7)}, nil
	}))
	w := newWorld(t, "")
	f := w.follows(&leader{})
	f.fetch = viewwire.Fetch
	for _, fingerprint := range []string{strings.Repeat("a", 64), controller.Fingerprint} {
		w.tells(controller.Address + " " + fingerprint)
		f.next = time.Time{}
		f.look(t.Context())
		if v := f.relay.question().Have; (v != nil) != (fingerprint == controller.Fingerprint) {
			t.Errorf("%s: %+v", fingerprint, v)
		}
	}
}

// A reporter that follows no controller has nothing to hand on, and answers as one that is older than views does: barriers that ask it lose its answer and nothing else.
func TestAReporterThatFollowsNobodyKnowsOfNoViews(t *testing.T) {
	address, c := newWorld(t, "").served("")
	if _, err := viewwire.Fetch(t.Context(), c, viewwire.Question{Address: address, Path: viewwire.RelayPath, Cluster: demo}); !errors.Is(err, viewwire.ErrUnknown) {
		t.Errorf("%v, want 404", err)
	}
}

// A report that was deleted and made anew counts from the beginning: its views are handed on, with its UID, and nothing that comes late of the former one is.
func TestARelayFollowsAReportThatIsMadeAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := &leader{v: stamped(9, 900), of: "report-1"}
		f := w.follows(l)
		f.look(t.Context())
		l.v, l.of = stamped(1, 1), "report-2"
		f.look(t.Context())
		wantRelayed(t, f, 1, 0)
		if v, err := f.relay.serve(demo); err != nil || v.ReportUID != "report-2" {
			t.Errorf("%+v, %v", v, err)
		}
		if last := l.asked[len(l.asked)-1]; last.HaveOf != "report-1" {
			t.Errorf("asked %+v", last)
		}
		l.v, l.of = stamped(9, 901), "report-1" // a controller that does not know it yet
		f.look(t.Context())
		wantRelayed(t, f, 1, 0)
	})
}

// A reporter looks for a view each 5 s.
func TestAReporterLooksForTheViewEachFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, "").follows(&leader{v: stamped(1, 41)})
		var fetched atomic.Int64
		f.fetch = func(context.Context, *http.Client, viewwire.Question) (*viewwire.View, error) {
			fetched.Add(1)
			return nil, viewwire.ErrNone
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { f.follow(ctx) })
		time.Sleep(time.Minute - time.Second)
		if n := fetched.Load(); n != 12 {
			t.Errorf("%d looks in a minute", n)
		}
		cancel()
		wg.Wait()
	})
}
