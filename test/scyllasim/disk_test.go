// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func dataFiles(t *testing.T, dir string) []string {
	t.Helper()
	f, err := filepath.Glob(filepath.Join(dir, "data/system/local-*/*-Data.db"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func schemaLogBytes(t *testing.T, dir string) int64 {
	t.Helper()
	f, err := filepath.Glob(filepath.Join(dir, "commitlog/schema/SchemaLog-*.log"))
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, x := range f {
		fi, err := os.Stat(x)
		if err != nil {
			t.Fatal(err)
		}
		sum += fi.Size()
	}
	return sum
}

// query runs the seed's command on a version and returns stdout, stderr and the exit code.
func query(t *testing.T, version string, files ...string) (string, string, int) {
	t.Helper()
	v, err := rules.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	env := func(k string) string {
		if k == "TEMPDIR" {
			return tmp
		}
		return ""
	}
	return queryColumns(v, env, "bootstrapped", files...)
}

func queryColumns(v rules.Version, env func(string) string, columns string, files ...string) (string, string, int) {
	var out, errOut bytes.Buffer
	args := append([]string{"query", "--system-schema", "--scylla-data-dir=/var/lib/scylla/data", "--output-format=json",
		"--keyspace=system", "--table=local", "--query=SELECT " + columns + " FROM scylla_sstable.local"}, files...)
	code := SSTableCommand(v, args, env, &out, &errOut)
	return out.String(), errOut.String(), code
}

func TestSystemLocalIsNotFlushedUntilTold(t *testing.T) {
	inBubble(t, 2, Options{Version: "2025.3.0"}, func(t *testing.T, c *Cluster) {
		n := c.Node(1)
		ask := func() string {
			out, errOut, code := query(t, "2025.3.0", dataFiles(t, n.Dir())...)
			if code != 0 {
				t.Errorf("exit code %d: %s", code, errOut)
			}
			return out
		}
		if got := ask(); got != "[]" {
			t.Errorf("before any flush: %s", got)
		}
		if schemaLogBytes(t, n.Dir()) == 0 {
			t.Error("no schema commitlog holds what is not flushed")
		}
		n.Kill()
		if got := ask(); got != "[]" {
			t.Errorf("after a kill: %s", got)
		}
		n = restart(t, c, 1, nil)
		ready(t, n)
		if got, want := ask(), `[{"bootstrapped":"COMPLETED"}]`; got != want {
			t.Errorf("after the replay of a restart: %s, want %s", got, want)
		}
		if !strings.Contains(n.Log(), "replaying schema commit log - flushing memtables") {
			t.Error("the replay is not in the log")
		}
		first := c.Node(0)
		if got := post(t, first, "/storage_service/keyspace_flush/system?cf=local"); got != "200 " {
			t.Errorf("keyspace_flush: %s", got)
		}
		out, _, _ := query(t, "2025.3.0", dataFiles(t, first.Dir())...)
		if out != `[{"bootstrapped":"COMPLETED"}]` {
			t.Errorf("after keyspace_flush: %s", out)
		}
		joiner := add(t, c, nil)
		ready(t, joiner)
		joiner.Stop()
		if out, _, _ := query(t, "2025.3.0", dataFiles(t, joiner.Dir())...); out != `[{"bootstrapped":"COMPLETED"}]` {
			t.Errorf("after a clean stop: %s", out)
		}
		if schemaLogBytes(t, joiner.Dir()) != 0 {
			t.Error("a clean stop left a commitlog")
		}
	})
}

func TestOldVersionsFlushAtOnce(t *testing.T) {
	inBubble(t, 1, Options{Version: "5.2.9"}, func(t *testing.T, c *Cluster) {
		if out, _, _ := query(t, "2025.3.0", dataFiles(t, c.Node(0).Dir())...); out != `[{"bootstrapped":"COMPLETED"}]` {
			t.Errorf("%s", out)
		}
	})
}

func TestDrainFlushes(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, c *Cluster) {
		n := c.Node(1)
		if got := post(t, n, "/storage_service/drain"); got != "200 " {
			t.Fatal(got)
		}
		if m := text(t, n, "/storage_service/operation_mode"); m != modeDrained {
			t.Errorf("mode %s", m)
		}
		if code, _ := get(t, n, "/storage_service/host_id"); code != 500 {
			t.Errorf("host_id on a drained node: %d", code)
		}
		if _, body := get(t, n, "/storage_service/native_transport"); body != "false" {
			t.Errorf("native transport %s", body)
		}
		waitDown(t, c.Node(0), n.Address())
		if out, _, _ := query(t, "2026.2.0", dataFiles(t, n.Dir())...); out != `[{"bootstrapped":"COMPLETED"}]` {
			t.Errorf("%s", out)
		}
		n.Stop()
		if n.ExitCode() != 0 {
			t.Errorf("exit code %d", n.ExitCode())
		}
	})
}

// writeTable writes one SSTable of system.local; a nil value leaves the column out.
func writeTable(t *testing.T, dir, name string, ts int64, bootstrapped *string) string {
	t.Helper()
	id := "id"
	row := map[string]cell{"host_id": {&id, ts}}
	if bootstrapped != nil {
		row["bootstrapped"] = cell{bootstrapped, ts}
	}
	b, err := encodeSSTable(sstable{Keyspace: "system", Table: "local", Key: "local", Row: row})
	if err != nil {
		t.Fatal(err)
	}
	f := filepath.Join(dir, "me-"+name+"-big-Data.db")
	for path, body := range map[string][]byte{f: b, filepath.Join(dir, "me-"+name+"-big-TOC.txt"): []byte("Data.db\nTOC.txt\n")} {
		if err := os.WriteFile(path, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestSSTableQuery(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	done, progress, gone := "COMPLETED", "IN_PROGRESS", "DECOMMISSIONED"
	unset := writeTable(t, dir, "1", 10, nil)
	older := writeTable(t, dir, "2", 20, &progress)
	newer := writeTable(t, dir, "3", 30, &done)
	last := writeTable(t, dir, "4", 40, &gone)
	bad := writeTable(t, dir, "5", 50, &done)
	noTOC := writeTable(t, dir, "6", 60, &done)
	garbage := writeTable(t, dir, "7", 70, &done)
	b, err := os.ReadFile(bad)
	if err == nil {
		err = os.WriteFile(bad, bytes.Replace(b, []byte("COMPLETED"), []byte("COMPLETEX"), 1), 0o644)
	}
	if err == nil {
		err = os.Remove(strings.TrimSuffix(noTOC, "Data.db") + "TOC.txt")
	}
	if err == nil {
		err = os.WriteFile(garbage, []byte("\x00\x01"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		version string
		files   []string
		out     string
		code    int
		errText string
	}{
		"completed":                         {"2025.3.0", []string{newer}, `[{"bootstrapped":"COMPLETED"}]`, 0, ""},
		"the newest cell wins":              {"2025.3.0", []string{newer, unset, older}, `[{"bootstrapped":"COMPLETED"}]`, 0, ""},
		"order of files does not matter":    {"2025.3.0", []string{older, last, newer}, `[{"bootstrapped":"DECOMMISSIONED"}]`, 0, ""},
		"no files":                          {"2025.2.0", nil, `[]`, 0, ""},
		"row without the cell":              {"2025.3.0", []string{unset}, `[{"bootstrapped":null}]`, 0, ""},
		"row without the cell, fixed patch": {"2025.2.3", []string{unset}, `[{"bootstrapped":null}]`, 0, ""},
		"row without the cell, bug":         {"2025.2.2", []string{unset}, `[{"bootstrapped":null""}]`, 0, ""},
		"too old":                           {"2025.1.4", []string{newer}, "", 100, "error: unrecognized operation argument: expected one of ("},
		"6.2 is too old":                    {"6.2.0", []string{newer}, "", 100, ", got query"},
		"literal unexpanded glob":           {"2025.3.0", []string{dir + "/none/*-Data.db"}, "", 1, "error loading sstables: "},
		"missing component":                 {"2025.3.0", []string{noTOC}, "", 1, "error loading sstables: "},
		"corrupt metadata":                  {"2025.3.0", []string{garbage}, "", 1, "error loading sstables: "},
		"one file twice":                    {"2025.3.0", []string{newer, newer}, "", 1, "error loading sstables: "},
		"checksum mismatch":                 {"2025.3.0", []string{older, bad}, "", 2, "error running operation: "},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := query(t, tc.version, tc.files...)
			if out != tc.out || code != tc.code || !strings.Contains(errOut, tc.errText) {
				t.Errorf("got %q, code %d, stderr %q\nwant %q, code %d, stderr with %q", out, code, errOut, tc.out, tc.code, tc.errText)
			}
		})
	}
}

// The barrier asks for both columns in one call: a volume that holds another host ID than the one recorded is not this member's.
func TestSSTableQueryOfHostID(t *testing.T) {
	inBubble(t, 1, Options{Version: "2025.3.0"}, func(t *testing.T, c *Cluster) {
		n := c.Node(0)
		early := add(t, c, func(o *Options) { o.StreamTime = time.Hour })
		eventually(t, "it streams", func() bool { return early.Mode() == rules.ModeBootstrap })
		env := func(string) string { return t.TempDir() }
		for name, tc := range map[string]struct {
			version, columns string
			node             *Node
			want             string
		}{
			"a member":                    {"2025.3.0", "host_id, bootstrapped", n, `[{"host_id":"` + n.HostID() + `","bootstrapped":"COMPLETED"}]`},
			"columns as they are asked":   {"2025.3.0", "bootstrapped, host_id", n, `[{"bootstrapped":"COMPLETED","host_id":"` + n.HostID() + `"}]`},
			"not bootstrapped yet":        {"2025.3.0", "host_id, bootstrapped", early, `[{"host_id":"` + early.HostID() + `","bootstrapped":null}]`},
			"the NULL bug comes after it": {"2025.2.1", "host_id, bootstrapped", early, `[{"host_id":"` + early.HostID() + `","bootstrapped":null""}]`},
		} {
			if got := post(t, tc.node, "/storage_service/keyspace_flush/system?cf=local"); got != "200 " {
				t.Fatalf("%s: flush: %s", name, got)
			}
			v, err := rules.ParseVersion(tc.version)
			if err != nil {
				t.Fatal(err)
			}
			if out, errOut, code := queryColumns(v, env, tc.columns, dataFiles(t, tc.node.Dir())...); out != tc.want || code != 0 {
				t.Errorf("%s: %s, code %d, stderr %s; want %s", name, out, code, errOut, tc.want)
			}
		}
	})
}

func TestSSTableQueryArguments(t *testing.T) {
	t.Parallel()
	v := rules.Version{Major: 2026, Minor: 1}
	dir := t.TempDir()
	done := "COMPLETED"
	f := writeTable(t, dir, "1", 1, &done)
	base := []string{"query", "--system-schema", "--keyspace", "system", "--table", "local", "--output-format=json"}
	for name, tc := range map[string]struct {
		args []string
		tmp  string
		out  string
		code int
	}{
		"several columns":          {append(slices.Clone(base), "--query", "select host_id, rack from scylla_sstable.local;", f), dir, `[{"host_id":"id","rack":null}]`, 0},
		"no query":                 {append(slices.Clone(base), f), dir, "", 1},
		"not a select":             {append(slices.Clone(base), "--query", "DELETE FROM scylla_sstable.local", f), dir, "", 1},
		"unknown column":           {append(slices.Clone(base), "--query", "SELECT nope FROM scylla_sstable.local", f), dir, "", 1},
		"table not scylla_sstable": {append(slices.Clone(base), "--query", "SELECT bootstrapped FROM system.local", f), dir, "", 1},
		"no schema":                {[]string{"query", "--keyspace=system", "--table=local", "--query", "SELECT key FROM scylla_sstable.local", f}, dir, "", 1},
		"bad format":               {append(slices.Clone(base), "--output-format=xml", "--query", "SELECT key FROM scylla_sstable.local", f), dir, "", 1},
		"bad option":               {append(slices.Clone(base), "--nope", f), dir, "", 2},
		"two shards":               {append(slices.Clone(base), "--smp=2", "--query", "SELECT key FROM scylla_sstable.local", f), dir, "", 2},
		"no temporary directory":   {append(slices.Clone(base), "--query", "SELECT key FROM scylla_sstable.local", f), dir + "/none", "", 2},
		"no operation":             {nil, dir, "", 100},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := SSTableCommand(v, tc.args, func(string) string { return tc.tmp }, &out, &errOut)
			if out.String() != tc.out || code != tc.code {
				t.Errorf("%q, code %d; want %q, code %d; stderr %s", out.String(), code, tc.out, tc.code, errOut.String())
			}
		})
	}
}

func TestTornCommitlogRecordIsSkipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := rules.Version{Major: 2026, Minor: 1}
	l, _, err := openLocal(dir, v)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.set(map[string]string{"host_id": "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.log.WriteString(`{"bootstrapped":{"val`); err != nil {
		t.Fatal(err)
	}
	l.abandon()
	l, replayed, err := openLocal(dir, v)
	if err != nil || !replayed || l.get("host_id") != "a" || l.get("bootstrapped") != "" {
		t.Errorf("%v %v %q %q", replayed, err, l.get("host_id"), l.get("bootstrapped"))
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	if err := l.set(map[string]string{"a": "b"}); err == nil {
		t.Error("a closed table takes changes")
	}
}

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
