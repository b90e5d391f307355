// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server returns a server with time limits: none of ours has a long body or answer, so a slow
// client is cut off.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
	}
}

// Connections bounds the open connections of one listener. A TLS connection costs about 40 kB.
type Connections struct {
	// Total of all addresses, PerAddress of one. Behind a proxy many clients have one address.
	Total, PerAddress int
}

// Agent is for the servers in a ScyllaDB Pod: 256 connections cost less than 16 of their 32 or 128
// MiB. Clients keep one connection each; few barriers and one controller query a Pod at a time.
var Agent = Connections{Total: 256, PerAddress: 32}

// Controller is for the server of views, which every reporter queries.
var Controller = Connections{Total: 4096, PerAddress: 128}

// Listener limits the connections that l accepts. It closes a connection beyond PerAddress before a
// byte is read. A connection beyond Total replaces the oldest connection of the address with most
// connections, so that one client with many connections cannot exclude others.
func (c Connections) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, most: c, open: map[string][]*connection{}}
}

type listener struct {
	net.Listener
	most Connections
	mu   sync.Mutex
	open map[string][]*connection // by address, the oldest first; len(open[a]) <= PerAddress
	n    int                      // 0 <= n <= Total
	// accepted is the number of connections that were ever open.
	accepted uint64
}

// Accept returns the next connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := l.admit(c); admitted != nil {
			return admitted, nil
		}
		_ = c.Close()
	}
}

func (l *listener) admit(c net.Conn) net.Conn {
	address, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		address = c.RemoteAddr().String()
	}
	l.mu.Lock()
	if len(l.open[address]) >= l.most.PerAddress {
		l.mu.Unlock()
		return nil
	}
	var evicted *connection
	if l.n >= l.most.Total {
		evicted = l.crowded()
		l.forget(evicted)
	}
	l.accepted++
	mine := &connection{Conn: c, of: l, address: address, number: l.accepted}
	l.open[address] = append(l.open[address], mine)
	l.n++
	l.mu.Unlock()
	if evicted != nil {
		_ = evicted.Conn.Close()
	}
	return mine
}

// crowded returns the oldest connection of the address with most of them; among equal addresses,
// the oldest of all.
func (l *listener) crowded() *connection {
	var most []*connection
	for _, cs := range l.open {
		if len(cs) > len(most) || len(cs) == len(most) && cs[0].number < most[0].number {
			most = cs
		}
	}
	return most[0]
}

// forget removes a connection from the list, once.
func (l *listener) forget(c *connection) {
	i := slices.Index(l.open[c.address], c)
	if i < 0 {
		return
	}
	l.n--
	if l.open[c.address] = slices.Delete(l.open[c.address], i, i+1); len(l.open[c.address]) == 0 {
		delete(l.open, c.address)
	}
}

type connection struct {
	net.Conn
	of      *listener
	address string
	number  uint64 // in the order of acceptance
}

// Close frees its place.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.forget(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
