// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/members"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/launch"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

const (
	ns      = "scylla"
	target  = "demo-d-0"
	hostOld = "dddddddd-0000-4000-8000-000000000004"
	image   = "docker.io/scylladb/scylla:2026.2.0"
)

var (
	t0    = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	peers = map[string]string{
		"demo-a-0": "aaaaaaaa-0000-4000-8000-000000000001",
		"demo-b-0": "bbbbbbbb-0000-4000-8000-000000000002",
		"demo-c-0": "cccccccc-0000-4000-8000-000000000003",
	}
	key = client.ObjectKey{Namespace: ns, Name: target}

	// The old node has been dead for longer than a restart takes.
	longAgo = metav1.NewTime(t0.Add(-time.Hour))
)

// start is one start of ScyllaDB on an empty volume.
type start struct {
	pvc  types.UID
	args []string
}

// world is a fake API server with a StatefulSet controller, a kubelet, the member controller and ScyllaDB behind it.
type world struct {
	t     testing.TB
	raw   client.WithWatch // used by the simulated parts
	clock *clocktesting.FakeClock
	image string
	log   io.Writer // the controller's log; nil for none

	// onCall runs before every request of the controller, with its number from 0; an error is the request's answer, without effect.
	// onDone runs after it, and its error hides the effect. errKilled ends the process: none of its later requests has any effect.
	onCall func(n int, verb, what string) error
	onDone func(n int, verb, what string) error
	mu     sync.Mutex
	calls  []string
	stages []string // what was told of them

	budget    int // evictions to refuse
	pvcs      int
	pods      int
	newcomers int
	processes int
	phase     int
	volumes   map[types.UID]string // claim -> host ID of its data
	starts    []start
	deleted   []types.UID // claims whose deletion took effect
	evicted   []types.UID
	failNext  bool // the next join is cancelled
	// hold delays deletions of claims: the controller waits for an answer in vain, and late carries them out.
	hold bool
	late []func() error
}

// scheme has the kinds that a replacement touches and no others: the fake client builds a REST mapping of all of them at every write, and the crash
// tests write a hundred thousand times.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{}, &corev1.Pod{}, &corev1.PodList{},
		&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{})
	s.AddKnownTypes(appsv1.SchemeGroupVersion, &appsv1.StatefulSet{}, &appsv1.StatefulSetList{})
	s.AddKnownTypes(eventsv1.SchemeGroupVersion, &eventsv1.Event{}, &eventsv1.EventList{})
	s.AddKnownTypes(policyv1.SchemeGroupVersion, &policyv1.Eviction{})
	for _, gv := range []schema.GroupVersion{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, eventsv1.SchemeGroupVersion, policyv1.SchemeGroupVersion} {
		metav1.AddToGroupVersion(s, gv)
	}
	if err := api.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(t0), image: image, volumes: map[types.UID]string{}}
	var objs []client.Object
	for i, name := range []string{"demo-a-0", "demo-b-0", "demo-c-0", target} {
		rack := string(rune('a' + i))
		id := peers[name]
		if name == target {
			id = hostOld
		}
		objs = append(objs, w.service(name, rack, id), w.set(rack))
		if name != target {
			p := w.pod(name, rack, types.UID("uid-"+name))
			ready(p)
			objs = append(objs, p)
		}
	}
	w.raw = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(kube.NewMapper()).WithObjects(objs...).
		WithStatusSubresource(&corev1.Pod{}).WithGlobalResourceVersionCounter().Build()
	w.statefulSet()
	w.volumes["pvc-1"] = hostOld
	w.updatePod(target, func(p *corev1.Pod) { p.Status.ContainerStatuses = running(false) })
	w.rows(nil)
	return w
}

func (w *world) service(name, rack, id string) *corev1.Service {
	s := stage.Joined(stage.Bare(ns, "demo").NewService(name, "dc1", rack, 0), id)
	s.UID = types.UID("svc-" + name)
	return s
}

func (w *world) set(rack string) *appsv1.StatefulSet {
	s := stage.Bare(ns, "demo").NewSet("demo-"+rack, "dc1", rack, 1)
	s.UID, s.Spec.Template.Spec = types.UID("set-"+rack), w.podSpec()
	return s
}

func (w *world) podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:       "k1",
		InitContainers: []corev1.Container{{Name: api.ContainerReporter, Image: "agent"}},
		Containers: []corev1.Container{{
			Name: api.ContainerScyllaDB, Image: w.image, Command: []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"},
		}},
	}
}

func (w *world) pod(name, rack string, uid types.UID) *corev1.Pod {
	p := stage.Bare(ns, "demo").NewPod(name, "dc1", rack)
	p.UID, p.Spec, p.Finalizers, p.CreationTimestamp = uid, w.podSpec(), []string{"test/kubelet"}, metav1.NewTime(t0.Add(-time.Hour))
	p.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "demo-" + rack, UID: types.UID("set-" + rack), Controller: new(true)}}
	p.Status.PodIP = "10.244.0." + fmt.Sprint(len(name)+int(name[5]))
	p.Status.ContainerStatuses = running(false)
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionFalse}}
	return p
}

func running(ready bool) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
}

func ready(p *corev1.Pod) {
	p.Status.ContainerStatuses = running(true)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
}

// rows writes the row of every peer: each other UP, the old node DOWN, and the given cells and operations.
func (w *world) rows(more []api.ObservedNodeStatusReport, operations ...api.NodeOperation) {
	old := true
	for _, o := range more {
		if o.HostID == hostOld {
			old = false
		}
	}
	for name, id := range peers {
		row := &api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "NORMAL", ScyllaVersion: strings.TrimPrefix(w.image, "docker.io/scylladb/scylla:"), Operations: operations}
		yes := true
		row.OwnsTokens = &yes
		for _, peer := range peers {
			row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(peer), Status: api.NodeStatusUp})
		}
		if old && w.phase != 3 && w.phase != 4 {
			row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostOld, Status: api.NodeStatusDown, Since: &longAgo})
		}
		for _, o := range more {
			if o.Status != "" {
				row.ObservedNodes = append(row.ObservedNodes, o)
			}
		}
		w.annotate(name, row)
	}
}

func (w *world) annotate(name string, row *api.NodeStatusReport) {
	text, err := api.EncodeNodeStatusReport(row)
	w.must(err)
	p := &corev1.Pod{}
	w.must(w.raw.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: name}, p))
	if p.Annotations[api.AnnotationNodeStatusReport] == text {
		return // a reporter writes changes only
	}
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, api.AnnotationNodeStatusReport, text)
	w.must(w.raw.Update(context.Background(), p))
}

func (w *world) updatePod(name string, f func(*corev1.Pod)) {
	p := &corev1.Pod{}
	w.must(w.raw.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: name}, p))
	f(p)
	w.must(w.raw.Status().Update(context.Background(), p))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get() (svc *corev1.Service, pod *corev1.Pod, pvc *corev1.PersistentVolumeClaim) {
	ctx := context.Background()
	svc, pod, pvc = &corev1.Service{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	w.must(w.raw.Get(ctx, key, svc))
	if err := w.raw.Get(ctx, key, pod); apierrors.IsNotFound(err) {
		pod = nil
	} else {
		w.must(err)
	}
	if err := w.raw.Get(ctx, client.ObjectKey{Namespace: ns, Name: "data-" + target}, pvc); apierrors.IsNotFound(err) {
		pvc = nil
	} else {
		w.must(err)
	}
	return svc, pod, pvc
}

// statefulSet creates missing objects, as the StatefulSet controller does; a terminating claim blocks it.
func (w *world) statefulSet() {
	_, pod, pvc := w.get()
	if pvc != nil && pvc.DeletionTimestamp != nil {
		return
	}
	if pvc == nil {
		w.pvcs++
		w.must(w.raw.Create(context.Background(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "data-" + target, Namespace: ns, UID: types.UID(fmt.Sprintf("pvc-%d", w.pvcs)), Finalizers: []string{"kubernetes.io/pvc-protection"}},
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}}},
		}))
	}
	if pod == nil {
		w.pods++
		w.must(w.raw.Create(context.Background(), w.pod(target, "d", types.UID(fmt.Sprintf("pod-%d", w.pods)))))
	}
}

// kubelet ends a terminating Pod, releases its claim, and starts ScyllaDB as the launcher decides.
func (w *world) kubelet() {
	svc, pod, pvc := w.get()
	if pod != nil && pod.DeletionTimestamp != nil {
		pod.Finalizers = nil
		w.must(w.raw.Update(context.Background(), pod))
		pod = nil
		w.phase = 0
	}
	if pod == nil {
		if pvc != nil && pvc.DeletionTimestamp != nil {
			pvc.Finalizers = nil
			w.must(w.raw.Update(context.Background(), pvc))
		}
		return
	}
	if pvc == nil || pvc.DeletionTimestamp != nil || w.volumes[pvc.UID] != "" {
		return
	}
	args, err := launch.Arguments(svc.Labels, svc.Annotations)
	if err != nil {
		return // it waits, or its container ends and is restarted
	}
	w.newcomers++
	w.volumes[pvc.UID] = newID(w.newcomers)
	w.starts = append(w.starts, start{pvc.UID, args})
	no := false
	w.annotate(target, &api.NodeStatusReport{HostID: hostid.ID(newID(w.newcomers)), OperationMode: "BOOTSTRAP", OwnsTokens: &no})
}

func newID(n int) string { return fmt.Sprintf("eeeeeeee-0000-4000-8000-%012d", n) }

// members records the node's statements, as the controller of member Services does.
func (w *world) members() {
	svc, pod, _ := w.get()
	if pod == nil {
		return
	}
	row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
	if err != nil {
		return
	}
	set := members.Record(svc.Annotations, row, w.clock.Now())
	if len(set) == 0 {
		return
	}
	for k, v := range set {
		svc.Annotations[k] = v
	}
	w.must(w.raw.Update(context.Background(), svc))
}

// scylla advances the join by one phase: 1 replacing, 2 normal, 3 the old one gone, 4 ready.
func (w *world) scylla() {
	_, pod, pvc := w.get()
	if pod == nil || pod.DeletionTimestamp != nil || pvc == nil || w.volumes[pvc.UID] == "" || w.volumes[pvc.UID] == hostOld || w.phase > 3 {
		return
	}
	id := w.volumes[pvc.UID]
	if w.failNext && w.phase == 1 {
		w.failNext, w.phase = false, 9
		w.rows(nil, api.NodeOperation{Type: "replace", State: "failed", HostID: hostid.ID(id), Error: "Canceled. Dead nodes: {x}"})
		return
	}
	w.phase++
	yes := true
	normal := &api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "NORMAL", OwnsTokens: &yes}
	switch w.phase {
	case 1:
		w.rows([]api.ObservedNodeStatusReport{
			{HostID: hostid.ID(id), Status: api.NodeStatusUp, State: api.NodeStateReplacing}, {HostID: hostOld, Status: api.NodeStatusDown, State: api.NodeStateBeingReplaced, Since: &longAgo},
		}, api.NodeOperation{Type: "replace", State: "running", HostID: hostid.ID(id)})
	case 2:
		w.rows([]api.ObservedNodeStatusReport{{HostID: hostid.ID(id), Status: api.NodeStatusUp}})
		w.annotate(target, normal)
	case 3:
		w.rows([]api.ObservedNodeStatusReport{{HostID: hostid.ID(id), Status: api.NodeStatusUp}})
	case 4:
		w.updatePod(target, ready)
	}
}

// tick lets every simulated part other than the controller do one step.
func (w *world) tick() {
	w.statefulSet()
	w.kubelet()
	w.members()
	w.scylla()
	w.clock.Step(2 * time.Second)
}

// errKilled ends a process in the middle of a request.
var errKilled = errors.New("killed")

// client returns the controller's client: every request can be refused or be its last. dead is set when the process was killed.
func (w *world) client(dead *atomic.Bool) client.WithWatch {
	do := func(verb, what string, f func() error) error {
		if dead.Load() {
			return errKilled
		}
		w.mu.Lock()
		n := len(w.calls)
		w.calls = append(w.calls, verb+" "+what)
		w.mu.Unlock()
		answer := func(err error) error {
			if errors.Is(err, errKilled) {
				dead.Store(true)
			}
			return err
		}
		if w.onCall != nil {
			if err := w.onCall(n, verb, what); err != nil {
				return answer(err)
			}
		}
		err := f()
		if w.onDone != nil {
			if lost := w.onDone(n, verb, what); lost != nil {
				return answer(lost)
			}
		}
		return err
	}
	kind := func(o any) string { return strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.") }
	return interceptor.NewClient(w.raw, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return do("get", kind(o), func() error { return c.Get(ctx, k, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return do("list", kind(l), func() error { return c.List(ctx, l, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return do("create", kind(o), func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errors.New("the controller must patch, not update")
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return do("patch", kind(o), func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return do("delete", kind(o), func() error {
				if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > deleteTimeout {
					return errors.New("a deletion is waited for without end")
				}
				if w.hold {
					o := o.DeepCopyObject().(client.Object)
					w.late = append(w.late, func() error { return w.delete(context.Background(), c, o, opts...) })
					return context.DeadlineExceeded
				}
				return w.delete(ctx, c, o, opts...)
			})
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o client.Object, body client.Object, opts ...client.SubResourceCreateOption) error {
			return do("create", sub, func() error { return w.evict(ctx, o, body) })
		},
	})
}

// delete checks the UID precondition, which the fake client does not know.
func (w *world) delete(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	pvc, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return fmt.Errorf("the controller deletes a %T", o)
	}
	var asked client.DeleteOptions
	asked.ApplyOptions(opts)
	if asked.Preconditions == nil || asked.Preconditions.UID == nil || asked.Preconditions.ResourceVersion == nil {
		return errors.New("a claim is deleted without preconditions")
	}
	now := &corev1.PersistentVolumeClaim{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(pvc), now); err != nil {
		return err
	}
	if now.UID != *asked.Preconditions.UID {
		return apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumeclaims"}, pvc.Name, errors.New("the UID in the precondition does not match"))
	}
	fresh := now.DeletionTimestamp == nil
	if err := c.Delete(ctx, o, opts...); err != nil {
		return err
	}
	if fresh {
		w.deleted = append(w.deleted, now.UID)
	}
	return nil
}

func (w *world) evict(ctx context.Context, o, body client.Object) error {
	e := body.(*policyv1.Eviction)
	if w.budget > 0 {
		w.budget--
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget demo needs 3 healthy pods and has 2 currently"})
		return err
	}
	p := &corev1.Pod{}
	if err := w.raw.Get(ctx, client.ObjectKeyFromObject(o), p); err != nil {
		return err
	}
	if e.DeleteOptions == nil || e.DeleteOptions.Preconditions == nil || *e.DeleteOptions.Preconditions.UID != p.UID ||
		e.DeleteOptions.Preconditions.ResourceVersion == nil || *e.DeleteOptions.Preconditions.ResourceVersion != p.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, p.Name, errors.New("the UID or resourceVersion in the precondition does not match"))
	}
	w.evicted = append(w.evicted, p.UID)
	return w.raw.Delete(ctx, p)
}

// process is one run of the controller.
type process struct {
	*reconciler
	dead *atomic.Bool
}

// controller starts a new process.
func (w *world) controller() process {
	dead := &atomic.Bool{}
	c := w.client(dead)
	log := slog.New(slog.NewTextHandler(cmp.Or[io.Writer](w.log, io.Discard), nil))
	w.processes++
	id := fmt.Sprintf("invented-by-%d", w.processes)
	return process{newReconciler(Options{Client: c, Live: c, Notice: notice.New(c, w.clock, log), Log: log, Clock: w.clock, NewID: func() string { return id },
		Stages: func(_, of string, stages map[string]int) { w.stages = append(w.stages, fmt.Sprint(of, " ", stages)) }}), dead}
}

// reconcile runs one reconciliation; alive is false when the process was killed in it.
func (w *world) reconcile(r process) (res reconcile.Result, err error, alive bool) {
	res, err = r.Reconcile(context.Background(), reconcile.Request{NamespacedName: key})
	return res, err, !r.dead.Load()
}

// ask sets the replace label as a person does.
func (w *world) ask() {
	svc, _, _ := w.get()
	svc.Labels[api.LabelReplace] = ""
	w.must(w.raw.Update(context.Background(), svc))
}

// run alternates controller and world until the replacement is over, and starts a new controller whenever one is killed.
func (w *world) run(turns int) {
	w.t.Helper()
	r := w.controller()
	for range turns {
		if _, _, alive := w.reconcile(r); !alive {
			r = w.controller()
		}
		w.tick()
		svc, _, _ := w.get()
		if rec := replace.ReadRecord(svc.Labels, svc.Annotations); rec.Last != nil && !rec.Open() && !rec.Requested {
			// A killed process may have left its last Event unwritten.
			for range 15 {
				if len(w.events(replace.EventFinished))+len(w.events(replace.EventCancelled)) > 0 {
					break
				}
				w.reconcile(r)
				w.clock.Step(20 * time.Second)
				if r.dead.Load() {
					r = w.controller()
				}
			}
			w.reconcile(w.controller()) // a later process repeats no Event
			return
		}
	}
}

func (w *world) events(reason string) (out []string) {
	var list eventsv1.EventList
	w.must(w.raw.List(context.Background(), &list))
	for _, e := range list.Items {
		if e.Reason == reason {
			out = append(out, e.Note)
		}
	}
	slices.Sort(out)
	return out
}

// replaced checks everything that a finished replacement guarantees.
func (w *world) replaced() {
	w.t.Helper()
	svc, pod, pvc := w.get()
	rec := replace.ReadRecord(svc.Labels, svc.Annotations)
	if rec.Requested || rec.Open() || rec.Last == nil || rec.Last.Outcome != replace.OutcomeReplaced || rec.Last.HostID != hostOld {
		w.t.Fatalf("the replacement is not over: labels %v annotations %v", svc.Labels, svc.Annotations)
	}
	if !slices.Equal(w.deleted, []types.UID{"pvc-1"}) {
		w.t.Errorf("claims deleted: %v", w.deleted)
	}
	if len(w.starts) != 1 || !slices.Equal(w.starts[0].args, []string{launch.FlagReplaceNode + "=" + hostOld}) {
		w.t.Errorf("ScyllaDB started on empty volumes: %v", w.starts)
	}
	if pod == nil || pvc == nil || pvc.UID != "pvc-2" || svc.Annotations[api.AnnotationHostID] != newID(1) {
		w.t.Errorf("pod %v claim %v host ID %s", pod, pvc, svc.Annotations[api.AnnotationHostID])
	}
	if got := w.events(replace.EventFinished); len(got) != 1 || !strings.Contains(got[0], hostOld+" was replaced by "+newID(1)+" in ") {
		w.t.Errorf("events of the end: %q", got)
	}
}
