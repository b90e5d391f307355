// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// atLauncher is a world in which the barrier has opened and ScyllaDB's container starts: for the first time (just), or again.
func atLauncher(t *testing.T, just bool, objs ...client.Object) *world {
	t.Helper()
	w := newWorld(t, objs...)
	w.o.Launcher, w.o.Just, w.o.Stabilisation = true, just, new(10*time.Second)
	return w
}

// own is the newcomer's Pod.
func (w *world) own(change func(*corev1.Pod)) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: newcomer}}
	w.update(p, func() { change(p) })
}

// ran is the row that a reporter leaves when its ScyllaDB has ended.
func ran(id string) string {
	text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{Error: new("connection refused"),
		LastRow: &api.LastRow{HostID: hostid.ID(id), ObservedNodes: saw(id, "UP", idA, "UP")}})
	if err != nil {
		panic(err)
	}
	return text
}

// TestTheLauncherWaitsAsTheBarrierDoes: an hour after the barrier has opened, ScyllaDB's container starts in its Pod while a node is DOWN.
func TestTheLauncherWaitsAsTheBarrierDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := saw(idA, "UP", idB, "UP")
		w := atLauncher(t, false, append(peers(), byOperator(allUp()))...)
		w.reports(saw(idA, "UP", idB, "DOWN"), up)
		_, done := running(t, w)
		time.Sleep(time.Hour)
		stillWaiting(t, done)
		if said := w.said(); said == nil || !said.Launcher {
			t.Errorf("the Pod says %+v", said)
		}
		if log := w.logged(); !strings.Contains(log, "NodeDown") {
			t.Errorf("does not name the node:\n%s", log)
		}
		w.reports(up, up)
		began := time.Now()
		opens(t, done)
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("starts %v after the node is back", took)
		}
		if said := w.said(); said != nil {
			t.Errorf("the Pod still says %+v", said)
		}
	})
}

// TestTheLauncherGoesOnWithTheBarriersWindow: right after the opening it adds no window of its own, until something blocks.
func TestTheLauncherGoesOnWithTheBarriersWindow(t *testing.T) {
	for name, c := range map[string]struct {
		just, down bool
		least      time.Duration
	}{
		"right after the opening":   {true, false, 0},
		"an hour later":             {false, false, 10 * time.Second},
		"right after, a node fails": {true, true, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := saw(idA, "UP", idB, "UP")
				w := atLauncher(t, c.just, append(peers(), byOperator(allUp()))...)
				if c.down {
					w.reports(saw(idA, "UP", idB, "DOWN"), up)
				}
				_, done := running(t, w)
				if c.down {
					time.Sleep(time.Minute)
					stillWaiting(t, done)
					w.reports(up, up)
				}
				began := time.Now()
				opens(t, done)
				if took := time.Since(began); took < c.least || took > c.least+time.Second {
					t.Errorf("starts after %v, want %v", took, c.least)
				}
				if got := w.eventReasons(); !c.down && c.just && len(got) > 0 {
					t.Errorf("Events %v: the barrier has emitted them", got)
				}
			})
		})
	}
}

// TestAnOlderControllerRenewsNoViewForALauncher: its Lease and the members' answers are then all that shows that it, and they, are there. A barrier waits.
func TestAnOlderControllerRenewsNoViewForALauncher(t *testing.T) {
	older := map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelCluster: "demo"}
	for name, c := range map[string]struct {
		labels                 map[string]string
		launcher, leads, opens bool
	}{
		"it leads":                     {older, true, true, true},
		"it does not lead":             {older, true, false, false},
		"a controller of this release": {map[string]string{api.LabelManagedBy: api.ManagedByUs}, true, true, false},
		"no controller of ours":        {map[string]string{api.LabelCluster: "demo"}, true, true, false},
		"a barrier, for which it does": {older, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rows := allUp()
				if c.labels[api.LabelManagedBy] == "" {
					rows = byOperator(rows)
				}
				w := withView(t, permittedView(), append(peers(), rows, lease("controller-1"))...)
				r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
				w.update(r, func() { r.Labels = c.labels })
				if c.launcher {
					w.o.Launcher, w.o.Just = true, true
				}
				ctx, done := running(t, w)
				if c.leads {
					w.renews(ctx)
				}
				if c.opens {
					opens(t, done)
					return
				}
				time.Sleep(time.Hour)
				stillWaiting(t, done)
			})
		})
	}
}

// TestAVolumeThatWasEmptyIsNoMembersOfBefore: etcd was restored, and the Service records the node that was replaced. The launcher starts its new volume as that node
// only if the barrier of this Pod has not found it empty, or ScyllaDB has run here with that host ID.
func TestAVolumeThatWasEmptyIsNoMembersOfBefore(t *testing.T) {
	const old = "11110000-0000-4000-8000-00000000000e"
	for name, c := range map[string]struct {
		files []string // that the barrier finds, in its runs of this Pod
		ran   string
		opens bool
	}{
		"it was empty":                         {[]string{""}, "", false},
		"it had files":                         {[]string{"data/system/local-1/me-Data.db"}, "", true},
		"the machine was off after it":         {[]string{"", "data/system/local-1/me-Data.db"}, "", true},
		"ScyllaDB has run here as that member": {[]string{""}, old, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cells := saw(idA, "UP", idB, "UP", old, "DOWN")
				objs := append(others(), joinedService(newcomer, "rack3", old), byOperator(report(cells, cells)))
				for i, id := range []string{idA, idB} {
					objs[2+i].(*corev1.Pod).Annotations = carries(id, cells)
				}
				w := newWorld(t, objs...)
				w.o.DataDir = w.dir
				for _, f := range c.files {
					if f != "" {
						w.file(f, "x")
					} else if err := os.MkdirAll(filepath.Join(w.dir, "data"), 0o755); err != nil {
						t.Fatal(err)
					}
					b := &barrier{Options: w.o}
					b.self()
				}
				w.file("data/system/local-1/me-Data.db", "x")
				if c.ran != "" {
					w.own(func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationNodeStatusReport: ran(c.ran)} })
				}
				w.o.Launcher = true
				_, done := running(t, w)
				if c.opens {
					opens(t, done)
					return
				}
				time.Sleep(time.Minute)
				stillWaiting(t, done)
			})
		})
	}
}

// TestTheLauncherDoesNotWaitForItsOwnNode: ScyllaDB has run in this Pod, and its peers still list its host ID.
func TestTheLauncherDoesNotWaitForItsOwnNode(t *testing.T) {
	listed := func(status, state string) []api.ObservedNodeStatusReport {
		cells := saw(idA, "UP", idB, "UP", idNew, status)
		cells[2].State = api.NodeState(state)
		return cells
	}
	for name, c := range map[string]struct {
		ran    string
		cells  []api.ObservedNodeStatusReport
		starts bool
	}{
		"it never responded":              {"", saw(idA, "UP", idB, "UP"), true},
		"nobody lists it":                 {idNew, saw(idA, "UP", idB, "UP"), true},
		"joining":                         {idNew, listed("DOWN", "JOINING"), true},
		"a member, which is not recorded": {idNew, listed("DOWN", ""), true},
		"another node":                    {"", listed("DOWN", ""), false},
		// with host networking the ScyllaDB of another Pod may respond here
		"another member's": {idA, saw(idA, "DOWN", idB, "UP"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := append(peers(), byOperator(report(c.cells, c.cells)))
				for _, o := range objs {
					if p, ok := o.(*corev1.Pod); ok {
						p.Annotations = carries(map[string]string{"demo-rack1-0": idA, "demo-rack2-0": idB}[p.Name], c.cells)
					}
				}
				w := atLauncher(t, false, objs...)
				w.dataDir("commitlog/CommitLog-1.log")
				if c.ran != "" {
					w.own(func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationNodeStatusReport: ran(c.ran)} })
				}
				_, done := running(t, w)
				if c.starts {
					opens(t, done)
					return
				}
				time.Sleep(time.Hour)
				stillWaiting(t, done)
			})
		})
	}
}

// TestTheLauncherRemovesItsAnnotationBeforeTheStart: with it, the controller judges the Pod as one that waits, and may give its turn to another member.
func TestTheLauncherRemovesItsAnnotationBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := atLauncher(t, true, append(peers(), byOperator(allUp()))...)
		w.o.Annotation = `{"launcher":true}` // by an earlier start in this Pod
		w.own(func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationBarrier: `{"launcher":true}`} })
		away := true
		c := interceptor.NewClient(w.c, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if away {
				return errors.New("etcd is away")
			}
			return c.Patch(ctx, o, p, opts...)
		}})
		w.o.NewClient = func() (client.WithWatch, error) { return c, nil }
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		away = false
		opens(t, done)
		if said := w.said(); said != nil {
			t.Errorf("the Pod still says %+v", said)
		}
	})
}

// TestACorrectedClusterLabelIsReadAgain: the Service had the label of another cluster when the barrier read it first.
func TestACorrectedClusterLabelIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objs := append(peers(), byOperator(allUp()))
		objs[2].SetLabels(map[string]string{api.LabelCluster: "dem"})
		w := newWorld(t, objs...)
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		right := service(newcomer, "rack3", nil).Labels
		svc := service(newcomer, "rack3", nil)
		w.update(svc, func() { svc.Labels = right })
		began := time.Now()
		opens(t, done)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("opens %v after the correction", took)
		}
	})
}
