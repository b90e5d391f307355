// SPDX-License-Identifier: Apache-2.0

package show

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxLine is the maximum of buffered bytes of an incomplete line.
const maxLine = 64 << 10

// Lines writes whole lines, each after Before. Values that share Mutex and To never mix lines.
type Lines struct {
	*sync.Mutex
	To     io.Writer
	Before string
	// Clean removes terminal control sequences.
	Clean bool
	rest  []byte
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	text := append(l.rest, p...)
	n := bytes.LastIndexByte(text, '\n') + 1
	if n == 0 && len(text) > maxLine {
		n = len(text)
	}
	l.rest = text[n:]
	return len(p), l.print(text[:n])
}

// Close writes an incomplete last line. It leaves To open.
func (l *Lines) Close() error { return l.print(l.rest) }

func (l *Lines) print(text []byte) error {
	l.Lock()
	defer l.Unlock()
	for line := range bytes.Lines(text) {
		s := strings.TrimRight(string(line), "\r\n")
		if l.Clean {
			s = Clean(s)
		}
		if _, err := io.WriteString(l.To, l.Before+s+"\n"); err != nil {
			return err
		}
	}
	return nil
}
