// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench runs a loader over a fake API server, in a synctest bubble.
type bench struct {
	*loader
	t     *testing.T
	msgs  chan any
	first *dashboard.Snapshot
	fail  atomic.Pointer[error] // what every request answers
	lists atomic.Int32
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, msgs: make(chan any, 100)}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-dc1-rack1-0", Labels: map[string]string{
		api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: "rack1", api.LabelRackOrdinal: "0", api.LabelServiceType: api.ServiceTypeMember,
	}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + svc.Name, UID: "claim-1", Labels: svc.Labels}}
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithRESTMapper(kube.NewMapper()).WithObjects(svc, claim).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			b.lists.Add(1)
			if err := b.fail.Load(); err != nil {
				return *err
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	b.loader = &loader{clock: clock.RealClock{}, c: c, key: cluster.Key{Namespace: "demo", Name: "demo"}, source: cluster.SourceAuto}
	first, err := kube.Load(t.Context(), c, b.key, b.options())
	if err != nil {
		t.Fatal(err)
	}
	of := cluster.New(first, b.source, b.clock.Now())
	b.first = dashboard.NewSnapshot(of, statusOf(of, b.clock.Now()), nil, false, b.clock.Now())
	b.last = b.first
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.run(ctx, func(msg any) {
			select {
			case b.msgs <- msg:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return b
}

func (b *bench) refuse(err error) {
	if err == nil {
		b.fail.Store(nil)
		return
	}
	b.fail.Store(&err)
}

// until waits for a message that satisfies want.
func (b *bench) until(what string, want func(any) bool) {
	b.t.Helper()
	for deadline := time.After(time.Hour); ; {
		select {
		case msg := <-b.msgs:
			if want(msg) {
				return
			}
		case <-deadline:
			b.t.Fatalf("no message: %s", what)
		}
	}
}

func loaded(msg any) bool  { _, ok := msg.(dashboard.Loaded); return ok }
func contact(msg any) bool { _, ok := msg.(dashboard.Contact); return ok }

func lost(reached bool, text string) func(any) bool {
	return func(msg any) bool {
		l, ok := msg.(dashboard.Lost)
		return ok && l.Reached == reached && strings.Contains(l.Err.Error(), text)
	}
}

func TestLoaderTellsOfLossAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.until("the first reading", loaded)
		b.until("a heartbeat", contact)
		b.refuse(&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: syscall.ECONNREFUSED})
		b.until("the loss", lost(false, "cannot reach the API server at https://10.0.0.1:6443: connection refused"))
		b.refuse(nil)
		b.until("the return", loaded)
		b.refuse(&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: context.DeadlineExceeded})
		b.until("the API server that hangs", func(msg any) bool { l, ok := msg.(dashboard.Lost); return ok && !l.Reached })
		b.refuse(apierrors.NewUnauthorized("token has expired"))
		b.until("credentials that have expired", func(msg any) bool {
			l, ok := msg.(dashboard.Lost)
			return ok && strings.Contains(l.Err.Error(), "does not accept")
		})
		b.refuse(nil)
		b.until("the return", loaded)
	})
}

// While a command has the terminal the dashboard takes no messages. That time is neither the API server's silence nor a reason to wait.
func TestCommandIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loader{clock: clock.RealClock{}, heard: time.Now().Add(-3 * time.Second), send: func(any) { time.Sleep(10 * time.Minute) }}
		l.tell(dashboard.Contact{})
		if got := time.Since(l.heard); got != 3*time.Second {
			t.Errorf("after a command of 10m the API server counts as silent for %s, want 3s", got)
		}
		l.tell(dashboard.Contact{})
		l.heard = time.Now()
		l.send = func(any) { time.Sleep(time.Minute) }
		l.tell(dashboard.Contact{})
		if l.heard.After(time.Now()) {
			t.Errorf("the API server was heard at %s, which is later than now", l.heard)
		}
	})
}

// A command of ten minutes does not put the next reading off.
func TestCommandPutsNoReadingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := &loader{clock: b.clock, c: b.c, key: b.key, source: cluster.SourceLive, ask: true, last: b.first,
			readLive: func(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
				return s, nil
			}}
		ctx, cancel := context.WithCancel(t.Context())
		msgs, ended := make(chan any, 100), make(chan struct{})
		held := false
		go func() {
			defer close(ended)
			l.run(ctx, func(msg any) {
				if loaded(msg) && !held {
					held = true
					time.Sleep(10 * time.Minute)
				}
				select {
				case msgs <- msg:
				case <-ctx.Done():
				}
			})
		}()
		after := &bench{t: t, msgs: msgs}
		after.until("the first reading", loaded)
		begun := time.Now()
		after.until("the next reading", loaded)
		if took := time.Since(begun); took > breathTo+poll {
			t.Errorf("the next reading came %s after the command", took)
		}
		cancel()
		<-ended
	})
}

// The API server answers, but the cluster cannot be read any more: that is no lost connection.
func TestLoaderTellsWhatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.until("the first reading", loaded)
		b.refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", fmt.Errorf(`User "bob" cannot list resource "services" in API group "" in the namespace "demo"`)))
		if err := b.c.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "x", Labels: map[string]string{api.LabelCluster: "demo"}}}); err != nil {
			t.Fatal(err)
		}
		b.until("the right that is gone", func(msg any) bool {
			l, ok := msg.(dashboard.Lost)
			return ok && l.Reached
		})
		b.refuse(nil)
		b.until("the return", loaded)
	})
}

// A change is loaded because it happened, long before anything is read by the clock.
func TestLoaderFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.until("the first reading", loaded)
		if err := b.c.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-dc1-rack1-1", Labels: map[string]string{
			api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: "rack1", api.LabelRackOrdinal: "1", api.LabelServiceType: api.ServiceTypeMember,
		}}}); err != nil {
			t.Fatal(err)
		}
		b.until("the new member", func(msg any) bool {
			l, ok := msg.(dashboard.Loaded)
			return ok && l.Snapshot.Nodes() == 2
		})
	})
}

// Where only the nodes themselves tell, they are asked by the clock.
func TestLoaderAsksNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		asked := atomic.Int32{}
		l := &loader{clock: b.clock, c: b.c, key: b.key, source: cluster.SourceLive, ask: true, last: b.first,
			readLive: func(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
				if asked.Add(1) == 2 {
					return nil, errors.New("port-forward refused")
				}
				return s, nil
			}}
		ctx, cancel := context.WithCancel(t.Context())
		msgs := make(chan any, 100)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.run(ctx, func(msg any) {
				select {
				case msgs <- msg:
				case <-ctx.Done():
				}
			})
		}()
		asking := &bench{t: t, msgs: msgs}
		asking.until("the first answers", loaded)
		asking.until("nodes that cannot be asked", lost(true, "port-forward refused"))
		asking.until("the next answers", loaded)
		cancel()
		<-ended
	})
}

// The commands run as they are typed, with the dashboard's streams, and their refusal comes back.
func TestActionsRunTheCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		run := func(stdin string, act func(dashboard.Actions) error) (string, error) {
			t.Helper()
			var out, errOut bytes.Buffer
			d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut}, clock.RealClock{}, nil,
				func() cli.Terminal { return cli.Terminal{In: true} })
			ns := "demo"
			d.Flags.Namespace = &ns
			d.NewClient = func() (client.WithWatch, error) { return b.c, nil }
			d.WhoAmI = func(context.Context) string { return "ada" }
			o := &options{d: d}
			err := act(o.actions(t.Context(), nil))
			return out.String() + errOut.String(), err
		}
		force := func(target string) func(dashboard.Actions) error {
			return func(a dashboard.Actions) error { return a.ForceProceed(target) }
		}
		forced := func() string {
			t.Helper()
			svc := &corev1.Service{}
			if err := b.c.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "demo-dc1-rack1-0"}, svc); err != nil {
				t.Fatal(err)
			}
			return svc.Annotations[api.AnnotationForceProceed]
		}
		text, err := run("no\n", force("demo-dc1-rack1-0"))
		if err == nil || !strings.Contains(err.Error(), "not confirmed") || forced() != "" {
			t.Errorf("another answer: %v, annotation %q", err, forced())
		}
		for _, want := range []string{"$ kubectl scylla force-proceed demo-dc1-rack1-0", `Type "yes" to continue`, "not confirmed: nothing was changed", "Press Enter to return to the dashboard"} {
			if !strings.Contains(text, want) {
				t.Errorf("the terminal lacks %q:\n%s", want, text)
			}
		}
		if text, err := run("yes\n\n", force("demo-dc1-rack1-0")); err != nil || forced() != api.ForceProceedValue {
			t.Errorf("the right answer: %v, annotation %q\n%s", err, forced(), text)
		}
		if text, err := run("\n", force("nobody")); err == nil || !strings.Contains(text, "nobody") {
			t.Errorf("an unknown member: %v\n%s", err, text)
		}
		if text, err := run("\n", func(a dashboard.Actions) error { return a.Replace("nobody") }); err == nil || !strings.Contains(text, "$ kubectl scylla replace nobody --wait=false -n demo") {
			t.Errorf("an unknown node: %v\n%s", err, text)
		}
		if text, err := run("\n", func(a dashboard.Actions) error { return a.Nodetool("nobody") }); err == nil || !strings.Contains(text, "$ kubectl scylla nodetool nobody -n demo -- status") {
			t.Errorf("nodetool: %v\n%s", err, text)
		}
		saved := &options{read: cli.ReadFlags{From: "x.yaml"}}
		if a := saved.actions(t.Context(), nil); a.ForceProceed != nil || a.Replace != nil || a.Why == "" || a.Nodetool != nil {
			t.Errorf("saved objects can be changed: %+v", a)
		}
	})
}

// What the command has said stays on the screen until the person has read it.
func TestReturnWaitsForALine(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	var errOut bytes.Buffer
	d := cli.New(genericiooptions.IOStreams{In: r, Out: io.Discard, ErrOut: &errOut}, clock.RealClock{}, nil, func() cli.Terminal { return cli.Terminal{} })
	d.NewClient = func() (client.WithWatch, error) { return nil, errors.New("no API server") }
	ns := "demo"
	d.Flags.Namespace = &ns
	ended := make(chan error, 1)
	go func() { ended <- (&options{d: d}).actions(t.Context(), nil).ForceProceed("x") }()
	// The write returns only when the line is read.
	if _, err := io.WriteString(w, "\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "no API server") {
		t.Error(err)
	}
}
