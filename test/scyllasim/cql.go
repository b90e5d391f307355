// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"net"
	"strconv"
)

func (n *Node) startCQL() {
	l, err := n.o.Network.listen(n.ctx, net.JoinHostPort(n.o.RPCAddress, strconv.Itoa(n.o.CQLPort)))
	if err != nil {
		n.log.error("cql_server_controller", "cannot listen: %v", err)
		return
	}
	ln := newHeldListener(n.ctx, l, &n.gate, func(remote string) <-chan struct{} { return n.o.Network.held(n.o.RPCAddress, remote) })
	n.mu.Lock()
	n.cqlLn = ln
	n.mu.Unlock()
	n.cqlOn.Store(true)
	n.gossip.set(appRPCReady, "1")
	n.log.info("cql_server_controller", "Starting listening for CQL clients on %s (unencrypted, non-shard-aware)", l.Addr())
	if n.o.Authenticator != "" {
		n.serveCQL(ln)
		return
	}
	n.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			// There is no CQL protocol: the connection is closed when the client sends its first byte.
			n.wg.Go(func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Read(make([]byte, 1))
			})
		}
	})
}

func (n *Node) stopCQL() {
	n.cqlOn.Store(false)
	n.mu.Lock()
	ln := n.cqlLn
	n.cqlLn = nil
	n.mu.Unlock()
	if ln != nil {
		ln.closeAll()
	}
}
