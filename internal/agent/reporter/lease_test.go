// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
)

// byLease is a reporter that renews a Lease, stepped by hand.
func (w *world) byLease() *reporter {
	w.t.Helper()
	w.o.HeartbeatByLease = true
	r := w.byHand()
	r.relay.of(demo)
	return r
}

func (w *world) lease() *coordinationv1.Lease {
	w.t.Helper()
	l := &coordinationv1.Lease{}
	if err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: ns, Name: "scylla-heartbeat-" + pod}, l); err != nil {
		w.t.Fatal(err)
	}
	return l
}

// The Lease has number and digest of the row in the annotation, is owned by the Pod, and is renewed each five seconds, at once where the row is another one.
func TestALeaseIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.o.Interval = time.Second
		r := w.byLease()
		step := func() {
			t.Helper()
			if err := r.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		step()
		l := w.lease()
		if n, err := heartbeat.Read(l, "uid-1", api.ReportDigest(w.annotation())); n.Number != 1 || err != nil {
			t.Errorf("%d, %v: %+v", n.Number, err, l)
		}
		if l.Labels[api.LabelCluster] != "demo" || *l.Spec.HolderIdentity != pod || !l.Spec.RenewTime.Time.Equal(time.Now()) {
			t.Errorf("%+v", l)
		}
		versions := map[string]bool{}
		for range 60 {
			time.Sleep(time.Second)
			step()
			versions[w.lease().ResourceVersion] = true
		}
		if n := len(versions); n < 12 || n > 16 {
			t.Errorf("written %d times in a minute", n)
		}
		w.node.sees(false) // another row
		step()
		if _, err := heartbeat.Read(w.lease(), "uid-1", api.ReportDigest(w.annotation())); err != nil {
			t.Errorf("the Lease confirms another row than the annotation has: %v", err)
		}
	})
}

// With a longer interval the Lease is renewed at each poll, for three of them.
func TestALeaseFollowsTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.o.Interval = 20 * time.Second
		r := w.byLease()
		for n := range int64(3) {
			if err := r.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			l := w.lease()
			if got, err := heartbeat.Read(l, "uid-1", api.ReportDigest(w.annotation())); err != nil || got.Number != n+1 || *l.Spec.LeaseDurationSeconds != 60 {
				t.Errorf("%d, %v, %d s", got.Number, err, *l.Spec.LeaseDurationSeconds)
			}
			time.Sleep(w.o.Interval - time.Second) // a little early
		}
	})
}

// A failure costs the heartbeat alone: the Lease is taken over from the Pod before, created again where it was deleted, and tried again where the API server refuses.
func TestALeaseIsTakenOverAndMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		old := &coordinationv1.Lease{}
		heartbeat.Fill(old, heartbeat.Owner{Pod: types.NamespacedName{Namespace: ns, Name: pod}, UID: "uid-0", Cluster: "demo"}, 900, "d", metav1.NowMicro(), 15)
		if err := w.c.Create(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		r := w.byLease()
		wants := func(what string, number int64) {
			t.Helper()
			time.Sleep(DefaultInterval)
			if err := r.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n, err := heartbeat.Read(w.lease(), "uid-1", api.ReportDigest(w.annotation())); n.Number != number || err != nil {
				t.Errorf("%s: %d, %v, want %d", what, n.Number, err, number)
			}
		}
		wants("of the Pod before", 1)
		if err := w.c.Delete(t.Context(), w.lease()); err != nil {
			t.Fatal(err)
		}
		wants("deleted", 2)
		l := w.lease() // another writer labels it meanwhile
		l.Labels["x"] = "y"
		if err := w.c.Update(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		wants("written by somebody else", 3)
		r.leaseBeat.is = nil
		w.setFailure(errors.New("connection refused"))
		time.Sleep(DefaultInterval)
		if err := r.step(t.Context()); err != nil {
			t.Errorf("a Lease that cannot be read ends the reporter: %v", err)
		}
		w.setFailure(nil)
		wants("the API server is back", 5)
	})
}

// The row says that its number is on a Lease, and the port beside it is served all the same.
func TestTheRowSaysWhereTheNumberIs(t *testing.T) {
	w := newWorld(t, "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.o.Heartbeat, w.o.HeartbeatByLease, w.wrote = l, true, make(chan struct{})
	stop := w.start()
	<-w.wrote
	if h := w.row().Heartbeat; h == nil || !h.Lease || h.Port == 0 {
		t.Errorf("the row says %+v", h)
	}
	go func() { // the last words are a write, too
		for range w.wrote {
		}
	}()
	defer close(w.wrote)
	if err := stop(); err != nil {
		t.Error(err)
	}
}
