// SPDX-License-Identifier: Apache-2.0

package support_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
)

func event(name, kind, about string, ago time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "ns", Name: name},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "ns", Name: about}, LastTimestamp: metav1.NewTime(now.Add(-ago)), Reason: name,
	}
}

func names(events []corev1.Event) []string {
	var out []string
	for i := range events {
		out = append(out, events[i].Name)
	}
	return out
}

func TestGatherEvents(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(
		event("pod", "Pod", "demo-0", 3*time.Minute), event("service", "Service", "demo-0", 2*time.Minute), event("cluster", "ScyllaCluster", "demo", time.Minute),
		event("other", "Pod", "web-0", 0), event("same name, other kind", "ConfigMap", "demo-0", 0),
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "x"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "demo-0"}},
	).Build()
	got, err := support.Gather(t.Context(), c, sample().Snapshot, "", support.Server{}, support.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"pod", "service", "cluster"}, names(got.Events)); diff != "" {
		t.Errorf("events, the newest last (-want +got):\n%s", diff)
	}
	got, err = support.Gather(t.Context(), c, sample().Snapshot, "", support.Server{}, support.Limits{Events: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cluster"}, names(got.Events)); diff != "" {
		t.Errorf("the newest one (-want +got):\n%s", diff)
	}
	if l := got.LeftOut[0]; l.What != "events" || l.Why != support.TooBig || !strings.Contains(l.Detail, "oldest 2") {
		t.Errorf("%+v", got.LeftOut)
	}
}

func TestGatherReadsEventsInPages(t *testing.T) {
	t.Parallel()
	pages := 0
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		o := client.ListOptions{}
		o.ApplyOptions(opts)
		if want := []string{"", "page 1", "page 2"}[pages]; o.Continue != want || o.Limit == 0 {
			t.Errorf("page %d is asked for as %q, limit %d", pages, o.Continue, o.Limit)
		}
		pages++
		events := list.(*corev1.EventList)
		events.Items, events.Continue = []corev1.Event{*event(fmt.Sprint(pages), "Pod", "demo-0", 0)}, fmt.Sprintf("page %d", pages)
		return nil
	}}).Build()
	got, err := support.Gather(t.Context(), c, sample().Snapshot, "", support.Server{}, support.Limits{EventPages: 3})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, names(got.Events)); diff != "" {
		t.Error(diff)
	}
	if l := got.LeftOut[0]; l.Why != support.TooBig || !strings.Contains(l.Detail, "first 1500") {
		t.Errorf("%+v", got.LeftOut)
	}
}

func TestGatherSaysWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return refused
	}}).Build()
	server := support.Server{Version: func(context.Context) (string, error) { return "", errors.New("dial https://bob:pw@h: refused") }}
	got, err := support.Gather(t.Context(), c, sample().Snapshot, "", server, support.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []support.LeftOut{
		{What: "events", Why: support.Forbidden, Detail: "request a Role with verb list on resource events: events is forbidden: no"},
		{What: "persistentvolumeclaims", Why: support.Forbidden, Detail: "no"},
		{What: "version of Kubernetes", Why: support.Failed, Detail: "dial https://[redacted]@h: refused"},
	}
	if diff := cmp.Diff(want, got.LeftOut); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := support.Gather(ctx, c, sample().Snapshot, "", server, support.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// waits is a snapshot whose containers are in all states.
func waits() *cluster.Cluster {
	s := sample().Snapshot
	always := corev1.ContainerRestartPolicyAlways
	p := &s.Pods[0]
	p.Spec.InitContainers = []corev1.Container{{Name: "sidecar", RestartPolicy: &always}, {Name: "done"}, {Name: api.ContainerBarrier}, {Name: "later"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}}
	}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "sidecar", State: running, Ready: true}, {Name: "done", State: ended(0)}, {Name: api.ContainerBarrier, State: running}, {Name: "later", State: waiting("PodInitializing")},
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "scylla", State: waiting("CrashLoopBackOff"), RestartCount: 2}, {Name: "agent", State: running, Ready: true}, {Name: "slow", State: running, RestartCount: 1},
		{Name: "failed", State: ended(7)}, {Name: "creating", State: waiting("ContainerCreating")},
	}
	return s
}

func TestGatherFindsWaitingContainers(t *testing.T) {
	t.Parallel()
	got, err := support.Gather(t.Context(), nil, waits(), "", support.Server{}, support.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []support.Container{
		{Pod: "demo-0", Container: api.ContainerBarrier, Init: true, State: "Running, other containers wait for it"},
		{Pod: "demo-0", Container: "scylla", State: "CrashLoopBackOff, 2 restarts", Restarts: 2},
		{Pod: "demo-0", Container: "slow", State: "Running, not ready, 1 restart", Restarts: 1},
		{Pod: "demo-0", Container: "failed", State: "Error, exit code 7"},
	}
	if diff := cmp.Diff(want, got.Waiting); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGatherReadsLogs(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	log := func(_ context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		key := o.Container
		if o.Previous {
			key += " before"
		}
		if o.TailLines != nil {
			key += " tail"
		}
		mu.Lock()
		asked[key]++
		mu.Unlock()
		text := map[string]string{
			"scylla":      "INFO ok\nERROR 2026-11-21 11:00:00,000 [shard 0] init - Startup failed: password=hunter2\nINFO " + strings.Repeat("x", 2000) + "\n",
			"scylla tail": "INFO ok\nERROR the last one " + strings.Repeat("y", 500) + "\n",
			"slow":        "INFO waits\n",
			"slow before": "ERROR the one before\n",
		}[key]
		switch key {
		case "failed":
			return nil, apierrors.NewBadRequest("it has not started")
		case api.ContainerBarrier:
			return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod, errors.New("no"))
		}
		if namespace != "ns" || pod != "demo-0" {
			t.Errorf("asked for %s/%s", namespace, pod)
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
	got, err := support.Gather(t.Context(), nil, waits(), "", support.Server{Log: log}, support.Limits{LogHead: 1024, Line: 100})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]support.Container{}
	for _, c := range got.Waiting {
		by[c.Container] = c
	}
	scylla := by["scylla"]
	if scylla.First == nil || scylla.First.Line != "ERROR 2026-11-21 11:00:00,000 [shard 0] init - Startup failed: password=[redacted]" || scylla.First.Previous {
		t.Errorf("first error: %+v", scylla.First)
	}
	if scylla.Last == nil || !strings.HasPrefix(scylla.Last.Line, "ERROR the last one yyy") || len(scylla.Last.Line) != 103 {
		t.Errorf("last error: %+v", scylla.Last)
	}
	if scylla.Diagnosis == nil || scylla.Diagnosis.Code != "StartupFailed" || strings.Contains(scylla.Diagnosis.Text, "hunter2") {
		t.Errorf("diagnosis: %+v", scylla.Diagnosis)
	}
	if slow := by["slow"]; slow.First == nil || slow.First.Line != "ERROR the one before" || !slow.First.Previous {
		t.Errorf("a container that runs again: %+v", slow.First)
	}
	want := []support.LeftOut{
		{What: "log of demo-0/failed", Why: support.Absent, Detail: "it has not started"},
		{What: "logs", Why: support.Forbidden, Detail: "request a Role with verb get on resource pods/log: no"},
		{What: "persistentvolumeclaims", Why: support.Forbidden, Detail: "no"},
	}
	if diff := cmp.Diff(want, got.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	got, err = support.Gather(t.Context(), nil, waits(), "", support.Server{Log: log}, support.Limits{Containers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if l := got.LeftOut[0]; l.What != "logs" || l.Why != support.TooBig && l.Why != support.Forbidden {
		t.Errorf("%+v", got.LeftOut)
	}
}

// The kubelet of a dead machine does not answer; the rest of the report must not wait for it.
func TestGatherGoesOnWithoutALogThatDoesNotCome(t *testing.T) {
	t.Parallel()
	silent := support.Server{Log: func(ctx context.Context, _, _ string, _ *corev1.PodLogOptions) (io.ReadCloser, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	got, err := support.Gather(t.Context(), nil, waits(), "", silent, support.Limits{LogTime: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Waiting) == 0 {
		t.Fatal("no container waits")
	}
	for _, w := range got.Waiting {
		want := support.LeftOut{What: "log of " + w.Pod + "/" + w.Container, Why: support.Failed, Detail: "no response within 1ms; check that the Pod's Kubernetes node is up"}
		if !slices.Contains(got.LeftOut, want) {
			t.Errorf("left out: %+v, want also %+v", got.LeftOut, want)
		}
	}
}
