// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// watchSilence is how long a watch may receive no data before it counts as broken. API servers send
// a bookmark every minute to watches that request them (the first within two minutes: measured with
// 1.36). A proxy or load balancer may keep a stream open indefinitely without delivering data.
const watchSilence = 70 * time.Second

// firstByte is the time limit for the first byte of a list, or of a watch that begins with the
// existing objects.
const firstByte = 20 * time.Second

// informerBackoff is the longest wait of a client-go informer after a broken request: 30 s, doubled
// at most by jitter.
const informerBackoff = time.Minute

// Progress checks that a cache keeps receiving data. It cancels a watch or list that receives no
// data for too long, and the informer then lists everything again. It is safe for concurrent use.
type Progress struct {
	// Silence limits a watch; First limits a list and the first byte of each response.
	Silence, First time.Duration

	mu   sync.Mutex
	last map[string]time.Time // by URL path and selector: when data last arrived
}

// NewProgress returns a Progress with the default limits of this package.
func NewProgress() *Progress { return &Progress{Silence: watchSilence, First: firstByte} }

// Config returns a copy of cfg for a cache only: other requests would count as the cache's
// progress.
func (p *Progress) Config(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &progressing{Progress: p, next: rt} })
	return cfg
}

// Check returns an error if one kind has received no data for longer than it takes to detect a
// broken watch and to list again. The cache may then be out of date.
func (p *Progress) Check() error {
	limit := p.Silence + informerBackoff + 2*p.First
	p.mu.Lock()
	defer p.mu.Unlock()
	for what, at := range p.last {
		if silent := time.Since(at); silent > limit {
			return fmt.Errorf("no updates of %s from the API server for %s", what, silent.Round(time.Second))
		}
	}
	return nil
}

func (p *Progress) heard(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[what] = time.Now()
}

// begun registers a requested kind, so that Check covers it even if no data ever arrives.
func (p *Progress) begun(what string) {
	p.mu.Lock()
	_, known := p.last[what]
	p.mu.Unlock()
	if !known {
		p.heard(what)
	}
}

type progressing struct {
	*Progress
	next http.RoundTripper
}

// RoundTrip cancels a request that receives no data. For a watch the response header is not
// progress: a proxy may send it before the API server does.
func (p *progressing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return p.next.RoundTrip(req)
	}
	q := req.URL.Query()
	watching := q.Get("watch") == "true" || q.Get("watch") == "1"
	what := req.URL.Path
	if selector := q.Get("labelSelector"); selector != "" {
		what += "?" + selector
	}
	p.begun(what)
	ctx, cancel := context.WithCancelCause(req.Context())
	first, rest := p.First, p.First
	if watching {
		rest = p.Silence
		if q.Get("sendInitialEvents") != "true" {
			first = p.Silence // there may be no event to send
		}
	}
	silent := func() { cancel(&silentError{what: what, limit: first}) }
	timer := time.AfterFunc(first, silent)
	res, err := p.next.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		if cause, ok := errors.AsType[*silentError](context.Cause(ctx)); ok {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	res.Body = &progressingBody{
		ReadCloser: res.Body, p: p.Progress, what: what, ctx: ctx, cancel: cancel, timer: time.AfterFunc(first, silent),
		limit:    rest,
		watching: watching, counts: res.StatusCode == http.StatusOK,
	}
	return res, nil
}

// silentError is neither an EOF nor a timeout, which an informer treats as the normal end of a
// watch.
type silentError struct {
	what  string
	limit time.Duration
}

func (e *silentError) Error() string {
	return fmt.Sprintf("the API server sent no updates of %s for %s; reading again", e.what, e.limit)
}

type progressingBody struct {
	io.ReadCloser
	p                *Progress
	what             string
	ctx              context.Context
	cancel           context.CancelCauseFunc
	timer            *time.Timer
	limit            time.Duration
	watching, counts bool
}

// Read records progress at each byte of a watch, and at the end of a list.
func (b *progressingBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if n > 0 && b.timer.Stop() {
		b.timer.Reset(b.limit)
	}
	if b.counts && (b.watching && n > 0 || !b.watching && errors.Is(err, io.EOF)) {
		b.p.heard(b.what)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if cause, ok := errors.AsType[*silentError](context.Cause(b.ctx)); ok {
			err = cause
		}
	}
	return n, err
}

// Close ends the request.
func (b *progressingBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
