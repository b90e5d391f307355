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

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
	used     = "commitlog/schema/SchemaLog-1.log" // a file of a volume that is in use
)

// world is a cluster in a fake API server, seen from one Pod.
type world struct {
	t    *testing.T
	c    client.WithWatch // the test's own: the barrier's has the faults below
	o    Options
	dir  string
	done chan error // has the barrier's error when it ends

	mu       sync.Mutex
	log      bytes.Buffer
	fail     error           // what every read of the API gets, nil for an answer
	deny     map[string]bool // resources ("services") that may not be read
	blind    bool            // no watch opens
	requests map[string]int  // the barrier's reads, by kind, and "all"
	// silent holds the error of a member's reporter, and asked counts its requests, and those for "views".
	silent map[string]error
	asked  map[string]int
	answer relay
	have   []string // the stamps of views that the barrier said it had
}

func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// says requires texts in the log.
func (w *world) says(texts ...string) {
	w.t.Helper()
	for _, want := range texts {
		if log := w.logged(); !strings.Contains(log, want) {
			w.t.Errorf("log does not say %q:\n%s", want, log)
		}
	}
}

func (w *world) setFailure(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *world) check(obj any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", obj), ".")
	w.requests[kind]++
	w.requests["all"]++
	for resource, denied := range w.deny {
		if denied && strings.Contains(strings.ToLower(kind), strings.TrimSuffix(resource, "s")) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no such right"))
		}
	}
	return w.fail
}

// spent returns requests, and begins to count anew.
func (w *world) spent() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	spent := w.requests
	w.requests = map[string]int{}
	return spent
}

func newWorld(t *testing.T, objs ...client.Object) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), deny: map[string]bool{}, requests: map[string]int{}, silent: map[string]error{},
		asked: map[string]int{}, answer: fails(viewwire.ErrNone)}
	pod := &corev1.Pod{ObjectMeta: named(newcomer)}
	pod.UID, pod.Labels = "uid-1", map[string]string{api.LabelCluster: "demo"}
	w.c = fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithRESTMapper(kube.NewMapper()).
		WithObjects(append(objs, pod)...).Build()
	barriers := interceptor.NewClient(w.c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := w.check(o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			if err := w.check(o); err != nil {
				return err
			}
			return c.List(ctx, o, opts...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			if w.blind {
				return nil, errors.New("a proxy ends all streams")
			}
			return c.Watch(ctx, o, opts...)
		},
	})
	w.o = Options{
		NewClient: func() (client.WithWatch, error) { return barriers, nil },
		Namespace: ns, Service: newcomer, PodUID: "uid-1",
		QueryFile: filepath.Join(w.dir, "bootstrapped.json"), LeaseNamespace: "kubectl-scylla", Ask: w.ask,
		AskView:       w.askView,
		Stabilisation: new(time.Duration(0)),
		Policy:        api.PolicyReports, // the conditions of permits have their own tests
		Log:           slog.New(slog.NewJSONHandler(w, nil)),
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

func (w *world) askedOf(member string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[member]
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

func (w *world) must(err error) {
	if w.t.Helper(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) file(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(content), 0o600))
}

func (w *world) dataDir(files ...string) {
	w.o.DataDir = filepath.Join(w.dir, "data")
	w.must(os.MkdirAll(filepath.Join(w.o.DataDir, "hints"), 0o755))
	for _, f := range files {
		w.file("data/"+f, "x")
	}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	w.must(w.c.Create(context.Background(), o))
}

func (w *world) delete(o client.Object) {
	w.t.Helper()
	w.must(w.c.Delete(context.Background(), o))
}

func (w *world) update(o client.Object, mutate func()) {
	w.t.Helper()
	w.must(w.c.Get(context.Background(), client.ObjectKeyFromObject(o), o))
	mutate()
	w.must(w.c.Update(context.Background(), o))
}

// own changes the newcomer's Pod, and gives it that address.
func (w *world) own(ip string, change func(*corev1.Pod)) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: named(newcomer)}
	w.update(p, func() { change(p) })
	p.Status.PodIP = ip
	w.must(w.c.Status().Update(context.Background(), p))
}

// reports changes the report of both nodes.
func (w *world) reports(a, b []api.ObservedNodeStatusReport) {
	w.t.Helper()
	r := allUp()
	w.update(r, func() { r.Racks = report(a, b).Racks })
}

// ofCluster changes the report of the cluster.
func (w *world) ofCluster(change func(*api.ScyllaDBStatusReport)) {
	w.t.Helper()
	r := &api.ScyllaDBStatusReport{ObjectMeta: named("demo")}
	w.update(r, func() { change(r) })
}

func (w *world) events() []eventsv1.Event {
	w.t.Helper()
	var list eventsv1.EventList
	w.must(w.c.List(context.Background(), &list))
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return list.Items
}

// emitted requires Events with exactly these reasons.
func (w *world) emitted(want ...string) {
	w.t.Helper()
	var got []string
	for _, e := range w.events() {
		got = append(got, e.Reason)
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("Events %v, want %v", got, want)
	}
}

// said is the annotation of the newcomer's Pod.
func (w *world) said() (said *api.BarrierWait) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: named(newcomer)}
	w.must(w.c.Get(context.Background(), client.ObjectKeyFromObject(pod), pod))
	if text, ok := pod.Annotations[api.AnnotationBarrier]; ok {
		var err error
		said, err = api.DecodeBarrierWait(text)
		w.must(err)
	}
	return said
}

// refused is the first refusal in the annotation, if there is one.
func (w *world) refused() (r api.BarrierRefusal) {
	if said := w.said(); said != nil && len(said.Refusals) > 0 {
		return said.Refusals[0]
	}
	return r
}

// start runs the barrier until ctx ends.
func (w *world) start(ctx context.Context) {
	done := make(chan error, 1)
	w.done = done
	go func() { done <- Run(ctx, w.o) }()
}

const alone, led = false, true

// runs runs the barrier; led: a controller lives and renews its Lease.
func (w *world) runs(led bool) *world {
	w.start(w.t.Context())
	if led {
		w.renews(w.t.Context())
	}
	return w
}

// waits requires that it has not ended after that time.
func (w *world) waits(d time.Duration) *world {
	w.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	select {
	case err := <-w.done:
		w.t.Fatalf("ended (%v), must wait", err)
	default:
	}
	return w
}

func (w *world) opens() *world {
	w.t.Helper()
	if err := w.ends(); err != nil {
		w.t.Fatalf("must open: %v", err)
	}
	if said := w.said(); said != nil {
		w.t.Errorf("the Pod still says %+v", said)
	}
	return w
}

func (w *world) ends() error {
	w.t.Helper()
	select {
	case err := <-w.done:
		return err
	case <-time.After(time.Hour):
		w.t.Fatalf("still waits after an hour:\n%s", w.logged())
		return nil
	}
}

func (w *world) opensIn(least, most time.Duration) {
	w.t.Helper()
	began := time.Now()
	w.opens()
	if took := time.Since(began); took < least || took > most {
		w.t.Errorf("opened after %v, want %v to %v", took, least, most)
	}
}

// opensOr waits for that long if it must not open.
func (w *world) opensOr(opens bool, d time.Duration) *world {
	w.t.Helper()
	if opens {
		return w.opens()
	}
	return w.waits(d)
}

// inBubble runs a row of a table.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }

// member is a Pod whose reporter runs and sees every node UP.
func member(name, rack string) *corev1.Pod {
	p := stage.Bare(ns, "demo").NewPod(name, "dc1", rack)
	p.UID = "uid-" + types.UID(name)
	p.Annotations = carries(map[string]string{"rack1": idA, "rack2": idB}[rack], saw(idA, "UP", idB, "UP"))
	p.Status.PodIP = map[string]string{"rack1": "10.0.0.1", "rack2": "10.0.0.2", "rack4": "10.0.0.4"}[rack]
	return p
}

// byContainer makes it a Pod whose reporter is part of ScyllaDB's container, as the Scylla Operator's.
func byContainer(p *corev1.Pod) *corev1.Pod {
	p.Spec.InitContainers, p.Status.InitContainerStatuses = nil, nil
	p.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return p
}

// annotated is the annotation of a Pod with that row.
func annotated(r api.NodeStatusReport) map[string]string {
	text, err := api.EncodeNodeStatusReport(&r)
	if err != nil {
		panic(err)
	}
	return map[string]string{api.AnnotationNodeStatusReport: text}
}

// carries is the annotation of a Pod with these cells in its row.
func carries(id string, cells []api.ObservedNodeStatusReport) map[string]string {
	return annotated(api.NodeStatusReport{HostID: hostid.ID(id), ObservedNodes: cells, OperationMode: "NORMAL",
		Heartbeat: &api.ReportHeartbeat{Port: 8083, Fingerprint: strings.Repeat("a", 64)}})
}

// carry has both members carry these cells.
func carry(cells []api.ObservedNodeStatusReport, objs ...client.Object) []client.Object {
	for _, o := range objs {
		if pod, ok := o.(*corev1.Pod); ok {
			pod.Annotations = carries(map[string]string{"demo-rack1-0": idA, "demo-rack2-0": idB}[pod.Name], cells)
		}
	}
	return objs
}

func service(name, rack string, annotations map[string]string) *corev1.Service {
	s := stage.Bare(ns, "demo").NewService(name, "dc1", rack, 0)
	s.Annotations = annotations
	return s
}

func joinedService(name, rack, id string) *corev1.Service {
	return stage.Joined(service(name, rack, nil), id)
}

// forced is the newcomer's Service with that value of the force, and other annotations.
func forced(value string, others ...string) *corev1.Service {
	annotations := map[string]string{api.AnnotationForceProceed: value}
	for i := 0; i < len(others); i += 2 {
		annotations[others[i]] = others[i+1]
	}
	return service(newcomer, "rack3", annotations)
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
	r := &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: named("demo-dc1"), DatacenterName: "dc1",
		Racks: []api.RackReport{
			{Name: "rack1", Nodes: []api.NodeReport{{HostID: new(idA), ObservedNodes: api.Plain(a)}}},
			{Name: "rack2", Nodes: []api.NodeReport{{HostID: new(idB), ObservedNodes: api.Plain(b)}}},
		}}
	r.Labels = map[string]string{api.LabelReportSelector: "demo", api.LabelManagedBy: api.ManagedByUs}
	return r
}

func allUp() *api.ScyllaDBDatacenterNodesStatusReport { return report(up, up) }

func byOperator(r *api.ScyllaDBDatacenterNodesStatusReport) *api.ScyllaDBDatacenterNodesStatusReport {
	r.Labels[api.LabelManagedBy] = api.ManagedByOperator
	return r
}

// up is a row that has both members UP, down one that has B DOWN.
var up, down = saw(idA, "UP", idB, "UP"), saw(idA, "UP", idB, "DOWN")

// held are peers of which B is DOWN, by the Scylla Operator's report.
func held() []client.Object { return append(peers(), byOperator(report(down, nil))) }

// allPeersUp are peers that are UP, by the Scylla Operator's report.
func allPeersUp() []client.Object { return append(peers(), byOperator(allUp())) }

// returning is the cluster of a newcomer that has joined, and is DOWN.
func returning(more ...client.Object) []client.Object {
	seen := saw(idA, "UP", idB, "UP", idNew, "DOWN")
	return slices.Concat(others(), []client.Object{joinedService(newcomer, "rack3", idNew), report(seen, seen)}, more)
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
		for {
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	w.says("AlreadyBootstrapped")
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
			said, _ := os.ReadFile(w.o.TerminationLog)
			if want := map[bool]string{true: err.Error()}[c.exists]; string(said) != want {
				t.Errorf("termination log %q, want %q", said, want)
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
	w.says("feature gate BootstrapSynchronisation is off")
}

// A renewed Lease that lists the cluster, and no other, as unprotected opens over a node that is DOWN, with an Event.
func TestTheControllersGateOpens(t *testing.T) {
	for name, tc := range map[string]struct {
		marks        string
		renews, want bool
	}{
		"off":                   {api.KeepMark(ns, "demo"), true, true},
		"off, and not renewed":  {api.KeepMark(ns, "demo"), false, false},
		"off for other members": {api.KeepMark(ns, "another"), true, false},
		"on":                    {"", true, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			l := lease("controller-1")
			l.Annotations = map[string]string{api.AnnotationUnprotected: tc.marks}
			objects := peers() // the controller has deleted the reports
			for _, o := range objects[:3] {
				o.GetLabels()[api.LabelManagedBy] = api.ManagedByUs
			}
			w := newWorld(t, append(objects, l)...)
			w.runs(tc.renews)
			if w.opensOr(tc.want, 10*time.Minute); !tc.want {
				return
			}
			want := "may start: feature gate BootstrapSynchronisation is off at controller controller-1; no node was checked"
			w.says(want, "Unprotected")
			last := w.events()[len(w.events())-1]
			if last.Reason != EventOpened || last.Type != corev1.EventTypeWarning || !strings.Contains(last.Note, want) {
				t.Errorf("the last Event: %+v", last)
			}
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
		if failed := err != nil; failed != (want.error != "") || failed && !strings.Contains(err.Error(), want.error) ||
			!failed && on != want.on {
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
		w.runs(led).waits(time.Minute).says("MemberServiceMissing", "Service demo/"+newcomer+" does not exist")
		w.create(service(newcomer, "rack3", nil))
		w.opens()
		w.emitted(EventWaiting, EventChanged, EventOpened)
		w.says("FirstNode")
	})
}

func TestHoldsWhileANodeIsDownAndReleasesAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), report(down, nil), lease("controller-1"))...)
		w.runs(led).waits(5*time.Minute).says("NodeDown", "rack2-0")
		if n := strings.Count(w.logged(), "still waiting"); n < 4 || n > 5 {
			t.Errorf("open blockers repeated %d times in 5 minutes, want one each minute", n)
		}
		w.emitted(EventWaiting)
		// That the controller's Lease has not been seen to advance yet is no news in the first seconds.
		note := w.events()[0].Note
		if !strings.Contains(note, " must wait: ") || !strings.Contains(note, "DOWN") || strings.Contains(note, "silent") {
			t.Errorf("the Event says %q", note)
		}
		w.reports(up, up)
		w.opensIn(0, 2*time.Second)
		w.emitted(EventWaiting, EventOpened)
	})
}

func TestNeverOpensWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, allPeersUp()...)
		w.setFailure(&url.Error{Op: "Get", URL: "https://10.0.0.1/api",
			Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}})
		w.runs(alone).waits(10*time.Minute).says(`["APIUnreachable: cannot reach`, "still waiting")
		w.setFailure(nil)
		w.opens()
	})
}

func TestForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := forced("true", api.AnnotationForceReason, "rack2 is gone for good, change 4711",
			api.AnnotationForcePropagatedFrom, "StatefulSet/demo-rack3")
		w := newWorld(t, append(others(), svc, report(down, nil))...)
		w.runs(alone).opens()
		w.emitted(EventForced)
		e := w.events()[0]
		if e.Type != corev1.EventTypeWarning || e.Regarding.Name != newcomer || e.Regarding.UID != "uid-1" {
			t.Errorf("the Event: %+v", e)
		}
		for _, want := range []string{"change 4711", "StatefulSet/demo-rack3"} {
			if w.says(want); !strings.Contains(e.Note, want) {
				t.Errorf("the Event does not say %q: %s", want, e.Note)
			}
		}
	})
}

// nodeDownOf records a force over a node that is DOWN.
func nodeDownOf(id string) string { return `[{"reason":"NodeDown","object":"` + id + `"}]` }

// A force opened on the empty volume that followed the one that it was given for.
func TestAForceIsForOneVolume(t *testing.T) {
	for name, c := range map[string]struct {
		forced       string
		claim, opens bool
	}{
		"this claim":             {"claim-2", true, true},
		"the claim before":       {"claim-1", true, false},
		"a Pod without claim":    {"uid-1", false, true},
		"the Pod before":         {"uid-0", false, false},
		"this Pod, with a claim": {"uid-1", true, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			svc := forced("true", api.AnnotationForceVolume, c.forced, api.AnnotationForceOverrides, nodeDownOf(idB))
			w := newWorld(t, append(others(), svc, lease("controller-1"), report(down, up))...)
			if c.claim {
				w.create(&corev1.PersistentVolumeClaim{
					ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + newcomer, UID: "claim-2"}})
			}
			w.runs(led)
			if w.opensOr(c.opens, time.Minute); !c.opens {
				w.says("the force counts only for the volume with UID " + c.forced)
			}
		})
	}
}

// A force opened over a node that went DOWN after it was given, also at a barrier that started later.
func TestAForceDoesNotCoverWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := forced("true", api.AnnotationForceOverrides, nodeDownOf(idA), api.AnnotationForceVolume, "uid-1")
		w := newWorld(t, append(others(), svc, lease("controller-1"), report(down, up))...)
		w.runs(led).waits(time.Minute)
		w.says("its force does not cover: demo-rack1-0 (8ebd2a16) sees demo-rack2-0 (35d00000) DOWN")
		w.emitted(EventWaiting)
		if e := w.events()[0]; !strings.Contains(e.Note, "does not cover") {
			t.Errorf("the Event: %+v", e)
		}
		if r := w.refused(); r.Observed != idB {
			t.Errorf("on the Pod is %+v", r)
		}
		w.update(svc, func() { svc.Annotations[api.AnnotationForceOverrides] = nodeDownOf(idB) })
		w.opens()
		w.emitted(EventWaiting, EventForced)
	})
}

func TestForcedByFieldManager(t *testing.T) {
	svc := forced("true")
	at := metav1.NewTime(time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC))
	earlier, later := metav1.NewTime(at.Add(-time.Hour)), metav1.NewTime(at.Add(time.Hour))
	fields := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationForceProceed + `":{}}}}`)
	labelled := metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + api.AnnotationForceProceed + `":{}}}}`)
	svc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other"},
		{Manager: "owned-it-before", Time: &earlier, FieldsV1: fields},
		{Manager: "kubectl-annotate", Time: &at, FieldsV1: fields},
		{Manager: "kubectl-label", Time: &later, FieldsV1: labelled}}
	got := forcedBy(svc)
	for _, want := range []string{"kubectl-annotate", "2026-08-01T10:00:00Z", "no reason specified"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func TestForceValueThatIsNotTrueBlocksAndHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := forced("yes")
		w := newWorld(t, append(others(), svc, byOperator(allUp()))...)
		w.runs(alone).waits(time.Minute).says("ForceValueInvalid")
		w.update(svc, func() { svc.Annotations = nil })
		w.opens()
	})
}

// waitsForController has a barrier wait for each controller that is not known to keep the reports.
func waitsForController(t *testing.T, objects func() []client.Object) {
	const keeps = api.AnnotationKeeps
	type l = *coordinationv1.Lease
	for name, c := range map[string]struct {
		lease              func(l)
		none, deny, renews bool
		want               string
	}{
		"it died before this Pod came":      {want: "controller-1"},
		"it stopped and gave the Lease up":  {lease: func(l l) { *l.Spec.HolderIdentity = "" }, want: "no controller is leader"},
		"the Lease names nobody, not empty": {lease: func(l l) { l.Spec.HolderIdentity = nil }, want: "no controller is leader"},
		"a Lease that was never renewed":    {lease: func(l l) { l.Spec.RenewTime = nil }, want: "has not"},
		"there never was one":               {none: true, want: " does not exist"},
		"nobody may look":                   {deny: true, want: "no permission to get Lease"},
		"it has assembled nothing yet":      {lease: func(l l) { delete(l.Annotations, keeps) }, renews: true, want: "does not update"},
		"it looks after other namespaces": {lease: func(l l) { l.Annotations[keeps] = api.KeepMark("other", "demo") }, renews: true,
			want: "does not update"},
		"it keeps another cluster": {lease: func(l l) { l.Annotations[keeps] = api.KeepMark(ns, "dmeo") }, renews: true,
			want: "does not update"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w, l := newWorld(t, objects()...), lease("controller-1")
			if c.lease != nil {
				c.lease(l)
			}
			if !c.none {
				w.create(l)
			}
			w.deny["leases"] = c.deny
			w.runs(c.renews).waits(2*time.Minute).says("ControllerSilent", c.want)
			if events := w.events(); len(events) == 0 || events[0].Reason != EventWaiting {
				t.Errorf("Events %+v", events)
			}
		})
	}
}

func TestControllerThatIsSilentBlocks(t *testing.T) {
	t.Parallel()
	waitsForController(t, func() []client.Object { return append(peers(), allUp()) })
}

// A renewed Lease proves nothing about reports that its holder does not say it keeps.
func TestAttack1ARenewedLeaseIsNotAKeptReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lease("controller-1")
		l.Annotations[api.AnnotationKeeps] = api.KeepMark(ns, "another") + " " + api.KeepMark("other", "demo")
		w := newWorld(t, append(peers(), allUp(), l)...)
		w.runs(led).waits(10*time.Minute).says("ControllerSilent", "does not update the reports of this cluster")
		w.update(l, func() { l.Annotations[api.AnnotationKeeps] += " " + api.KeepMark(ns, "demo") })
		w.opensIn(0, 5*time.Second)
	})
}

func TestControllerThatFallsSilentWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), report(down, nil), lease("controller-1"))...)
		w.runs(alone)
		alive, kill := context.WithCancel(t.Context())
		w.renews(alive)
		time.Sleep(time.Minute)
		kill()
		time.Sleep(time.Minute)
		// Its last report has all UP, or another writer's has: no controller keeps it true.
		w.reports(up, up)
		w.waits(10 * time.Minute)
		w.renews(t.Context())
		w.opensIn(0, 10*time.Second)
	})
}

// That a port is taken is no reason to fail, and waiting to see a renewal is no Event.
func TestLiveControllerCostsSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), allUp(), lease("controller-1"))...)
		w.o.Listen = func() (net.Listener, error) { return nil, errors.New("address already in use") }
		w.runs(led).opensIn(0, 4*time.Second)
		w.emitted(EventOpened)
	})
}

// The Event is counted up each ten minutes, and written anew when the API server has forgotten it.
func TestAttack9TheEventIsToldAgainWhileItBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, held()...)
		w.runs(alone).waits(65 * time.Minute)
		w.emitted(EventWaiting)
		e := w.events()[0]
		if e.Series == nil || e.Series.Count < 6 || e.Series.Count > 8 {
			t.Fatalf("after 65 minutes: %+v", e)
		}
		w.delete(&e)
		w.waits(11 * time.Minute)
		w.emitted(EventWaiting)
	})
}

// An Event tells of a change ever more seldom, and soon again after a quiet time. The log has each change.
func TestAttack9EventsOfAFlappingClusterAreAggregated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, held()...)
		w.runs(alone)
		flaps := func(times int, pause time.Duration) {
			for i := range times {
				w.reports(down, saw(idA, []string{"DOWN", "UP"}[i%2], idB, "UP"))
				time.Sleep(pause)
			}
		}
		told := func() (n int) {
			for _, e := range w.events() {
				if n++; e.Series != nil {
					n += int(e.Series.Count) - 1
				}
			}
			return n
		}
		flaps(514, 7*time.Second)
		w.waits(0)
		if n := told(); n < 5 || n > 12 {
			t.Errorf("%d times in an hour, at most each ten minutes once it goes on", n)
		}
		if n := strings.Count(w.logged(), `"msg":"waiting: `); n < 500 {
			t.Errorf("%d changes in the log, each change must be there", n)
		}
		time.Sleep(25 * time.Minute)
		before := told()
		flaps(2, 15*time.Second)
		w.waits(time.Minute)
		if n := told(); n == before {
			t.Error("a change after a quiet time is not told within a minute")
		}
	})
}

func TestMetricsWhileWaiting(t *testing.T) {
	w := newWorld(t, held()...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.o.Listen = func() (net.Listener, error) { return l, nil }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.start(ctx)
	want := []string{`kubectl_scylla_barrier_info{cluster="demo",datacenter="dc1",namespace="demo"} 1`, `kubectl_scylla_barrier_open 0`,
		`kubectl_scylla_barrier_blockers{reason="NodeDown"} 1`, "kubectl_scylla_barrier_evaluations_total"}
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
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}
