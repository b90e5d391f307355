// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// ran has the Pod carry the row that a reporter leaves when its ScyllaDB has ended; an empty host ID: none.
func (w *world) ran(id string) {
	if id != "" {
		w.own("", func(p *corev1.Pod) {
			p.Annotations = annotated(api.NodeStatusReport{Error: new("connection refused"),
				LastRow: &api.LastRow{HostID: hostid.ID(id), ObservedNodes: saw(id, "UP", idA, "UP")}})
		})
	}
}

// Right after the opening the launcher adds no window of its own; it waits for what fails, and for all an hour later.
func TestTheLauncherGoesOnWithTheBarriersWindow(t *testing.T) {
	for name, c := range map[string]struct {
		just, down bool
		least      time.Duration
	}{
		"right after the opening":     {true, false, 0},
		"an hour later":               {false, false, 10 * time.Second},
		"right after, a node fails":   {true, true, 10 * time.Second},
		"an hour later, a node fails": {false, true, 10 * time.Second},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := atLauncher(t, c.just, allPeersUp()...)
			if c.down {
				w.reports(down, up)
			}
			w.runs(alone)
			if c.down {
				w.waits(time.Hour).says("NodeDown")
				if said := w.said(); said == nil || !said.Launcher {
					t.Errorf("the Pod says %+v", said)
				}
				w.reports(up, up)
			}
			w.opensIn(c.least, c.least+time.Second)
			if !c.down && c.just {
				w.emitted() // the barrier has
			}
		})
	}
}

// Its Lease and the members' answers are then all that shows that it, and they, are there. A barrier waits.
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
		inBubble(t, name, func(t *testing.T) {
			rows := allUp()
			if c.labels[api.LabelManagedBy] == "" {
				rows = byOperator(rows)
			}
			w := withView(t, permittedView(), append(peers(), rows, lease("controller-1"))...)
			w.ofCluster(func(r *api.ScyllaDBStatusReport) { r.Labels = c.labels })
			w.o.Launcher, w.o.Just = c.launcher, c.launcher
			w.runs(c.leads).opensOr(c.opens, 10*time.Minute)
		})
	}
}

// After a restore of etcd the Service records the node that was replaced: its new volume must not start as that node.
func TestAVolumeThatWasEmptyIsNoMembersOfBefore(t *testing.T) {
	const old, file = "11110000-0000-4000-8000-00000000000e", "data/system/local-1/me-Data.db"
	for name, c := range map[string]struct {
		files [][]string // that the barrier finds, in its runs of this Pod
		ran   string
		opens bool
	}{
		"it was empty":                         {[][]string{nil}, "", false},
		"it had files":                         {[][]string{{file}}, "", true},
		"the machine was off after it":         {[][]string{nil, {file}}, "", true},
		"ScyllaDB has run here as that member": {[][]string{nil}, old, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			cells := saw(idA, "UP", idB, "UP", old, "DOWN")
			objs := append(others(), joinedService(newcomer, "rack3", old), byOperator(report(cells, cells)))
			w := newWorld(t, carry(cells, objs...)...)
			for _, files := range c.files {
				w.dataDir(files...)
				(&barrier{Options: w.o}).self()
			}
			w.dataDir(file)
			w.ran(c.ran)
			w.o.Launcher = true
			w.runs(alone).opensOr(c.opens, time.Minute)
		})
	}
}

// TestTheLauncherDoesNotWaitForItsOwnNode: ScyllaDB has run in this Pod, and its peers still list its host ID.
func TestTheLauncherDoesNotWaitForItsOwnNode(t *testing.T) {
	member := saw(idA, "UP", idB, "UP", idNew, "DOWN")
	joining := saw(idA, "UP", idB, "UP", idNew, "DOWN")
	joining[2].State = "JOINING"
	for name, c := range map[string]struct {
		ran    string
		cells  []api.ObservedNodeStatusReport
		starts bool
	}{
		"it never responded":              {"", up, true},
		"nobody lists it":                 {idNew, up, true},
		"joining":                         {idNew, joining, true},
		"a member, which is not recorded": {idNew, member, true},
		"another node":                    {"", member, false},
		// with host networking the ScyllaDB of another Pod may respond here
		"another member's": {idA, saw(idA, "DOWN", idB, "UP"), false},
	} {
		inBubble(t, name, func(t *testing.T) {
			objs := append(peers(), byOperator(report(c.cells, c.cells)))
			w := atLauncher(t, false, carry(c.cells, objs...)...)
			w.dataDir("commitlog/CommitLog-1.log")
			w.ran(c.ran)
			w.runs(alone).opensOr(c.starts, 10*time.Minute)
		})
	}
}

// With its annotation the controller judges the Pod as one that waits, and may give its turn to another member.
func TestTheLauncherRemovesItsAnnotationBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := atLauncher(t, true, allPeersUp()...)
		w.o.Annotation = `{"launcher":true}` // by an earlier start in this Pod
		w.own("", func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationBarrier: w.o.Annotation} })
		var away atomic.Bool
		away.Store(true)
		c := interceptor.NewClient(w.c, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if away.Load() {
				return errors.New("etcd is away")
			}
			return c.Patch(ctx, o, p, opts...)
		}})
		w.o.NewClient = func() (client.WithWatch, error) { return c, nil }
		w.runs(alone).waits(time.Minute)
		away.Store(false)
		w.opens()
	})
}
