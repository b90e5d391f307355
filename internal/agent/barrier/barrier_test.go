// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

const (
	ns       = "demo"
	newcomer = "demo-rack3-1"
	idA      = "8ebd2a16-0000-4000-8000-00000000000a"
	idB      = "35d00000-0000-4000-8000-00000000000b"
	idNew    = "c0ffee00-0000-4000-8000-00000000000c"
)

// world is a cluster in a fake API server, seen from one Pod.
type world struct {
	t     *testing.T
	c     client.WithWatch
	o     Options
	log   *bytes.Buffer
	logMu sync.Mutex
	dir   string

	mu   sync.Mutex
	fail error // what every request of the API gets, nil for an answer
	// deny holds resources ("services") that may not be read.
	deny     map[string]bool
	requests int
	// silent holds the error of the reporter at an address; asked counts the requests.
	silent map[string]error
	asked  map[string]int
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (w *world) logged() string {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	return w.log.String()
}

func (w *world) setFailure(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *world) check(obj any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	if w.fail != nil {
		return w.fail
	}
	for resource := range w.deny {
		if strings.Contains(strings.ToLower(fmt.Sprintf("%T", obj)), strings.TrimSuffix(resource, "s")) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no such right"))
		}
	}
	return nil
}

func newWorld(t *testing.T, objs ...client.Object) *world {
	t.Helper()
	w := &world{t: t, log: &bytes.Buffer{}, dir: t.TempDir(), deny: map[string]bool{}, silent: map[string]error{}, asked: map[string]int{}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: newcomer, UID: "uid-1", Labels: map[string]string{api.LabelCluster: "demo"}}}
	w.c = fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithRESTMapper(kube.NewMapper()).
		WithObjects(append(objs, pod)...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if err := w.check(obj); err != nil {
					return err
				}
				return c.Get(ctx, key, obj, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if err := w.check(list); err != nil {
					return err
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
	w.o = Options{
		NewClient: func() (client.WithWatch, error) { return w.c, nil },
		Namespace: ns, Service: newcomer, PodUID: "uid-1",
		QueryFile: filepath.Join(w.dir, "bootstrapped.json"), LeaseNamespace: "kubectl-scylla", Ask: w.ask,
		AskView:       func(context.Context, string, viewwire.Question) (*viewwire.View, error) { return nil, viewwire.ErrNone },
		Stabilisation: new(time.Duration(0)),
		Policy:        api.PolicyReports, // the conditions of permits have their own tests
		Log:           slog.New(slog.NewJSONHandler(lockedWriter{&w.logMu, w.log}, nil)),
	}
	w.query(`[]`, 0)
	return w
}

// ask stands for the reporter of a member.
func (w *world) ask(_ context.Context, member, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[member]++
	return w.silent[member]
}

func (w *world) setSilent(member string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent[member] = err
}

func (w *world) query(stdout string, code int) {
	w.t.Helper()
	w.file("bootstrapped.json", stdout)
	w.file("bootstrapped.json.code", fmt.Sprintln(code))
}

func (w *world) file(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) dataDir(files ...string) {
	w.o.DataDir = filepath.Join(w.dir, "data")
	if err := os.MkdirAll(filepath.Join(w.o.DataDir, "hints"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range files {
		w.file("data/"+f, "x")
	}
}

// start runs the barrier; the channel has its error when it ends.
func (w *world) start(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- Run(ctx, w.o) }()
	return done
}

func (w *world) update(obj client.Object, mutate func()) {
	w.t.Helper()
	if err := w.c.Get(context.Background(), client.ObjectKeyFromObject(obj), obj); err != nil {
		w.t.Fatal(err)
	}
	mutate()
	if err := w.c.Update(context.Background(), obj); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) events() []eventsv1.Event {
	w.t.Helper()
	w.setFailure(nil)
	var list eventsv1.EventList
	if err := w.c.List(context.Background(), &list); err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return list.Items
}

func (w *world) eventReasons() []string {
	var out []string
	for _, e := range w.events() {
		out = append(out, e.Reason)
	}
	return out
}

func stillWaiting(t *testing.T, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("ended (%v), must wait", err)
	default:
	}
}

func opens(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("must open: %v", err)
		}
	case <-time.After(time.Hour):
		t.Fatal("still waits after an hour")
	}
}

// member is a Pod whose reporter runs and sees every node UP.
func member(name, rack string) *corev1.Pod {
	p := stage.Bare(ns, "demo").NewPod(name, "dc1", rack)
	p.UID = "uid-" + types.UID(name)
	p.Annotations = carries(map[string]string{"rack1": idA, "rack2": idB}[rack], saw(idA, "UP", idB, "UP"))
	p.Status.PodIP = map[string]string{"rack1": "10.0.0.1", "rack2": "10.0.0.2"}[rack]
	return p
}

// carries is the annotation of a Pod with these cells in its row.
func carries(id string, cells []api.ObservedNodeStatusReport) map[string]string {
	text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{HostID: hostid.ID(id), ObservedNodes: cells, OperationMode: "NORMAL", Heartbeat: &api.ReportHeartbeat{Port: 8083, Fingerprint: strings.Repeat("a", 64)}})
	if err != nil {
		panic(err)
	}
	return map[string]string{api.AnnotationNodeStatusReport: text}
}

// withoutHeartbeat is the annotation of a Pod whose reporter serves no TLS end.
func withoutHeartbeat(id string) map[string]string {
	text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{HostID: hostid.ID(id), ObservedNodes: saw(idA, "UP", idB, "UP"), OperationMode: "NORMAL"})
	if err != nil {
		panic(err)
	}
	return map[string]string{api.AnnotationNodeStatusReport: text}
}

func service(name, rack string, annotations map[string]string) *corev1.Service {
	s := stage.Bare(ns, "demo").NewService(name, "dc1", rack, 0)
	s.Annotations = annotations
	return s
}

func joinedService(name, rack, id string) *corev1.Service {
	return stage.Joined(service(name, rack, nil), id)
}

func saw(pairs ...string) []api.ObservedNodeStatusReport {
	var out []api.ObservedNodeStatusReport
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, api.ObservedNodeStatusReport{HostID: hostid.ID(pairs[i]), Status: api.NodeStatus(pairs[i+1])})
	}
	return out
}

// report of two nodes in two racks, by our controller.
func report(a, b []api.ObservedNodeStatusReport) *api.ScyllaDBDatacenterNodesStatusReport {
	x, y := idA, idB
	return &api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-dc1", Labels: map[string]string{
			api.LabelReportSelector: "demo", api.LabelManagedBy: api.ManagedByUs,
		}},
		DatacenterName: "dc1",
		Racks: []api.RackReport{
			{Name: "rack1", Nodes: []api.NodeReport{{Ordinal: 0, HostID: &x, ObservedNodes: api.Plain(a)}}},
			{Name: "rack2", Nodes: []api.NodeReport{{Ordinal: 0, HostID: &y, ObservedNodes: api.Plain(b)}}},
		},
	}
}

func allUp() *api.ScyllaDBDatacenterNodesStatusReport {
	return report(saw(idA, "UP", idB, "UP"), saw(idA, "UP", idB, "UP"))
}

func byOperator(r *api.ScyllaDBDatacenterNodesStatusReport) *api.ScyllaDBDatacenterNodesStatusReport {
	r.Labels[api.LabelManagedBy] = api.ManagedByOperator
	return r
}

// others are the peers without the newcomer's Service.
func others() []client.Object {
	p := peers()
	return slices.Delete(p, 2, 3)
}

// peers are two members, and the newcomer's Service.
func peers() []client.Object {
	return []client.Object{
		joinedService("demo-rack1-0", "rack1", idA), joinedService("demo-rack2-0", "rack2", idB), service(newcomer, "rack3", nil),
		member("demo-rack1-0", "rack1"), member("demo-rack2-0", "rack2"),
	}
}

func lease(holder string) *coordinationv1.Lease {
	seconds := int32(15)
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName}}
	l.Annotations = map[string]string{api.AnnotationKeeps: api.KeepMark(ns, "demo")}
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = &holder, &seconds
	l.Spec.RenewTime = &metav1.MicroTime{Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)} // a clock that is years off
	return l
}

// renews keeps the Lease alive until ctx ends.
func (w *world) renews(ctx context.Context) {
	go func() {
		for n := int64(1); ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Second):
			}
			l := lease("controller-1")
			w.update(l, func() { l.Spec.RenewTime = &metav1.MicroTime{Time: l.Spec.RenewTime.Add(2 * time.Second)} })
		}
	}()
}

func running(t *testing.T, w *world) (context.Context, <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, w.start(ctx)
}

func TestBootstrappedDiskOpensWithoutTheAPI(t *testing.T) {
	w := newWorld(t)
	w.query(`[{"bootstrapped":"COMPLETED"}]`, 0)
	w.o.NewClient = func() (client.WithWatch, error) {
		t.Error("asked for a client of the API server")
		return nil, errors.New("unreachable")
	}
	if err := Run(t.Context(), w.o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.logged(), "AlreadyBootstrapped") {
		t.Errorf("log does not say why:\n%s", w.logged())
	}
}

func TestDecommissionedDiskRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		pvc, want string
		exists    bool
	}{
		"the usual claim":                {"", "data-" + newcomer, true},
		"a claim by flag":                {"vol-7", "vol-7", true},
		"no termination log on the host": {"", "data-" + newcomer, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.query(`[{"bootstrapped":"DECOMMISSIONED"}]`, 0)
			w.o.PVC, w.o.TerminationLog = c.pvc, filepath.Join(w.dir, "termination-log")
			if c.exists {
				w.file("termination-log", "")
			}
			err := Run(t.Context(), w.o)
			if exit.Code(err) != exit.CodeUsage || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v (code %d), want a refusal that names %s", err, exit.Code(err), c.want)
			}
			said, rerr := os.ReadFile(w.o.TerminationLog)
			if c.exists && string(said) != err.Error() {
				t.Errorf("termination log %q, want %q", said, err)
			}
			if !c.exists && !errors.Is(rerr, os.ErrNotExist) {
				t.Errorf("made a termination log where Kubernetes has none")
			}
		})
	}
}

func TestGateOffOpens(t *testing.T) {
	w := newWorld(t)
	w.o.Disabled, w.o.NewClient = true, nil
	if err := Run(t.Context(), w.o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.logged(), "feature gate BootstrapSynchronisation is off") {
		t.Errorf("does not say so:\n%s", w.logged())
	}
}

// TestTheControllersGateOpens: a renewed Lease that lists the cluster as unprotected opens the barrier over a node that is DOWN, by name and with an
// Event; a Lease that is not renewed, or that lists another cluster, does not.
func TestTheControllersGateOpens(t *testing.T) {
	for name, tc := range map[string]struct {
		marks  string
		renews bool
		want   bool
	}{
		"off":                   {marks: api.KeepMark(ns, "demo"), renews: true, want: true},
		"off, and not renewed":  {marks: api.KeepMark(ns, "demo")},
		"off for other members": {marks: api.KeepMark(ns, "another"), renews: true},
		"on":                    {renews: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := lease("controller-1")
				l.Annotations = map[string]string{api.AnnotationUnprotected: tc.marks}
				objects := peers() // the controller has deleted the reports
				for _, o := range objects {
					if svc, ok := o.(*corev1.Service); ok {
						svc.Labels[api.LabelManagedBy] = api.ManagedByUs
					}
				}
				w := newWorld(t, append(objects, l)...)
				ctx, done := running(t, w)
				if tc.renews {
					w.renews(ctx)
				}
				if !tc.want {
					time.Sleep(10 * time.Minute)
					stillWaiting(t, done)
					return
				}
				opens(t, done)
				want := "may start: feature gate BootstrapSynchronisation is off at controller controller-1; no node was checked"
				if log := w.logged(); !strings.Contains(log, want) || !strings.Contains(log, "Unprotected") {
					t.Errorf("log:\n%s", log)
				}
				events := w.events()
				if last := events[len(events)-1]; last.Reason != EventOpened || last.Type != corev1.EventTypeWarning || !strings.Contains(last.Note, want) {
					t.Errorf("the last Event: %+v", last)
				}
			})
		})
	}
}

func TestFeatureGates(t *testing.T) {
	for text, want := range map[string]struct {
		on    bool
		error string
	}{
		"":                                {true, ""},
		"BootstrapSynchronisation=true":   {true, ""},
		"BootstrapSynchronisation=false":  {false, ""},
		" BootstrapSynchronisation=0 , ":  {false, ""},
		"BootstrapSynchronisation":        {false, `=""`},
		"BootstrapSynchronisation=maybe":  {false, `="maybe"`},
		"Other=true":                      {false, `unknown feature gate "Other"`},
		"bootstrapsynchronisation=true":   {false, "unknown feature gate"},
		"BootstrapSynchronisation=true,x": {false, `unknown feature gate "x"`},
	} {
		on, err := api.ParseFeatureGates(text)
		if (err == nil) != (want.error == "") || (err != nil && !strings.Contains(err.Error(), want.error)) || (err == nil && on != want.on) {
			t.Errorf("%q: %v, %v; want %v, %q", text, on, err, want.on, want.error)
		}
	}
}

func TestMissingMemberIsUsageError(t *testing.T) {
	w := newWorld(t)
	w.o.Service = ""
	if err := Run(t.Context(), w.o); exit.Code(err) != exit.CodeUsage {
		t.Errorf("%v", err)
	}
}

func TestWaitsForTheMemberServiceThenOpensAsFirstNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, lease("controller-1"))
		ctx, done := running(t, w)
		w.renews(ctx)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if !strings.Contains(w.logged(), "MemberServiceMissing") || !strings.Contains(w.logged(), "Service demo/"+newcomer+" does not exist") {
			t.Errorf("does not say what it waits for:\n%s", w.logged())
		}
		if err := w.c.Create(t.Context(), service(newcomer, "rack3", nil)); err != nil {
			t.Fatal(err)
		}
		opens(t, done)
		if got := w.eventReasons(); !slices.Equal(got, []string{EventWaiting, EventChanged, EventOpened}) {
			t.Errorf("events %v", got)
		}
		if !strings.Contains(w.logged(), "FirstNode") {
			t.Errorf("log:\n%s", w.logged())
		}
	})
}

func TestHoldsWhileANodeIsDownAndReleasesAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := report(saw(idA, "UP", idB, "DOWN"), nil)
		w := newWorld(t, append(peers(), down, lease("controller-1"))...)
		ctx, done := running(t, w)
		w.renews(ctx)
		time.Sleep(5 * time.Minute)
		stillWaiting(t, done)
		log := w.logged()
		if !strings.Contains(log, "NodeDown") || !strings.Contains(log, "rack2-0") {
			t.Errorf("does not name the node:\n%s", log)
		}
		if n := strings.Count(log, "still waiting"); n < 4 || n > 5 {
			t.Errorf("open blockers repeated %d times in 5 minutes, want one each minute", n)
		}
		if got := w.eventReasons(); !slices.Equal(got, []string{EventWaiting}) {
			t.Errorf("events %v", got)
		}
		// That the controller's Lease has not been seen to advance yet is no news in the first seconds.
		if note := w.events()[0].Note; !strings.Contains(note, " must wait: ") || !strings.Contains(note, "DOWN") || strings.Contains(note, "silent") {
			t.Errorf("the Event says %q", note)
		}

		r := allUp()
		w.update(r, func() { r.Racks = allUp().Racks })
		began := time.Now()
		opens(t, done)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("took %v to see the change", took)
		}
		if got := w.eventReasons(); !slices.Equal(got, []string{EventWaiting, EventOpened}) {
			t.Errorf("events %v", got)
		}
	})
}

func TestNeverOpensWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(allUp()))...)
		w.setFailure(&url.Error{Op: "Get", URL: "https://10.0.0.1/api", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}})
		_, done := running(t, w)
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); !strings.Contains(log, `["APIUnreachable: cannot reach`) || !strings.Contains(log, "still waiting") {
			t.Errorf("waits without saying so:\n%s", log)
		}
		w.setFailure(nil)
		opens(t, done)
	})
}

func TestReportsThatMayNotBeReadDoNotLookLikeGenesis(t *testing.T) {
	for _, resource := range []string{"services", "scylladbdatacenternodesstatusreports"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, service(newcomer, "rack3", nil))
				w.deny[resource] = true
				w.o.Cluster = "demo"
				ctx, cancel := context.WithCancel(t.Context())
				done := w.start(ctx)
				time.Sleep(time.Minute)
				stillWaiting(t, done)
				cancel()
				if err := <-done; exit.Code(err) != exit.CodeInterrupted {
					t.Errorf("error %v, code %d", err, exit.Code(err))
				}
			})
		})
	}
}

func TestRestartOfAMemberThatWasNeverFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objs := append(others(), joinedService(newcomer, "rack3", idNew),
			report(saw(idA, "UP", idB, "UP", idNew, "DOWN"), saw(idA, "UP", idB, "UP", idNew, "DOWN")))
		w := newWorld(t, objs...)
		w.query("", 1) // no SSTable: the glob stays as it is
		w.dataDir("commitlog/schema/SchemaLog-1.log")
		_, done := running(t, w)
		opens(t, done)
		if !strings.Contains(w.logged(), "RestartOfMember") {
			t.Errorf("log:\n%s", w.logged())
		}
	})
}

func TestAMemberThatLostItsVolumeIsNoRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objs := append(others(), joinedService(newcomer, "rack3", idNew), lease("controller-1"),
			report(saw(idA, "UP", idB, "UP", idNew, "DOWN"), saw(idA, "UP", idB, "UP", idNew, "DOWN")))
		w := newWorld(t, objs...)
		w.query("", 1)
		w.dataDir()
		ctx, done := running(t, w)
		w.renews(ctx)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if !strings.Contains(w.logged(), "NodeDown") {
			t.Errorf("log:\n%s", w.logged())
		}
	})
}

func failedJoin() *api.ScyllaDBStatusReport {
	return &api.ScyllaDBStatusReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo", Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}},
		Status: api.ScyllaDBStatusReportStatus{Operations: []api.NodeOperation{
			{Type: "bootstrap", State: "failed", HostID: idNew, Error: "Canceled. Dead nodes: {" + idB + "}"},
		}},
	}
}

func TestBannedVolume(t *testing.T) {
	newService := func() *corev1.Service {
		return service(newcomer, "rack3", map[string]string{api.AnnotationHostID: idNew, api.AnnotationNodeJoined: "false"})
	}
	for name, c := range map[string]struct {
		stdout  string
		code    int
		files   []string
		mounted bool
		refused bool
	}{
		"the volume has a node's files":                    {"", 1, []string{"commitlog/schema/SchemaLog-1.log"}, true, true},
		"the query found the node that never joined":       {`[{"bootstrapped":null}]`, 0, nil, false, true},
		"the volume is empty: it has been replaced":        {"", 1, nil, true, false},
		"nobody can say whose volume it is: no conclusion": {"", 1, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, append(others(), newService(), allUp(), failedJoin(), lease("controller-1"))...)
				w.query(c.stdout, c.code)
				if c.mounted {
					w.dataDir(c.files...)
				}
				ctx, done := running(t, w)
				w.renews(ctx)
				if !c.refused {
					opens(t, done)
					return
				}
				var err error
				select {
				case err = <-done:
				case <-time.After(time.Hour):
					t.Fatalf("neither opens nor refuses:\n%s", w.logged())
				}
				if exit.Code(err) != exit.CodeUsage {
					t.Fatalf("error %v, code %d", err, exit.Code(err))
				}
				for _, want := range []string{"data-" + newcomer, idB, "Canceled. Dead nodes"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q does not say %s", err, want)
					}
				}
				if got := w.eventReasons(); !slices.Equal(got, []string{EventRefused}) {
					t.Errorf("events %v", got)
				}
			})
		})
	}
}

func TestForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := service(newcomer, "rack3", map[string]string{
			api.AnnotationForceProceed: "true", api.AnnotationForceReason: "rack2 is gone for good, change 4711",
			api.AnnotationForcePropagatedFrom: "StatefulSet/demo-rack3",
		})
		w := newWorld(t, append(others(), svc, report(saw(idA, "UP", idB, "DOWN"), nil))...)
		_, done := running(t, w)
		opens(t, done)
		events := w.events()
		if len(events) != 1 || events[0].Reason != EventForced || events[0].Type != corev1.EventTypeWarning {
			t.Fatalf("events %v", w.eventReasons())
		}
		for _, want := range []string{"change 4711", "StatefulSet/demo-rack3"} {
			if !strings.Contains(events[0].Note, want) || !strings.Contains(w.logged(), want) {
				t.Errorf("event or log does not say %q: %s", want, events[0].Note)
			}
		}
		if events[0].Regarding.Name != newcomer || events[0].Regarding.UID != "uid-1" {
			t.Errorf("regarding %v", events[0].Regarding)
		}
	})
}

// A force opened on the empty volume that followed the one that it was given for.
func TestAForceIsForOneVolume(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + newcomer, UID: "claim-2"}}
	for name, c := range map[string]struct {
		forced string
		claims []client.Object
		opens  bool
	}{
		"this claim":             {"claim-2", []client.Object{claim}, true},
		"the claim before":       {"claim-1", []client.Object{claim}, false},
		"a Pod without claim":    {"uid-1", nil, true},
		"the Pod before":         {"uid-0", nil, false},
		"this Pod, with a claim": {"uid-1", []client.Object{claim}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := service(newcomer, "rack3", map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceVolume: c.forced,
					api.AnnotationForceOverrides: `[{"reason":"NodeDown","object":"` + idB + `"}]`})
				w := newWorld(t, append(append(others(), svc, lease("controller-1"), report(saw(idA, "UP", idB, "DOWN"), saw(idA, "UP", idB, "UP"))), c.claims...)...)
				ctx, done := running(t, w)
				w.renews(ctx)
				time.Sleep(time.Minute)
				if c.opens {
					opens(t, done)
					return
				}
				stillWaiting(t, done)
				if want := "the force counts only for the volume with UID " + c.forced; !strings.Contains(w.logged(), want) {
					t.Errorf("log does not say %q:\n%s", want, w.logged())
				}
			})
		})
	}
}

// A force opened over a node that went DOWN after it was given, also at a barrier that started later: the record is on the Service.
func TestAForceDoesNotCoverWhatIsNew(t *testing.T) {
	record := func(id string) string { return `[{"reason":"NodeDown","object":"` + id + `"}]` }
	synctest.Test(t, func(t *testing.T) {
		svc := service(newcomer, "rack3", map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceOverrides: record(idA), api.AnnotationForceVolume: "uid-1"})
		w := newWorld(t, append(others(), svc, lease("controller-1"), report(saw(idA, "UP", idB, "DOWN"), saw(idA, "UP", idB, "UP")))...)
		ctx, done := running(t, w)
		w.renews(ctx)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if want := "its force does not cover: demo-rack1-0 (8ebd2a16) sees demo-rack2-0 (35d00000) DOWN"; !strings.Contains(w.logged(), want) {
			t.Errorf("log does not say %q:\n%s", want, w.logged())
		}
		events := w.events()
		if len(events) == 0 || events[0].Reason != EventWaiting || !strings.Contains(events[0].Note, "does not cover") {
			t.Errorf("events %+v", events)
		}
		var pod corev1.Pod
		if err := w.c.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: newcomer}, &pod); err != nil {
			t.Fatal(err)
		}
		if said, err := api.DecodeBarrierWait(pod.Annotations[api.AnnotationBarrier]); err != nil || len(said.Refusals) != 1 || said.Refusals[0].Observed != idB {
			t.Errorf("on the Pod is %q, %v", pod.Annotations[api.AnnotationBarrier], err)
		}
		w.update(svc, func() { svc.Annotations[api.AnnotationForceOverrides] = record(idB) })
		opens(t, done)
		if events := w.eventReasons(); !slices.Contains(events, EventForced) {
			t.Errorf("events %v", events)
		}
	})
}

func TestForcedByFieldManager(t *testing.T) {
	svc := service(newcomer, "rack3", map[string]string{api.AnnotationForceProceed: "true"})
	at := metav1.NewTime(time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC))
	fields := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationForceProceed + `":{}}}}`)
	earlier, later := metav1.NewTime(at.Add(-time.Hour)), metav1.NewTime(at.Add(time.Hour))
	labelled := metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + api.AnnotationForceProceed + `":{}}}}`)
	svc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other"}, {Manager: "owned-it-before", Time: &earlier, FieldsV1: fields},
		{Manager: "kubectl-annotate", Time: &at, FieldsV1: fields}, {Manager: "kubectl-label", Time: &later, FieldsV1: labelled}}
	got := forcedBy(svc)
	for _, want := range []string{"kubectl-annotate", "2026-08-01T10:00:00Z", "no reason specified"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func TestForceValueThatIsNotTrueBlocksAndHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := service(newcomer, "rack3", map[string]string{api.AnnotationForceProceed: "yes"})
		w := newWorld(t, append(others(), svc, byOperator(allUp()))...)
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if !strings.Contains(w.logged(), "ForceValueInvalid") {
			t.Errorf("log:\n%s", w.logged())
		}
		w.update(svc, func() { svc.Annotations = nil })
		opens(t, done)
	})
}

func TestControllerThatIsSilentBlocks(t *testing.T) {
	t.Parallel()
	gone := func(t *testing.T, w *world, want string) {
		t.Helper()
		_, done := running(t, w)
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); !strings.Contains(log, "ControllerSilent") || !strings.Contains(log, want) {
			t.Errorf("log does not say %q:\n%s", want, log)
		}
		if got := w.eventReasons(); len(got) == 0 || got[0] != EventWaiting {
			t.Errorf("events %v", got)
		}
	}
	for name, c := range map[string]struct {
		lease *coordinationv1.Lease
		deny  bool
		want  string
	}{
		"it died before this Pod came":      {lease("controller-1"), false, "controller-1"},
		"it stopped and gave the Lease up":  {lease(""), false, "no controller is leader"},
		"there never was one":               {nil, false, " does not exist"},
		"nobody may look":                   {lease("controller-1"), true, "no permission to get Lease"},
		"a Lease that was never renewed":    {func() *coordinationv1.Lease { l := lease("c"); l.Spec.RenewTime = nil; return l }(), false, "has not"},
		"the Lease names nobody, not empty": {func() *coordinationv1.Lease { l := lease(""); l.Spec.HolderIdentity = nil; return l }(), false, "no controller is leader"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := append(peers(), allUp())
				if c.lease != nil {
					objs = append(objs, c.lease)
				}
				w := newWorld(t, objs...)
				if c.deny {
					w.deny["leases"] = true
				}
				gone(t, w, c.want)
			})
		})
	}
}

// A renewed Lease proves nothing about reports that its holder does not say it keeps: it cannot write them, or has taken over and not assembled yet.
func TestAttack1ARenewedLeaseIsNotAKeptReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lease("controller-1")
		l.Annotations[api.AnnotationKeeps] = api.KeepMark(ns, "another") + " " + api.KeepMark("other", "demo")
		w := newWorld(t, append(peers(), allUp(), l)...)
		ctx, done := running(t, w)
		w.renews(ctx)
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); !strings.Contains(log, "ControllerSilent") || !strings.Contains(log, "does not update the reports of this cluster") {
			t.Errorf("log:\n%s", log)
		}
		began := time.Now()
		w.update(l, func() { l.Annotations[api.AnnotationKeeps] += " " + api.KeepMark(ns, "demo") })
		opens(t, done)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %v after the reports were kept again", took)
		}
	})
}

func TestControllerThatFallsSilentWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), report(saw(idA, "UP", idB, "DOWN"), nil), lease("controller-1"))...)
		ctx, done := running(t, w)
		alive, kill := context.WithCancel(ctx)
		w.renews(alive)
		time.Sleep(time.Minute)
		kill()
		time.Sleep(time.Minute)
		// Its last report has all UP, or another writer's has: no controller keeps it true.
		r := allUp()
		w.update(r, func() { r.Racks = allUp().Racks })
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
		w.renews(ctx)
		began := time.Now()
		opens(t, done)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v after the controller was back", took)
		}
	})
}

func TestLiveControllerCostsSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), allUp(), lease("controller-1"))...)
		began := time.Now()
		ctx, done := running(t, w)
		w.renews(ctx)
		opens(t, done)
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("opened after %v", took)
		}
		if got := w.eventReasons(); !slices.Equal(got, []string{EventOpened}) {
			t.Errorf("waiting to see a renewal is no Event: %v", got)
		}
	})
}

func TestReportsOfTheOperatorNeedNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(allUp()))...)
		w.deny["leases"] = true
		_, done := running(t, w)
		opens(t, done)
	})
}

func TestEventsAreFewHoweverOftenBlockersChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(report(saw(idA, "UP", idB, "DOWN"), nil)))...)
		_, done := running(t, w)
		for i := range 300 {
			time.Sleep(time.Second)
			r := allUp()
			w.update(r, func() {
				r.Racks = report(saw(idA, "UP", idB, "DOWN"), saw(idA, []string{"DOWN", "UP"}[i%2], idB, "UP")).Racks
			})
		}
		stillWaiting(t, done)
		if n := len(w.events()); n > 11 {
			t.Errorf("%d Events in 5 minutes", n)
		}
		if n := strings.Count(w.logged(), `"msg":"waiting: `); n < 30 {
			t.Errorf("%d changes in the log, each change must be there", n)
		}
	})
}

func TestVersionRule(t *testing.T) {
	for name, c := range map[string]struct {
		image, version string
		stdout         string
		code           int
		want           string
	}{
		"too old for the query":        {image: "scylladb/scylla:2025.1.9", code: 100, want: "2025.1.9 is older than 2025.2.0"},
		"too old by version":           {image: "scylladb/scylla:2026.1.0", version: "6.2.3", code: 100, want: "6.2.3 is older"},
		"a candidate counts as older":  {image: "scylladb/scylla:2025.2.0-rc1", code: 100, want: "is older than 2025.2.0"},
		"unknown is said":              {image: "scylladb/scylla:latest", want: "version of ScyllaDB is unknown"},
		"digest alone is said":         {image: "scylla@sha256:" + strings.Repeat("a", 64), want: "has a digest but no tag"},
		"tag and digest":               {image: "scylla:2025.3.1@sha256:" + strings.Repeat("a", 64), want: `"version":"2025.3.1"`},
		"nothing given":                {want: "version of ScyllaDB is unknown"},
		"the bug of the first patches": {image: "scylla:2025.2.1", stdout: `[{"bootstrapped":`, code: 134, want: "fixed in 2025.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, service(newcomer, "rack3", nil), lease("controller-1"))
				w.o.Image, w.o.Version = c.image, c.version
				w.query(c.stdout, c.code)
				ctx, done := running(t, w)
				w.renews(ctx)
				opens(t, done) // the first node of all, whatever the query can do
				if !strings.Contains(w.logged(), c.want) {
					t.Errorf("log does not say %q:\n%s", c.want, w.logged())
				}
			})
		})
	}
}

func TestQueryThatNeverRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(report(saw(idA, "UP", idB, "DOWN"), nil)))...)
		w.o.QueryFile = filepath.Join(w.dir, "absent.json")
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if !strings.Contains(w.logged(), "no result of the query") {
			t.Errorf("log:\n%s", w.logged())
		}
	})
}

func TestHugeOrStrangeQueryFiles(t *testing.T) {
	for name, c := range map[string]struct{ out, code string }{
		"garbage":             {"\x00\xff{", "0"},
		"larger than allowed": {strings.Repeat("x", disk.MaxQuery+1), "0"},
		"code is no number":   {"[]", "segmentation fault"},
		"code is missing":     {"[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, append(peers(), byOperator(report(saw(idA, "UP", idB, "DOWN"), nil)))...)
				w.file("bootstrapped.json", c.out)
				w.file("bootstrapped.json.code", c.code)
				_, done := running(t, w)
				time.Sleep(time.Minute)
				stillWaiting(t, done)
			})
		})
	}
}

func TestMetricsWhileWaiting(t *testing.T) {
	w := newWorld(t, append(peers(), byOperator(report(saw(idA, "UP", idB, "DOWN"), nil)))...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.o.Listen = func() (net.Listener, error) { return l, nil }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := w.start(ctx)
	want := []string{`kubectl_scylla_barrier_info{cluster="demo",datacenter="dc1",namespace="demo"} 1`, `kubectl_scylla_barrier_open 0`, `kubectl_scylla_barrier_blockers{reason="NodeDown"} 1`, "kubectl_scylla_barrier_evaluations_total"}
	var body []byte
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		if resp, err := http.Get("http://" + l.Addr().String() + "/metrics"); err == nil {
			body, _ = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		return !slices.ContainsFunc(want, func(s string) bool { return !bytes.Contains(body, []byte(s)) }), nil
	}); err != nil {
		t.Fatalf("%v; metrics:\n%s", err, body)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}

func TestPortThatIsTakenIsNoReasonToFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service(newcomer, "rack3", nil), lease("controller-1"))
		w.o.Listen = func() (net.Listener, error) { return nil, errors.New("address already in use") }
		ctx, done := running(t, w)
		w.renews(ctx)
		opens(t, done)
	})
}

func TestOldRowsOfPodsThatAreGoneDoNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(allUp()))...)
		gone := member("demo-rack2-0", "rack2")
		if err := w.c.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if !strings.Contains(w.logged(), "RowStale") {
			t.Errorf("log:\n%s", w.logged())
		}
		if err := w.c.Create(t.Context(), member("demo-rack2-0", "rack2")); err != nil {
			t.Fatal(err)
		}
		opens(t, done)
	})
}
