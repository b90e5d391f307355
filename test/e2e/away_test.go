// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// absence is a story about one cluster while the controller is away.
type absence struct {
	cluster scenario.Cluster
	// before brings the cluster to where the controller goes; during is held against what happens without it, and after once it is back.
	before, during, after func(*fixture)
}

// TestWithoutTheController: three stories share one absence of the controller of all clusters, so that nothing else runs beside them.
func TestWithoutTheController(t *testing.T) { // stops the controller of all: not parallel
	covers(t, "controller/replacement", "controller/reports", "internal/agent/barrier")
	pods(t, 11)
	stories := map[string]absence{
		"an all-UP report is left behind":                 allUp(),
		"the report is lost":                              reportLost(),
		"a replacement that another controller has begun": replacementBegun(),
	}
	var prepared, seen sync.WaitGroup
	prepared.Add(len(stories))
	seen.Add(len(stories))
	var going, coming sync.Once
	resume := func() {}
	t.Cleanup(func() { resume() }) // also where every story has failed
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A story that fails does not keep the others waiting.
			ready, done := sync.OnceFunc(prepared.Done), sync.OnceFunc(seen.Done)
			defer done()
			defer ready()
			f := deploy(t, s.cluster)
			s.before(f)
			ready()
			prepared.Wait()
			going.Do(func() { resume = f.stopController() })
			s.during(f)
			done()
			seen.Wait()
			coming.Do(func() { resume() })
			s.after(f)
		})
	}
}

// No controller keeps the reports up to date: an all-UP report from before must not open.
func allUp() absence {
	newcomer := rack2 + "-1"
	return absence{
		before: func(f *fixture) {
			if r := f.plugin("status", "--wait", "--timeout=5m"); r.Code != 0 {
				f.t.Fatalf("status: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
			}
			f.freeze(rack3+"-0", rack1+"-0")
			f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
			f.untilBarrierRuns(newcomer)
			f.barrierSays(newcomer, "NodeDown")
			f.must(f.Cluster.PauseContainer(f.ctx, f.namespace, newcomer, api.ContainerBarrier)) // it must not open while the controller is there
			f.thaw(rack3 + "-0")
			f.untilAllUp("demo", 3)
		},
		during: func(f *fixture) {
			f.must(f.Cluster.ResumeContainer(f.ctx, f.namespace, newcomer, api.ContainerBarrier))
			f.barrierSays(newcomer, "ControllerSilent")
			f.holdsFor(newcomer, 3*time.Second)
		},
		after: func(f *fixture) { f.ready(4) },
	}
}

// A lost report is not a new cluster.
func reportLost() absence {
	newcomer := rack2 + "-1"
	return absence{
		before: func(f *fixture) {
			f.freeze(rack3+"-0", rack1+"-0")
			f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
			f.untilBarrierRuns(newcomer)
		},
		during: func(f *fixture) {
			out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "delete", "scylladbdatacenternodesstatusreports,scylladbstatusreports", "--all")
			if err != nil {
				f.t.Fatal(out, err)
			}
			f.barrierSays(newcomer, "ReportMissing")
			f.holdsFor(newcomer, 3*time.Second)
		},
		after: func(f *fixture) {
			f.thaw(rack3 + "-0")
			f.ready(4)
		},
	}
}

// A replacement that the Scylla Operator (or another version) began is continued and not restarted: its label is there, the volume is gone, and the new volume
// is not deleted.
func replacementBegun() absence {
	victim := rack3 + "-0"
	var old string
	var claim, fresh types.UID
	return absence{
		cluster: scenario.Cluster{Mutate: shortGrace},
		before: func(f *fixture) {
			f.healthy()
			old, claim = f.hostID(victim), f.claim(victim)
			f.kill(victim, rack1+"-0")
			f.untilRow(rack2+"-0", `"DOWN"`)
		},
		during: func(f *fixture) {
			// What the Scylla Operator does: both labels, claim and Pod deleted.
			if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "label", "service", victim, api.LabelReplace+"=", api.LabelReplacingNodeHostID+"="+old); err != nil {
				f.t.Fatal(out, err)
			}
			f.must(f.Client.Delete(f.ctx, &corev1.PersistentVolumeClaim{ObjectMeta: f.pvc(victim).ObjectMeta}))
			f.must(f.Client.Delete(f.ctx, f.pod(victim)))
			f.waitFor("a new volume", func(ctx context.Context) (bool, string, error) {
				c := &corev1.PersistentVolumeClaim{}
				err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "data-" + victim}, c)
				if apierrors.IsNotFound(err) {
					return false, "no claim", nil
				}
				return err == nil && c.UID != claim && c.DeletionTimestamp == nil, string(c.UID), err
			})
			fresh = f.claim(victim)
		},
		after: func(f *fixture) {
			f.waitFor("the replacement to be finished", func(ctx context.Context) (bool, string, error) {
				s := &corev1.Service{}
				err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: victim}, s)
				_, open := s.Labels[api.LabelReplace]
				return err == nil && !open && s.Annotations[api.AnnotationHostID] != old, fmt.Sprint(s.Labels, s.Annotations), err
			})
			f.replaced(victim, old, claim)
			if f.claim(victim) != fresh {
				f.t.Error("the controller deleted the volume of a replacement that was under way")
			}
		},
	}
}

// stopController scales the shipped controller to nothing; the result brings it back.
func (f *fixture) stopController() (resume func()) {
	f.t.Helper()
	scale := func(n int32) error {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: "kubectl-scylla-controller"}}
		return f.Client.Patch(context.WithoutCancel(f.ctx), d, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)))
	}
	f.must(scale(0))
	f.waitFor("the controller to be gone", func(ctx context.Context) (bool, string, error) {
		var l corev1.PodList
		err := f.Client.List(ctx, &l, client.InNamespace("kubectl-scylla"))
		return err == nil && len(l.Items) == 0, fmt.Sprintf("%d Pods", len(l.Items)), err
	})
	done := false
	return func() {
		if !done {
			done = true
			f.must(scale(1))
		}
	}
}
