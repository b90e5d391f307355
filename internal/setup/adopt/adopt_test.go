// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

const idA, idB, idC = "8ebd2a16-0000-4000-8000-00000000000a", "35d00000-0000-4000-8000-00000000000b", "1ffa0000-0000-4000-8000-00000000000c"

// Node is one member: the name of its Pod, what its Service records, and the answer of its ScyllaDB.
type Node struct {
	Member   string
	Recorded hostid.ID
	Joined   bool
	Said     *api.NodeStatusReport // nil where its Pod is on no Kubernetes node yet
}

// Asked are the members of the cluster of these nodes. A node of which nothing is recorded has no Service.
func Asked(nodes ...Node) []*cluster.Member {
	o, live := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}}, map[string]*api.NodeStatusReport{}
	for _, n := range nodes {
		meta := metav1.ObjectMeta{Namespace: "demo", Name: n.Member, Labels: map[string]string{api.LabelServiceType: api.ServiceTypeMember}}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: n.Member}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}}}
		pod.Status.Phase = corev1.PodPending
		if n.Said != nil {
			pod.Status.Phase, live[n.Member] = corev1.PodRunning, n.Said
		}
		o.Pods = append(o.Pods, pod)
		if n.Recorded != "" {
			meta.Annotations = map[string]string{api.AnnotationHostID: string(n.Recorded), api.AnnotationNodeJoined: strconv.FormatBool(n.Joined)}
			o.Services = append(o.Services, corev1.Service{ObjectMeta: meta})
		}
	}
	c := cluster.New(o, cluster.SourceLive, time.Time{}).WithLive(live, nil, nil)
	var out []*cluster.Member
	for _, n := range nodes {
		out = append(out, c.Member(n.Member))
	}
	return out
}

// fake is a cluster in memory.
type fake struct {
	nodes    []Node
	flushed  []string
	asked    int
	fail     map[string]error // of flush or record, by member
	forgets  bool             // a recorded identity is lost at once
	changes  func(*fake)      // runs between the first query and the last
	recorded []string
}

func (f *fake) Members(context.Context) ([]*cluster.Member, error) {
	if f.asked++; f.asked == 2 && f.changes != nil {
		f.changes(f)
	}
	if err := f.fail["nodes"]; err != nil {
		return nil, err
	}
	return Asked(f.nodes...), nil
}

func (f *fake) Flush(_ context.Context, member string) error {
	if err := f.fail["flush "+member]; err != nil {
		return err
	}
	f.flushed = append(f.flushed, member)
	return nil
}

func (f *fake) Record(_ context.Context, id Identity) error {
	if err := f.fail["record "+id.Member]; err != nil {
		return err
	}
	f.recorded = append(f.recorded, id.Member+"="+string(id.HostID))
	for i := range f.nodes {
		if f.nodes[i].Member == id.Member && !f.forgets {
			f.nodes[i].Recorded, f.nodes[i].Joined = id.HostID, true
		}
	}
	return nil
}

// three nodes that see each other UP; no Service records anything.
func three() *fake {
	f := &fake{fail: map[string]error{}}
	for i, id := range []string{idA, idB, idC} {
		said := &api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "NORMAL", OwnsTokens: new(true)}
		for _, seen := range []string{idA, idB, idC} {
			said.ObservedNodes = append(said.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(seen), Status: api.NodeStatusUp})
		}
		f.nodes = append(f.nodes, Node{Member: fmt.Sprintf("db-%d", i), Said: said})
	}
	return f
}

func TestB4Adoption(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fake)
		want   string // of the error; empty when Run succeeds
	}{
		"all is well":                  {func(*fake) {}, ""},
		"all is recorded already":      {func(f *fake) { f.nodes[0].Recorded, f.nodes[0].Joined = idA, true }, ""},
		"recorded, and not as joined":  {func(f *fake) { f.nodes[0].Recorded = idA }, ""},
		"nobody there":                 {func(f *fake) { f.nodes = nil }, "no Pod runs ScyllaDB"},
		"the nodes cannot be listed":   {func(f *fake) { f.fail["nodes"] = errors.New("forbidden") }, "query the host IDs of the nodes: forbidden"},
		"one cannot be asked":          {func(f *fake) { f.nodes[1].Said = nil }, "the ScyllaDB of db-1 cannot be queried: Pending"},
		"one gives no row":             {func(f *fake) { f.nodes[1].Said.Error = new("connection refused") }, "the ScyllaDB of db-1 cannot be queried: connection refused"},
		"one has no host ID":           {func(f *fake) { f.nodes[1].Said.HostID = "" }, "the ScyllaDB of db-1 does not report its host ID"},
		"one joins":                    {func(f *fake) { f.nodes[1].Said.OperationMode, f.nodes[1].Said.OwnsTokens = "JOINING", new(false) }, "db-1 has not joined (mode JOINING)"},
		"two are the same":             {func(f *fake) { f.nodes[1].Said.HostID = idA }, "db-0 and db-1 report the same host ID " + idA},
		"the Service records another":  {func(f *fake) { f.nodes[1].Recorded = idC }, "db-1 runs host ID " + idB + ", and its Service records " + idC},
		"one is DOWN for another":      {func(f *fake) { f.nodes[0].Said.ObservedNodes[1].Status = api.NodeStatusDown }, "db-1 is not seen UP by db-0"},
		"one is not listed by another": {func(f *fake) { f.nodes[0].Said.ObservedNodes = f.nodes[0].Said.ObservedNodes[:2] }, "db-2 is not seen UP by db-0"},
		"a node without a Pod here is DOWN": {func(f *fake) {
			f.nodes[0].Said.ObservedNodes = append(f.nodes[0].Said.ObservedNodes, api.ObservedNodeStatusReport{HostID: "ghost", Status: api.NodeStatusDown})
		}, "host ID ghost is not seen UP by db-0"},
		"a node of another datacenter is UP": {func(f *fake) {
			f.nodes[0].Said.ObservedNodes = append(f.nodes[0].Said.ObservedNodes, api.ObservedNodeStatusReport{HostID: "elsewhere", Status: api.NodeStatusUp})
		}, ""},
		"an operation is under way": {func(f *fake) {
			f.nodes[0].Said.Operations = []api.NodeOperation{{Type: "decommission", State: "running"}}
		}, "an operation is in progress (decommission)"},
		"an operation has ended":     {func(f *fake) { f.nodes[0].Said.Operations = []api.NodeOperation{{Type: "bootstrap", State: "failed"}} }, ""},
		"one cannot be flushed":      {func(f *fake) { f.fail["flush db-1"] = errors.New("500") }, "flush system.local of db-1: 500"},
		"one cannot be recorded":     {func(f *fake) { f.fail["record db-2"] = errors.New("forbidden") }, "record host ID " + idC + " of db-2 on its Service: forbidden"},
		"what is recorded goes away": {func(f *fake) { f.forgets = true }, "host ID " + idA + " of db-0 was written to its Service, but is missing there"},
		"one dies meanwhile":         {func(f *fake) { f.changes = func(f *fake) { f.nodes[2].Said = nil } }, "the ScyllaDB of db-2 cannot be queried"},
		"one Pod goes meanwhile":     {func(f *fake) { f.changes = func(f *fake) { f.nodes = f.nodes[:2] } }, ": start again"},
	} {
		t.Run(name, func(t *testing.T) {
			f := three()
			tc.change(f)
			got, err := Run(t.Context(), f)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("%v, want %q", err, tc.want)
				}
				var refusal *Refusal
				if errors.As(err, &refusal) && f.asked == 1 && len(f.flushed)+len(f.recorded) > 0 {
					t.Errorf("refused, after it had flushed %v and recorded %v", f.flushed, f.recorded)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Identity{{"db-0", idA}, {"db-1", idB}, {"db-2", idC}}, got); diff != "" {
				t.Error(diff)
			}
			if len(f.flushed) != 3 {
				t.Errorf("flushed %v: nobody can tell which has", f.flushed)
			}
			for _, n := range f.nodes {
				if n.Recorded != n.Said.HostID || !n.Joined {
					t.Errorf("%s: recorded %q, joined %v", n.Member, n.Recorded, n.Joined)
				}
			}
			f.recorded = nil
			if _, err := Run(t.Context(), f); err != nil || len(f.recorded) > 0 {
				t.Errorf("the second time: %v, recorded %v", err, f.recorded)
			}
		})
	}
}
