// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
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
		w.node.set(func(n *node) { n.down = step.down })
		if err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
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
		if err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, w.row().JoinedPercent); diff != "" {
			t.Errorf("%s, %s: (-want +got):\n%s", step.mode, step.value, diff)
		}
	}
}
