// SPDX-License-Identifier: Apache-2.0

// Package pinnedserver serves a handler to tests as reporters and controllers serve theirs: over TLS on loopback, with a certificate of its own.
package pinnedserver

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
)

// A Server answers on Address until Stop or the end of the test. Stop may be called twice.
type Server struct {
	Address     string // IP:port
	Port        int32
	Fingerprint string
	Stop        func()
}

// Start serves h with a new key that carries the given name. The test fails if the server does not end cleanly.
func Start(t testing.TB, name string, h http.Handler) *Server {
	t.Helper()
	key, err := pinned.NewKey(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := pinned.Serve(ctx, l, bounded.Connections{Total: 4096, PerAddress: 4096}, key, h, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("serve as %s: %v", name, err)
		}
	}()
	stop := func() { cancel(); <-ended }
	t.Cleanup(stop)
	return &Server{Address: l.Addr().String(), Port: int32(l.Addr().(*net.TCPAddr).Port), Fingerprint: key.Fingerprint, Stop: stop}
}

// Client pins the server's certificate. It is closed before the server ends.
func (s *Server) Client(t testing.TB) *http.Client {
	t.Helper()
	c := pinned.NewClient(s.Fingerprint)
	t.Cleanup(c.CloseIdleConnections)
	return c
}
