// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// Two members have one host ID, by their Services or by the row of a Pod whose Service records none: neither restarts by it, no new node joins, and the cluster is not healthy.
func TestTwoMembersWithOneHostIDNeverRestartByIt(t *testing.T) {
	t.Parallel()
	id := stage.HostID(1, 0)
	records := func(st *stage.Stage, members ...string) {
		for _, svc := range st.Services {
			if svc.Annotations[api.AnnotationHostID] == id {
				delete(svc.Annotations, api.AnnotationHostID)
			}
		}
		for _, m := range members {
			st.Services[m].Annotations[api.AnnotationHostID] = id
		}
	}
	for name, change := range map[string]func(st *stage.Stage, self, other string){
		"both Services record it": func(st *stage.Stage, self, other string) { records(st, self, other) },
		"both Services record it, and the other has no Pod": func(st *stage.Stage, self, other string) {
			records(st, self, other)
			delete(st.Pods, other)
		},
		"the other Pod runs with it": func(st *stage.Stage, self, other string) {
			records(st, self)
			st.Pods[other].Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"hostID":"` + id + `","observedNodes":[{"hostID":"` + id + `","status":"UP"}],"operationMode":"NORMAL"}`}
		},
	} {
		for what, volume := range map[string]func(in *Input){
			"files without a host ID": func(in *Input) { in.Volume = VolumeUsed },
			"a volume that shows it":  func(in *Input) { in.Volume, in.VolumeHostID = VolumeUsed, in.Member.RecordedID() },
			"a bootstrapped volume": func(in *Input) {
				in.Disk, in.Volume, in.VolumeHostID = BootstrappedYes, VolumeUsed, in.Member.RecordedID()
			},
			"no volume was read": func(*Input) {},
		} {
			for self, other := range map[string]string{"demo-rack1-0": "demo-rack2-0", "demo-rack2-0": "demo-rack1-0"} {
				t.Run(name+", "+what+", "+self, func(t *testing.T) {
					t.Parallel()
					st := stage.New(3, 1)
					change(st, self, other)
					st.Pods[self].Status, st.Pods[self].Annotations = corev1.PodStatus{Phase: corev1.PodPending}, nil
					o := cluster.Objects{Key: cluster.Key{Namespace: stage.Namespace, Name: stage.Name}, Read: cluster.KindServices | cluster.KindPods}
					for _, name := range slices.Sorted(maps.Keys(st.Services)) {
						if o.Services = append(o.Services, *st.Services[name]); st.Pods[name] != nil {
							o.Pods = append(o.Pods, *st.Pods[name])
						}
					}
					c := cluster.New(o, cluster.SourceAnnotation, stage.Start)
					in, err := Of(c, self)
					if err != nil {
						t.Fatal(err)
					}
					volume(&in)
					if v := Decide(in); v.Satisfied {
						t.Errorf("it opens: %s", words.Text(v.Summary))
					}
					h := HealthOf(c)
					if h.Healthy || !slices.ContainsFunc(h.Blockers, func(b matrix.Blocker) bool { return b.Reason == words.HostIDShared }) {
						t.Errorf("healthy %t, %+v", h.Healthy, h.Blockers)
					}
				})
			}
		}
	}
}
