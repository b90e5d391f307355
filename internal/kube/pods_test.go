// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// pager serves n Pods with rows of n cells, page by page as an API server does.
func pager(n int, pages *int) client.WithWatch {
	cells := make([]api.ObservedNodeStatusReport, n)
	for i := range cells {
		cells[i] = api.ObservedNodeStatusReport{HostID: hostid.ID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)), Status: api.NodeStatusUp}
	}
	row, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{ObservedNodes: cells, OperationMode: "NORMAL"})
	if err != nil {
		panic(err)
	}
	return (&scene{}).bare(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := &client.ListOptions{}
			o.ApplyOptions(opts)
			if o.Limit == 0 {
				return errors.New("asked for everything at once")
			}
			from, _ := strconv.Atoi(o.Continue)
			l := list.(*corev1.PodList)
			for i := from; i < min(n, from+int(o.Limit)); i++ {
				p := corev1.Pod{}
				p.Name, p.Labels = fmt.Sprintf("demo-rack1-%d", i), map[string]string{api.LabelCluster: "demo"}
				p.Annotations = map[string]string{api.AnnotationNodeStatusReport: strings.Clone(row), "other": strings.Repeat("x", 10_000)}
				l.Items = append(l.Items, p)
			}
			if next := from + int(o.Limit); next < n {
				l.Continue = strconv.Itoa(next)
			}
			*pages++
			return nil
		},
	})
}

func TestPodsAreListedInPagesAndHeldSmall(t *testing.T) {
	pages := 0
	c := pager(1000, &pages)
	d := &cluster.Decoder{}
	var before, most runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	pods, err := Pods(t.Context(), c, cluster.Key{Namespace: "db", Name: "demo"}, func(p *corev1.Pod) {
		d.Condense(p)
		if n++; n%250 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&most)
			if held := int64(most.HeapAlloc) - int64(before.HeapAlloc); held > 24<<20 {
				t.Errorf("%d bytes are held after %d Pods", held, n)
			}
		}
	})
	if err != nil || len(pods) != 1000 || pages != 40 {
		t.Fatalf("%d Pods in %d pages, %v", len(pods), pages, err)
	}
	if len(pods[7].Annotations) != 1 {
		t.Errorf("annotations that nobody reads are kept: %v", len(pods[7].Annotations))
	}
}

func TestPodsTellsWhatIsWrong(t *testing.T) {
	c := (&scene{}).bare(failingList[*corev1.PodList](forbidden("pods")))
	if _, err := Pods(t.Context(), c, cluster.Key{Namespace: "db", Name: "demo"}, nil); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "list pods of cluster db/demo") {
		t.Errorf("%v", err)
	}
}
