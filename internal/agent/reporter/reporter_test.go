// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter/publish"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

const (
	ns, pod  = "demo", "demo-rack1-0"
	idA, idB = "8ebd2a16-0000-4000-8000-00000000000a", "35d00000-0000-4000-8000-00000000000b"
)

// node is a ScyllaDB without a socket, so that it works in virtual time.
type node struct {
	mu         sync.Mutex
	answers    map[string]string // 200 with this body; everything else is 404
	down       error             // no answer at all
	generation int
	flushes    int
	flushFails int
	requests   int
	hang       bool
}

func (n *node) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.requests++
	if n.hang {
		n.mu.Unlock()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	defer n.mu.Unlock()
	if n.down != nil {
		return nil, n.down
	}
	w := httptest.NewRecorder()
	body, ok := n.answers[r.URL.Path]
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/storage_service/keyspace_flush/system" && r.URL.Query().Get("cf") == "local":
		if n.flushFails > 0 {
			n.flushFails--
			w.WriteHeader(http.StatusInternalServerError)
			break
		}
		n.flushes++
	case r.URL.Path == "/storage_service/generation_number" && n.generation > 0:
		_, _ = fmt.Fprint(w, n.generation)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message": "Not found", "code": 404}`)
	default:
		_, _ = io.WriteString(w, body)
	}
	return w.Result(), nil
}

func (n *node) set(change func(*node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

func (n *node) get(read func(*node) int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return read(n)
}

// sees makes the node's answers: two members, the second in the given list of gossip.
func (n *node) sees(live bool) {
	n.set(func(n *node) {
		n.answers["/gossiper/endpoint/live"], n.answers["/gossiper/endpoint/down"] = `["10.0.0.1","10.0.0.2"]`, `[]`
		if !live {
			n.answers["/gossiper/endpoint/live"], n.answers["/gossiper/endpoint/down"] = `["10.0.0.1"]`, `["10.0.0.2"]`
		}
	})
}

func newNode() *node {
	n := &node{generation: 1700000000, answers: map[string]string{
		"/storage_service/hostid/local":           `"` + idA + `"`,
		"/storage_service/operation_mode":         `"NORMAL"`,
		"/storage_service/scylla_release_version": `"2026.2.0-0.20260801.abcdef"`,
		"/storage_service/host_id":                `[{"key":"10.0.0.1","value":"` + idA + `"},{"key":"10.0.0.2","value":"` + idB + `"}]`,
		"/storage_service/tokens/10.0.0.1":        `["-1"]`,
	}}
	n.sees(true)
	return n
}

// world is one Pod with its ScyllaDB and the API server.
type world struct {
	t    *testing.T
	node *node
	c    client.WithWatch
	o    Options
	log  *bytes.Buffer

	mu      sync.Mutex
	patches []string
	reads   int
	fail    error
	wrote   chan struct{} // told of each write, and waited for, where it is set
}

func newWorld(t *testing.T, annotation string) *world {
	t.Helper()
	w := &world{t: t, node: newNode(), log: &bytes.Buffer{}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod, UID: "uid-1"}}
	if annotation != "" {
		p.Annotations = map[string]string{api.AnnotationNodeStatusReport: annotation, "other": "kept"}
	}
	w.c = fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithRESTMapper(kube.NewMapper()).WithObjects(p).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				w.mu.Lock()
				w.reads++
				err := w.fail
				w.mu.Unlock()
				if err != nil {
					return err
				}
				return c.Get(ctx, key, obj, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if obj.GetNamespace() != ns || obj.GetName() != pod {
					t.Errorf("patches %s/%s, only its own Pod is allowed", obj.GetNamespace(), obj.GetName())
				}
				b, _ := patch.Data(obj)
				w.mu.Lock()
				w.patches = append(w.patches, string(b))
				err := w.fail
				w.mu.Unlock()
				if err != nil {
					return err
				}
				err = c.Patch(ctx, obj, patch, opts...)
				if w.wrote != nil {
					select {
					case w.wrote <- struct{}{}:
					case <-ctx.Done():
					}
				}
				return err
			},
		}).Build()
	w.o = Options{
		Client: w.c, Namespace: ns, Pod: pod, PodUID: "uid-1", Interval: 5 * time.Second,
		ScyllaDB: scylla.NewClient("http://localhost:10000", &http.Client{Transport: w.node}),
		Log:      slog.New(slog.NewJSONHandler(w.log, nil)),
	}
	return w
}

func (w *world) setFailure(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *world) count() (patches, reads int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.patches), w.reads
}

func (w *world) annotation() string {
	w.t.Helper()
	var p corev1.Pod
	w.setFailure(nil)
	if err := w.c.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: pod}, &p); err != nil {
		w.t.Fatal(err)
	}
	return p.Annotations[api.AnnotationNodeStatusReport]
}

func (w *world) row() *api.NodeStatusReport {
	w.t.Helper()
	r, err := api.DecodeNodeStatusReport(w.annotation())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// start runs the reporter; stop ends it and gives its error.
func (w *world) start() (stop func() error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, w.o) }()
	return func() error { cancel(); return <-done }
}

func TestIntervalBelowTheMinimumIsRefused(t *testing.T) {
	for d, ok := range map[time.Duration]bool{
		0: false, 1: false, time.Second - 1: false, -time.Second: false, time.Second: true, DefaultInterval: true,
	} {
		err := ValidateInterval(d)
		if (err == nil) != ok {
			t.Errorf("%v: %v", d, err)
		}
		if err != nil && (exit.Code(err) != exit.CodeUsage || !strings.Contains(err.Error(), "--status-report-interval") || !strings.Contains(err.Error(), "1s")) {
			t.Errorf("%v: %q does not name the flag and the minimum", d, err)
		}
	}
	w := newWorld(t, "")
	w.o.Interval = time.Millisecond
	if err := Run(t.Context(), w.o); exit.Code(err) != exit.CodeUsage {
		t.Errorf("Run: %v", err)
	}
}

func TestAChangeIsInTheRowAfterOneInterval(t *testing.T) {
	for _, interval := range []time.Duration{5 * time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			w.o.Interval = interval
			defer w.start()()
			time.Sleep(time.Second)
			w.node.sees(false)
			time.Sleep(interval - 2*time.Second)
			if o := w.row().ObservedNodes[0]; o.Status != "UP" {
				t.Errorf("%v: polled before: %+v", interval, o)
			}
			time.Sleep(2 * time.Second)
			if o := w.row().ObservedNodes[0]; o.Status != "DOWN" {
				t.Errorf("%v: not polled: %+v", interval, o)
			}
		})
	}
}

func TestWritesOnlyWhenTheContentChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		time.Sleep(time.Hour)
		if patches, reads := w.count(); patches != 1 || reads > 1+60*60/int(publish.CheckEvery.Seconds()) {
			t.Errorf("%d patches and %d reads in an hour without a change", patches, reads)
		}
		up := w.row()
		if diff := cmp.Diff([]api.ObservedNodeStatusReport{{HostID: idB, Status: "UP"}, {HostID: idA, Status: "UP"}}, up.ObservedNodes); diff != "" {
			t.Error(diff)
		}
		if up.HostID != idA || up.OperationMode != "NORMAL" || up.OwnsTokens == nil || !*up.OwnsTokens || up.ScyllaVersion == "" {
			t.Errorf("row %+v", up)
		}

		before := time.Now()
		w.node.sees(false)
		time.Sleep(time.Hour)
		if patches, _ := w.count(); patches != 2 {
			t.Errorf("%d patches after one change", patches)
		}
		down := w.row().ObservedNodes[0]
		if down.Status != "DOWN" || down.Since == nil || down.Since.Time.Sub(before).Abs() > 6*time.Second {
			t.Errorf("%+v, went down at %v", down, before)
		}
		w.node.sees(true)
		time.Sleep(time.Minute)
		if o := w.row().ObservedNodes[0]; o.Status != "UP" || o.Since != nil {
			t.Errorf("%+v", o)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if patches, _ := w.count(); patches != 3 {
			t.Errorf("%d patches", patches)
		}
	})
}

func TestRestartKeepsSinceAndWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.node.sees(false)
		stop := w.start()
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		first := w.annotation()
		time.Sleep(time.Hour)
		stop = w.start()
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if patches, _ := w.count(); patches != 1 || w.annotation() != first {
			t.Errorf("%d patches, %s, first %s", patches, w.annotation(), first)
		}
	})
}

func TestSinceSurvivesPollsThatCouldNotSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.node.sees(false)
		defer w.start()()
		time.Sleep(time.Minute)
		since := w.row().ObservedNodes[0].Since
		w.node.set(func(n *node) { n.down = syscall.ECONNREFUSED })
		time.Sleep(time.Minute)
		if r := w.row(); r.Error == nil || len(r.ObservedNodes) != 0 {
			t.Errorf("%+v", r)
		}
		w.node.set(func(n *node) { n.down = nil })
		time.Sleep(time.Minute)
		if got := w.row().ObservedNodes[0].Since; got == nil || !got.Equal(since) {
			t.Errorf("since %v, was %v", got, since)
		}
	})
}

func TestResetsWithOtherPortsEachTimeAreOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		defer w.start()()
		for port := range 100 {
			w.node.set(func(n *node) {
				n.down = &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000 + port},
					Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 10000}, Err: syscall.ECONNRESET}
			})
			time.Sleep(5 * time.Second)
		}
		if patches, _ := w.count(); patches > 2 {
			t.Errorf("%d patches for one failure", patches)
		}
		if text := w.annotation(); strings.Contains(text, "127.0.0.1") || !strings.Contains(text, "connection reset by peer") {
			t.Errorf("annotation %s", text)
		}
	})
}

func TestBacksOffWhileTheAPIServerRefuses(t *testing.T) {
	for name, fail := range map[string]error{
		"unreachable": &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"forbidden":   apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod, errors.New("no such right")),
		"busy":        apierrors.NewTooManyRequests("later", 1),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "")
				w.o.Interval = time.Second
				w.setFailure(fail)
				stop := w.start()
				time.Sleep(10 * time.Minute)
				patches, reads := w.count()
				if n := patches + reads; n < 600/16 || n > 60 {
					t.Errorf("%d requests in 10 minutes", n)
				}
				if n := strings.Count(w.log.String(), "trying again"); n > 10 {
					t.Errorf("%d log lines", n)
				}
				w.setFailure(nil)
				time.Sleep(publish.MaxBackoff + time.Second)
				if w.row().Error != nil || len(w.row().ObservedNodes) != 2 {
					t.Errorf("not written after the API server is back: %s", w.annotation())
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWriteThatFailsIsTriedAgainWithTheNewestContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		defer w.start()()
		time.Sleep(time.Minute)
		w.setFailure(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
		w.node.sees(false)
		time.Sleep(time.Minute)
		w.node.sees(true)
		time.Sleep(time.Minute)
		before, _ := w.count()
		w.setFailure(nil)
		time.Sleep(time.Minute)
		// Back to the row that is already written: no write is due.
		if after, _ := w.count(); after != before {
			t.Errorf("%d patches, then %d", before, after)
		}
		if o := w.row().ObservedNodes[0]; o.Status != "UP" {
			t.Errorf("%+v", o)
		}
	})
}

func TestLastWordsWhenTheNodeStoppedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		time.Sleep(7 * time.Second)
		w.node.set(func(n *node) { n.down = syscall.ECONNREFUSED })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if r := w.row(); r.Error == nil {
			t.Errorf("the row outlives the node: %s", w.annotation())
		}
	})
}

func TestStopsWellWhenThePodIsGoneAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		time.Sleep(7 * time.Second)
		w.setFailure(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod))
		w.node.set(func(n *node) { n.down = syscall.ECONNREFUSED })
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStopsInTimeWhenNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		time.Sleep(time.Minute)
		w.node.set(func(n *node) { n.hang = true })
		time.Sleep(time.Minute)
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > lastWords+time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestOtherPodOfTheSameNameIsNotWritten(t *testing.T) {
	t.Run("found at the start", func(t *testing.T) {
		w := newWorld(t, "")
		w.o.PodUID = "uid-0"
		if err := Run(t.Context(), w.o); !errors.Is(err, errReplaced) {
			t.Errorf("error %v", err)
		}
		if patches, _ := w.count(); patches != 0 {
			t.Errorf("%d patches", patches)
		}
	})
	t.Run("refused by the API server later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- Run(ctx, w.o) }()
			time.Sleep(time.Minute)
			w.setFailure(apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod, errors.New("UID in precondition differs")))
			w.node.sees(false)
			if err := <-done; !errors.Is(err, errReplaced) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("every patch names the UID", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			w.o.PodUID = ""
			stop := w.start()
			time.Sleep(time.Second)
			_ = stop()
			if !strings.Contains(w.patches[0], `"uid":"uid-1"`) {
				t.Errorf("patch %s", w.patches[0])
			}
		})
	})
	t.Run("gone", func(t *testing.T) {
		w := newWorld(t, "")
		w.o.Pod = "other-0"
		if err := Run(t.Context(), w.o); !apierrors.IsNotFound(err) {
			t.Errorf("error %v", err)
		}
	})
}

func TestFlushesOncePerProcessOfScyllaDB(t *testing.T) {
	flushes := func(w *world) int { return w.node.get(func(n *node) int { return n.flushes }) }
	mode := func(w *world, m string) {
		w.node.set(func(n *node) { n.answers["/storage_service/operation_mode"] = `"` + m + `"` })
	}
	t.Run("not before NORMAL, once after, again after a restart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			mode(w, "BOOTSTRAP")
			defer w.start()()
			time.Sleep(time.Minute)
			if n := flushes(w); n != 0 {
				t.Errorf("%d flushes while joining", n)
			}
			mode(w, "NORMAL")
			time.Sleep(time.Hour)
			if n := flushes(w); n != 1 {
				t.Errorf("%d flushes", n)
			}
			mode(w, "LEAVING") // the same process
			time.Sleep(time.Minute)
			mode(w, "NORMAL")
			time.Sleep(time.Minute)
			if n := flushes(w); n != 1 {
				t.Errorf("%d flushes of one process", n)
			}
			w.node.set(func(n *node) { n.generation++ }) // restarted between two polls
			time.Sleep(time.Minute)
			if n := flushes(w); n != 2 {
				t.Errorf("%d flushes of two processes", n)
			}
		})
	})
	t.Run("a version that does not tell its generation", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			w.node.set(func(n *node) { n.generation = 0 })
			defer w.start()()
			time.Sleep(time.Minute)
			w.node.set(func(n *node) { n.down = syscall.ECONNREFUSED })
			time.Sleep(time.Minute)
			w.node.set(func(n *node) { n.down = nil })
			time.Sleep(time.Hour)
			if n := flushes(w); n != 2 {
				t.Errorf("%d flushes of two processes", n)
			}
		})
	})
	t.Run("tried again, ever more slowly, and never while it works", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			w.node.set(func(n *node) { n.flushFails = 5 })
			defer w.start()()
			time.Sleep(time.Hour)
			if n := flushes(w); n != 1 {
				t.Errorf("%d flushes", n)
			}
			if n := strings.Count(w.log.String(), "cannot flush system.local"); n != 1 {
				t.Errorf("%d warnings", n)
			}
		})
	})
}

func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		r := &reporter{Options: w.o, reader: scylla.NewReader(w.o.ScyllaDB), metrics: NewMetrics(prometheus.NewRegistry())}
		r.Clock = clock.RealClock{}
		if err := r.ready(); err == nil {
			t.Error("ready before the first poll")
		}
		step := func() {
			t.Helper()
			if err := r.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		step()
		if err := r.ready(); err != nil {
			t.Errorf("after the first poll: %v", err)
		}
		time.Sleep(15 * time.Second)
		if err := r.ready(); err != nil {
			t.Errorf("within three intervals: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := r.ready(); err == nil {
			t.Error("ready though it has not polled for three intervals")
		}
		w.setFailure(errors.New("no"))
		w.node.sees(false)
		step()
		if err := r.ready(); err != nil {
			t.Errorf("a write that waits a moment is no reason: %v", err)
		}
		for range 13 {
			time.Sleep(5 * time.Second)
			step()
		}
		if err := r.ready(); err == nil || !strings.Contains(err.Error(), "has not been written") {
			t.Errorf("a change that cannot be written for a minute: %v", err)
		}
		w.setFailure(nil)
		time.Sleep(publish.MaxBackoff)
		step()
		if err := r.ready(); err != nil {
			t.Errorf("written again: %v", err)
		}
	})
}

func TestAHangingScyllaDBIsPolledOnWithinItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		defer w.start()()
		time.Sleep(12 * time.Second)
		w.node.set(func(n *node) { n.hang = true })
		time.Sleep(30 * time.Second)
		if r := w.row(); r.Error == nil || !strings.Contains(*r.Error, "no response within") {
			t.Errorf("%s", w.annotation())
		}
		if patches, _ := w.count(); patches != 2 {
			t.Errorf("%d patches", patches)
		}
	})
}

func TestForeignAnnotationIsReplacedAndOthersKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "not json")
		stop := w.start()
		time.Sleep(time.Minute)
		_ = stop()
		var p corev1.Pod
		if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: pod}, &p); err != nil {
			t.Fatal(err)
		}
		if p.Annotations["other"] != "kept" || len(w.row().ObservedNodes) != 2 {
			t.Errorf("annotations %v", p.Annotations)
		}
	})
}

func TestServesHealthReadinessAndMetrics(t *testing.T) {
	w := newWorld(t, "")
	own := &corev1.Pod{}
	if err := w.c.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: pod}, own); err != nil {
		t.Fatal(err)
	}
	own.Labels = map[string]string{api.LabelCluster: "demo", api.LabelDatacenter: "dc1"}
	if err := w.c.Update(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.o.Listener = l
	stop := w.start()
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	// Ready from the first poll on; the write that the poll leads to comes after it.
	until := func(what string, holds func() bool) {
		if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return holds(), nil }); err != nil {
			t.Fatalf("never %s: %v", what, err)
		}
	}
	until("ready", func() bool { code, _ := get("/readyz"); return code == http.StatusOK })
	until("written", func() bool {
		_, body := get("/metrics")
		return strings.Contains(body, `kubectl_scylla_reporter_writes_total{result="ok"} 1`)
	})
	if code, _ := get("/healthz"); code != http.StatusOK {
		t.Errorf("healthz %d", code)
	}
	_, body := get("/metrics")
	for _, want := range []string{
		`kubectl_scylla_reporter_polls_total{result="row"} 1`, `kubectl_scylla_reporter_info{cluster="demo",datacenter="dc1",namespace="` + ns + `"} 1`,
		`kubectl_scylla_reporter_observed_nodes{status="UP"} 2`, `kubectl_scylla_reporter_flushes_total{result="ok"} 1`, "kubectl_scylla_reporter_row_error 0",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if code, _ := get("/healthz"); code != 0 {
		t.Error("still serves after it has stopped")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestLogsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		stop := w.start()
		time.Sleep(time.Hour)
		w.node.set(func(n *node) { n.down = syscall.ECONNREFUSED })
		time.Sleep(time.Hour)
		w.node.set(func(n *node) { n.down = nil })
		time.Sleep(time.Hour)
		_ = stop()
		lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
		if len(lines) > 7 || !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, `"no status report"`) }) {
			t.Errorf("%d lines:\n%s", len(lines), w.log)
		}
	})
}
