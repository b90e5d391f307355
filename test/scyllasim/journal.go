// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// journal is an append-only file of JSON lines, of which the last counts, that survives the end of the process at any point. Nothing is ever replaced in
// place: replacing a file makes the kernel write it out, which on a busy disk takes as long as a node takes to be seen DOWN.
type journal struct {
	dir, prefix, suffix string

	n      int
	f      *os.File
	closed bool
}

// segments are in order.
func (j *journal) segments() ([]string, error) {
	return filepath.Glob(filepath.Join(j.dir, j.prefix+"-*"+j.suffix))
}

// load decodes the last whole line. A torn line at the end of a segment is skipped: append had not returned.
func (j *journal) load(into any) error {
	files, err := j.segments()
	if err != nil {
		return err
	}
	var last []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if lines := bytes.Split(b, []byte("\n")); len(lines) > 1 {
			last = lines[len(lines)-2]
		}
		if _, err := fmt.Sscanf(filepath.Base(f), j.prefix+"-%d"+j.suffix, &j.n); err != nil {
			return fmt.Errorf("name of %s: %w", f, err)
		}
	}
	if last == nil {
		return nil
	}
	return json.Unmarshal(last, into)
}

// append writes the whole state. The first one of a segment makes those before it go.
func (j *journal) append(state any) error {
	if j.closed {
		return errors.New("journal is closed") // a process that has ended writes nothing more
	}
	b, err := json.Marshal(state)
	if err != nil {
		return err
	}
	var old []string
	if j.f == nil {
		if old, err = j.begin(); err != nil {
			return err
		}
	}
	_, err = j.f.Write(append(b, '\n'))
	for _, o := range old {
		if err == nil {
			err = os.Remove(o)
		}
	}
	return err
}

// begin makes a new segment, and returns those before it.
func (j *journal) begin() ([]string, error) {
	if err := os.MkdirAll(j.dir, 0o755); err != nil {
		return nil, err
	}
	old, err := j.segments()
	if err != nil {
		return nil, err
	}
	j.n++
	f, err := os.OpenFile(filepath.Join(j.dir, fmt.Sprintf("%s-%09d%s", j.prefix, j.n, j.suffix)), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	j.f = f
	return old, nil
}

// end ends the segment: what is appended next begins another.
func (j *journal) end() {
	if j.f != nil {
		_ = j.f.Close()
	}
	j.f = nil
}

func (j *journal) close() {
	j.closed = true
	j.end()
}
