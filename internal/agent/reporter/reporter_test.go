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
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
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

func (w *world) pod() *corev1.Pod {
	w.t.Helper()
	p := &corev1.Pod{}
	w.setFailure(nil)
	if err := w.c.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: pod}, p); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) annotation() string {
	w.t.Helper()
	return w.pod().Annotations[api.AnnotationNodeStatusReport]
}

func (w *world) row() *api.NodeStatusReport {
	w.t.Helper()
	r, err := api.DecodeNodeStatusReport(w.annotation())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// start runs the reporter until stop is called or the test ends. It must end well.
func (w *world) start() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, w.o) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// inBubble runs a test of a world in virtual time.
func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, "")) })
}

// goes ends the node's answers; nil brings them back.
func (n *node) goes(down error) { n.set(func(n *node) { n.down = down }) }

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
		inBubble(t, func(t *testing.T, w *world) {
			w.o.Interval = interval
			w.start()
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
	inBubble(t, func(t *testing.T, w *world) {
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
		stop()
		stop = w.start() // which keeps the time, too
		time.Sleep(time.Minute)
		if patches, _ := w.count(); patches != 2 {
			t.Errorf("%d patches after one change and a restart", patches)
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
		stop()
		if patches, _ := w.count(); patches != 3 {
			t.Errorf("%d patches", patches)
		}
	})
}

func TestSinceSurvivesPollsThatCouldNotSee(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.node.sees(false)
		w.start()
		time.Sleep(time.Minute)
		since := w.row().ObservedNodes[0].Since
		w.node.goes(syscall.ECONNREFUSED)
		time.Sleep(time.Minute)
		if r := w.row(); r.Error == nil || len(r.ObservedNodes) != 0 {
			t.Errorf("%+v", r)
		}
		w.node.goes(nil)
		time.Sleep(time.Minute)
		if got := w.row().ObservedNodes[0].Since; got == nil || !got.Equal(since) {
			t.Errorf("since %v, was %v", got, since)
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
			inBubble(t, func(t *testing.T, w *world) {
				w.o.Interval = time.Second
				w.setFailure(fail)
				w.start()
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
			})
		})
	}
}

func TestFlushesOncePerProcessOfScyllaDB(t *testing.T) {
	flushes := func(w *world) int { return w.node.get(func(n *node) int { return n.flushes }) }
	mode := func(w *world, m string) {
		w.node.set(func(n *node) { n.answers["/storage_service/operation_mode"] = `"` + m + `"` })
	}
	t.Run("not before NORMAL, once after, again after a restart", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world) {
			mode(w, "BOOTSTRAP")
			w.start()
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
		inBubble(t, func(t *testing.T, w *world) {
			w.node.set(func(n *node) { n.generation = 0 })
			w.start()
			time.Sleep(time.Minute)
			w.node.goes(syscall.ECONNREFUSED)
			time.Sleep(time.Minute)
			w.node.goes(nil)
			time.Sleep(time.Hour)
			if n := flushes(w); n != 2 {
				t.Errorf("%d flushes of two processes", n)
			}
		})
	})
	t.Run("tried again, ever more slowly, and never while it works", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world) {
			w.node.set(func(n *node) { n.flushFails = 5 })
			w.start()
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

func TestServesHealthReadinessAndMetrics(t *testing.T) {
	w := newWorld(t, "")
	w.labels(map[string]string{api.LabelCluster: "demo", api.LabelDatacenter: "dc1"})
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
	stop()
	if code, _ := get("/healthz"); code != 0 {
		t.Error("still serves after it has stopped")
	}
	http.DefaultClient.CloseIdleConnections()
}

// A row that is an error is written once and logged once, however its text differs, and so is the one after it.
func TestOneFailureIsOneWriteAndOneLine(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stop := w.start()
		time.Sleep(time.Hour + time.Second/2) // between two polls: half a row is another failure
		for port := range 100 {
			local := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }
			w.node.goes(&net.OpError{Op: "read", Net: "tcp", Source: local(40000 + port), Addr: local(10000), Err: syscall.ECONNRESET})
			time.Sleep(5 * time.Second)
		}
		if text := w.annotation(); strings.Contains(text, "127.0.0.1") || !strings.Contains(text, "connection reset by peer") {
			t.Errorf("annotation %s", text)
		}
		w.node.goes(nil)
		time.Sleep(time.Hour)
		stop()
		if patches, _ := w.count(); patches > 3 {
			t.Errorf("%d patches for one failure", patches)
		}
		if n := strings.Count(w.log.String(), "\n"); n > 7 || !strings.Contains(w.log.String(), `"no status report"`) {
			t.Errorf("%d lines:\n%s", n, w.log)
		}
	})
}

// ScyllaDB hangs: the reporter polls on within its budget, and stops in time.
func TestAHangingScyllaDBIsPolledOnWithinItsBudget(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stop := w.start()
		time.Sleep(12 * time.Second)
		w.node.set(func(n *node) { n.hang = true })
		time.Sleep(30 * time.Second)
		if r := w.row(); r.Error == nil || !strings.Contains(*r.Error, "no response within") {
			t.Errorf("%s", w.annotation())
		}
		if patches, _ := w.count(); patches != 2 {
			t.Errorf("%d patches", patches)
		}
		began := time.Now()
		if stop(); time.Since(began) > lastWords+time.Second {
			t.Errorf("took %v", time.Since(began))
		}
	})
}

// The last row of a reporter does not outlive the node, which stopped first; a Pod that is gone already is no error.
func TestLastWords(t *testing.T) {
	for _, gone := range []error{nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod)} {
		inBubble(t, func(t *testing.T, w *world) {
			stop := w.start()
			time.Sleep(7 * time.Second)
			w.setFailure(gone)
			w.node.goes(syscall.ECONNREFUSED)
			stop()
			if r := w.row(); (r.Error == nil) != (gone != nil) {
				t.Errorf("%v: the row outlives the node: %s", gone, w.annotation())
			}
		})
	}
}

func TestOtherPodOfTheSameNameIsNotWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		is     func(error) bool
	}{
		"found at the start": {func(o *Options) { o.PodUID = "uid-0" }, func(err error) bool { return errors.Is(err, errReplaced) }},
		"gone":               {func(o *Options) { o.Pod = "other-0" }, apierrors.IsNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			tc.change(&w.o)
			if err := Run(t.Context(), w.o); !tc.is(err) {
				t.Errorf("error %v", err)
			}
			if patches, _ := w.count(); patches != 0 {
				t.Errorf("%d patches", patches)
			}
		})
	}
	t.Run("refused by the API server later", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world) {
			w.o.PodUID = ""
			done := make(chan error, 1)
			go func() { done <- Run(t.Context(), w.o) }()
			time.Sleep(time.Minute)
			synctest.Wait()
			if !strings.Contains(w.patches[0], `"uid":"uid-1"`) {
				t.Errorf("patch %s does not name the UID", w.patches[0])
			}
			w.setFailure(apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod, errors.New("UID in precondition differs")))
			w.node.sees(false)
			if err := <-done; !errors.Is(err, errReplaced) {
				t.Errorf("error %v", err)
			}
		})
	})
}

func TestReadiness(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		r := w.byHand()
		is := func(when, why string) {
			t.Helper()
			if err := r.ready(); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", when, err, why)
			}
		}
		is("before the first poll", "not polled yet")
		w.step(r)
		time.Sleep(15 * time.Second)
		is("within three intervals", "")
		time.Sleep(time.Millisecond)
		is("after them", "last polled")
		w.setFailure(errors.New("no"))
		w.node.sees(false)
		w.step(r)
		is("a write that waits a moment", "")
		for range 13 {
			time.Sleep(5 * time.Second)
			w.step(r)
		}
		is("a change that cannot be written for a minute", "has not been written")
		w.setFailure(nil)
		time.Sleep(publish.MaxBackoff)
		w.step(r)
		is("written again", "")
	})
}
