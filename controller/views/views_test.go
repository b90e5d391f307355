// SPDX-License-Identifier: Apache-2.0

package views_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

var key = types.NamespacedName{Namespace: stage.Namespace, Name: stage.Name}

// bench is a tracker with the view that it wrote last.
type bench struct {
	*views.Tracker
	t      *testing.T
	clock  *clocktesting.FakeClock
	stage  *stage.Stage
	epoch  int64
	err    error
	stored *api.StatusReportView
	writes int
	report *api.ScyllaDBStatusReport // with the health policy; nil for none
	// poller asks for heartbeats, over real TLS; nil asks none.
	poller   *heartbeats.Poller
	seen     metrics.View // the metrics of the last look
	founding bool         // the cluster does not count as initialised yet
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, clock: clocktesting.NewFakeClock(stage.Start), stage: stage.New(3, 1), epoch: 1}
	b.restart()
	return b
}

// restart is another process that has taken over.
func (b *bench) restart() {
	o := views.Options{Clock: b.clock, Log: slog.New(slog.DiscardHandler), Epoch: func(context.Context) (int64, error) { return b.epoch, b.err },
		ObserveView: func(_ types.NamespacedName, v metrics.View) { b.seen = v }}
	if b.poller != nil {
		b.poller = heartbeats.New(heartbeats.Options{Clock: b.clock, Log: o.Log})
		o.Heartbeats = b.poller
	}
	b.Tracker = views.New(o)
}

func (b *bench) cluster() *cluster.Cluster {
	o := cluster.Objects{Key: cluster.Key(key), StatusReport: b.report}
	for _, name := range slices.Sorted(maps.Keys(b.stage.Services)) {
		o.Services = append(o.Services, *b.stage.Services[name])
	}
	o.Pods = values[corev1.Pod](b.stage.Pods)
	o.StatefulSets = values[appsv1.StatefulSet](b.stage.Sets)
	return cluster.New(o, cluster.SourceAnnotation, b.clock.Now())
}

func values[T any](m map[string]*T) []T {
	var out []T
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, *m[name])
	}
	return out
}

// assemble lets the view be written, as the loop of the reports does.
func (b *bench) assemble() *api.StatusReportView {
	b.t.Helper()
	was := view.StampOf(b.stored)
	got := b.View(b.t.Context(), key, b.cluster(), b.stored.DeepCopy())
	switch is := view.StampOf(got); {
	case was.Newer(is):
		b.t.Fatalf("the view went back from %v to %v", was, is)
	case is.Newer(was):
		b.writes++
	}
	b.stored = got
	return got
}

// look passes an interval.
func (b *bench) look(times int) {
	for range times {
		b.clock.Step(view.Interval)
		b.Look()
		if b.poller != nil {
			b.Ask(b.t.Context())
			b.poller.Wait()
		}
	}
}

func (b *bench) states() string {
	b.t.Helper()
	var out string
	for i, m := range b.assemble().Members {
		if i > 0 {
			out += " "
		}
		out += string(m.State)
	}
	return out
}

func (b *bench) want(want string) {
	b.t.Helper()
	if got := b.states(); got != want {
		b.t.Errorf("%s after the start: the view says %s, want %s", b.clock.Since(stage.Start), got, want)
	}
}

// row changes a member's status in the row of another.
func (b *bench) row(member string, of string, status api.NodeStatus) {
	b.t.Helper()
	pod := b.stage.Pods[member]
	r, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range r.ObservedNodes {
		if string(r.ObservedNodes[i].HostID) == of {
			r.ObservedNodes[i].Status = status
		}
	}
	if pod.Annotations[api.AnnotationNodeStatusReport], err = api.EncodeNodeStatusReport(r); err != nil {
		b.t.Fatal(err)
	}
}

func TestStatesAreDebounced(t *testing.T) {
	b := newBench(t)
	b.want("UNKNOWN UNKNOWN UNKNOWN") // no member was heard yet
	b.look(1)
	b.want("UNKNOWN UNKNOWN UNKNOWN")
	b.look(1)
	b.want("UP UP UP")
	writes := b.writes
	b.look(1)
	b.want("UP UP UP")
	if b.writes != writes {
		t.Errorf("a view that says the same was written anew")
	}

	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusDown)
	b.want("UP UP DOWN") // at once, without another look
	since := b.stored.Members[2].DownSince
	if since == nil || !since.Time.Equal(b.clock.Now()) {
		t.Errorf("it is DOWN since %v, want %v", since, b.clock.Now())
	}
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusUp)
	b.want("UP UP DOWN")
	b.look(1)
	b.want("UP UP DOWN")
	b.look(1)
	b.want("UP UP UP")

	// Its reporter is no longer ready: its row may be old.
	b.stage.Pods["demo-rack2-0"].Status.InitContainerStatuses[0].Ready = false
	b.want("UP UP UP")
	b.look(2)
	b.want("UP UP UP")
	b.look(1)
	b.want("UP UNKNOWN UP")
}

// A member without evidence is never UP, however often it is looked at.
func TestUnknownIsNeverUp(t *testing.T) {
	b := newBench(t)
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusUnknown)
	for range 10 {
		b.look(1)
		if b.assemble(); b.stored.Members[2].State != api.NodeStatusUnknown {
			t.Fatalf("a member of which a fresh row says UNKNOWN is %s", b.stored.Members[2].State)
		}
	}
}

// While the loop stands still, a view must not have UP for a member without a look.
func TestALoopThatStandsStill(t *testing.T) {
	b := newBench(t)
	b.assemble()
	b.look(2)
	b.want("UP UP UP")
	b.clock.Step(view.MissedLimit * view.Interval)
	b.want("UP UP UP")
	b.clock.Step(time.Second)
	b.want("UNKNOWN UNKNOWN UNKNOWN")
}

// Looks use the assembled data. Where there are none any more, no member is heard.
func TestWhatIsLookedAtGrowsOld(t *testing.T) {
	b := newBench(t)
	b.assemble()
	b.look(2)
	b.want("UP UP UP")
	b.look(int(view.ContactLimit/view.Interval) + view.MissedLimit)
	// The reading of now counts from the next look on.
	b.want("UNKNOWN UNKNOWN UNKNOWN")
	b.look(2)
	b.want("UP UP UP")
}

func TestAControllerTakesOver(t *testing.T) {
	b := newBench(t)
	b.assemble()
	b.look(2)
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusDown)
	b.want("UP UP DOWN")
	since := b.stored.Members[2].DownSince

	b.clock.Step(3 * time.Minute)
	b.epoch++
	b.restart()
	b.want("UNKNOWN UNKNOWN DOWN")
	if b.stored.Epoch != 2 || !b.stored.Members[2].DownSince.Equal(since) {
		t.Errorf("epoch %d, DOWN since %v; want 2, %v", b.stored.Epoch, b.stored.Members[2].DownSince, since)
	}
	b.look(2)
	b.want("UP UP DOWN")
}

// Two controllers both believe to lead: the one whose term is over must not write.
func TestAFormerLeaderWritesNoView(t *testing.T) {
	b := newBench(t)
	b.assemble()
	former := b.Tracker
	b.epoch = 2
	b.restart()
	b.assemble()
	newer := view.StampOf(b.stored)

	b.Tracker = former
	b.look(2)
	if b.assemble(); view.StampOf(b.stored) != newer {
		t.Errorf("the former leader wrote %v over %v", view.StampOf(b.stored), newer)
	}
	// It may not have seen the newer one in its cache: then it writes what the API server refuses, and never a higher epoch.
	if b.stored = nil; b.assemble() == nil || b.stored.Epoch != 2 {
		t.Errorf("a former leader that has seen epoch 2 makes %v", view.StampOf(b.stored))
	}
}

// The Lease was deleted and counts from the beginning: views go on.
func TestALeaseThatWasMadeAnew(t *testing.T) {
	b := newBench(t)
	b.epoch = 7
	b.assemble()
	b.epoch = 1
	b.restart()
	b.assemble()
	if b.stored.Epoch != 8 {
		t.Errorf("epoch %d, want 8", b.stored.Epoch)
	}
}

// After the Lease was deleted, a leader whose views were all refused and its successor take one epoch (seed 725256 by permits): the former one must not write
// when it wakes up.
func TestAFormerLeaderOfTheSameEpochWritesNoView(t *testing.T) {
	b := newBench(t)
	b.epoch = 7
	before := b.assemble()
	b.epoch = 1
	b.restart()
	b.assemble()
	former := b.Tracker
	b.stored, b.epoch = before, 2
	b.restart()
	b.assemble()
	b.look(2)
	newer := b.assemble()
	if b.stored.Epoch != 8 {
		t.Fatalf("epoch %d, want 8", b.stored.Epoch)
	}
	b.Tracker = former
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusDown)
	if got := b.assemble(); view.StampOf(got) != view.StampOf(newer) {
		t.Errorf("the former leader wrote %v over %v", view.StampOf(got), view.StampOf(newer))
	}
}

// The Lease of the election was deleted while a write of the former leader was under way: both take the same term, and their first views have one stamp.
func TestAViewOfTheSameStampBySomebodyElseIsFollowed(t *testing.T) {
	b := newBench(t)
	b.epoch = 7
	before := b.assemble()
	b.epoch = 1
	b.restart()
	late := b.assemble()
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusDown)
	b.restart()
	b.stored = before
	own := b.assemble()
	if view.StampOf(own) != view.StampOf(late) || view.Same(own, late) {
		t.Fatalf("the two views %v and %v are not what this test is about", view.StampOf(own), view.StampOf(late))
	}
	b.stored = late // it arrived first
	if got := b.assemble(); !view.StampOf(got).Newer(view.StampOf(late)) {
		t.Errorf("%v is written over %v of another process", view.StampOf(got), view.StampOf(late))
	}
}

// An older kind that is installed drops the permits: the written view comes back with fewer fields, and is not written for ever.
func TestAViewThatComesBackWithLessIsWrittenOnce(t *testing.T) {
	b := newBench(t)
	whole := b.assemble()
	kept := whole.DeepCopy()
	kept.Members = kept.Members[:1]
	b.Written(key, "report-1", kept)
	b.stored = kept
	if got := b.assemble(); view.StampOf(got) != view.StampOf(whole) || !view.Same(got, whole) {
		t.Errorf("%v is made after %v was kept in part", view.StampOf(got), view.StampOf(whole))
	}
}

func TestTheTermCannotBeRead(t *testing.T) {
	b := newBench(t)
	b.err = errors.New("no answer")
	if got := b.assemble(); got != nil {
		t.Errorf("a view %v was made by a controller that does not know its term", view.StampOf(got))
	}
	b.err = nil
	if b.assemble() == nil {
		t.Error("no view")
	}
}

func TestTheDigestOfAReport(t *testing.T) {
	b := newBench(t)
	b.assemble()
	want := api.ReportDigest(b.stage.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport])
	if got := b.stored.Members[0].Digest; got != want || len(got) != 16 {
		t.Errorf("digest %q, want %q", got, want)
	}
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusDown)
	if b.assemble(); b.stored.Members[0].Digest == want {
		t.Error("the report changed and its digest did not")
	}
	b.Forget(key)
}

// While a StatefulSet is rolled no node may join, whatever the members' states are.
func TestARolloutHolds(t *testing.T) {
	b := newBench(t)
	for _, set := range b.stage.Sets {
		set.Status = appsv1.StatefulSetStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "a"}
	}
	if hold := b.assemble().Hold; hold != "" {
		t.Fatalf("all is at rest, and the view is held by %s", hold)
	}
	b.stage.Sets["demo-rack2"].Status.UpdateRevision, b.stage.Sets["demo-rack2"].Status.UpdatedReplicas = "b", 0
	if hold := b.assemble().Hold; hold != "RolloutInProgress" {
		t.Errorf("a StatefulSet is rolled, and the view is held by %q", hold)
	}
	b.stage.Sets["demo-rack2"].Status.CurrentRevision, b.stage.Sets["demo-rack2"].Status.UpdatedReplicas = "b", 1
	if hold := b.assemble().Hold; hold != "" {
		t.Errorf("the rollout is over, and the view is held by %s", hold)
	}
}

// A report that is deleted with its StatefulSets and made anew goes on where the last one ended: a barrier that waited meanwhile remembers the views of then.
func TestAForgottenClusterGoesOn(t *testing.T) {
	for name, begins := range map[string]int64{"of the first term": 1, "of a term after the stored view's": 7} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.stored = &api.StatusReportView{Epoch: begins, Seq: 3}
			b.look(5)
			was := view.StampOf(b.assemble())
			b.Forget(key)
			b.stored = nil
			if is := view.StampOf(b.assemble()); !is.Newer(was) {
				t.Errorf("after %v comes %v", was, is)
			}
		})
	}
}
