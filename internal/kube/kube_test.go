// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

func TestMain(m *testing.M) {
	// A closed SPDY connection waits up to a second for a reader of its error, longer than goleak looks.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}

var (
	start  = stage.Start
	hostID = stage.HostID
	key    = cluster.Key{Namespace: stage.Namespace, Name: stage.Name}
)

// scene is a stage as this package reads it.
type scene struct{ *stage.Stage }

func newStage(t testing.TB, racks, nodes int) *scene {
	t.Helper()
	return &scene{stage.New(racks, nodes)}
}

// copies are for a fake client, which numbers the objects that it is given: tests that run side by side share them.
func copies(objects []client.Object) []client.Object {
	out := make([]client.Object, len(objects))
	for i, o := range objects {
		out[i] = o.DeepCopyObject().(client.Object)
	}
	return out
}

func (st *scene) client(funcs interceptor.Funcs) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(copies(st.Objects())...).WithInterceptorFuncs(funcs).Build()
}

func (st *scene) load(t *testing.T, opts LoadOptions) *cluster.Cluster {
	t.Helper()
	o, err := Load(t.Context(), st.client(interceptor.Funcs{}), key, opts)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return cluster.New(o, opts.Source, start.Add(time.Hour))
}

// failing lets every request for one Go type of list fail.
func failingList[L client.ObjectList](err error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(L); ok {
			return err
		}
		return c.List(ctx, list, opts...)
	}}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// bare is a client of an API server without objects.
func (st *scene) bare(funcs interceptor.Funcs) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(NewScheme()).WithInterceptorFuncs(funcs).Build()
}
