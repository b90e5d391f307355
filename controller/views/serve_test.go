// SPDX-License-Identifier: Apache-2.0

package views_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// served is the stamp and age of the served view.
func (b *bench) served(wantErr error) (view.Stamp, time.Duration) {
	b.t.Helper()
	v, err := b.Served(key)
	if !errors.Is(err, wantErr) {
		b.t.Fatalf("error %v, want %v", err, wantErr)
	}
	if err != nil {
		return view.Stamp{}, 0
	}
	return view.StampOf(&v.StatusReportView), v.Age()
}

func TestTheServedViewIsTheWrittenOneAndItsAgeIsByOneClock(t *testing.T) {
	b := newBench(t)
	if _, err := b.Served(types.NamespacedName{Namespace: "db", Name: "other"}); !errors.Is(err, viewwire.ErrUnknown) {
		t.Errorf("an unknown cluster: %v", err)
	}
	b.assemble()
	b.served(viewwire.ErrNone) // it is not known yet that it is written
	b.Written(key, "report-1", b.stored)
	if stamp, age := b.served(nil); stamp != view.StampOf(b.stored) || age != 0 {
		t.Errorf("%v, %v old; want %v", stamp, age, view.StampOf(b.stored))
	}
	b.look(1)
	b.clock.Step(time.Second)
	if _, age := b.served(nil); age != time.Second {
		t.Errorf("a second after a look that found it true it is %v old", age)
	}
	b.look(3)
	b.assemble()
	b.Written(key, "report-1", b.stored)
	up := view.StampOf(b.stored)
	if v, err := b.Served(key); err != nil || v.ReportUID != "report-1" {
		t.Errorf("the view is said to be of report %q, %v", v.ReportUID, err)
	}

	// Its content has changed, and is not written yet: the served view grows old, however often it is looked at.
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusDown)
	b.assemble()
	for range 3 {
		b.look(1)
	}
	if stamp, age := b.served(nil); stamp != up || age < 3*view.Interval {
		t.Errorf("%v, %v old; want %v, at least %v", stamp, age, up, 3*view.Interval)
	}
	b.Written(key, "report-1", b.stored)
	if stamp, _ := b.served(nil); !stamp.Newer(up) {
		t.Errorf("%v after %v", stamp, up)
	}
}

// Another controller has written a newer view: this one serves none.
func TestAFormerLeaderServesNoView(t *testing.T) {
	b := newBench(t)
	b.assemble()
	b.Written(key, "report-1", b.stored)
	b.served(nil)
	b.stored = b.stored.DeepCopy()
	b.stored.Epoch, b.epoch = 2, 2
	b.assemble()
	b.served(viewwire.ErrNotLeading)
	b.Written(key, "report-1", b.stored)
	b.served(viewwire.ErrNotLeading)
}

// An older installed kind drops the permits from the view. An incomplete view is not served, nor is the one that was served before it.
func TestAViewThatWasNotKeptWholeIsNotServed(t *testing.T) {
	b := newBench(t)
	b.permitted()
	b.look(2)
	b.permitted()
	b.Written(key, "report-1", b.stored)
	b.served(nil)
	name := b.newcomer(2, 1)
	for range 10 {
		b.look(1)
		b.permitted()
	}
	if p := b.stored.Permits; len(p) != 1 || p[0].Member != name {
		t.Fatalf("permits %+v, queue %+v", p, b.stored.Queue)
	}
	kept := b.stored.DeepCopy()
	kept.Policy, kept.Permits, kept.Queue, kept.Founder, kept.Waiting = "", nil, nil, "", 0
	b.Written(key, "report-1", kept)
	b.served(viewwire.ErrNone)
	// Stored whole, it is served; one of another moment than the view last shown changes nothing.
	b.Written(key, "report-1", b.stored)
	b.served(nil)
	kept.Seq--
	b.Written(key, "report-1", kept)
	b.served(nil)
}

// The metrics of a view are of the stored one, and only while this process makes its views.
func TestWhatIsMeasuredOfTheView(t *testing.T) {
	b := newBench(t)
	b.permitted()
	b.look(2)
	if b.permitted(); b.seen.Served {
		t.Errorf("measured before it is written: %+v", b.seen)
	}
	b.Written(key, "report-1", b.stored)
	b.look(1)
	want := metrics.View{Served: true, Epoch: 1, Members: map[metrics.Place]int{{Datacenter: "dc1", State: "UP"}: 3}}
	if diff := cmp.Diff(want, b.seen); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
	// Its content is no longer true, and no other view has been written.
	b.stage.Pods["demo-rack3-0"].Status.InitContainerStatuses[0].Ready = false
	b.cluster()
	b.permitted()
	b.look(4)
	if b.seen.Age < 2*view.Interval || b.seen.Members[metrics.Place{Datacenter: "dc1", State: "UP"}] != 3 {
		t.Errorf("measured %+v of a view that is not so any more", b.seen)
	}
	b.epoch++
	b.restart()
	b.permitted()
	if b.look(1); b.seen.Served {
		t.Errorf("measured by a process that has written none: %+v", b.seen)
	}
}

// A client that has the view gets its age alone.
func TestWhoHasTheViewGetsItsAgeAlone(t *testing.T) {
	b := newBench(t)
	b.assemble()
	b.Written(key, "report-1", b.stored)
	get := func(tag string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, viewwire.Path+"?namespace="+key.Namespace+"&name="+key.Name, http.NoBody)
		r.Header.Set("If-None-Match", tag)
		viewwire.Handler(b.Served).ServeHTTP(w, r)
		return w
	}
	first := get("")
	full, err := b.Served(key)
	if err != nil {
		t.Fatal(err)
	}
	if got := (&viewwire.View{}); first.Code != http.StatusOK || json.Unmarshal(first.Body.Bytes(), got) != nil || cmp.Diff(full, got) != "" {
		t.Errorf("%d, answered %s", first.Code, first.Body)
	}
	again := get(first.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get(viewwire.AgeHeader) != "0" {
		t.Errorf("%d with %d bytes, age %q", again.Code, again.Body.Len(), again.Header().Get(viewwire.AgeHeader))
	}
}
