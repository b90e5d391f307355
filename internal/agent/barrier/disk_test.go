// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// TestAttack3ALostDiskIsNoRestart: a member that has joined and is DOWN opens as a restart only where ScyllaDB's own files are in its volume, and the host ID
// in it, where that can be read, is the recorded one. Where it could not be read, the barrier waits and reports why.
func TestAttack3ALostDiskIsNoRestart(t *testing.T) {
	const used = "commitlog/schema/SchemaLog-1.log"
	for name, tc := range map[string]struct {
		volume  func(w *world)
		query   string
		opens   bool
		says    string
		refuses bool
	}{
		"its own files": {volume: func(w *world) { w.dataDir(used) }, opens: true},
		"nothing":       {volume: func(w *world) { w.dataDir() }, says: "NodeDown"},
		"stray files": {volume: func(w *world) {
			w.dataDir("hello.txt", "data/README", "data/system/peers-1/me-1-big-Data.db", "hints/0/x")
		}, says: "NodeDown"},
		"a folder called as a file":    {volume: func(w *world) { w.dataDir("commitlog/segment/x") }, says: "NodeDown"},
		"the query's word that counts": {volume: func(w *world) { w.dataDir() }, query: `[{"bootstrapped":"IN_PROGRESS","host_id":"` + idNew + `"}]`, opens: true},
		"another node's files":         {volume: func(w *world) { w.dataDir(used) }, query: `[{"bootstrapped":null,"host_id":"` + idA + `"}]`, says: "contains host ID", refuses: true},
		"not mounted":                  {volume: func(w *world) { w.o.DataDir = filepath.Join(w.dir, "nowhere") }, says: "no such file or directory"},
		"not named":                    {volume: func(w *world) { w.o.DataDir = "" }, says: "VolumeUnreadable"},
		"a symbolic link": {volume: func(w *world) {
			w.dataDir(used)
			link(w, w.o.DataDir, "link")
			w.o.DataDir = filepath.Join(w.dir, "link")
		}, says: "not a directory"},
		"a symbolic link inside": {volume: func(w *world) {
			w.dataDir()
			w.file("elsewhere/CommitLog-1.log", "x")
			link(w, filepath.Join(w.dir, "elsewhere"), "data/commitlog")
		}, says: "symbolic link"},
		"a loop inside": {volume: func(w *world) {
			w.dataDir()
			link(w, "commitlog", "data/commitlog")
		}, says: "symbolic link"},
		"a file in the way": {volume: func(w *world) { w.dataDir("commitlog") }, says: "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := append(others(), joinedService(newcomer, "rack3", idNew), lease("controller-1"),
					report(saw(idA, "UP", idB, "UP", idNew, "DOWN"), saw(idA, "UP", idB, "UP", idNew, "DOWN")))
				w := newWorld(t, objs...)
				w.query(tc.query, map[bool]int{true: 1}[tc.query == ""])
				tc.volume(w)
				ctx, done := running(t, w)
				w.renews(ctx)
				if tc.opens {
					opens(t, done)
					if !strings.Contains(w.logged(), "RestartOfMember") {
						t.Errorf("log:\n%s", w.logged())
					}
					return
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				said := w.logged()
				select {
				case err := <-done:
					if err == nil || !tc.refuses {
						t.Fatalf("ended: %v", err)
					}
					said += err.Error()
				default:
				}
				if !strings.Contains(said, tc.says) {
					t.Errorf("it does not say %s:\n%s", tc.says, said)
				}
			})
		})
	}
}

func link(w *world, to, name string) {
	w.t.Helper()
	if err := os.Symlink(to, filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// TestNoHarm18ACopyOfAMembersVolumeNeverStarts: a new member on a bootstrapped copy is refused, also where it has no Service yet.
func TestNoHarm18ACopyOfAMembersVolumeNeverStarts(t *testing.T) {
	nothing, labelless := service(newcomer, "rack3", nil), service(newcomer, "rack3", nil)
	delete(labelless.Labels, api.LabelCluster)
	for name, c := range map[string]struct {
		own   *corev1.Service
		query string
		want  string // empty: it opens
	}{
		"its Service records nothing":         {nothing, idB, "of demo-rack2-0"},
		"it has no Service":                   {nil, idB, "of demo-rack2-0"},
		"its Service names no cluster":        {labelless, idB, "of demo-rack2-0"},
		"nobody's, and nothing is recorded":   {nothing, idNew, ""},
		"nobody's, and there is no Service":   {nil, idNew, ""},
		"its own, and another's row lacks it": {joinedService(newcomer, "rack3", idNew), idNew, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := append(others(), allUp())
				if c.own != nil {
					objs = append(objs, c.own.DeepCopy())
				}
				w := newWorld(t, objs...)
				w.query(`[{"bootstrapped":"COMPLETED","host_id":"`+c.query+`"}]`, 0)
				w.dataDir("data/system/local-7ad5/me-1-big-Data.db")
				_, done := running(t, w)
				if c.want == "" {
					opens(t, done)
					return
				}
				if err := <-done; err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want a refusal with %q", err, c.want)
				}
			})
		})
	}
}
