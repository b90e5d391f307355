// SPDX-License-Identifier: Apache-2.0

package bounded_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// from is a connection of an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return named(f.address) }

type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) + ":1" }

// queue is a listener that hands out what is put into it.
type queue chan net.Conn

func (q queue) Accept() (net.Conn, error) {
	if c, ok := <-q; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (queue) Close() error   { return nil }
func (queue) Addr() net.Addr { return named("") }

// TestNoHarm3WhoOpensManyConnectionsKeepsNobodyOut: one too many of an address is closed at once, and one too many in total takes the place of the oldest of the
// address with most.
func TestNoHarm3WhoOpensManyConnectionsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	q := make(queue, 10)
	l := bounded.Connections{Total: 4, PerAddress: 3}.Listener(q)
	clients, accepted := map[string]net.Conn{}, map[string]net.Conn{}
	open := func(name, address string) {
		theirs, ours := net.Pipe()
		clients[name] = theirs
		q <- from{ours, address}
	}
	accept := func(name string) {
		t.Helper()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		accepted[name] = c
	}
	closed := func(name string) bool { // by the server: a pipe that is open would take the byte from a reader only
		_ = clients[name].SetDeadline(time.Unix(1, 0))
		_, err := clients[name].Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	for _, name := range []string{"a1", "a2", "a3", "a4"} {
		open(name, "10.0.0.1")
	}
	open("b1", "10.0.0.2")
	for _, name := range []string{"a1", "a2", "a3", "b1"} {
		accept(name)
	}
	if !closed("a4") || closed("a1") || closed("b1") {
		t.Errorf("the fourth of an address: a4 closed %t, a1 %t, b1 %t", closed("a4"), closed("a1"), closed("b1"))
	}
	open("c1", "10.0.0.3")
	accept("c1")
	if !closed("a1") || closed("a2") || closed("b1") || closed("c1") {
		t.Errorf("the fifth in total: a1 closed %t, a2 %t, b1 %t, c1 %t", closed("a1"), closed("a2"), closed("b1"), closed("c1"))
	}
	// A connection that ends frees its place, once.
	for range 2 {
		_ = accepted["a2"].Close()
	}
	_ = accepted["a1"].Close() // it had lost its place already
	open("d1", "10.0.0.4")
	accept("d1")
	if closed("a3") || closed("b1") || closed("c1") || closed("d1") {
		t.Error("one was closed though a place was free")
	}
	close(q)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestNoHarm3ASlowClientIsCutOff: a client that stalls in its header, in its body or before it reads the answer holds its connection for seconds.
func TestNoHarm3ASlowClientIsCutOff(t *testing.T) {
	t.Parallel()
	for name, sends := range map[string]string{
		"nothing":           "",
		"half a header":     "GET / HTTP/1.1\r\nHost: x\r\n",
		"half a body":       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
		"reads no answer":   "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"no second request": "GET /empty HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := make(queue, 1)
				theirs, ours := net.Pipe()
				ended := make(chan time.Time, 1)
				s := bounded.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if r.URL.Path == "/" {
						_, _ = w.Write(make([]byte, 1<<20))
					}
				}))
				s.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateClosed {
						ended <- time.Now()
					}
				}
				go func() { _ = s.Serve(q) }()
				begun := time.Now()
				q <- from{ours, "10.0.0.1"}
				if _, err := io.WriteString(theirs, sends); err != nil {
					t.Fatal(err)
				}
				if name == "no second request" {
					go func() { _, _ = io.Copy(io.Discard, theirs) }()
				}
				if took := (<-ended).Sub(begun); took > 61*time.Second {
					t.Errorf("it held its connection for %s", took)
				}
				_ = theirs.Close()
				close(q)
				_ = s.Close()
			})
		})
	}
}
