// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
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
	l := &listener{network: w, address: addr(address), queue: make(chan net.Conn), closed: make(chan struct{})}
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
	to, _, _ := net.SplitHostPort(address)
	held := func() <-chan struct{} { return w.held(from, to) }
	for ch := held(); ch != nil; ch = held() {
		select {
		case <-ch:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w.mu.Lock()
	l := w.listeners[address]
	w.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: addr(address), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil {
		return nil, refused
	}
	own, theirs := net.Pipe()
	select {
	case l.queue <- &conn{Conn: theirs, held: held, closed: make(chan struct{})}:
		return &conn{Conn: own, held: held, closed: make(chan struct{})}, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// conn is one side of a connection in memory. What it writes is held back while the two addresses are cut.
type conn struct {
	net.Conn
	held   func() <-chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *conn) Write(p []byte) (int, error) {
	for ch := c.held(); ch != nil; ch = c.held() {
		select {
		case <-ch:
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(p)
}

type listener struct {
	network *Network
	address addr
	queue   chan net.Conn
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
	return nil
}

func pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// Cut drops everything between two addresses, both ways.
func (w *Network) Cut(a, b string) {
	w.change(func() { w.cuts[pair(a, b)] = true })
}

// HealAll removes all cuts. What was held back arrives, as retransmission would make it.
func (w *Network) HealAll() {
	w.change(func() { clear(w.cuts) })
}

func (w *Network) change(cuts func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	cuts()
	close(w.changed)
	w.changed = make(chan struct{})
}

// held returns nil when a and b may talk, else a channel that is closed at the next change.
func (w *Network) held(a, b string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.cuts[pair(a, b)] {
		return nil
	}
	return w.changed
}
