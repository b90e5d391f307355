// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// logger writes lines as ScyllaDB does: level, wall time, shard, logger name, text.
type logger struct {
	mu    sync.Mutex
	w     io.Writer
	lines []string
}

const keptLogLines = 5000

func (l *logger) log(level, name, format string, args ...any) {
	line := fmt.Sprintf("%-5s %s [shard 0:main] %s - %s", level, time.Now().UTC().Format("2006-01-02 15:04:05,000"), name,
		fmt.Sprintf(format, args...))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) < keptLogLines {
		l.lines = append(l.lines, line)
	}
	if l.w != nil {
		_, _ = io.WriteString(l.w, line+"\n")
	}
}

func (l *logger) info(name, format string, args ...any)  { l.log("INFO", name, format, args...) }
func (l *logger) warn(name, format string, args ...any)  { l.log("WARN", name, format, args...) }
func (l *logger) error(name, format string, args ...any) { l.log("ERROR", name, format, args...) }

func (l *logger) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// idSet prints host IDs the way {fmt} prints a set.
func idSet(ids []string) string { return "{" + strings.Join(ids, ", ") + "}" }
