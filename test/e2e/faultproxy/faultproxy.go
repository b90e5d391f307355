// SPDX-License-Identifier: Apache-2.0

// Package faultproxy is a reverse proxy in front of a Kubernetes API server that simulates failures of networks, load balancers and admission: it
// delays requests, drops them, stalls watches that stay open, and rejects kinds. For tests.
package faultproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Fault is applied to the requests that it matches. Requests that match several get the first.
type Fault struct {
	// Methods that match, all when empty. Resource is a plural name in the path, "pods"; any when empty.
	Methods  []string
	Resource string
	// Watches matches watches only, Lists all but watches.
	Watches, Lists bool

	// Hold delays a request until the fault is removed, and then forwards it, whether or not its client still waits.
	Hold bool
	// Drop closes the connection without an answer.
	Drop bool
	// Stall forwards a watch's headers and nothing after them, and keeps the stream open until the fault is removed; a watch that has begun
	// before stalls from now on.
	Stall bool
	// Reject answers with this code and Message, as admission does.
	Reject  int
	Message string

	gone chan struct{}
}

// Proxy is a running proxy.
type Proxy struct {
	server  *httptest.Server
	forward *httputil.ReverseProxy
	cfg     *rest.Config
	stopped context.Context // ends with Stop
	end     context.CancelFunc

	mu      sync.Mutex
	faults  []*Fault
	hit     map[*Fault]int
	changed chan struct{} // closed when the faults change
}

// Start starts a proxy in front of the API server that cfg names. It uses cfg's credentials and forwards the headers of impersonation.
func Start(cfg *rest.Config) (*Proxy, error) {
	upstream := rest.CopyConfig(cfg)
	upstream.Impersonate = rest.ImpersonationConfig{}
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, fmt.Errorf("make a transport to %s: %w", cfg.Host, err)
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", cfg.Host, err)
	}
	p := &Proxy{cfg: cfg, hit: map[*Fault]int{}, changed: make(chan struct{})}
	p.stopped, p.end = context.WithCancel(context.Background())
	p.forward = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: p.stalling,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewServer(p)
	return p, nil
}

// Stop ends it with all its connections, and with the requests that were held: a watch among them would go on.
func (p *Proxy) Stop() {
	p.end()
	p.mu.Lock()
	for _, f := range p.faults {
		close(f.gone)
	}
	p.faults = nil
	p.mu.Unlock()
	p.server.CloseClientConnections()
	p.server.Close()
}

// Config is a client's configuration that goes through the proxy.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.server.URL, Impersonate: p.cfg.Impersonate}
}

// Add adds a fault; the returned function removes it.
func (p *Proxy) Add(f Fault) (remove func()) {
	f.gone = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, &f)
	p.announce()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if i := slices.Index(p.faults, &f); i >= 0 {
			p.faults = slices.Delete(p.faults, i, i+1)
			close(f.gone)
			p.announce()
		}
	})
}

// Hits is how often the fault was applied so far; a watch that stalls counts whenever data is held back.
func (p *Proxy) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, hits := range p.hit {
		n += hits
	}
	return n
}

// announce wakes the open watches. The caller holds mu.
func (p *Proxy) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// ServeHTTP forwards the request, or applies the first fault that matches.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, _ := p.match(r, func(f *Fault) bool { return !f.Stall })
	switch {
	case f == nil:
	case f.Hold:
		// The forwarded request outlives its client, as a request in transit does. Its context needs a Done of its own: a ReverseProxy watches the
		// connection for the client's end when the context has none.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		defer cancel()
		defer context.AfterFunc(p.stopped, cancel)()
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		p.count(f)
		<-f.gone
	case f.Drop:
		p.count(f)
		panic(http.ErrAbortHandler)
	case f.Reject != 0:
		p.count(f)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Reject)
		_ = json.NewEncoder(w).Encode(&metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(f.Reject), Message: f.Message,
			Reason: metav1.StatusReasonForbidden,
		})
		return
	}
	p.forward.ServeHTTP(w, r)
}

// count records that f is applied to a request. A request that is held counts once it has been read whole, so that it arrives although its client
// gives up from then on.
func (p *Proxy) count(f *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hit[f]++
}

// match returns the first fault of a sort that applies to a request, and the channel that is closed at the next change.
func (p *Proxy) match(r *http.Request, sort func(*Fault) bool) (*Fault, <-chan struct{}) {
	watching := watches(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if sort(f) && (len(f.Methods) == 0 || slices.Contains(f.Methods, r.Method)) && (!f.Watches || watching) &&
			(!f.Lists || r.Method == http.MethodGet && !watching) &&
			(f.Resource == "" || slices.Contains(strings.Split(r.URL.Path, "/"), f.Resource)) {
			return f, p.changed
		}
	}
	return nil, p.changed
}

func watches(r *http.Request) bool {
	q := r.URL.Query().Get("watch")
	return q == "true" || q == "1"
}

// stalling puts a body that can stall under every watch.
func (p *Proxy) stalling(res *http.Response) error {
	if watches(res.Request) {
		ctx, cancel := context.WithCancel(res.Request.Context())
		res.Body = &stream{p: p, body: res.Body, req: res.Request, ctx: ctx, cancel: cancel}
	}
	return nil
}

type stream struct {
	p      *Proxy
	body   io.ReadCloser
	req    *http.Request
	ctx    context.Context
	cancel context.CancelFunc
}

// Read delivers nothing while a fault stalls the watch; data that arrives meanwhile is delivered afterwards, as from a buffer on the way.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.body.Read(b)
	for {
		f, changed := s.p.match(s.req, func(f *Fault) bool { return f.Stall })
		if f == nil {
			return n, err
		}
		s.p.count(f)
		select {
		case <-changed:
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
}

// Close ends it, stalled or not.
func (s *stream) Close() error {
	s.cancel()
	return s.body.Close()
}
