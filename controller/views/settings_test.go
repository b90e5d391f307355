// SPDX-License-Identifier: Apache-2.0

package views_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// withPolicy returns a report with a health policy of its own.
func withPolicy(change func(p *api.StatusReportHealthPolicy)) *api.ScyllaDBStatusReport {
	r := &api.ScyllaDBStatusReport{}
	r.Status.HealthPolicy = healthpolicy.Standard(healthpolicy.Stabilisation, 3)
	change(r.Status.HealthPolicy)
	return r
}

// After as many missed looks as the cluster's own number says a member is UNKNOWN.
func TestMissedLooksAreThoseOfTheHealthPolicy(t *testing.T) {
	for name, missed := range map[string]int{"fewer": 2, "the standard number": view.MissedLimit, "more": 5} {
		t.Run(name, func(t *testing.T) {
			b, all := withHeartbeats(t)
			b.report = withPolicy(func(p *api.StatusReportHealthPolicy) { p.MissedLooks = int32(missed) })
			b.live(5, all)
			b.want("UP UP UP")
			all[1].stop()
			looks := 0
			for ; b.states() == "UP UP UP" && looks < 10; looks++ {
				b.live(1, all)
			}
			b.want("UP UNKNOWN UP")
			// The answer that was under way at the stop may count as one.
			if looks != missed && looks != missed+1 {
				t.Errorf("UNKNOWN after %d looks, want %d", looks, missed)
			}
		})
	}
}

// A view with an open permit is written anew as often as the cluster's own number says.
func TestThePeerCheckIsTheOneOfTheHealthPolicy(t *testing.T) {
	b := newBench(t)
	b.report = withPolicy(func(p *api.StatusReportHealthPolicy) {
		p.PeerCheck.Duration, p.Stabilisation.Duration = 2*time.Second, time.Second
	})
	b.permitted()
	b.look(2)
	b.newcomer(2, 1)
	for range 3 {
		b.permitted()
		b.look(1)
	}
	from := b.writes
	for range 15 {
		b.look(1)
		b.permitted()
	}
	if n := b.writes - from; n != 15 {
		t.Errorf("%d views in 15 looks of %v, want one at each", n, view.Interval)
	}
}

// asked counts the members that were asked, by cluster.
type asked map[string]int

func (a asked) Ask(_ context.Context, all []heartbeats.Target) {
	for _, t := range all {
		if !t.Idle {
			a[t.Cluster]++
		}
	}
}
func (asked) Heard(types.NamespacedName) view.Heartbeat { return view.Heartbeat{} }
func (asked) Wait()                                     {}

// Each cluster is looked at, and its members are asked, as often as its own number says; the number of another one changes nothing.
func TestEachClusterHasItsLookInterval(t *testing.T) {
	b := newBench(t)
	b.edit("demo-rack1-0", func(row *api.NodeStatusReport) {
		row.Heartbeat = &api.ReportHeartbeat{Port: 8083, Fingerprint: strings.Repeat("0", 64)}
	})
	b.stage.Pods["demo-rack1-0"].Status.PodIP = "127.0.0.1"
	intervals := map[string]time.Duration{"quick": time.Second, "standard": view.Interval, "slow": 4 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		looks, asks := map[string]int{}, asked{}
		tracker := views.New(views.Options{
			Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler), Heartbeats: asks, Epoch: func(context.Context) (int64, error) { return 1, nil },
			Observe: func(key types.NamespacedName, _ metrics.Heartbeats) { looks[key.Name]++ },
		})
		for name, d := range intervals {
			o := b.cluster().Objects
			o.Key = cluster.Key{Namespace: stage.Namespace, Name: name}
			o.StatusReport = withPolicy(func(p *api.StatusReportHealthPolicy) { p.LookInterval.Duration = d })
			tracker.View(t.Context(), types.NamespacedName(o.Key), cluster.New(o, cluster.SourceAnnotation, time.Now()), nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+100*time.Millisecond)
		defer cancel()
		if err := tracker.Start(ctx); err != nil {
			t.Fatal(err)
		}
		want, wantAsks := map[string]int{}, asked{}
		for name, d := range intervals {
			want[name] = int(time.Minute / d)
			wantAsks[name] = want[name] + 1 // and once at the start
		}
		if diff := cmp.Diff(want, looks); diff != "" {
			t.Errorf("looks in a minute (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantAsks, asks); diff != "" {
			t.Errorf("members asked in a minute (-want +got):\n%s", diff)
		}
	})
}
