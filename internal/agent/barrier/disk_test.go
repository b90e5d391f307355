// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
)

func TestRestartOfAMemberThatWasNeverFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, returning()...)
		w.query("", 1) // no SSTable: the glob stays as it is
		w.dataDir(used)
		w.runs(alone).opens().says("RestartOfMember")
	})
}

// A member that has joined and is DOWN opens as a restart only where ScyllaDB's own files are in its volume.
func TestAttack3ALostDiskIsNoRestart(t *testing.T) {
	for name, tc := range map[string]struct {
		volume func(w *world)
		says   string
	}{
		"nothing": {func(w *world) { w.dataDir() }, "NodeDown"},
		"stray files": {func(w *world) {
			w.dataDir("hello.txt", "data/README", "data/system/peers-1/me-1-big-Data.db", "hints/0/x")
		}, "NodeDown"},
		"a folder called as a file": {func(w *world) { w.dataDir("commitlog/segment/x") }, "NodeDown"},
		"the query's word that counts": {func(w *world) {
			w.dataDir()
			w.query(`[{"bootstrapped":"IN_PROGRESS","host_id":"`+idNew+`"}]`, 0)
		}, "RestartOfMember"},
		"not mounted": {func(w *world) { w.o.DataDir = filepath.Join(w.dir, "nowhere") }, "no such file or directory"},
		"not named":   {func(w *world) { w.o.DataDir = "" }, "VolumeUnreadable"},
		"a symbolic link": {func(w *world) {
			w.dataDir(used)
			w.must(os.Symlink(w.o.DataDir, filepath.Join(w.dir, "link")))
			w.o.DataDir = filepath.Join(w.dir, "link")
		}, "not a directory"},
		"a symbolic link inside": {func(w *world) {
			w.dataDir()
			w.file("elsewhere/CommitLog-1.log", "x")
			w.must(os.Symlink(filepath.Join(w.dir, "elsewhere"), filepath.Join(w.dir, "data/commitlog")))
		}, "symbolic link"},
		"a loop inside": {func(w *world) {
			w.dataDir()
			w.must(os.Symlink("commitlog", filepath.Join(w.dir, "data/commitlog")))
		}, "symbolic link"},
		"a file in the way": {func(w *world) { w.dataDir("commitlog") }, "not a directory"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, returning(lease("controller-1"))...)
			w.query("", 1)
			tc.volume(w)
			w.runs(led).opensOr(tc.says == "RestartOfMember", time.Minute).says(tc.says)
		})
	}
}

// A volume that has another host ID than the member's is refused, also where the member has no Service yet.
func TestA6AForeignVolumeIsNoRestart(t *testing.T) {
	const foreign = "99990000-0000-4000-8000-000000000099"
	says := func(state, id string) string { return `[{"bootstrapped":` + state + `,"host_id":"` + id + `"}]` }
	done := func(id string) string { return says(`"COMPLETED"`, id) }
	joined, unlisted := joinedService(newcomer, "rack3", idNew), joinedService(newcomer, "rack3", idNew)
	nothing, labelless := service(newcomer, "rack3", nil), service(newcomer, "rack3", nil)
	delete(labelless.Labels, api.LabelCluster)
	for name, c := range map[string]struct {
		own     *corev1.Service
		stdout  string
		away    bool
		refused string
	}{
		"its own":                            {joined, done(idNew), false, ""},
		"its own, and no row has it":         {unlisted, done(idNew), false, ""},
		"nobody's here":                      {joined, done(foreign), false, foreign},
		"another member's":                   {joined, done(idB), false, "of demo-rack2-0"},
		"another's, and it has not finished": {joined, says("null", idA), false, "contains host ID"},
		"nobody's, and it has not finished":  {joined, says("null", foreign), false, foreign},
		"nobody can say":                     {joined, done(foreign), true, ""},
		"an old query says no host ID":       {joined, `[{"bootstrapped":"COMPLETED"}]`, false, ""},
		"its Service records nothing":        {nothing, done(idB), false, "of demo-rack2-0"},
		"it has no Service":                  {nil, done(idB), false, "of demo-rack2-0"},
		"its Service names no cluster":       {labelless, done(idB), false, "of demo-rack2-0"},
		"nobody's, and nothing is recorded":  {nothing, done(idNew), false, ""},
		"nobody's, and there is no Service":  {nil, done(idNew), false, ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			seen := up
			if c.own == joined {
				seen = saw(idA, "UP", idB, "UP", idNew, "DOWN")
			}
			w := newWorld(t, append(others(), report(seen, seen))...)
			if c.own != nil {
				w.create(c.own.DeepCopy())
			}
			w.query(c.stdout, 0)
			w.dataDir("data/system/local-7ad5/me-1-big-Data.db")
			if c.away {
				w.setFailure(errors.New("connection refused"))
			}
			w.runs(alone)
			if c.refused == "" {
				w.opens()
				return
			}
			err := w.ends()
			if err == nil || !strings.Contains(err.Error(), c.refused) || c.own == joined && !strings.Contains(err.Error(), idNew) {
				t.Fatalf("error %v, want a refusal with %q that names both host IDs", err, c.refused)
			}
		})
	}
}

func TestBannedVolume(t *testing.T) {
	for name, c := range map[string]struct {
		stdout  string
		volume  func(*world)
		refused bool
	}{
		"the query found the node that never joined":       {`[{"bootstrapped":null,"host_id":"` + idNew + `"}]`, func(*world) {}, true},
		"it found a later node":                            {`[{"bootstrapped":null,"host_id":"99990000-0000-4000-8000-000000000099"}]`, func(*world) {}, false},
		"it found no host ID":                              {`[{"bootstrapped":null}]`, func(*world) {}, false},
		"the volume has a node's files":                    {"", func(w *world) { w.dataDir(used) }, false},
		"the volume is empty: it has been replaced":        {"", func(w *world) { w.dataDir() }, false},
		"nobody can say whose volume it is: no conclusion": {"", func(*world) {}, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			svc := service(newcomer, "rack3", map[string]string{api.AnnotationHostID: idNew, api.AnnotationNodeJoined: "false"})
			failed := &api.ScyllaDBStatusReport{ObjectMeta: named("demo")}
			failed.Labels = map[string]string{api.LabelManagedBy: api.ManagedByUs}
			failed.Status.Operations = []api.NodeOperation{
				{Type: "bootstrap", State: "failed", HostID: idNew, Error: "Canceled. Dead nodes: {" + idB + "}"}}
			w := newWorld(t, append(others(), svc, allUp(), failed, lease("controller-1"))...)
			w.query(c.stdout, map[bool]int{true: 1}[c.stdout == ""])
			c.volume(w)
			w.runs(led)
			if !c.refused {
				w.opens()
				return
			}
			err := w.ends()
			if exit.Code(err) != exit.CodeUsage {
				t.Fatalf("error %v, code %d", err, exit.Code(err))
			}
			for _, want := range []string{"data-" + newcomer, idB, "Canceled. Dead nodes"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %s", err, want)
				}
			}
			w.emitted(EventRefused)
		})
	}
}

func TestVersionRule(t *testing.T) {
	for name, c := range map[string]struct {
		image, version string
		stdout         string
		code           int
		want           string
	}{
		"too old for the query":        {image: "scylladb/scylla:2025.1.9", code: 100, want: "2025.1.9 is older than 2025.2.0"},
		"too old by version":           {image: "scylladb/scylla:2026.1.0", version: "6.2.3", code: 100, want: "6.2.3 is older"},
		"a candidate counts as older":  {image: "scylladb/scylla:2025.2.0-rc1", code: 100, want: "is older than 2025.2.0"},
		"unknown is said":              {image: "scylladb/scylla:latest", want: "version of ScyllaDB is unknown"},
		"digest alone is said":         {image: "scylla@sha256:" + strings.Repeat("a", 64), want: "has a digest but no tag"},
		"tag and digest":               {image: "scylla:2025.3.1@sha256:" + strings.Repeat("a", 64), want: `"version":"2025.3.1"`},
		"nothing given":                {want: "version of ScyllaDB is unknown"},
		"the bug of the first patches": {image: "scylla:2025.2.1", stdout: `[{"bootstrapped":`, code: 134, want: "fixed in 2025.2.3"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, service(newcomer, "rack3", nil), lease("controller-1"))
			w.o.Image, w.o.Version = c.image, c.version
			w.query(c.stdout, c.code)
			w.runs(led)
			w.opens() // the first node of all, whatever the query can do
			w.says(c.want)
		})
	}
}

func TestHugeOrStrangeQueryFiles(t *testing.T) {
	for name, c := range map[string]struct{ out, code, file, says string }{
		"garbage":             {"\x00\xff{", "0", "bootstrapped.json", ""},
		"larger than allowed": {strings.Repeat("x", disk.MaxQuery+1), "0", "bootstrapped.json", ""},
		"code is no number":   {"[]", "segmentation fault", "bootstrapped.json", ""},
		"code is missing":     {"[]", "", "bootstrapped.json", ""},
		"it never ran":        {"", "", "absent.json", "no result of the query"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, held()...)
			w.o.QueryFile = filepath.Join(w.dir, c.file)
			w.file("bootstrapped.json", c.out)
			w.file("bootstrapped.json.code", c.code)
			w.runs(alone).waits(time.Minute).says(c.says)
		})
	}
}
