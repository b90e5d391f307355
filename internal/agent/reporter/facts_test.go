// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// The row has the use of the data's volume, even if ScyllaDB does not respond, and no value without
// the mount.
func TestTheRowTellsTheDisk(t *testing.T) {
	w := newWorld(t, "")
	dir := t.TempDir()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	want := int32(100 * float64(fs.Blocks-fs.Bavail) / float64(fs.Blocks))
	if want < diskFine {
		want -= want % diskStep
	}
	r := w.byHand()
	for _, step := range []struct {
		dir  string
		down error
		want *int32
	}{{dir, nil, &want}, {dir, errors.New("no answer"), &want}, {filepath.Join(dir, "none"), nil, nil}} {
		r.DiskDir = step.dir
		w.node.goes(step.down)
		w.step(r)
		if diff := cmp.Diff(step.want, w.row().DiskUsedPercent); diff != "" {
			t.Errorf("%s, %v: (-want +got):\n%s", step.dir, step.down, diff)
		}
	}
}

// A disk use that goes up and down with compactions does not change the row each time.
func TestTheDiskMovesInSteps(t *testing.T) {
	t.Parallel()
	var last *int32
	var got []int32
	percents := []int32{0, 4, 5, 9, 10, 9, 8, 7, 44, 45, 43, 42, 89, 90, 88, 91, 90, 89, 88, 98, 100}
	for _, percent := range percents {
		last = usedStep(last, &percent)
		got = append(got, *last)
	}
	want := []int32{0, 0, 5, 5, 10, 10, 10, 5, 40, 45, 45, 40, 85, 90, 90, 91, 91, 91, 85, 98, 100}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of %v (-want +got):\n%s", percents, diff)
	}
	if last = usedStep(last, nil); last != nil {
		t.Errorf("of no volume: %d", *last)
	}
}

// The row of a joining node has its progress if the metrics have it; not in NORMAL.
func TestTheRowTellsHowFarAJoinIs(t *testing.T) {
	w := newWorld(t, "")
	w.o.Metrics = scylla.NewClient("http://localhost:9180/metrics", &http.Client{Transport: w.node})
	r := w.byHand()
	for _, step := range []struct {
		mode, value string
		want        *int32
	}{{"JOINING", "0.43", new(int32(43))}, {"JOINING", "1", nil}, {"JOINING", "", nil}, {"NORMAL", "0.43", nil}} {
		w.node.set(func(n *node) {
			n.answers["/storage_service/operation_mode"] = `"` + step.mode + `"`
			if delete(n.answers, "/metrics"); step.value != "" {
				n.answers["/metrics"] = `scylla_node_ops_finished_percentage{ops="bootstrap",shard="0"} ` + step.value + "\n"
			}
		})
		w.step(r)
		if diff := cmp.Diff(step.want, w.row().JoinedPercent); diff != "" {
			t.Errorf("%s, %s: (-want +got):\n%s", step.mode, step.value, diff)
		}
	}
}

// The indexes are sent beside the heartbeat and written nowhere, however often they change; unknown values are no longer sent.
func TestTheLogIsSaidAndNotWritten(t *testing.T) {
	w := newWorld(t, "")
	w.node.answers["/storage_service/schema_version"] = `"` + idA + `"`
	gauges := func(apply int) {
		w.node.set(func(n *node) {
			n.answers["/metrics"] = fmt.Sprintf("scylla_raft_apply_index %d\nscylla_raft_commit_index 900\nscylla_raft_state 0\n", apply)
		})
	}
	w.o.Metrics = scylla.NewClient("http://localhost:9180/metrics", &http.Client{Transport: w.node})
	r := w.byHand()
	step := func(want raftlog.State) {
		t.Helper()
		w.step(r)
		answer := httptest.NewRecorder()
		r.beat.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, heartbeat.Path, http.NoBody))
		if got, _ := raftlog.Parse(answer.Header().Get(heartbeat.LogHeader)); got != want {
			t.Errorf("it says %+v, want %+v", got, want)
		}
	}
	gauges(1)
	step(raftlog.State{}) // without a heartbeat the metrics are not read
	r.where = &api.ReportHeartbeat{Port: 1, Fingerprint: "f"}
	step(raftlog.State{Known: true, Commit: 900, Apply: 1, Schema: idA})
	before, _ := w.count()
	for apply := range 5 {
		gauges(100 + apply)
		step(raftlog.State{Known: true, Commit: 900, Apply: int64(100 + apply), Schema: idA})
	}
	if now, _ := w.count(); now != before {
		t.Errorf("%d writes because an index changed", now-before)
	}
	w.node.set(func(n *node) { delete(n.answers, "/metrics") })
	step(raftlog.State{Schema: idA})
	w.node.goes(errors.New("no answer"))
	step(raftlog.State{})
	w.node.goes(nil)
	gauges(200)
	r.Metrics = nil // --scylla-metrics-url=
	step(raftlog.State{Schema: idA})
}

// TestB3TheLastRowStaysBesideTheError: ScyllaDB ends, and so does the reporter; a new one, which gets no answer of ScyllaDB, keeps the last known members.
func TestB3TheLastRowStaysBesideTheError(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.node.sees(false)
		stop := w.start()
		time.Sleep(time.Minute)
		w.node.goes(syscall.ECONNREFUSED)
		time.Sleep(time.Minute)
		stop()
		first := w.annotation()
		w.start()
		time.Sleep(time.Minute)
		if w.annotation() != first {
			t.Errorf("after the reporter's restart: %s\nbefore: %s", w.annotation(), first)
		}
		r := w.row()
		want := &api.LastRow{HostID: idA, ObservedNodes: []api.ObservedNodeStatusReport{{HostID: idB, Status: "DOWN"}, {HostID: idA, Status: "UP"}}}
		if diff := cmp.Diff(want, r.LastRow); diff != "" || r.Error == nil || len(r.ObservedNodes) != 0 {
			t.Errorf("(-want +got):\n%s%+v", diff, r)
		}

		w.node.goes(nil)
		time.Sleep(time.Minute)
		if r := w.row(); r.LastRow != nil || len(r.ObservedNodes) != 2 {
			t.Errorf("beside a row that there is: %+v", r)
		}
		// Another node on the same Pod, whose gossip has not started: the last row was not its own.
		w.node.set(func(n *node) {
			n.answers["/storage_service/hostid/local"] = `"` + idB + `"`
			delete(n.answers, "/storage_service/host_id")
		})
		time.Sleep(time.Minute)
		if r := w.row(); r.LastRow != nil || r.Error == nil || r.HostID != idB {
			t.Errorf("of another node: %+v", r)
		}
	})
}

// TestNoHarm8TheAnnotationTellsHowScyllaDBEnded: once, however often it is polled; and no more once ScyllaDB serves again.
func TestNoHarm8TheAnnotationTellsHowScyllaDBEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		supervisord := &node{answers: map[string]string{"/RPC2": "<methodResponse><params><param><value><struct>" +
			"<member><name>statename</name><value><string>EXITED</string></value></member><member><name>stop</name><value><int>1764072000</int></value></member>" +
			"<member><name>exitstatus</name><value><int>0</int></value></member></struct></value></param></params></methodResponse>"}}
		w.o.Supervisor = scylla.NewClient(scylla.DefaultSupervisorURL, &http.Client{Transport: supervisord})
		w.start()
		time.Sleep(time.Minute + time.Second) // between two polls
		before, _ := w.count()
		w.node.goes(syscall.ECONNREFUSED)
		time.Sleep(time.Minute)
		ended := metav1.NewTime(time.Unix(1764072000, 0).UTC())
		want := &api.ScyllaDBProcess{State: "EXITED", ExitStatus: new(int32), Ended: &ended}
		if diff := cmp.Diff(want, w.row().Process, cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if after, _ := w.count(); after != before+1 {
			t.Errorf("%d writes", after-before)
		}
		w.node.goes(nil)
		time.Sleep(time.Minute)
		if p := w.row().Process; p != nil {
			t.Errorf("of a node that serves: %+v", p)
		}
	})
}

// TestC5TheRowTellsGroup0: by the answer of the Pod's query, once the node serves; where no query ran, or the disk has no ID, the row has none either.
func TestC5TheRowTellsGroup0(t *testing.T) {
	const id = "f7a1bc52-8b1c-11f0-8de9-0242ac120002"
	for name, c := range map[string]struct{ answer, mode, want string }{
		"the disk tells":                {`[{"value":"` + id + `"}]`, "NORMAL", id},
		"in capitals":                   {`[{"value":"F7A1BC52-8B1C-11F0-8DE9-0242AC120002"}]`, "NORMAL", id},
		"the node has not joined":       {`[{"value":"` + id + `"}]`, "STARTING", ""},
		"the first start":               {"", "NORMAL", ""},
		"a disk without that key":       {"[]", "NORMAL", ""},
		"something else than an answer": {`[{"value":"none"}]`, "NORMAL", ""},
		"an answer that was cut":        {`[{"value":"` + id, "NORMAL", ""},
		"no query":                      {"-", "NORMAL", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.o.Group0File = filepath.Join(t.TempDir(), "group0.json")
				if c.answer != "-" {
					if err := os.WriteFile(w.o.Group0File, []byte(c.answer), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				w.node.set(func(n *node) { n.answers["/storage_service/operation_mode"] = `"` + c.mode + `"` })
				w.start()
				time.Sleep(time.Minute)
				if r := w.row(); r.Group0ID != c.want || r.Error != nil {
					t.Errorf("group 0 %q (%v), want %q", r.Group0ID, r.Error, c.want)
				}
			})
		})
	}
}
