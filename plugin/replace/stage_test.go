// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const (
	target = "demo-dc1-rack2-0"
)

var oldID = plugintest.HostID(1)

// newID is the host ID of the n-th newcomer from 1.
func newID(n int) string { return fmt.Sprintf("0ddba115-5ea1-4d00-8000-0000000000f%d", n) }

// prepared is a cluster of four racks with everything that a replacement looks at: launcher, claims, owners.
func prepared() *plugintest.Cluster {
	c := plugintest.New(4, 1)
	for _, n := range c.Nodes {
		set := c.Set(n.Datacenter, n.Rack)
		set.Spec.Template.Spec.Containers[0].Command = []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}
		c.Pod(n.Name).OwnerReferences = owner(set)
		c.Pod(n.Name).Status.PodIP = "10.244.0." + fmt.Sprint(10+len(n.Rack)+int(n.Rack[4]))
		c.Add(claim(c.Namespace, n.Name, "1"))
	}
	return c
}

func owner(set *appsv1.StatefulSet) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: new(true)}}
}

func claim(ns, member, n string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + member, UID: types.UID("claim-" + member + "-" + n), Labels: map[string]string{api.LabelCluster: "demo"}},
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")},
		}},
	}
}

// downSince is longer ago than a restart takes.
var downSince = metav1.NewTime(plugintest.Now.Add(-10 * time.Minute))

// dead is prepared with the target dead for a while.
func dead() *plugintest.Cluster { return longDown(prepared().Down(target)) }

func longDown(c *plugintest.Cluster) *plugintest.Cluster {
	for _, n := range c.Nodes {
		if n.Name != target {
			c.Sees(n.Name, target, api.NodeStatusDown, downSince.Time)
		}
	}
	return c
}

func run(t *testing.T, c *plugintest.Cluster, args ...string) plugintest.Run {
	t.Helper()
	return plugintest.Run{Args: append([]string{"replace", "-n", "demo"}, args...), Objects: c.Objects()}
}

// stage is an API server behind which a controller and a cluster work: one step each time that the command looks.
type stage struct {
	t     *testing.T
	raw   client.WithWatch
	clock *clocktesting.FakeClock

	mu      sync.Mutex
	listed  map[string]bool
	looks   int
	phase   int
	fail    bool // the join fails
	freeze  bool // the join goes no further than starting
	waits   bool // the first new Pod waits at its barrier
	late    bool // it succeeds after all, right after another attempt was asked for
	byOp    bool // the Scylla Operator is the controller
	pods    int  // newcomers
	budget  int  // evictions to refuse
	stuck   bool // there is no controller
	slow    bool // the controller acts only once the request is withdrawn
	set     *appsv1.StatefulSet
	logText string
}

func newStage(t *testing.T, c *plugintest.Cluster) (*stage, plugintest.Run) {
	t.Helper()
	s := &stage{t: t, clock: clocktesting.NewFakeClock(plugintest.Now), set: c.Set("dc1", "rack2")}
	s.raw = plugintest.NewClient(c.Objects(), interceptor.Funcs{})
	hooked := interceptor.NewClient(s.raw, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			// One reading lists each kind once, in parallel: a kind that comes again begins another.
			switch l.(type) {
			case *corev1.ServiceList, *corev1.PodList, *appsv1.StatefulSetList, *corev1.PersistentVolumeClaimList:
				kind := fmt.Sprintf("%T", l)
				if s.listed == nil || s.listed[kind] {
					s.listed = map[string]bool{}
					s.look()
				}
				s.listed[kind] = true
			}
			return c.List(ctx, l, opts...)
		},
	})
	logs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") || s.logText == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, s.logText)
	}))
	t.Cleanup(logs.Close)
	return s, plugintest.Run{
		Client: hooked, Clock: s.clock,
		Setup: func(d *cli.Deps) {
			d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: logs.URL}, nil }
		},
	}
}

// look is one turn of controller and cluster, once the label is there.
func (s *stage) look() {
	ctx := context.Background()
	svc := &corev1.Service{}
	s.must(s.raw.Get(ctx, client.ObjectKey{Namespace: "demo", Name: target}, svc))
	rec := replace.ReadRecord(svc.Labels, svc.Annotations)
	if !rec.Requested && !rec.Open() && rec.Request == "" || s.slow && rec.Requested {
		return
	}
	s.looks++
	s.clock.Step(3 * time.Second)
	if s.stuck {
		return
	}
	if s.late && rec.Resume != "" && rec.Resume != rec.Accepted {
		s.late, s.phase = false, 2
		s.cluster(ctx)
	}
	if s.byOp {
		s.operator(ctx)
	} else {
		s.control(ctx)
	}
	s.cluster(ctx)
}

// operator is the Scylla Operator: claim, Pod, then label; labels go when the host ID has changed and the Pod is Ready.
func (s *stage) operator(ctx context.Context) {
	svc, pod := s.service(), &corev1.Pod{}
	noPod := apierrors.IsNotFound(s.raw.Get(ctx, client.ObjectKeyFromObject(svc), pod))
	original, recorded := svc.Labels[api.LabelReplacingNodeHostID]
	ready := !noPod && pod.Status.Conditions[1].Status == corev1.ConditionTrue
	reason := ""
	switch {
	case !recorded && s.looks == 1:
		s.must(s.raw.Delete(ctx, claim("demo", target, "1")))
		reason = "WaitingForStatefulSetToObservePVCDeletion"
	case !recorded:
		s.must(s.raw.Delete(ctx, pod))
		svc.Labels[api.LabelReplacingNodeHostID] = svc.Annotations[api.AnnotationHostID]
		s.must(s.raw.Update(ctx, svc))
		reason = "WaitingForPodRecreation"
	case svc.Annotations[api.AnnotationHostID] == original:
		reason = "WaitingForUpdatedHostIDAnnotation"
	case !ready:
		reason = "WaitingForPodReadiness"
	default:
		delete(svc.Labels, api.LabelReplace)
		delete(svc.Labels, api.LabelReplacingNodeHostID)
		s.must(s.raw.Update(ctx, svc))
	}
	sdc := &unstructured.Unstructured{}
	sdc.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
	s.must(s.raw.Get(ctx, client.ObjectKey{Namespace: "demo", Name: "demo"}, sdc))
	status := string(metav1.ConditionTrue)
	if reason == "" {
		status = string(metav1.ConditionFalse)
	}
	s.must(unstructured.SetNestedSlice(sdc.Object, []any{
		map[string]any{"type": "ServiceControllerProgressing", "status": status, "reason": reason, "message": ""},
		map[string]any{"type": "StatefulSetControllerProgressing", "status": "False", "reason": "AsExpected", "message": ""},
	}, "status", "conditions"))
	s.must(s.raw.Update(ctx, sdc))
}

func (s *stage) must(err error) {
	if err != nil {
		s.t.Errorf("stage: %v", err)
	}
}

// control is the controller, without its errors and races: those are tested with it.
func (s *stage) control(ctx context.Context) {
	objects, err := kube.Load(ctx, s.raw, cluster.Key{Namespace: "demo", Name: "demo"}, kube.LoadOptions{StatefulSets: true, PVCs: true})
	s.must(err)
	r := replace.Read(cluster.New(objects, cluster.SourceAuto, s.clock.Now()))
	in := r.Input(target, s.clock.Now(), "controller-request")
	step := replace.Next(*in)
	svc := r.Cluster.Service(target)
	switch step.Action {
	case replace.ActionDeletePVC:
		s.must(s.raw.Delete(ctx, step.Claim))
	case replace.ActionKeepPVC:
		s.must(kube.PatchMetadata(ctx, s.raw, step.Claim, func(p *corev1.PersistentVolumeClaim) {
			p.Annotations = map[string]string{api.AnnotationReplaceKept: step.Request}
		}))
	case replace.ActionEvictPod:
		if s.budget > 0 {
			s.budget--
			said := "Cannot evict pod as it would violate the pod's disruption budget. (The disruption budget demo needs 3 healthy pods and has 2 currently)"
			_, patch := step.Refuse(said, true, s.clock.Now(), 0)
			s.must(kube.PatchMetadata(ctx, s.raw, svc, func(o *corev1.Service) { patch.Apply(&o.Labels, &o.Annotations) }))
			s.must(kube.Emit(ctx, s.raw, svc, kube.Event{Type: corev1.EventTypeWarning, Reason: replace.EventEvictionRefused,
				Note: "Pod " + target + " cannot be evicted yet: " + said, Now: s.clock.Now()}))
			return
		}
		s.must(s.raw.Delete(ctx, r.Cluster.Pod(target)))
	default:
		if step.Patch != nil {
			s.must(kube.PatchMetadata(ctx, s.raw, svc, func(o *corev1.Service) { step.Patch.Apply(&o.Labels, &o.Annotations) }))
		}
	}
}

// cluster is the StatefulSet controller, the kubelet and ScyllaDB.
func (s *stage) cluster(ctx context.Context) {
	pod, pvc := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	noPod := apierrors.IsNotFound(s.raw.Get(ctx, client.ObjectKey{Namespace: "demo", Name: target}, pod))
	noPVC := apierrors.IsNotFound(s.raw.Get(ctx, client.ObjectKey{Namespace: "demo", Name: "data-" + target}, pvc))
	if noPod && noPVC {
		s.pods++
		s.phase = 0
		s.must(s.raw.Create(ctx, claim("demo", target, fmt.Sprint(s.pods+1))))
		fresh := prepared().Pod(target)
		fresh.UID, fresh.Annotations, fresh.ManagedFields = types.UID(fmt.Sprintf("new-pod-%d", s.pods)), nil, nil
		fresh.Status.Phase = corev1.PodPending
		fresh.Status.Conditions[1].Status, fresh.Status.Conditions[2].Status = corev1.ConditionFalse, corev1.ConditionFalse
		fresh.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		fresh.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
		s.must(s.raw.Create(ctx, fresh))
		return
	}
	if noPod || !strings.HasPrefix(string(pod.UID), "new-pod") || s.freeze && s.phase == 1 || s.waits && s.pods == 1 {
		return
	}
	s.phase++
	switch s.phase {
	case 1:
		started := prepared().Pod(target)
		pod.Status.Phase, pod.Status.InitContainerStatuses = corev1.PodRunning, started.Status.InitContainerStatuses
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		s.must(s.raw.Status().Update(ctx, pod))
		s.self(ctx, pod, "STARTING", false)
	case 2:
		s.self(ctx, pod, "BOOTSTRAP", false)
		s.peers(ctx, api.NodeStateReplacing, true, "running")
	case 3:
		if s.fail {
			s.peers(ctx, "", true, "failed")
			s.phase = 100
			return
		}
		s.self(ctx, pod, "NORMAL", true)
		s.peers(ctx, api.NodeStateNormal, true, "")
		svc := &corev1.Service{}
		s.must(s.raw.Get(ctx, client.ObjectKeyFromObject(pod), svc))
		svc.Annotations[api.AnnotationHostID] = newID(s.pods)
		s.must(s.raw.Update(ctx, svc))
	case 4:
		pod.Status = prepared().Pod(target).Status
		s.must(s.raw.Status().Update(ctx, pod))
	case 5:
		s.peers(ctx, api.NodeStateNormal, false, "")
	}
}

func (s *stage) self(ctx context.Context, pod *corev1.Pod, mode string, tokens bool) {
	text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{HostID: hostid.ID(newID(s.pods)), OperationMode: mode, OwnsTokens: &tokens})
	s.must(err)
	pod.Annotations = map[string]string{api.AnnotationNodeStatusReport: text}
	s.must(s.raw.Update(ctx, pod))
}

// peers writes the other nodes' rows.
func (s *stage) peers(ctx context.Context, state api.NodeState, old bool, operation string) {
	c := prepared()
	for _, n := range c.Nodes {
		if n.Name == target {
			continue
		}
		row := &api.NodeStatusReport{HostID: hostid.ID(n.HostID), OperationMode: "NORMAL", OwnsTokens: new(true), ScyllaVersion: n.Version}
		for _, o := range c.Nodes {
			if o.Name != target {
				row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(o.HostID), Status: api.NodeStatusUp})
			}
		}
		if old {
			row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(oldID), Status: api.NodeStatusDown, Since: &downSince})
		}
		if state != "" {
			row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(newID(s.pods)), Status: api.NodeStatusUp, State: state})
		}
		if operation != "" {
			op := api.NodeOperation{Type: "replace", State: operation, HostID: hostid.ID(newID(s.pods))}
			if operation == "failed" {
				op.Error = "Canceled. Dead nodes: {" + plugintest.HostID(3) + "}"
			}
			row.Operations = append(row.Operations, op)
		}
		text, err := api.EncodeNodeStatusReport(row)
		s.must(err)
		pod := &corev1.Pod{}
		s.must(s.raw.Get(ctx, client.ObjectKey{Namespace: "demo", Name: n.Name}, pod))
		pod.Annotations[api.AnnotationNodeStatusReport] = text
		s.must(s.raw.Update(ctx, pod))
	}
}

func (s *stage) service() *corev1.Service {
	svc := &corev1.Service{}
	s.must(s.raw.Get(context.Background(), client.ObjectKey{Namespace: "demo", Name: target}, svc))
	return svc
}

func (s *stage) events(reason string) (notes []string) {
	var list eventsv1.EventList
	s.must(s.raw.List(context.Background(), &list))
	for _, e := range list.Items {
		if e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return notes
}
