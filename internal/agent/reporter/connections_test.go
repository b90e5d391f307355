// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
)

// TestNoHarm3TenThousandConnectionsTakeLittleMemory: clients that connect over TLS, make a request and stay, from 100 addresses, do not fill the memory that a reporter has in its
// Pod (128 Mi), clients and this test included, and a barrier that queries the reporter meanwhile is answered.
func TestNoHarm3TenThousandConnectionsTakeLittleMemory(t *testing.T) {
	const connections, addresses = 10_000, 100
	memory.Under(t, 128<<20, func(t *testing.T) {
		w := newWorld(t, "")
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		w.o.Heartbeat, w.o.LeaseNamespace, w.o.Log = l, "", slog.New(slog.DiscardHandler)
		r := w.byHand()
		var wg sync.WaitGroup
		stop, err := r.serveHeartbeat(t.Context(), &wg)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var held []net.Conn
		flood, ctx := errgroup.WithContext(t.Context())
		flood.SetLimit(addresses)
		for i := range connections {
			flood.Go(func() error {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%addresses))}}
				c, err := d.DialContext(ctx, "tcp4", l.Addr().String())
				if err != nil {
					return err
				}
				mu.Lock()
				held = append(held, c)
				mu.Unlock()
				// One request, and then nothing: such a connection lasts longest. It may be closed already.
				if over := tls.Client(c, &tls.Config{InsecureSkipVerify: true}); over.HandshakeContext(ctx) == nil {
					_, _ = over.Write([]byte("GET " + heartbeat.Path + " HTTP/1.1\r\nHost: x\r\n\r\n"))
				}
				if i%1000 == 999 {
					return joins(r, l.Addr().String())
				}
				return nil
			})
		}
		switch err := flood.Wait(); {
		case errors.Is(err, syscall.EMFILE):
			t.Skip("this machine lets a process open too few files")
		case err != nil:
			t.Fatal(err)
		}
		if err := joins(r, l.Addr().String()); err != nil {
			t.Error(err)
		}
		for _, c := range held {
			_ = c.Close()
		}
		stop()
		wg.Wait()
	})
}

// joins makes the request of a barrier at its opening.
func joins(r *reporter, address string) error {
	c := pinned.NewClient(r.where.Fingerprint)
	defer c.CloseIdleConnections()
	resp, err := c.Get("https://" + address + heartbeat.Path)
	if err != nil {
		return fmt.Errorf("a barrier is not answered: %w", err)
	}
	return resp.Body.Close()
}
