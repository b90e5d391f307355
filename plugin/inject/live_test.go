// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// stage is the cluster shop of the e2e tests on a fake API server, with what Kubernetes, our controller and ScyllaDB do at once. A run of the plugin is one
// goroutine, so that nothing here is guarded.
type stage struct {
	c       client.WithWatch
	writes  []string // every write that was taken, in order
	diesAt  int      // the process dies after this many writes; 0: never
	down    map[string]bool
	flushed map[string]bool
	held    bool // a disruption budget forbids every eviction
	noPod   bool // an evicted Pod does not come back
	taken   bool // another writer updates every StatefulSet first
	evicted func()
	uid     int // of the Pod that was made last
	t       *testing.T
}

var errDied = errors.New("the process died")

func newStage(t *testing.T, change func(*appsv1.StatefulSet)) *stage {
	t.Helper()
	s := &stage{t: t, down: map[string]bool{}, flushed: map[string]bool{}}
	f, err := os.ReadFile("../../test/e2e/testdata/plain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.NewMicroTime(plugintest.Now)
	objects := []client.Object{&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: cli.DefaultControllerNamespace, Name: api.LeaseName},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("one"), RenewTime: &now, LeaseDurationSeconds: new(int32(15))}}}
	for dec := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(f), 4096); ; {
		set := &appsv1.StatefulSet{}
		if dec.Decode(set) != nil {
			break
		}
		if set.Kind != "StatefulSet" {
			continue
		}
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
		if change != nil {
			change(set)
		}
		set.Generation = 1
		set.Status = status(set)
		set.Status.CurrentRevision = set.Status.UpdateRevision
		objects = append(objects, set, s.pod(set, set.Name+"-0"))
	}
	if len(objects) != 7 {
		t.Fatalf("%d objects", len(objects))
	}
	s.c = plugintest.NewClient(objects, interceptor.Funcs{Update: s.update, Apply: s.apply, Patch: s.patch, Delete: s.delete, SubResourceCreate: s.evict})
	return s
}

func status(set *appsv1.StatefulSet) appsv1.StatefulSetStatus {
	h := fnv.New32a()
	fmt.Fprint(h, set.Spec.Template.String())
	return appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1,
		CurrentRevision: set.Status.CurrentRevision, UpdateRevision: fmt.Sprintf("%s-%x", set.Name, h.Sum32())}
}

func (s *stage) pod(set *appsv1.StatefulSet, name string) *corev1.Pod {
	s.uid++
	p := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name, p.UID = set.Namespace, name, types.UID(fmt.Sprint(s.uid))
	p.Labels[appsv1.ControllerRevisionHashLabelKey], p.Labels[appsv1.StatefulSetPodNameLabel] = set.Status.UpdateRevision, name
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: new(true)}}
	ready := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Start)}}}
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{ready(api.ContainerScyllaDB)}}
	for _, c := range p.Spec.InitContainers {
		st := ready(c.Name)
		if c.RestartPolicy == nil {
			st.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(plugintest.Start)}}
		}
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, st)
	}
	return p
}

// wrote counts a write that was taken, and ends the process there.
func (s *stage) wrote(what string) error {
	s.writes = append(s.writes, what)
	if s.diesAt > 0 && len(s.writes) == s.diesAt {
		return errDied
	}
	return nil
}

func (s *stage) update(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
	o := client.UpdateOptions{}
	o.ApplyOptions(opts)
	if len(o.DryRun) > 0 {
		return nil
	}
	if o.FieldManager != "kubectl-scylla" {
		s.t.Errorf("written by %q", o.FieldManager)
	}
	before := &appsv1.StatefulSet{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), before); err != nil {
		return err
	}
	if s.taken {
		obj.SetResourceVersion("1")
	}
	if err := c.Update(ctx, obj, opts...); err != nil {
		return err
	}
	// Kubernetes and the controller see it.
	set := &appsv1.StatefulSet{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), set); err != nil {
		return err
	}
	set.Generation++
	if err := c.Update(ctx, set); err != nil {
		return err
	}
	if set.Status = status(set); set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		set.Status.CurrentRevision = set.Status.UpdateRevision
	}
	if set.Status.UpdateRevision != before.Status.UpdateRevision {
		set.Status.UpdatedReplicas = 0
	}
	if err := c.Status().Update(ctx, set); err != nil {
		return err
	}
	if cluster.Managed(set) {
		name := set.Name + "-0"
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name, Labels: map[string]string{api.LabelCluster: set.Labels[api.LabelCluster],
			api.LabelDatacenter: set.Labels[api.LabelDatacenter], api.LabelRack: set.Labels[api.LabelRack], api.LabelManagedBy: api.ManagedByUs, api.LabelServiceType: api.ServiceTypeMember}},
			Spec: corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{appsv1.StatefulSetPodNameLabel: name}}}
		if err := c.Create(ctx, svc); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	what := "label"
	switch was, is := before.Spec.UpdateStrategy.Type, set.Spec.UpdateStrategy.Type; {
	case is == appsv1.OnDeleteStatefulSetStrategyType && set.Status.UpdateRevision != before.Status.UpdateRevision:
		what = "template"
	case was == appsv1.OnDeleteStatefulSetStrategyType && is != was:
		what = "release"
	case set.Status.UpdateRevision != before.Status.UpdateRevision:
		s.t.Errorf("%s has a new template with strategy %s: Kubernetes would roll it", set.Name, is)
	}
	return s.wrote(what + " " + set.Name)
}

func (s *stage) apply(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := c.Apply(ctx, obj, opts...); err != nil {
		return err
	}
	return s.wrote("apply")
}

func (s *stage) patch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.Patch(ctx, obj, patch, opts...); err != nil {
		return err
	}
	if _, pod := obj.(*corev1.Pod); pod {
		return s.wrote("label Pod " + obj.GetName())
	}
	return s.wrote("record " + obj.GetName())
}

func (s *stage) delete(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
	if err := c.Delete(ctx, obj, opts...); err != nil {
		return err
	}
	return s.wrote("delete " + obj.GetName())
}

func (s *stage) evict(ctx context.Context, c client.Client, sub string, obj, body client.Object, _ ...client.SubResourceCreateOption) error {
	e, ok := body.(*policyv1.Eviction)
	if sub != "eviction" || !ok || e.DeleteOptions == nil || e.DeleteOptions.Preconditions == nil || e.DeleteOptions.Preconditions.UID == nil {
		s.t.Fatalf("%s of %T %+v", sub, body, body)
	}
	if s.held {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	pod := &corev1.Pod{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), pod); err != nil {
		return err
	}
	if pod.UID != *e.DeleteOptions.Preconditions.UID {
		return apierrors.NewConflict(corev1.Resource("pods"), pod.Name, errors.New("another UID"))
	}
	s.mayStop(ctx, c, pod)
	if err := c.Delete(ctx, pod); err != nil {
		return err
	}
	if !s.noPod {
		set := &appsv1.StatefulSet{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: strings.TrimSuffix(pod.Name, "-0")}, set); err != nil {
			return err
		}
		if err := c.Create(ctx, s.pod(set, pod.Name)); err != nil {
			return err
		}
		set.Status.UpdatedReplicas = 1
		if err := c.Status().Update(ctx, set); err != nil {
			return err
		}
	}
	if s.evicted != nil {
		s.evicted()
	}
	return s.wrote("evict " + pod.Name)
}

// mayStop is what has to be true of a Pod whenever it is stopped.
func (s *stage) mayStop(ctx context.Context, c client.Client, pod *corev1.Pod) {
	var pods corev1.PodList
	err := c.List(ctx, &pods)
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == "backup" }) // of other software
	if err != nil || len(pods.Items) != 3 {
		s.t.Errorf("%s is stopped while %d of 3 Pods are there: %v", pod.Name, len(pods.Items), err)
	}
	guarded := len(pod.Spec.InitContainers) > 0
	if len(s.down) > 0 {
		s.t.Errorf("%s is stopped while %v is DOWN", pod.Name, s.down)
	}
	if !guarded && len(s.flushed) != 3 {
		s.t.Errorf("%s is stopped, and only %v were flushed", pod.Name, s.flushed)
	}
	for _, p := range pods.Items {
		svc := &corev1.Service{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(&p), svc); err != nil || svc.Annotations[api.AnnotationHostID] != string(idOf(p.Name)) || svc.Annotations[api.AnnotationNodeJoined] != "true" {
			s.t.Errorf("%s is stopped, and the host ID of %s is not recorded: %v %v", pod.Name, p.Name, svc.Annotations, err)
		}
	}
}

func idOf(pod string) hostid.ID {
	return hostid.ID(plugintest.HostID(strings.Index("abc", strings.TrimSuffix(strings.TrimPrefix(pod, "db-"), "-0"))))
}

// live is what the nodes say.
func (s *stage) live(_ context.Context, c *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
	rows := map[string]*api.NodeStatusReport{}
	for i := range c.Pods {
		p := c.Pods[i].Name
		if s.down[p] {
			rows[p] = &api.NodeStatusReport{Error: new("connection refused"), Fault: api.FaultPodUnreachable}
			continue
		}
		row := &api.NodeStatusReport{HostID: idOf(p), OperationMode: "NORMAL", OwnsTokens: new(true), ScyllaVersion: "2026.2.0", Operations: []api.NodeOperation{}}
		for _, other := range []string{"db-a-0", "db-b-0", "db-c-0"} {
			o := api.ObservedNodeStatusReport{HostID: idOf(other), Status: api.NodeStatusUp, State: "NORMAL"}
			if s.down[other] {
				o.Status = api.NodeStatusDown
			}
			row.ObservedNodes = append(row.ObservedNodes, o)
		}
		rows[p] = row
	}
	return c.WithLive(rows, map[string]cluster.LiveFacts{}, nil), nil
}

func (s *stage) run(args ...string) plugintest.Result {
	s.t.Helper()
	return s.runUntil(s.t.Context(), append([]string{"--timeout=0"}, args...)...)
}

func (s *stage) runUntil(ctx context.Context, args ...string) plugintest.Result {
	s.t.Helper()
	return plugintest.Run{Args: append([]string{"inject", "shop", "-n", "inject"}, args...), Client: s.c, Live: s.live, Setup: func(d *cli.Deps) {
		d.FlushLocal = func(_ context.Context, p corev1.Pod) error { s.flushed[p.Name] = true; return nil }
		d.Replication = func(context.Context, []corev1.Pod) ([]maintenance.Keyspace, error) {
			return []maintenance.Keyspace{{Name: "app", Replicas: [][]hostid.ID{{idOf("db-a-0"), idOf("db-b-0"), idOf("db-c-0")}}}}, nil
		}
	}}.DoContext(ctx, s.t)
}

// TestLiveInterrupted: Ctrl-C while a node restarts ends it at once, and says how to go on.
func TestLiveInterrupted(t *testing.T) {
	s := newStage(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.noPod, s.evicted = true, cancel
	r := s.runUntil(ctx, agent, "--yes", "--policy=reports", "--skip-check=data")
	if r.Code != 130 || s.writes[len(s.writes)-1] != "evict db-a-0" || !strings.Contains(r.Stderr, "to continue: kubectl scylla inject shop --skip-check=data --image example.com/scylla-agent:1 --policy reports -n inject") {
		t.Errorf("exit %d, wrote %v\n%s", r.Code, s.writes, r.Stderr)
	}
}

// state is what each StatefulSet is, and whether its Pod is guarded; none may be held.
func (s *stage) state() (sets []appsv1.StatefulSetSpec, pods []bool) {
	s.t.Helper()
	for _, name := range []string{"db-a", "db-b", "db-c"} {
		set, pod := &appsv1.StatefulSet{}, &corev1.Pod{}
		if err := errors.Join(s.c.Get(s.t.Context(), client.ObjectKey{Namespace: "inject", Name: name}, set), s.c.Get(s.t.Context(), client.ObjectKey{Namespace: "inject", Name: name + "-0"}, pod)); err != nil {
			s.t.Fatal(err)
		}
		if _, held := set.Annotations[api.AnnotationRolling]; held {
			s.t.Errorf("%s is still held", name)
		}
		sets = append(sets, set.Spec)
		pods = append(pods, len(pod.Spec.InitContainers) > 0)
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision {
			s.t.Errorf("%s is of an older template", pod.Name)
		}
	}
	return sets, pods
}

const agent = "--image=example.com/scylla-agent:1"

func TestLive(t *testing.T) {
	s := newStage(t, nil)
	before, _ := s.state()
	dry := s.run(agent, "--dry-run=client")
	if dry.Code != 0 || len(s.writes) > 0 || !strings.Contains(dry.Stdout, "+        - launch") || !strings.Contains(dry.Stderr, "rolebinding inject/kubectl-scylla-member-scylla-member will be added") {
		t.Errorf("dry run: exit %d, wrote %v\n%s%s", dry.Code, s.writes, dry.Stdout, dry.Stderr)
	}
	if r := s.run(agent); r.Code != 2 || len(s.writes) > 0 || !strings.Contains(r.Stderr, "add --yes if you are sure") {
		t.Errorf("without anybody to ask: exit %d, wrote %v\n%s", r.Code, s.writes, r.Stderr)
	}
	r := s.run(agent, "--yes")
	if r.Code != 0 || !strings.Contains(r.Stderr, "inject/shop is protected") {
		t.Fatalf("exit %d\n%s", r.Code, r.Stderr)
	}
	want := []string{"apply", "apply", "label Pod db-a-0", "label db-a", "label Pod db-b-0", "label db-b", "label Pod db-c-0", "label db-c", "record db-a-0", "record db-b-0", "record db-c-0",
		"template db-a", "evict db-a-0", "release db-a", "template db-b", "evict db-b-0", "release db-b", "template db-c", "evict db-c-0", "release db-c"}
	if diff := cmp.Diff(want, s.writes); diff != "" {
		t.Error(diff)
	}
	if _, guarded := s.state(); slices.Contains(guarded, false) {
		t.Errorf("guarded: %v", guarded)
	}
	s.writes = nil
	if r := s.run(agent, "--yes"); r.Code != 0 || len(s.writes) > 0 || r.Stdout != "" {
		t.Errorf("again: exit %d, wrote %v\n%s%s", r.Code, s.writes, r.Stdout, r.Stderr)
	}
	if r := s.run("--undo", "--yes"); r.Code != 0 || !strings.Contains(r.Stderr, "inject/shop has no barrier") {
		t.Fatalf("undo: exit %d\n%s", r.Code, r.Stderr)
	}
	want = []string{"template db-a", "evict db-a-0", "release db-a", "template db-b", "evict db-b-0", "release db-b", "template db-c", "evict db-c-0", "release db-c",
		"delete db-a-0", "delete db-b-0", "delete db-c-0", "delete kubectl-scylla-member-scylla-member", "delete scylla-member"}
	if diff := cmp.Diff(want, s.writes); diff != "" {
		t.Error(diff)
	}
	after, guarded := s.state()
	if diff := cmp.Diff(before, after); diff != "" || slices.Contains(guarded, true) {
		t.Errorf("it is not what it was: %v %s", guarded, diff)
	}
}

// TestLiveDiesAfterEveryWrite: the process ends right after each of its writes in turn; the same command goes on from there, and so does its undo.
func TestLiveDiesAfterEveryWrite(t *testing.T) {
	t.Parallel()
	for _, undo := range []bool{false, true} {
		for n := 1; ; n++ {
			s := newStage(t, nil)
			before, _ := s.state()
			s.diesAt = n
			r := s.run(agent, "--yes")
			if r.Code == 0 {
				if n < 20 {
					t.Errorf("only %d writes", n-1)
				}
				break
			}
			name := fmt.Sprintf("died after %d: %s, undo %v", n, s.writes[len(s.writes)-1], undo)
			if !strings.Contains(r.Stderr, "to continue: kubectl scylla inject shop --image example.com/scylla-agent:1 -n inject") || !strings.Contains(r.Stderr, "--undo -n inject") {
				t.Errorf("%s: it does not say how to go on:\n%s", name, r.Stderr)
			}
			s.diesAt = 0
			args := []string{agent, "--yes"}
			if undo {
				args = []string{"--undo", "--yes"}
			}
			if r := s.run(args...); r.Code != 0 {
				t.Fatalf("%s: exit %d\n%s", name, r.Code, r.Stderr)
			}
			after, guarded := s.state()
			if slices.Contains(guarded, undo) {
				t.Errorf("%s: guarded %v", name, guarded)
			}
			if diff := cmp.Diff(before, after); undo && diff != "" {
				t.Errorf("%s: it is not what it was: %s", name, diff)
			}
		}
	}
}

// TestLiveUndoDiesAfterEveryWrite is the same of an undo.
func TestLiveUndoDiesAfterEveryWrite(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		s := newStage(t, nil)
		before, _ := s.state()
		if r := s.run(agent, "--yes"); r.Code != 0 {
			t.Fatal(r.Stderr)
		}
		s.writes, s.diesAt = nil, n
		if r := s.run("--undo", "--yes"); r.Code == 0 {
			if n < 14 {
				t.Errorf("only %d writes", n-1)
			}
			break
		}
		name := fmt.Sprintf("died after %d: %s", n, s.writes[len(s.writes)-1])
		s.diesAt = 0
		if r := s.run("--undo", "--yes"); r.Code != 0 {
			t.Fatalf("%s: exit %d\n%s", name, r.Code, r.Stderr)
		}
		after, guarded := s.state()
		if diff := cmp.Diff(before, after); diff != "" || slices.Contains(guarded, true) {
			t.Errorf("%s: it is not what it was: %v %s", name, guarded, diff)
		}
	}
}

func TestLiveRefuses(t *testing.T) {
	own := func(s *appsv1.StatefulSet) {
		s.Labels = map[string]string{api.LabelManagedBy: api.ManagedByOperator, api.LabelCluster: "shop"}
	}
	script := func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Command = []string{"/bin/sh", "-c", "exec scylla"}
	}
	old := func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "scylladb/scylla:2025.1.4" }
	for name, tc := range map[string]struct {
		change func(*appsv1.StatefulSet)
		stage  func(*stage)
		args   []string
		code   int
		says   string
		writes string // the last one that was taken
	}{
		"the operator's": {change: own, args: []string{agent}, code: 2, says: "the Scylla Operator manages it"},
		"the operator's object of the name": {stage: func(s *stage) { s.beside(api.ScyllaClusterGVK, "shop") }, args: []string{agent}, code: 2,
			says: "ScyllaCluster inject/shop of the Scylla Operator has the name of this cluster"},
		"the operator's object of another": {stage: func(s *stage) { s.beside(api.ScyllaDBDatacenterGVK, "other"); s.held = true }, args: []string{agent}, code: 4, says: "forbids evicting", writes: "template db-a"},
		"a shell script":                   {change: script, args: []string{agent}, code: 2, says: "is a shell script"},
		"no such cluster":                  {args: []string{agent, "-n", "demo"}, code: 2, says: `no cluster "shop" in namespace demo`},
		"no image":                         {code: 2, says: "specify the image"},
		"a file besides":                   {args: []string{agent, "-f", plain}, code: 2, says: "-f, -k and -R cannot be used with"},
		"a manifest":                       {args: []string{agent, "-o", "yaml"}, code: 2, says: "-o yaml requires -f"},
		"another name":                     {args: []string{agent, "--cluster-label=other"}, code: 2, says: "shop keeps its name"},
		"an unknown check":                 {args: []string{agent, "--skip-check=all"}, code: 2, says: `unknown --skip-check="all"`},
		"a floating tag":                   {args: []string{"--image=agent"}, code: 2, says: "or add --allow-floating-tag"},
		"one accepted, stopped":            {stage: func(s *stage) { s.held = true }, args: []string{"--image=agent", "--allow-floating-tag"}, code: 4, says: "--image agent --allow-floating-tag -n inject", writes: "template db-a"},
		"and no controller":                {stage: func(s *stage) { s.lease(false) }, args: []string{"--image=agent", "--allow-floating-tag"}, code: 2, says: "install --image agent --allow-floating-tag"},
		"no controller":                    {stage: func(s *stage) { s.lease(false) }, args: []string{agent}, code: 2, says: "no controller leads"},
		"a namespace that is not managed":  {stage: func(s *stage) { s.manages("shop,demo") }, args: []string{agent}, code: 2, says: "install --image example.com/scylla-agent:1 --namespaces=shop,demo,inject"},
		"a managed namespace":              {stage: func(s *stage) { s.manages("inject"); s.held = true }, args: []string{agent}, code: 4, says: "forbids evicting", writes: "template db-a"},
		"managed, and no controller":       {stage: func(s *stage) { s.manages("inject"); s.lease(false) }, args: []string{agent}, code: 2, says: "--namespaces=inject"},
		"a node is DOWN":                   {stage: func(s *stage) { s.down["db-b-0"] = true }, args: []string{agent}, code: 2, says: "cannot be restarted now"},
		"an old ScyllaDB":                  {change: old, args: []string{agent}, code: 2, says: "ScyllaDB 2025.1.4 is older than 2025.2.0"},
		"an old one accepted":              {change: old, stage: func(s *stage) { s.held = true }, args: []string{agent, "--allow-version"}, code: 4, says: "--allow-version -n inject", writes: "template db-a"},
		"a budget":                         {stage: func(s *stage) { s.held = true }, args: []string{agent}, code: 4, says: "a PodDisruptionBudget currently forbids evicting db-a-0", writes: "template db-a"},
		"it does not come back":            {stage: func(s *stage) { s.noPod = true }, args: []string{agent}, code: 4, says: "Pod db-a-0 does not exist", writes: "evict db-a-0"},
		"somebody else writes":             {stage: func(s *stage) { s.taken = true }, args: []string{agent}, code: 4, says: "another client changed it meanwhile", writes: "label Pod db-a-0"},
		"server dry run":                   {args: []string{agent, "--dry-run=server"}, code: 0, says: "statefulset inject/db-c configured (server dry run)", writes: "apply"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tc.change)
			if tc.stage != nil {
				tc.stage(s)
			}
			r := s.run(append([]string{"--yes"}, tc.args...)...)
			last := ""
			if len(s.writes) > 0 {
				last = s.writes[len(s.writes)-1]
			}
			if r.Code != tc.code || !strings.Contains(r.Stderr, tc.says) || last != tc.writes {
				t.Errorf("exit %d, want %d and %q; wrote %v\n%s", r.Code, tc.code, tc.says, s.writes, r.Stderr)
			}
		})
	}
}

// TestLiveUndoKeepsAnAccountInUse: a ServiceAccount that was added stays while any Pod or StatefulSet of the namespace uses it; its permissions go.
func TestLiveUndoKeepsAnAccountInUse(t *testing.T) {
	for name, user := range map[string]client.Object{
		"a Pod": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "inject", Name: "backup"}, Spec: corev1.PodSpec{ServiceAccountName: "scylla-member"}},
		"a StatefulSet without Pods": &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "inject", Name: "backup"},
			Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{ServiceAccountName: "scylla-member"}}}},
	} {
		s := newStage(t, nil)
		if r := s.run(agent, "--yes"); r.Code != 0 {
			t.Fatal(r.Stderr)
		}
		if err := s.c.Create(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		s.writes = nil
		if r := s.run("--undo", "--yes"); r.Code != 0 || slices.Contains(s.writes, "delete scylla-member") || !slices.Contains(s.writes, "delete kubectl-scylla-member-scylla-member") {
			t.Errorf("%s uses it: exit %d, wrote %v\n%s", name, r.Code, s.writes, r.Stderr)
		}
	}
}

// TestLiveUndoLeavesWhatItDidNotMake: a cluster that was given to the controller by hand keeps its Services.
func TestLiveUndoLeavesWhatItDidNotMake(t *testing.T) {
	s := newStage(t, func(set *appsv1.StatefulSet) {
		set.Labels = map[string]string{api.LabelCluster: "shop", api.LabelManagedBy: api.ManagedByUs}
	})
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "inject", Name: "db-a-0", Labels: map[string]string{api.LabelCluster: "shop", api.LabelManagedBy: api.ManagedByUs,
		api.LabelServiceType: api.ServiceTypeMember}}}
	if err := s.c.Create(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	if r := s.run("--undo", "--yes"); r.Code != 0 || len(s.writes) > 0 || !strings.Contains(r.Stderr, "unchanged") {
		t.Errorf("exit %d, wrote %v\n%s", r.Code, s.writes, r.Stderr)
	}
}

// lease removes that of the controller.
func (s *stage) beside(gvk schema.GroupVersionKind, name string) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace("inject")
	o.SetName(name)
	if err := s.c.Create(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// manages creates the Deployment of a controller with --namespaces.
func (s *stage) manages(namespaces string) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: cli.DefaultControllerNamespace, Name: api.LeaseName}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "controller", Args: []string{"controller", "--namespaces=" + namespaces}}}
	if err := s.c.Create(s.t.Context(), d); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) lease(there bool) {
	if !there {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: cli.DefaultControllerNamespace, Name: api.LeaseName}}
		if err := s.c.Delete(s.t.Context(), l); err != nil {
			s.t.Fatal(err)
		}
		s.writes = nil
	}
}
