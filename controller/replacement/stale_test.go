// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// behind is an API server that answers lists of some kinds with what it answered in an earlier moment. A list has the resourceVersion of its moment.
type behind struct {
	raw    client.WithWatch
	frozen map[string]client.ObjectList
}

// revision is that of the last write; a Lease is renewed after each one.
func (b *behind) revision(ctx context.Context) string {
	last := 0
	for _, l := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{}} {
		_ = b.raw.List(ctx, l)
		for items, i := reflect.ValueOf(l).Elem().FieldByName("Items"), 0; i < items.Len(); i++ {
			n, _ := strconv.Atoi(items.Index(i).Addr().Interface().(client.Object).GetResourceVersion())
			last = max(last, n)
		}
	}
	return strconv.Itoa(last + 1)
}

func (b *behind) list(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
	if old := b.frozen[fmt.Sprintf("%T", l)]; old != nil {
		reflect.ValueOf(l).Elem().Set(reflect.ValueOf(old.DeepCopyObject()).Elem())
		return nil
	}
	err := c.List(ctx, l, opts...)
	l.SetResourceVersion(b.revision(ctx))
	return err
}

// freeze has lists of these kinds, present ones, answered as now.
func (b *behind) freeze(lists ...client.ObjectList) {
	for _, l := range lists {
		_ = b.raw.List(context.Background(), l)
		l.SetResourceVersion(b.revision(context.Background()))
		b.frozen[fmt.Sprintf("%T", l)] = l
	}
}

// A second API server whose watch cache stands still answers with old rows, in which the target is DOWN, and with its old Pod. The node has returned
// meanwhile: it keeps its Pod and its volume, however often the controller reads. With current answers, the replacement of a dead node goes on.
func TestAttack8OldAnswersOfAnAPIServerKeepTheVolume(t *testing.T) {
	t.Parallel()
	pods := func() []client.ObjectList { return []client.ObjectList{&corev1.PodList{}} }
	all := func() []client.ObjectList {
		return append(pods(), &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{})
	}
	for name, tc := range map[string]struct {
		kinds  func() []client.ObjectList
		after  int  // reconciliations: 0 requested, 1 recorded, 2 marked for deletion
		claims bool // the claim is deleted, in the three seconds of the mark; the Pod keeps its volume
	}{
		"Pods of before the request": {pods, 0, false},
		"Pods of the record":         {pods, 1, false},
		"all of the record":          {all, 1, false},
		"Pods of the mark":           {pods, 2, true},
		"all of the mark":            {all, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ask()
			r := w.controller()
			server := &behind{w.raw, map[string]client.ObjectList{}}
			r.o.Live = interceptor.NewClient(r.o.Live.(client.WithWatch), interceptor.Funcs{List: server.list})
			w.steps(r, tc.after, 0)
			server.freeze(tc.kinds()...)
			w.back()
			w.updatePod(target, ready)
			w.steps(r, 40, 2*time.Second)
			if _, pod, pvc := w.get(); !tc.claims {
				w.untouched()
			} else if len(w.evicted) > 0 || pod == nil || pod.UID != "pod-1" || pod.DeletionTimestamp != nil || pvc == nil || pvc.UID != "pvc-1" {
				t.Errorf("evicted %v", w.evicted)
			}
			// It goes down for good, and the answers are current: the replacement goes on.
			clear(server.frozen)
			w.updatePod(target, func(p *corev1.Pod) { p.Status = w.pod(target, "d", "x").Status })
			w.rows(nil)
			w.steps(r, 40, 2*time.Second)
			if !slices.Contains(w.calls, "create eviction") {
				t.Error("the replacement does not go on")
			}
		})
	}
}
