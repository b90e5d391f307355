// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

var (
	rehearse = flag.Bool("rehearse", false, "run all rehearsals, one after the other; without it the third alone is performed, by TestJoinIsHeldWhileANodeIsDown, so that none of this rots")
	measured = flag.String("measured", "", "file to which what the rehearsals measured is written, as JSON")
)

// dwell is for how long what must not happen is watched for.
const dwell = 10 * time.Second

// drill is one rehearsal under way.
type drill struct {
	*fixture
	times []timing
	// whileHeld, when set, is done in the third rehearsal while the newcomer is held.
	whileHeld func()
}

// timing is one line of the table of measured against documented times. Seconds are those of this run: no test fails by them on a machine that is
// busy, but cmd/gen refuses to document a record in which a measured time breaks the documented one.
type timing struct {
	Rehearsal  int     `json:"rehearsal"`
	Name       string  `json:"name"`
	What       string  `json:"what"`
	Documented float64 `json:"documented"` // seconds; 0: nothing is promised
	Measured   float64 `json:"measured"`   // seconds; 0: held, with nothing to wait for
}

// rehearsal is a failure that is made on purpose in a cluster that was healthy, and what must come of it. Nothing is concluded before canary has
// proven that the failure is there: an injection that does nothing would pass every check.
type rehearsal struct {
	number int
	name   string
	// cluster is the deployed cluster; the zero value is three racks of one node.
	cluster scenario.Cluster
	// forming leaves the first health check out: the rehearsal is about the cluster's first start.
	forming bool
	// behind lets the API server that the barriers of rack2 see fall behind: see withStaleAPI.
	behind bool
	// blind is set where the controller is stopped or may not write, so that no newer view can be waited for.
	blind                           bool
	inject, canary, verify, cleanUp func(*drill)
}

// perform is baseline, injection, canary, a view made after it, dwell, verification, clean-up, and the baseline once more.
func (r rehearsal) perform(d *drill) {
	differs := r.cluster.Mutate
	r.cluster.Mutate = func(s *appsv1.StatefulSet) {
		asShipped(s)
		if differs != nil {
			differs(s)
		}
		if r.behind {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, healthpolicy.Annotation(healthpolicy.FieldViewLimit), healthpolicy.MostViewLimit.String())
		}
		if r.behind && s.Name == rack2 {
			withStaleAPI(s)
		}
	}
	if r.behind {
		loadStaleAPI(d.t)
	}
	if *rehearse {
		freshController(d.t)
	}
	if r.forming {
		d.fixture = stageCluster(d.t, r.cluster)
	} else {
		d.fixture = deploy(d.t, r.cluster)
		d.healthy()
	}
	r.inject(d)
	r.canary(d)
	if !r.blind {
		d.nextView()
	}
	r.verify(d)
	if r.cleanUp != nil {
		r.cleanUp(d)
	}
	d.healthy()
}

// asShipped takes away what the other tests set to be done sooner, but for the time that ScyllaDB is given to end.
func asShipped(s *appsv1.StatefulSet) {
	shortGrace(s)
	for i := range s.Spec.Template.Spec.InitContainers {
		c := &s.Spec.Template.Spec.InitContainers[i]
		c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--stabilisation=") })
	}
}

// took waits until cond is true and notes how long after since that was.
func (d *drill) took(what string, documented time.Duration, since time.Time, cond func(ctx context.Context) (bool, string, error)) {
	d.t.Helper()
	d.waitFor(what, cond)
	d.times = append(d.times, timing{What: what, Documented: documented.Seconds(), Measured: time.Since(since).Round(100 * time.Millisecond).Seconds()})
}

// view is the controller's view as it is stored; nil when there is none.
func (d *drill) view(ctx context.Context) (*api.StatusReportView, error) {
	var l api.ScyllaDBStatusReportList
	if err := d.Client.List(ctx, &l, client.InNamespace(d.namespace)); err != nil {
		return nil, err
	}
	if len(l.Items) != 1 {
		return nil, nil
	}
	return l.Items[0].Status.View, nil
}

// nextView waits until a controller that leads has made a view, or proven again that the last one holds: what it says may otherwise be older than
// the injection.
func (d *drill) nextView() {
	d.t.Helper()
	renewed := d.renewed(d.ctx)
	d.waitFor("the controller to judge the cluster once more", func(ctx context.Context) (bool, string, error) {
		now := d.renewed(ctx)
		return now.After(renewed.Add(2 * time.Second)), now.String(), nil
	})
}

// renewed is when the controller's Lease was last renewed, by its holder's clock.
func (d *drill) renewed(ctx context.Context) time.Time {
	l := &coordinationv1.Lease{}
	if err := d.Client.Get(ctx, client.ObjectKey{Namespace: "kubectl-scylla", Name: api.LeaseName}, l); err != nil || l.Spec.RenewTime == nil {
		return time.Time{}
	}
	return l.Spec.RenewTime.Time
}

// controllerPod is the one Pod of the shipped controller.
func (d *drill) controllerPod() corev1.Pod {
	d.t.Helper()
	var l corev1.PodList
	d.must(d.Client.List(d.ctx, &l, client.InNamespace("kubectl-scylla")))
	if len(l.Items) != 1 {
		d.t.Fatalf("%d Pods of the controller, want 1", len(l.Items))
	}
	return l.Items[0]
}

// killController ends the controller's process as a crash does, and returns how often its container had been restarted before.
func (d *drill) killController() (restarts int32) {
	d.t.Helper()
	p := d.controllerPod()
	restarts = p.Status.ContainerStatuses[0].RestartCount
	controllerKills.Add(1)
	d.must(d.Cluster.SignalContainer(d.ctx, p.Namespace, p.Name, p.Spec.Containers[0].Name, syscall.SIGKILL))
	return restarts
}

// loseController ends the controller's process and its Pod, as the loss of a machine does, and waits for the next Pod. Of a container that crashes again and again Kubernetes itself
// puts off the next start.
func (d *drill) loseController() {
	d.t.Helper()
	p := d.controllerPod()
	controllerKills.Add(1)
	d.must(d.Cluster.SignalContainer(d.ctx, p.Namespace, p.Name, p.Spec.Containers[0].Name, syscall.SIGKILL))
	d.must(client.IgnoreNotFound(d.Client.Delete(d.ctx, &p, client.GracePeriodSeconds(0))))
	d.waitFor("the next Pod of the controller", runs(d.World, p.UID))
}

// freshController replaces a controller that rehearsals have killed: how long Kubernetes puts off its next start would be measured, too.
func freshController(t *testing.T) {
	t.Helper()
	w := world(t)
	var l corev1.PodList
	if err := w.Client.List(t.Context(), &l, client.InNamespace("kubectl-scylla")); err != nil {
		t.Fatal(err)
	}
	for i := range l.Items {
		p := &l.Items[i]
		if restarts(p) == 0 {
			continue
		}
		if err := w.Client.Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := cluster.WaitFor(ctx, "the next Pod of the controller", 200*time.Millisecond, runs(w, p.UID)); err != nil {
			t.Fatal(err)
		}
	}
}

// runs is true once the one Pod of the controller is another than this, and ready.
func runs(w *scenario.World, not types.UID) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		var l corev1.PodList
		if err := w.Client.List(ctx, &l, client.InNamespace("kubectl-scylla")); err != nil || len(l.Items) != 1 {
			return false, fmt.Sprintf("%d Pods", len(l.Items)), err
		}
		return l.Items[0].UID != not && scenario.Ready(&l.Items[0]), scenario.Describe(&l.Items[0]), nil
	}
}

// left is true once a member's barrier has let it through.
func (f *fixture) left(member string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, p); err != nil {
			return false, "", client.IgnoreNotFound(err)
		}
		s := initStatus(p, api.ContainerBarrier)
		return s != nil && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0, scenario.Describe(p), nil
	}
}

// says is true once a member's barrier has logged all of the texts.
func (d *drill) says(member string, texts ...string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		log, err := d.ContainerLog(ctx, d.namespace, member, api.ContainerBarrier)
		for _, text := range texts {
			if !strings.Contains(log, text) {
				return false, tail(log, 3), err
			}
		}
		return true, "", err
	}
}

// row is true once a Pod's row contains a text.
func (d *drill) row(pod, text string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := d.Client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: pod}, p); err != nil {
			return false, "", err
		}
		row := p.Annotations[api.AnnotationNodeStatusReport]
		return strings.Contains(row, text), row, nil
	}
}

// waits scales a rack up and waits until its newcomer waits at its barrier.
func (d *drill) waits(rack, newcomer string) {
	d.t.Helper()
	d.must(d.Scale(d.ctx, d.namespace, rack, 2))
	d.untilBarrierRuns(newcomer)
}

func (d *drill) at(member string) cluster.Pod {
	return cluster.Pod{Namespace: d.namespace, Name: member}
}

// theThird is the rehearsal that is performed in every run.
func theThird() rehearsal {
	all := rehearsals()
	return all[slices.IndexFunc(all, func(r rehearsal) bool { return r.number == 3 })]
}

// TestRehearsals runs what docs/internals.md promises. All of it takes too long for every run: `make rehearse` does it, and writes the times down.
func TestRehearsals(t *testing.T) {
	covers(t, "controller/reports", "controller/views", "internal/agent/barrier", "internal/view/healthpolicy", "internal/peer/viewwire")
	if !*rehearse {
		t.Skip("make rehearse runs them")
	}
	pods(t, 5)
	var all []timing
	for _, r := range rehearsals() {
		t.Run(fmt.Sprintf("%d", r.number), func(t *testing.T) {
			d := &drill{fixture: &fixture{t: t}}
			r.perform(d)
			if len(d.times) == 0 {
				d.times = []timing{{What: "held, and nothing to wait for"}}
			}
			for _, m := range d.times {
				m.Rehearsal, m.Name = r.number, r.name
				all = append(all, m)
				t.Logf("%2d %-60s %-60s documented %6.1f s, measured %6.1f s", r.number, r.name, m.What, m.Documented, m.Measured)
			}
		})
	}
	if *series != "" {
		t.Run("series", recordSeries)
	}
	if *measured == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*measured, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}
