// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bufio"
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

// cell is one column of the row key='local'. A nil value is a tombstone.
type cell struct {
	Value *string `json:"value"`
	TS    int64   `json:"ts"` // microseconds; the newest wins
}

// sstable is the content of a Data.db file of this simulator: a checksum line and the row as JSON.
type sstable struct {
	Keyspace string          `json:"keyspace"`
	Table    string          `json:"table"`
	Key      string          `json:"key"`
	Row      map[string]cell `json:"row"`
}

const sstableMagic = "scyllasim-sstable crc32="

var (
	errMalformedSSTable = errors.New("malformed_sstable_exception")
	errBadChecksum      = errors.New("checksum mismatch")
)

func encodeSSTable(t sstable) ([]byte, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "%s%08x\n", sstableMagic, crc32.ChecksumIEEE(body)), body...), nil
}

func decodeSSTable(b []byte) (sstable, error) {
	head, body, ok := strings.Cut(string(b), "\n")
	sum, isOurs := strings.CutPrefix(head, sstableMagic)
	if !ok || !isOurs {
		return sstable{}, fmt.Errorf("%w: not an SSTable of this simulator", errMalformedSSTable)
	}
	if fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) != sum {
		return sstable{}, errBadChecksum
	}
	var t sstable
	if err := json.Unmarshal([]byte(body), &t); err != nil {
		return sstable{}, fmt.Errorf("%w: %w", errMalformedSSTable, err)
	}
	return t, nil
}

func mergeRow(dst, src map[string]cell) {
	for k, c := range src {
		if old, ok := dst[k]; !ok || c.TS >= old.TS {
			dst[k] = c
		}
	}
}

// localTable is system.local: rows in SSTables, newer changes in the memtable and, for a crash, in the schema commitlog. Since 5.4
// nothing flushes the memtable but a clean stop, a request, or the replay at the next start.
type localTable struct {
	mu       sync.Mutex
	dir      string // of the table
	logDir   string
	flushing bool // up to 5.2 each change is flushed at once
	row      map[string]cell
	mem      map[string]cell
	log      *os.File
	segment  int
	closed   bool
}

var errTableClosed = errors.New("system.local is closed")

// openLocal loads the table and replays the commitlog; replayed says whether that flushed anything.
func openLocal(workdir string, v rules.Version) (t *localTable, replayed bool, err error) {
	t = &localTable{
		dir:      filepath.Join(workdir, "data", localTableDir),
		logDir:   filepath.Join(workdir, "commitlog", "schema"),
		flushing: !v.SchemaCommitlog(),
		row:      map[string]cell{}, mem: map[string]cell{},
	}
	for _, d := range []string{t.dir, t.logDir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, false, err
		}
	}
	files, err := filepath.Glob(filepath.Join(t.dir, "*-Data.db"))
	if err != nil {
		return nil, false, err
	}
	if t.row, _, err = loadSSTables(files); err != nil {
		return nil, false, err
	}
	logs, err := filepath.Glob(filepath.Join(t.logDir, "SchemaLog-*.log"))
	if err != nil {
		return nil, false, err
	}
	for _, f := range logs {
		if err := t.replay(f); err != nil {
			return nil, false, err
		}
	}
	replayed = len(t.mem) > 0
	if err := t.flushLocked(); err != nil {
		return nil, false, err
	}
	for _, f := range logs {
		if err := os.Remove(f); err != nil {
			return nil, false, err
		}
	}
	return t, replayed, t.newSegmentLocked()
}

func (t *localTable) replay(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var m map[string]cell
		// A torn last record was never acknowledged; ScyllaDB skips it too.
		if json.Unmarshal(sc.Bytes(), &m) != nil {
			continue
		}
		mergeRow(t.mem, m)
		mergeRow(t.row, m)
	}
	return sc.Err()
}

func (t *localTable) newSegmentLocked() error {
	if t.log != nil {
		_ = t.log.Close()
		_ = os.Remove(t.log.Name())
	}
	t.segment++
	f, err := os.OpenFile(filepath.Join(t.logDir, fmt.Sprintf("SchemaLog-4-%d.log", time.Now().UnixNano()+int64(t.segment))),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	t.log = f
	// A live segment has a header even when it holds no change.
	_, err = f.WriteString("{}\n")
	return err
}

func (t *localTable) get(col string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.row[col]; c.Value != nil {
		return *c.Value
	}
	return ""
}

// set writes columns; the change is durable when it returns, but only in the commitlog.
func (t *localTable) set(cols map[string]string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errTableClosed
	}
	ts := time.Now().UnixMicro()
	m := map[string]cell{}
	for k, v := range cols {
		m[k] = cell{Value: &v, TS: ts}
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := t.log.Write(append(b, '\n')); err != nil {
		return err
	}
	mergeRow(t.mem, m)
	mergeRow(t.row, m)
	if t.flushing {
		return t.flushLocked()
	}
	return nil
}

// flush writes the memtable to a new SSTable and starts a new commitlog segment.
func (t *localTable) flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errTableClosed
	}
	if err := t.flushLocked(); err != nil {
		return err
	}
	return t.newSegmentLocked()
}

// close flushes and removes the commitlog: the end of a clean stop.
func (t *localTable) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	err := t.flushLocked()
	if t.log != nil {
		_ = t.log.Close()
		if err == nil {
			err = os.Remove(t.log.Name())
		}
		t.log = nil
	}
	return err
}

// abandon closes the log without a flush, as the end of a killed process does. The log file stays for the next start.
func (t *localTable) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.log != nil {
		_ = t.log.Close()
		t.log = nil
	}
}

func (t *localTable) flushLocked() error {
	if len(t.mem) == 0 {
		return nil
	}
	if err := writeSSTable(t.dir, sstable{Keyspace: "system", Table: localTableName, Key: "local", Row: t.mem}); err != nil {
		return err
	}
	t.mem = map[string]cell{}
	return nil
}

// writeSSTable writes all components of a new SSTable into the directory of its table.
func writeSSTable(dir string, t sstable) error {
	b, err := encodeSSTable(t)
	if err != nil {
		return err
	}
	base := fmt.Sprintf("me-%d_%08x-big-", time.Now().UnixNano(), rand.Uint32())
	for _, c := range []struct {
		name string
		body []byte
	}{
		{"TOC.txt", []byte("Data.db\nTOC.txt\n")},
		{"Data.db", b},
	} {
		if err := writeFileAtomic(filepath.Join(dir, base+c.name), c.body); err != nil {
			return err
		}
	}
	return nil
}

// flushScyllaLocal writes the ID of the node's group 0 to an SSTable, where the node is in one and that was not done. Until then the ID is in the
// commitlog, for which the journal of group 0 stands here: a start after a crash replays and flushes it. [derived] from system.local, whose key space
// it shares (3.4).
func (n *Node) flushScyllaLocal() error {
	if n.g0 == nil || n.groupID() == "" {
		return nil
	}
	id := n.groupID()
	dir := filepath.Join(n.o.Dir, "data", scyllaLocalTableDir)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.group0Flushed == "" {
		files, err := filepath.Glob(filepath.Join(dir, "*-Data.db"))
		if err != nil {
			return err
		}
		row, _, err := loadSSTables(files)
		if err != nil {
			return err
		}
		if v := row["value"].Value; v != nil {
			n.group0Flushed = *v
		}
	}
	if n.group0Flushed == id {
		return nil
	}
	ts := time.Now().UnixMicro()
	key := group0Key
	err := writeSSTable(dir, sstable{
		Keyspace: "system", Table: scyllaLocalTableName, Key: key, Row: map[string]cell{"key": {&key, ts}, "value": {&id, ts}},
	})
	if err == nil {
		n.group0Flushed = id
	}
	return err
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
