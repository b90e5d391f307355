// SPDX-License-Identifier: Apache-2.0

package heartbeats_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// A Lease is a heartbeat by the rules of one that is asked for: it counts once its number is seen to advance, for the row and the Pod that it names, and not for longer
// than a number may stand still.
func TestALeaseIsAHeartbeat(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build()
	var whys []heartbeats.Why
	p := heartbeats.New(heartbeats.Options{Clock: clock, Log: slog.New(slog.DiscardHandler), Timeout: long, Leases: c,
		Missed: func(_ heartbeats.Target, why heartbeats.Why) { whys = append(whys, why) }})
	pod := types.NamespacedName{Namespace: "db", Name: "demo-0"}
	digest := api.ReportDigest(row)
	// No server answers there: the network forbids it.
	target := heartbeats.Target{Pod: pod, Cluster: "demo", Address: "192.0.2.1:1", Fingerprint: "f", Digest: digest, Lease: true, UID: "uid-1"}
	number := int64(0)
	is := &coordinationv1.Lease{}
	write := func(uid types.UID, digest string, by int64) {
		t.Helper()
		number += by
		heartbeat.Fill(is, heartbeat.Owner{Pod: pod, UID: uid, Cluster: "demo"}, number, digest, metav1.NewMicroTime(clock.Now().Add(-24*time.Hour)), 15) // its clock counts for nothing
		err := c.Update(t.Context(), is)
		if is.ResourceVersion == "" {
			err = c.Create(t.Context(), is)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	beats := func() bool {
		clock.Step(view.Interval)
		p.Ask(t.Context(), []heartbeats.Target{target})
		p.Wait()
		e := view.Sighting{Digest: target.Digest}
		return e.Beats(p.Heard(pod), clock.Now())
	}
	want := func(what string, is bool, why ...heartbeats.Why) {
		t.Helper()
		if whys = nil; beats() != is || !slices.Equal(whys, why) {
			t.Errorf("%s: want %v %q, missed %q", what, is, why, whys)
		}
	}
	want("no Lease", false, heartbeats.NoLease)
	write("uid-1", digest, 1)
	want("the first number says nothing", false)
	write("uid-1", digest, 1)
	want("it advances", true)
	write("uid-1", api.ReportDigest("another"), 1)
	want("another row", false, heartbeats.OtherRow)
	write("uid-1", digest, 1)
	want("its row again", true)
	write("uid-0", digest, 1)
	want("another Pod's", false, heartbeats.OtherPod)
	write("uid-1", digest, 1)
	want("its own again", true)
	write("uid-1", digest, -3)
	want("a number that goes back", false, heartbeats.WentBack)
	write("uid-1", digest, 3)
	for range view.ContactLimit / view.Interval {
		beats()
	}
	want("a number that stands still", false, heartbeats.Stopped)
	target.UID = "uid-2" // the Pod was made anew: nothing that was heard before is about it
	write("uid-2", digest, -number)
	want("the first number of another Pod", false)
	write("uid-2", digest, 1)
	want("it advances, too", true)
}
