// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// events are those of the tests' namespace: an API server writes some of its own.
func events(t *testing.T, c client.Client) []eventsv1.Event {
	t.Helper()
	var list eventsv1.EventList
	if err := c.List(t.Context(), &list, client.InNamespace("db")); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestEmitSaysTheSameOnce(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(NewScheme()).Build()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "demo-rack1-0", UID: "u1", ResourceVersion: "7"}}
	emit := func(at time.Duration, e Event) {
		t.Helper()
		e.Now = start.Add(at)
		if err := Emit(t.Context(), c, pod, e); err != nil {
			t.Fatal(err)
		}
	}
	blocked := Event{Type: corev1.EventTypeWarning, Reason: "BarrierBlocked", Action: "Wait", Note: "a sees b DOWN", Controller: "scylla-barrier"}
	emit(0, blocked)
	emit(59*time.Second, blocked)
	got := events(t, c)
	if len(got) != 1 || got[0].Series != nil {
		t.Fatalf("%d events, series %v; want one without a series", len(got), got[0].Series)
	}
	e := got[0]
	if e.Regarding.Kind != "Pod" || e.Regarding.APIVersion != "v1" || e.Regarding.UID != "u1" || e.Regarding.Name != pod.Name || e.Namespace != "db" {
		t.Errorf("regarding %+v in %s", e.Regarding, e.Namespace)
	}
	if e.Type != "Warning" || e.Reason != "BarrierBlocked" || e.Action != "Wait" || e.Note != "a sees b DOWN" || e.ReportingController != "scylla-barrier" ||
		e.ReportingInstance != "scylla-barrier" || !e.EventTime.Time.Equal(start) {
		t.Errorf("event %+v", e)
	}
	emit(time.Minute, blocked)
	emit(90*time.Second, blocked)
	emit(3*time.Minute, blocked)
	if got := events(t, c); len(got) != 1 || got[0].Series.Count != 3 || !got[0].Series.LastObservedTime.Time.Equal(start.Add(3*time.Minute)) {
		t.Errorf("%d events, series %+v; want one counted to 3", len(got), got[0].Series)
	}
	other := blocked
	other.Note = "a sees c DOWN"
	emit(3*time.Minute, other)
	emit(3*time.Minute, Event{Reason: "BarrierOpened"})
	pod.UID = "u2"
	emit(3*time.Minute, blocked)
	if got := events(t, c); len(got) != 4 {
		t.Errorf("%d events, want 4: another note, another reason, another Pod of that name", len(got))
	}
}

func TestEmitNeedsOnlyCreate(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return forbidden("events")
		},
	}).Build()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "p"}}
	for range 2 {
		if err := Emit(t.Context(), c, pod, Event{Reason: "R", Now: start}); err != nil {
			t.Errorf("emit: %v", err)
		}
	}
}

func TestEmitFails(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return forbidden("events")
		},
	}).Build()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "p"}}
	err := Emit(t.Context(), c, pod, Event{Reason: "R"})
	if err == nil || !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "emit event R about Pod db/p: ") {
		t.Errorf("err = %v", err)
	}
	if err := Emit(t.Context(), c, pod, Event{}); err == nil || !strings.Contains(err.Error(), "reason must have") {
		t.Errorf("without a reason: %v", err)
	}
}

func TestEventFitsTheAPI(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		note := rapid.String().Draw(t, "note") + strings.Repeat(rapid.String().Draw(t, "more"), rapid.IntRange(0, 200).Draw(t, "times"))
		got := cutNote(note)
		if len(got) > maxNote || !utf8.ValidString(got) {
			t.Fatalf("note of %d bytes, valid %v", len(got), utf8.ValidString(got))
		}
		if len(note) <= maxNote && utf8.ValidString(note) && got != note {
			t.Fatal("a note that fits was changed")
		}
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?`).Draw(t, "name")
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		if n := eventName(o, "Pod", "Normal", "R", got); len(n) > 253 || n != eventName(o, "Pod", "Normal", "R", got) {
			t.Fatalf("event name of %d characters", len(n))
		}
	})
}

func TestPatchMetadata(t *testing.T) {
	t.Parallel()
	newClient := func(patches *int, opts *[]client.PatchOption) client.Client {
		return fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(stage.NewService("demo-rack1-0", 1, "h")).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, po ...client.PatchOption) error {
				*patches++
				*opts = po
				return c.Patch(ctx, o, p, po...)
			},
		}).Build()
	}
	var patches int
	var opts []client.PatchOption
	c := newClient(&patches, &opts)
	read := func() *corev1.Service {
		t.Helper()
		var s corev1.Service
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "db", Name: "demo-rack1-0"}, &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	force := func(s *corev1.Service) { s.Annotations[api.AnnotationForceProceed] = "true" }

	svc, stale := read(), read()
	if err := PatchMetadata(t.Context(), c, svc, force, client.FieldOwner("tester")); err != nil {
		t.Fatal(err)
	}
	if got := read(); got.Annotations[api.AnnotationForceProceed] != "true" || len(opts) != 1 || opts[0] != client.FieldOwner("tester") {
		t.Errorf("annotations %v, options %v", got.Annotations, opts)
	}
	if svc.ResourceVersion != read().ResourceVersion || svc.Annotations[api.AnnotationForceProceed] != "true" {
		t.Error("the object in hand is not the server's new one")
	}
	if err := PatchMetadata(t.Context(), c, svc, force); err != nil || patches != 1 {
		t.Errorf("nothing changed: %v, %d patches sent", err, patches)
	}
	before := stale.DeepCopy()
	err := PatchMetadata(t.Context(), c, stale, func(s *corev1.Service) { s.Annotations["x"] = "y" })
	if !apierrors.IsConflict(err) {
		t.Errorf("an object that has changed meanwhile: %v, want a conflict", err)
	}
	if diff := cmp.Diff(before, stale); diff != "" {
		t.Errorf("a failed patch changed the object in hand:\n%s", diff)
	}
	err = PatchMetadata(t.Context(), c, svc, func(s *corev1.Service) { s.Spec.Selector = nil })
	if err == nil || err.Error() != "patch Service db/demo-rack1-0: only metadata may be changed here" {
		t.Errorf("a change of the spec: %v", err)
	}
	if err := PatchMetadata(t.Context(), c, svc, func(s *corev1.Service) { delete(s.Annotations, api.AnnotationForceProceed) }); err != nil {
		t.Error(err)
	}
	if _, there := svc.Annotations[api.AnnotationForceProceed]; there {
		t.Error("the removed annotation is still in the object in hand")
	}
	if err := PatchMetadata(t.Context(), c, stage.NewService("new-0", 1, "h"), force); err == nil || !strings.Contains(err.Error(), "was not read from the API server") {
		t.Errorf("an object that was never read: %v", err)
	}
	gone := read()
	if err := c.Delete(t.Context(), read()); err != nil {
		t.Fatal(err)
	}
	if err := PatchMetadata(t.Context(), c, gone, force); !apierrors.IsNotFound(err) {
		t.Errorf("an object that is gone: %v", err)
	}
}
