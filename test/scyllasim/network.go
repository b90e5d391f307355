// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// Network is the network of the nodes of one process, in memory: it needs no ports, and works in a synctest bubble. Packets
// between two addresses that are cut are held back, as with a DROP rule: connections stay open, data does not arrive, new
// connections time out. Nodes in processes of their own have none of this (nil); there the real network is cut.
type Network struct {
	mu        sync.Mutex
	cuts      map[[2]string]bool
	changed   chan struct{}
	listeners map[string]*listener // by address
}

// NewNetwork returns a network without cuts.
func NewNetwork() *Network {
	return &Network{cuts: map[[2]string]bool{}, changed: make(chan struct{}), listeners: map[string]*listener{}}
}

// Client returns an HTTP client of the nodes' REST APIs.
func (w *Network) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return w.dial(ctx, "", address) },
		MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
	}}
}

func (w *Network) listen(ctx context.Context, address string) (net.Listener, error) {
	if w == nil {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners[address] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: addr(address), Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &listener{network: w, address: addr(address), queue: make(chan net.Conn, 128), closed: make(chan struct{})}
	w.listeners[address] = l
	return l, nil
}

func (w *Network) dial(ctx context.Context, from, address string) (net.Conn, error) {
	if w == nil {
		d := net.Dialer{}
		if local := net.ParseIP(from); local != nil && local.IsLoopback() {
			d.LocalAddr = &net.TCPAddr{IP: local}
		}
		return d.DialContext(ctx, "tcp", address)
	}
	w.mu.Lock()
	l := w.listeners[address]
	w.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: addr(address), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil {
		return nil, refused
	}
	own, theirs := net.Pipe()
	local := addr(net.JoinHostPort(from, "0"))
	select {
	case l.queue <- conn{theirs, l.address, local}:
		return conn{own, local, l.address}, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// conn is one side of a connection in memory.
type conn struct {
	net.Conn
	local, remote addr
}

func (c conn) LocalAddr() net.Addr  { return c.local }
func (c conn) RemoteAddr() net.Addr { return c.remote }

type listener struct {
	network *Network
	address addr
	queue   chan net.Conn // connected and not accepted
	closed  chan struct{}
}

func (l *listener) Addr() net.Addr { return l.address }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	case c := <-l.queue:
		return c, nil
	}
}

func (l *listener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.network.listeners[string(l.address)] != l {
		return net.ErrClosed
	}
	delete(l.network.listeners, string(l.address))
	close(l.closed)
	for {
		select {
		case c := <-l.queue:
			_ = c.Close()
		default:
			return nil
		}
	}
}

func pair(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// Cut drops everything between two addresses, both ways.
func (w *Network) Cut(a, b string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts[pair(a, b)] = true
	close(w.changed)
	w.changed = make(chan struct{})
}

// HealAll removes all cuts. What was held back arrives, as retransmission would make it.
func (w *Network) HealAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts = map[[2]string]bool{}
	close(w.changed)
	w.changed = make(chan struct{})
}

// held returns nil when a and b may talk, else a channel that is closed at the next change.
func (w *Network) held(a, b string) <-chan struct{} {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.cuts[pair(a, b)] {
		return nil
	}
	return w.changed
}

// heldConn delivers what it reads only while neither the network nor the node's own gate holds it back.
type heldConn struct {
	net.Conn
	blocked func() <-chan struct{}

	rmu     sync.Mutex
	pending []byte

	dmu      sync.Mutex
	deadline time.Time

	once   sync.Once
	closed chan struct{}
}

func newHeldConn(c net.Conn, blocked func() <-chan struct{}) *heldConn {
	return &heldConn{Conn: c, blocked: blocked, closed: make(chan struct{})}
}

func (c *heldConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *heldConn) SetDeadline(t time.Time) error {
	c.dmu.Lock()
	c.deadline = t
	c.dmu.Unlock()
	return c.Conn.SetDeadline(t)
}

func (c *heldConn) SetReadDeadline(t time.Time) error {
	c.dmu.Lock()
	c.deadline = t
	c.dmu.Unlock()
	return c.Conn.SetReadDeadline(t)
}

func (c *heldConn) await() error {
	for {
		ch := c.blocked()
		if ch == nil {
			return nil
		}
		c.dmu.Lock()
		dl := c.deadline
		c.dmu.Unlock()
		var expired <-chan time.Time
		if !dl.IsZero() {
			t := time.NewTimer(time.Until(dl))
			defer t.Stop()
			expired = t.C
		}
		select {
		case <-ch:
		case <-c.closed:
			return net.ErrClosed
		case <-expired:
			return os.ErrDeadlineExceeded
		}
	}
}

func (c *heldConn) Read(p []byte) (int, error) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if len(c.pending) == 0 {
		buf := make([]byte, max(len(p), 512))
		n, err := c.Conn.Read(buf)
		if n == 0 {
			return 0, err
		}
		c.pending = buf[:n]
	}
	if err := c.await(); err != nil {
		return 0, err
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

type heldListener struct {
	net.Listener
	gate    *gate
	blocked func(remote string) <-chan struct{}
	mu      sync.Mutex
	conns   map[*heldConn]struct{}
	ctx     context.Context
}

func newHeldListener(ctx context.Context, l net.Listener, g *gate, blocked func(remote string) <-chan struct{}) *heldListener {
	return &heldListener{Listener: l, gate: g, blocked: blocked, conns: map[*heldConn]struct{}{}, ctx: ctx}
}

func (l *heldListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := l.gate.wait(l.ctx); err != nil {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	remote := hostOf(c.RemoteAddr().String())
	hc := newHeldConn(c, func() <-chan struct{} {
		if ch := l.gate.held(); ch != nil {
			return ch
		}
		return l.blocked(remote)
	})
	l.mu.Lock()
	l.conns[hc] = struct{}{}
	for old := range l.conns {
		select {
		case <-old.closed:
			delete(l.conns, old)
		default:
		}
	}
	l.mu.Unlock()
	return hc, nil
}

// closeAll closes the listener and every connection that it accepted, as the end of a process does.
func (l *heldListener) closeAll() {
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

func hostOf(addr string) string {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return h
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &ne) && ne.Timeout())
}
