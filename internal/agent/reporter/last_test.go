// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// TestB3TheLastRowStaysBesideTheError: ScyllaDB ends, and so does the reporter; a new one, which gets no answer of ScyllaDB, keeps the last known members.
func TestB3TheLastRowStaysBesideTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.node.sees(false)
		stop := w.start()
		time.Sleep(time.Minute)
		w.node.set(func(n *node) { n.down = syscall.ECONNREFUSED })
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		first := w.annotation()
		defer w.start()()
		time.Sleep(time.Minute)
		if w.annotation() != first {
			t.Errorf("after the reporter's restart: %s\nbefore: %s", w.annotation(), first)
		}
		r := w.row()
		want := &api.LastRow{HostID: idA, ObservedNodes: []api.ObservedNodeStatusReport{{HostID: idB, Status: "DOWN"}, {HostID: idA, Status: "UP"}}}
		if diff := cmp.Diff(want, r.LastRow); diff != "" || r.Error == nil || len(r.ObservedNodes) != 0 {
			t.Errorf("(-want +got):\n%s%+v", diff, r)
		}

		w.node.set(func(n *node) { n.down = nil })
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
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		supervisord := &node{answers: map[string]string{"/RPC2": "<methodResponse><params><param><value><struct>" +
			"<member><name>statename</name><value><string>EXITED</string></value></member><member><name>stop</name><value><int>1764072000</int></value></member>" +
			"<member><name>exitstatus</name><value><int>0</int></value></member></struct></value></param></params></methodResponse>"}}
		w.o.Supervisor = scylla.NewClient(scylla.DefaultSupervisorURL, &http.Client{Transport: supervisord})
		defer w.start()()
		time.Sleep(time.Minute + time.Second) // between two polls
		before, _ := w.count()
		w.node.set(func(n *node) { n.down = syscall.ECONNREFUSED })
		time.Sleep(time.Minute)
		ended := metav1.NewTime(time.Unix(1764072000, 0).UTC())
		want := &api.ScyllaDBProcess{State: "EXITED", ExitStatus: new(int32), Ended: &ended}
		if diff := cmp.Diff(want, w.row().Process, cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if after, _ := w.count(); after != before+1 {
			t.Errorf("%d writes", after-before)
		}
		w.node.set(func(n *node) { n.down = nil })
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
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "")
				w.o.Group0File = filepath.Join(t.TempDir(), "group0.json")
				if c.answer != "-" {
					if err := os.WriteFile(w.o.Group0File, []byte(c.answer), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				w.node.set(func(n *node) { n.answers["/storage_service/operation_mode"] = `"` + c.mode + `"` })
				defer w.start()()
				time.Sleep(time.Minute)
				if r := w.row(); r.Group0ID != c.want || r.Error != nil {
					t.Errorf("group 0 %q (%v), want %q", r.Group0ID, r.Error, c.want)
				}
			})
		})
	}
}
