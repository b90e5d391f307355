// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"k8s.io/streaming/pkg/httpstream"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// forwarded is one connection to the Pod's port.
type forwarded struct {
	f          *forwarder
	data, errs httpstream.Stream

	failed  chan struct{} // closed when the error stream has ended
	failure error         // set before failed is closed
	once    sync.Once
}

// maxForwardError bounds the memory for the kubelet's error text.
const maxForwardError = 4096

// listen waits for the kubelet's error about the port, such as connection refused.
func (c *forwarded) listen() {
	defer close(c.failed)
	if msg, err := bounded.Head(c.errs, maxForwardError); err == nil && len(msg) > 0 {
		c.failure = c.f.failed(errors.New(cluster.FirstLine(string(msg))))
	}
}

func (c *forwarded) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if n > 0 || err == nil {
		return n, err
	}
	// The reason comes on the other stream, possibly after this one has ended.
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-c.failed:
		if c.failure != nil {
			return 0, c.failure
		}
	case <-t.C:
	}
	return 0, err
}

func (c *forwarded) Write(p []byte) (int, error) { return c.data.Write(p) }

func (c *forwarded) Close() error {
	c.once.Do(func() {
		// Reset drops unread data; otherwise it would block the connection's other streams.
		_ = c.data.Reset()
		_ = c.errs.Reset()
		c.f.conn.RemoveStreams(c.data, c.errs)
	})
	return nil
}

type forwardAddr string

func (forwardAddr) Network() string  { return "port-forward" }
func (a forwardAddr) String() string { return string(a) }

func (c *forwarded) LocalAddr() net.Addr  { return forwardAddr("kubectl-scylla") }
func (c *forwarded) RemoteAddr() net.Addr { return forwardAddr(c.f.what) }

// Deadlines are the request's context here: http.Transport closes the connection when that ends.
func (c *forwarded) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *forwarded) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *forwarded) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
