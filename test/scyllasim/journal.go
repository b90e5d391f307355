// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// journal is an append-only file of JSON lines that survives the end of the process at any point. Nothing is ever replaced in
// place: replacing a file makes the kernel write it out, which on a busy disk takes as long as a node takes to be seen DOWN.
type journal struct {
	dir, prefix string
	limit       int64 // bytes after which a new segment begins

	n      int
	f      *os.File
	size   int64
	closed bool
}

var errJournalClosed = errors.New("journal is closed")

func (j *journal) segments() ([]string, error) {
	l, err := filepath.Glob(filepath.Join(j.dir, j.prefix+"-*.jsonl"))
	slices.Sort(l)
	return l, err
}

// load calls each with every whole line, oldest first. A torn line at the end of a segment is skipped: append had not returned.
func (j *journal) load(each func(line []byte) error) error {
	files, err := j.segments()
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for len(b) > 0 {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				break
			}
			if err := each(b[:i]); err != nil {
				return fmt.Errorf("read %s: %w", f, err)
			}
			b = b[i+1:]
		}
		if _, err := fmt.Sscanf(filepath.Base(f), j.prefix+"-%d.jsonl", &j.n); err != nil {
			return fmt.Errorf("name of %s: %w", f, err)
		}
	}
	return nil
}

// append writes one record. A new segment, at the first record of a process and after limit bytes, begins with whole, which must hold
// the complete state; the segments before it are removed.
func (j *journal) append(record any, whole func() any) error {
	if j.closed {
		return errJournalClosed // a process that has ended writes nothing more
	}
	if j.f == nil || j.size > j.limit {
		return j.rotate(whole())
	}
	b, err := json.Marshal(record)
	if err != nil {
		return err
	}
	k, err := j.f.Write(append(b, '\n'))
	j.size += int64(k)
	return err
}

func (j *journal) rotate(whole any) error {
	b, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.dir, 0o755); err != nil {
		return err
	}
	old, err := j.segments()
	if err != nil {
		return err
	}
	j.n++
	f, err := os.OpenFile(filepath.Join(j.dir, fmt.Sprintf("%s-%09d.jsonl", j.prefix, j.n)), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		_ = f.Close()
		return err
	}
	if j.f != nil {
		_ = j.f.Close()
	}
	j.f, j.size = f, 0
	for _, o := range old {
		if err := os.Remove(o); err != nil {
			return err
		}
	}
	return nil
}

func (j *journal) close() {
	j.closed = true
	if j.f != nil {
		_ = j.f.Close()
		j.f = nil
	}
}
