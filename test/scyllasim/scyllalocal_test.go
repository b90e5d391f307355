// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// queryGroup0 is the query of a node's group 0 on its disk.
func queryGroup0(t *testing.T, version, dir string) (string, int) {
	t.Helper()
	v, err := rules.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "data/system/scylla_local-*/*-Data.db"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		files = []string{filepath.Join(dir, "data/system/scylla_local-*/*-Data.db")} // as the shell leaves it
	}
	tmp := t.TempDir()
	var out, errOut bytes.Buffer
	args := append([]string{"query", "--system-schema", "--output-format=json", "--keyspace=system", "--table=scylla_local",
		"--query=SELECT value FROM scylla_sstable.scylla_local WHERE key = 'raft_group0_id'"}, files...)
	code := SSTableCommand(v, args, func(k string) string { return map[string]string{"TEMPDIR": tmp}[k] }, &out, &errOut)
	return out.String(), code
}

// TestC5TheDiskTellsGroup0: all nodes of a cluster have one ID on their disks, as soon as it is flushed: when asked to, when stopped, or by the replay after a
// crash.
func TestC5TheDiskTellsGroup0(t *testing.T) {
	inBubble(t, 3, Options{Version: "2025.3.0"}, func(t *testing.T, c *Cluster) {
		want := `[{"value":"` + c.Node(0).groupID() + `"}]`
		if out, code := queryGroup0(t, "2025.3.0", c.Node(0).Dir()); code != exitBadArgs || out != "" {
			t.Errorf("before any flush: %s, exit code %d", out, code)
		}
		if got := post(t, c.Node(0), "/storage_service/keyspace_flush/system?cf=scylla_local"); got != "200 " {
			t.Fatalf("keyspace_flush: %s", got)
		}
		c.Node(1).Stop()
		killed := c.Node(2).Dir()
		c.Node(2).Kill()
		if out, code := queryGroup0(t, "2025.3.0", killed); code != exitBadArgs || out != "" {
			t.Errorf("after a crash: %s, exit code %d", out, code)
		}
		ready(t, restart(t, c, 2, nil))
		for i := range 3 {
			if out, code := queryGroup0(t, "2025.3.0", c.Node(i).Dir()); code != exitOK || out != want {
				t.Errorf("node %d: %s, exit code %d, want %s", i, out, code, want)
			}
		}
		if _, code := queryGroup0(t, "2025.1.0", c.Node(0).Dir()); code != exitUnknownTool {
			t.Errorf("a version without the query: exit code %d", code)
		}
		for query, want := range map[string]string{
			"SELECT value FROM scylla_sstable.local":                           "unconfigured table local",
			"SELECT host_id FROM scylla_sstable.scylla_local":                  "Unrecognized name host_id",
			"SELECT value FROM scylla_sstable.scylla_local WHERE value = 'x'":  "no restriction but key",
			"SELECT value FROM scylla_sstable.scylla_local WHERE key = 'none'": "",
		} {
			if _, _, err := selected(scyllaLocalTableName, query); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", query, err, want)
			}
		}
	})
}
