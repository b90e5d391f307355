// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/mask"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// PatchMetadata applies mutate to obj and sends the difference as a merge patch. If obj has changed
// on the server since it was read, the patch fails with a conflict (apierrors.IsConflict), and the
// caller must decide again from the new object. Nothing is sent if mutate changes nothing. A change
// outside metadata is an error and sends nothing. On success obj is the server's new object, on
// error it is unchanged. opts: client.FieldOwner, client.DryRunAll.
func PatchMetadata[T client.Object](ctx context.Context, c client.Client, obj T, mutate func(T),
	opts ...client.PatchOption) error {
	before, ok := obj.DeepCopyObject().(T)
	what := fmt.Sprintf("patch %T %s", obj, client.ObjectKeyFromObject(obj))
	if gvk, err := apiutil.GVKForObject(obj, c.Scheme()); err == nil {
		what = fmt.Sprintf("patch %s %s", gvk.Kind, client.ObjectKeyFromObject(obj))
	}
	if !ok {
		return fmt.Errorf("%s: the object cannot be copied", what)
	}
	after := obj.DeepCopyObject().(T) // cannot fail: before is the same copy
	mutate(after)
	// This diff without the lock is empty if there is nothing to send.
	diff, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var changed map[string]json.RawMessage
	if err := json.Unmarshal(diff, &changed); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if len(changed) == 0 {
		return nil
	}
	delete(changed, "metadata")
	if len(changed) > 0 {
		return fmt.Errorf("%s: only metadata may be changed here", what)
	}
	if before.GetResourceVersion() == "" {
		return fmt.Errorf("%s: the object was not read from the API server", what)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, after, patch, opts...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	// Decoding into obj would write into maps and slices that it may share with a cache.
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(after).Elem())
	return nil
}

// Event is one Kubernetes Event. Note is cut to the API's limit.
type Event struct {
	Type   string // corev1.EventTypeNormal (default), corev1.EventTypeWarning
	Reason string // CamelCase
	Action string // CamelCase: the attempted action; empty = Reason
	Note   string
	// Controller is the reporting controller, default "kubectl-scylla". Instance defaults to
	// Controller.
	Controller, Instance string
	// Now is the current time; zero = time.Now().
	Now time.Time
}

const (
	maxNote     = 1024 // bytes, limit of the API's validation
	maxReason   = 128
	eventAgain  = time.Minute
	eventSource = api.ManagedByUs
)

// Emit writes an events.k8s.io Event about an object. The same object, type, reason and note always
// use the same Event. A repetition within a minute writes nothing; later repetitions increment its
// series. regarding needs a name, and its UID if it has one, so that `kubectl describe` finds the
// Event. Verbs on events.events.k8s.io: create; get and patch for the series, without which
// repetitions are dropped.
func Emit(ctx context.Context, c client.Client, regarding client.Object, e Event) error {
	gvk, err := apiutil.GVKForObject(regarding, c.Scheme())
	if err != nil {
		return fmt.Errorf("emit event %s: %w", e.Reason, err)
	}
	what := fmt.Sprintf("emit event %s about %s %s", e.Reason, gvk.Kind, client.ObjectKeyFromObject(regarding))
	if e.Reason == "" || len(e.Reason) > maxReason {
		return fmt.Errorf("%s: the reason must have 1 to %d characters", what, maxReason)
	}
	e.Type = cmp.Or(e.Type, corev1.EventTypeNormal)
	now := e.Now
	if now.IsZero() {
		now = time.Now()
	}
	note := cutNote(words.Clean(mask.Text(e.Note)))
	ev := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      eventName(regarding, gvk.Kind, e.Type, e.Reason, note),
			Namespace: cmp.Or(regarding.GetNamespace(), metav1.NamespaceDefault),
		},
		EventTime: metav1.NewMicroTime(now), Type: e.Type, Reason: e.Reason, Action: cmp.Or(e.Action, e.Reason),
		Note:                note,
		ReportingController: cmp.Or(e.Controller, eventSource),
		ReportingInstance:   cmp.Or(e.Instance, e.Controller, eventSource),
		Regarding: corev1.ObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: regarding.GetNamespace(),
			Name: regarding.GetName(),
			UID:  regarding.GetUID(), ResourceVersion: regarding.GetResourceVersion(),
		},
	}
	err = c.Create(ctx, ev)
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := again(ctx, c, client.ObjectKeyFromObject(ev), now); err != nil {
		return fmt.Errorf("%s again: %w", what, err)
	}
	return nil
}

// again increments the series of an Event, unless it did so within the last minute.
func again(ctx context.Context, c client.Client, key client.ObjectKey, now time.Time) error {
	var old eventsv1.Event
	if err := c.Get(ctx, key, &old); err != nil {
		// The Event has expired or cannot be read: the first Event is enough.
		return ignore(err, apierrors.IsNotFound, apierrors.IsForbidden)
	}
	last, count := old.EventTime.Time, int32(1)
	if old.Series != nil {
		last, count = old.Series.LastObservedTime.Time, old.Series.Count
	}
	if now.Sub(last) < eventAgain {
		return nil
	}
	before := old.DeepCopy()
	old.Series = &eventsv1.EventSeries{Count: count + 1, LastObservedTime: metav1.NewMicroTime(now)}
	return ignore(c.Patch(ctx, &old, client.MergeFrom(before)), apierrors.IsNotFound, apierrors.IsForbidden)
}

func ignore(err error, kinds ...func(error) bool) error {
	if slices.ContainsFunc(kinds, func(is func(error) bool) bool { return is(err) }) {
		return nil
	}
	return err
}

// eventName returns one name for each combination of object, type, reason and note.
func eventName(o client.Object, kind, typ, reason, note string) string {
	sum := sha256.Sum256(
		[]byte(strings.Join([]string{string(o.GetUID()), kind, o.GetNamespace(), o.GetName(), typ, reason, note},
			"\x00")))
	const suffix = 16
	name := o.GetName()
	if limit := 253 - suffix - 1; len(name) > limit {
		name = strings.TrimRight(name[:limit], ".-")
	}
	return name + "." + hex.EncodeToString(sum[:])[:suffix]
}

// cutNote keeps a note within the API's limit, on a whole character.
func cutNote(note string) string {
	note = strings.ToValidUTF8(note, "\uFFFD")
	if len(note) <= maxNote {
		return note
	}
	const end = "…"
	cut := maxNote - len(end)
	for !utf8.RuneStart(note[cut]) {
		cut--
	}
	return note[:cut] + end
}

var errNothingToWatch = errors.New("nothing to watch")

// OperatorConditions returns the Scylla Operator's progressing and degraded conditions about
// Services and StatefulSets that are true, as their messages.
func OperatorConditions(ctx context.Context, c client.Reader, key cluster.Key) ([]string, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
	if err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, obj); err != nil {
		return nil, fmt.Errorf("read ScyllaDBDatacenter %s: %w", key, err)
	}
	var dc operatorDatacenter
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &dc); err != nil {
		return nil, fmt.Errorf("read conditions of ScyllaDBDatacenter %s: %w", key, err)
	}
	return cluster.ConditionWords(dc.Status.Conditions), nil
}
