// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

var (
	start  = stage.Start
	hostID = stage.HostID
	key    = Key{Namespace: stage.Namespace, Name: stage.Name}
)

// scene is a stage as this package reads it.
type scene struct {
	*stage.Stage
	states map[string]api.NodeState // of nodes, as withClusterReport says them
}

func newStage(t testing.TB, racks, nodes int) *scene {
	t.Helper()
	return &scene{stage.New(racks, nodes), map[string]api.NodeState{}}
}

// objects are those of the stage, as listing all of them gives.
func (st *scene) objects() Objects {
	o := Objects{Key: key, Read: KindServices | KindPods | KindStatefulSets | KindPVCs | KindReports | KindStatusReport}
	for _, name := range sortedKeys(st.Services) {
		o.Services = append(o.Services, *st.Services[name].DeepCopy())
	}
	for _, name := range sortedKeys(st.Pods) {
		o.Pods = append(o.Pods, *st.Pods[name].DeepCopy())
	}
	for _, name := range sortedKeys(st.Sets) {
		o.StatefulSets = append(o.StatefulSets, *st.Sets[name].DeepCopy())
	}
	for _, name := range sortedKeys(st.PVCs) {
		o.PVCs = append(o.PVCs, *st.PVCs[name].DeepCopy())
	}
	for _, name := range sortedKeys(st.Reports) {
		o.Reports = append(o.Reports, *st.Reports[name].DeepCopy())
	}
	return o
}

func (st *scene) cluster(source Source) *Cluster {
	return New(st.objects(), source, start.Add(time.Hour))
}

func memberNamed(t *testing.T, all []Member, name string) Member {
	t.Helper()
	for _, m := range all {
		if m.Ref.Member == name {
			return m
		}
	}
	t.Fatalf("no member %s among %d", name, len(all))
	return Member{}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
