// SPDX-License-Identifier: Apache-2.0

// Package heartbeat lets a reporter confirm its row without a write to the API server: it still
// polls its ScyllaDB, and its Pod's annotation still has the row. It serves its row with a counter
// that advances with every successful poll. Both ends of the protocol are here. internal/view
// judges the answers.
package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// The protocol: GET Path returns the row. Its ETag is the row's digest, so that a client with the
// row sends If-None-Match and gets no body; Header has the counter.
const (
	Path   = "/report"
	Header = "Scylla-Heartbeat"
)

// LogHeader is in the answer if the node's place in the log of group 0, or its schema version, is
// known: see package raftlog. Older reporters do not send it.
const LogHeader = "Scylla-Raft"

// Beat is the row and counter that a reporter serves. The zero value has no row yet. It is safe for
// concurrent use.
type Beat struct {
	mu     sync.Mutex
	number int64
	row    string
	log    raftlog.State
}

// Answer is the result of one request to a reporter.
type Answer struct {
	Number int64
	// Log is empty if the reporter, or its ScyllaDB, does not have it.
	Log raftlog.State
}

// Say sets the present row. alive is true if ScyllaDB has answered a query since the last call:
// then the counter advances.
func (b *Beat) Say(row string, alive bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.row = row
	if alive {
		b.number++
	}
}

// SetLog sets the node's present place in the log of group 0. It is not part of the row, so that
// nothing is written when it changes.
func (b *Beat) SetLog(log raftlog.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = log
}

// ServeHTTP answers GET Path.
func (b *Beat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet {
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	b.mu.Lock()
	number, row, log := b.number, b.row, b.log.String()
	b.mu.Unlock()
	if row == "" {
		http.Error(w, "no status report yet", http.StatusServiceUnavailable)
		return
	}
	tag := quote(api.ReportDigest(row))
	w.Header().Set("ETag", tag)
	w.Header().Set(Header, strconv.FormatInt(number, 10))
	if log != "" {
		w.Header().Set(LogHeader, log)
	}
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, row) // a client that has closed the connection needs no answer
}

func quote(digest string) string { return `"` + digest + `"` }

// Why an answer confirms nothing.
var (
	// ErrOtherRow means that the reporter's row differs from the annotation.
	ErrOtherRow = errors.New("its status report differs from the annotation")
	// ErrRefused means that it answers, and has no row.
	ErrRefused = errors.New("it refuses the query")
	// ErrGarbled means that the answer is not a reporter's.
	ErrGarbled = errors.New("its response is invalid")
)

// Ask returns the answer of the reporter at address (host:port); its row must still have that
// digest. The client pins its certificate; ctx bounds the time, and no body is read. Errors:
// ErrOtherRow, ErrRefused, ErrGarbled, and connection errors.
func Ask(ctx context.Context, c *http.Client, address, digest string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+Path, http.NoBody)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("If-None-Match", quote(digest))
	resp, err := c.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusNotModified:
	case http.StatusOK:
		return Answer{}, ErrOtherRow
	default:
		const enough = 200
		// its status is the answer, its text is for display
		said, _ := bounded.Head(resp.Body, enough)
		return Answer{}, fmt.Errorf("%w: %s: %q", ErrRefused, resp.Status, strings.TrimSpace(string(said)))
	}
	// A counter has one spelling, and an answer one counter.
	all := resp.Header.Values(Header)
	if len(all) != 1 {
		return Answer{}, fmt.Errorf("%w: it has %d counters", ErrGarbled, len(all))
	}
	number, err := strconv.ParseInt(all[0], 10, 64)
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != all[0] {
		return Answer{}, fmt.Errorf("%w: its counter is %.40q", ErrGarbled, all[0])
	}
	if tag := resp.Header.Get("ETag"); tag != quote(digest) {
		return Answer{}, ErrOtherRow
	}
	// An unreadable log counts as unknown: a later version may use another form.
	var log raftlog.State
	if said := resp.Header.Values(LogHeader); len(said) == 1 {
		log, _ = raftlog.Parse(said[0])
	}
	return Answer{Number: number, Log: log}, nil
}
