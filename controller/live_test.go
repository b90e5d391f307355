// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// pages is an API server with that many fat Pods: it sends pages as asked, and all Pods at once to a client that accepts any state.
type pages struct {
	pods    []corev1.Pod
	largest int
	expire  bool // the second page
}

func newPages(t *testing.T, n int) *pages {
	t.Helper()
	p := &pages{}
	for i := range n {
		p.pods = append(p.pods, *fat(t, fmt.Sprintf("demo-r1-%d", i), nil, ""))
	}
	return p
}

func (p *pages) page(limit int64, from string) (*corev1.PodList, error) {
	if from != "" && p.expire {
		return nil, apierrors.NewResourceExpired("the token has expired")
	}
	start, _ := strconv.Atoi(from) // 0 for the first page
	end := len(p.pods)
	l := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if limit > 0 && start+int(limit) < end {
		end = start + int(limit)
		l.Continue = strconv.Itoa(end)
	}
	for i := range p.pods[start:end] {
		l.Items = append(l.Items, *p.pods[start+i].DeepCopy())
	}
	p.largest = max(p.largest, len(l.Items))
	return l, nil
}

// slimmedPods are the expected Pods.
func (p *pages) slimmedPods() (out []corev1.Pod) {
	for i := range p.pods {
		out = append(out, *slimmed(p.pods[i].DeepCopy()))
	}
	return out
}

func TestACacheIsFilledPageByPage(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]metav1.ListOptions{
		"the first list":              {ResourceVersion: "0", Limit: 500},
		"one after a watch has ended": {ResourceVersion: "6"},
		"one after that has expired":  {},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPages(t, 2*podsAtOnce+3)
			from := cache.ToListerWatcherWithContext(&cache.ListWatch{
				ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
					if o.ResourceVersion != "" {
						o.Limit = 0 // as an API server does
					}
					return p.page(o.Limit, o.Continue)
				},
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
			})
			got, err := listPods(t.Context(), from, o)
			must(t, err)
			var pods []corev1.Pod
			_ = meta.EachListItem(got, func(o runtime.Object) error { pods = append(pods, *o.(*corev1.Pod)); return nil })
			if diff := cmp.Diff(p.slimmedPods(), pods); diff != "" || p.largest > podsAtOnce {
				t.Errorf("pages of %d (-want +got):\n%s", p.largest, diff)
			}
			if list, err := meta.ListAccessor(got); err != nil || list.GetContinue() != "" || list.GetResourceVersion() != "7" {
				t.Errorf("the list is %+v, %v", list, err)
			}
			// A list that is not whole would have Pods vanish.
			p.expire = true
			if got, err := listPods(t.Context(), from, o); err == nil {
				t.Errorf("half of the Pods: %v", got)
			}
		})
	}
}

func TestAReplacementReadsRowsThatAreHeldAlready(t *testing.T) {
	t.Parallel()
	p, held := newPages(t, podsAtOnce+1), newPages(t, podsAtOnce+1)
	p.pods[1] = *fat(t, "demo-r1-1", stage.Sees(api.NodeStatusUp, stage.UUID("h1")), "")
	reader := func(p *pages) client.Reader {
		return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				o := (&client.ListOptions{}).ApplyOptions(opts)
				page, err := p.page(o.Limit, o.Continue)
				if pods, ok := list.(*corev1.PodList); ok && err == nil {
					*pods = *page
				}
				return err
			},
		})
	}
	var got corev1.PodList
	l := lean{reader(p), reader(held)}
	must(t, l.List(t.Context(), &got, client.InNamespace("demo")))
	if diff := cmp.Diff(p.slimmedPods(), got.Items); diff != "" || p.largest > podsAtOnce || got.Continue != "" {
		t.Errorf("pages of %d (-want +got):\n%s", p.largest, diff)
	}
	for i := range got.Items {
		is, was := got.Items[i].Annotations[api.AnnotationNodeStatusReport], held.pods[i].Annotations[api.AnnotationNodeStatusReport]
		if same := unsafe.StringData(is) == unsafe.StringData(was); same != (i != 1) {
			t.Errorf("row %d is the one that is held: %v", i, same)
		}
	}
	p.expire = true
	if err := l.List(t.Context(), &got); err == nil {
		t.Error("half of the Pods")
	}
	var services corev1.ServiceList
	if err := l.List(t.Context(), &services); err != nil {
		t.Error(err)
	}
}

// After the Lease was deleted, the number of its term may be that of a process that led before.
func TestOnlyTheHolderHasATerm(t *testing.T) {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName}}
	l.Spec.HolderIdentity, l.Spec.LeaseTransitions = new("one"), new(int32(3))
	cl := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(l).Build()
	for holder, want := range map[string]int64{"one": 4, "another": 0, "": 0} {
		o := DefaultOptions()
		o.LeaseNamespace = "kubectl-scylla"
		got, err := epoch(cl, validated{Options: o, holder: holder})(t.Context())
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: term %d, %v", holder, got, err)
		}
	}
}
