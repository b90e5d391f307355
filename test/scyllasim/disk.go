// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// localTableDir is the directory of system.local below the data directory; its id is fixed in every ScyllaDB.
const localTableDir = "system/local-7ad54392bcdd35a684174e047860b377"

// localTableName is what keyspace_flush and sstable query call the table.
const localTableName = "local"

// The directory and name of system.scylla_local, a table of keys and values; its id is fixed, too. Of its keys the simulator has the one of group 0.
const (
	scyllaLocalTableDir  = "system/scylla_local-2972ec7ffb2038ddaac1d876f2e3fcbd"
	scyllaLocalTableName = "scylla_local"
	group0Key            = "raft_group0_id"
)

// cell is one column of a row.
type cell struct {
	Value string `json:"value"`
	TS    int64  `json:"ts"` // microseconds; the newest wins
}

// sstableMagic begins a Data.db file of this simulator: a checksum line, and the row as JSON.
const sstableMagic = "scyllasim-sstable crc32="

var errBadChecksum = errors.New("checksum mismatch")

func decodeSSTable(b []byte) (row map[string]cell, err error) {
	head, body, _ := strings.Cut(string(b), "\n")
	sum, isOurs := strings.CutPrefix(head, sstableMagic)
	switch {
	case !isOurs:
		return nil, errors.New("not an SSTable of this simulator")
	case fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) != sum:
		return nil, errBadChecksum
	}
	return row, json.Unmarshal([]byte(body), &row)
}

func mergeRow(dst, src map[string]cell) {
	for k, c := range src {
		if old, ok := dst[k]; !ok || c.TS >= old.TS {
			dst[k] = c
		}
	}
}

// localTable is system.local: its row in SSTables, and the present one, for a crash, in the schema commitlog. Since 5.4 nothing flushes it but
// a clean stop, a request, or the replay at the next start.
type localTable struct {
	mu       sync.Mutex
	dir      string
	flushing bool // up to 5.2 each change is flushed at once
	row      map[string]cell
	changed  bool // since the last flush
	log      journal
}

// openLocal loads the table and replays the commitlog; replayed says whether that flushed anything.
func openLocal(workdir string, v rules.Version) (t *localTable, replayed bool, err error) {
	t = &localTable{
		dir: filepath.Join(workdir, "data", localTableDir), flushing: !v.SchemaCommitlog(),
		log: journal{dir: filepath.Join(workdir, "commitlog", "schema"), prefix: "SchemaLog-4", suffix: ".log"},
	}
	files, err := filepath.Glob(filepath.Join(t.dir, "*-Data.db"))
	if err == nil {
		err = os.MkdirAll(t.dir, 0o755)
	}
	if err == nil {
		t.row, _, err = loadSSTables(files)
	}
	var unflushed map[string]cell
	if err == nil {
		err = t.log.load(&unflushed)
	}
	if err != nil {
		return nil, false, err
	}
	mergeRow(t.row, unflushed)
	replayed = len(unflushed) > 0
	t.changed = replayed
	return t, replayed, t.flush()
}

func (t *localTable) get(col string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.row[col].Value
}

// set writes columns; the change is durable when it returns, but only in the commitlog.
func (t *localTable) set(cols map[string]string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ts := time.Now().UnixMicro()
	for k, v := range cols {
		t.row[k] = cell{v, ts}
	}
	t.changed = true
	if err := t.log.append(t.row); err != nil || !t.flushing {
		return err
	}
	return t.flushLocked()
}

// flush writes the row to a new SSTable and starts a new commitlog segment.
func (t *localTable) flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flushLocked()
}

func (t *localTable) flushLocked() error {
	if t.changed && !t.log.closed {
		if err := writeSSTable(t.dir, t.row); err != nil {
			return err
		}
		t.changed = false
	}
	t.log.end()
	return t.log.append(struct{}{}) // a live segment has a header even when it holds no change
}

// close ends the process's hold on the table. A clean stop flushes and leaves no commitlog; the one of a killed process stays for the next start.
func (t *localTable) close(clean bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if clean {
		if err = t.flushLocked(); err == nil {
			err = os.Remove(t.log.f.Name())
		}
	}
	t.log.close()
	return err
}

// writeSSTable writes a new SSTable into the directory of its table.
func writeSSTable(dir string, row map[string]cell) error {
	body, err := json.Marshal(row)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fmt.Sprintf("me-%d_%08x-big-Data.db", time.Now().UnixNano(), rand.Uint32()))
	return writeFileAtomic(file, append(fmt.Appendf(nil, "%s%08x\n", sstableMagic, crc32.ChecksumIEEE(body)), body...))
}

// flushScyllaLocal writes the ID of the node's group 0 to an SSTable, where the node is in one and that was not done. Until then the ID is in the
// commitlog, for which the journal of group 0 stands here: a start after a crash replays and flushes it. [derived] from system.local, whose key space
// it shares (3.4).
func (n *Node) flushScyllaLocal() error {
	if n.groupID() == "" {
		return nil
	}
	dir := filepath.Join(n.o.Dir, "data", scyllaLocalTableDir)
	n.mu.Lock()
	defer n.mu.Unlock()
	files, err := filepath.Glob(filepath.Join(dir, "*-Data.db"))
	if err != nil {
		return err
	}
	row, _, err := loadSSTables(files)
	if err != nil || row["value"].Value == n.groupID() {
		return err
	}
	ts := time.Now().UnixMicro()
	return writeSSTable(dir, map[string]cell{"key": {group0Key, ts}, "value": {n.groupID(), ts}})
}

// loadGroup0 reads the node's group 0 from its disk, and replays what was not flushed of its ID; false where it has none.
func (n *Node) loadGroup0() (bool, error) {
	known, err := n.g0.load()
	if err != nil {
		return false, runtimeErrorf("load group 0: %v", err)
	}
	if err := n.flushScyllaLocal(); err != nil {
		return false, runtimeErrorf("load system.scylla_local: %v", err)
	}
	// What the cluster has enabled stands in the same table (gms/feature_service.cc).
	if s := n.g0.state(); s != nil && !rules.Supports(n.v.Features(), s.Features) {
		return false, runtimeErrorf("Unknown feature '%s' was previously enabled in the cluster.  That means this node is performing a prohibited downgrade procedure "+
			"and should not be allowed to boot.", s.Features)
	}
	return known, nil
}

// flushSystem flushes what is kept of keyspace system: of both tables, or of those that are named.
func (n *Node) flushSystem(tables ...string) error {
	var errs []error
	if len(tables) == 0 || slices.Contains(tables, localTableName) {
		errs = append(errs, n.local.flush())
	}
	if len(tables) == 0 || slices.Contains(tables, scyllaLocalTableName) {
		errs = append(errs, n.flushScyllaLocal())
	}
	return errors.Join(errs...)
}

func writeFileAtomic(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
