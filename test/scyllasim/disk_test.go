// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// query runs the reporter's command on a version, with more arguments, and returns stdout, stderr and the exit code.
func query(t *testing.T, version string, more ...string) (string, string, int) {
	t.Helper()
	v, err := rules.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	args := append([]string{"query", "--system-schema", "--scylla-data-dir=/var/lib/scylla/data", "--output-format=json",
		"--keyspace=system", "--table=local", "--query=SELECT bootstrapped FROM scylla_sstable.local"}, more...)
	code := SSTableCommand(v, args, func(string) string { return t.TempDir() }, &out, &errOut)
	return out.String(), errOut.String(), code
}

func TestOldVersionsFlushAtOnce(t *testing.T) {
	inBubble(t, 1, Options{Version: "5.2.9"}, func(t *testing.T, c *Cluster) {
		files, err := filepath.Glob(filepath.Join(c.Node(0).Dir(), "data/system/local-*/*-Data.db"))
		if err != nil {
			t.Fatal(err)
		}
		if out, _, _ := query(t, "2025.3.0", files...); out != `[{"bootstrapped":"COMPLETED"}]` {
			t.Errorf("%s", out)
		}
	})
}

// writeTable writes one SSTable of system.local, into a folder of its own; an empty value leaves the column out.
func writeTable(t *testing.T, ts int64, bootstrapped string) string {
	t.Helper()
	dir, row := t.TempDir(), map[string]cell{"key": {"local", ts}, "host_id": {"id", ts}}
	if bootstrapped != "" {
		row["bootstrapped"] = cell{bootstrapped, ts}
	}
	if err := writeSSTable(dir, row); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/*-Data.db")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

func TestSSTableQuery(t *testing.T) {
	t.Parallel()
	unset, older, newer, last := writeTable(t, 10, ""), writeTable(t, 20, "IN_PROGRESS"), writeTable(t, 30, "COMPLETED"), writeTable(t, 40, "DECOMMISSIONED")
	bad, garbage := writeTable(t, 50, "COMPLETED"), writeTable(t, 70, "COMPLETED")
	b, err := os.ReadFile(bad)
	if err == nil {
		err = os.WriteFile(bad, bytes.Replace(b, []byte("COMPLETED"), []byte("COMPLETEX"), 1), 0o644)
	}
	if err == nil {
		err = os.WriteFile(garbage, []byte("\x00\x01"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	const both, group0 = "--query=SELECT host_id, bootstrapped FROM scylla_sstable.local", "SELECT value FROM scylla_sstable.scylla_local"
	for name, tc := range map[string]struct {
		version string
		files   []string
		out     string
		code    int
		errText string
	}{
		"the newest cell wins":              {"2025.3.0", []string{newer, unset, older}, `[{"bootstrapped":"COMPLETED"}]`, 0, ""},
		"order of files does not matter":    {"2025.3.0", []string{older, last, newer}, `[{"bootstrapped":"DECOMMISSIONED"}]`, 0, ""},
		"row without the cell":              {"2025.3.0", []string{unset}, `[{"bootstrapped":null}]`, 0, ""},
		"row without the cell, fixed patch": {"2025.2.3", []string{unset}, `[{"bootstrapped":null}]`, 0, ""},
		"row without the cell, bug":         {"2025.2.2", []string{unset}, `[{"bootstrapped":null""}]`, 0, ""},
		"too old":                           {"2025.1.4", []string{newer}, "", 100, "error: unrecognized operation argument: expected one of ("},
		"6.2 is too old":                    {"6.2.0", []string{newer}, "", 100, ", got query"},
		"corrupt metadata":                  {"2025.3.0", []string{garbage}, "", 1, "error loading sstables: "},
		"both columns":                      {"2025.3.0", []string{both, newer}, `[{"host_id":"id","bootstrapped":"COMPLETED"}]`, 0, ""},
		"another key":                       {"2025.3.0", []string{both + " WHERE key = 'x'", newer}, "[]", 0, ""},
		"another table":                     {"2025.3.0", []string{"--query=" + group0, newer}, "", 1, "error processing arguments"},
		"a column that it has not":          {"2025.3.0", []string{"--table=scylla_local", "--query=" + group0 + " WHERE key = 'local'", newer}, `[{"value":null}]`, 0, ""},
		"an unknown column":                 {"2025.3.0", []string{"--query=SELECT nope FROM scylla_sstable.local", newer}, "", 1, "error processing arguments"},
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
	if _, err := l.log.f.WriteString(`{"bootstrapped":{"val`); err != nil {
		t.Fatal(err)
	}
	if err := l.close(false); err != nil {
		t.Fatal(err)
	}
	l, replayed, err := openLocal(dir, v)
	if err != nil || !replayed || l.get("host_id") != "a" || l.get("bootstrapped") != "" {
		t.Errorf("%v %v %q %q", replayed, err, l.get("host_id"), l.get("bootstrapped"))
	}
	if err := l.close(true); err != nil {
		t.Error(err)
	}
	if err := l.set(map[string]string{"a": "b"}); err == nil {
		t.Error("a closed table takes changes")
	}
}
