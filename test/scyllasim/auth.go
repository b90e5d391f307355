// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
)

// cqlChange is a change of roles or keyspaces, for the leader of group 0.
type cqlChange struct {
	User      cql.User
	Statement string
}

type cqlReply struct {
	Keyspace string
	Refused  *cql.Error
}

func (n *Node) cqlOptions() cql.Options {
	return cql.Options{
		Release: strings.SplitN(n.v.Release(), "-", 2)[0], AllowAll: !strings.HasSuffix(n.o.Authenticator, "PasswordAuthenticator"),
	}
}

func (n *Node) initialAuth() *cql.State {
	if n.o.Authenticator == "" {
		return nil
	}
	s := cql.Initial(n.cqlOptions())
	return &s
}

// changeCQL runs a change on the replicated state. Only the leader can.
func (n *Node) changeCQL(ctx context.Context, r cqlChange) (cqlReply, error) {
	var rep cqlReply
	err := n.g0.propose(ctx, func(t *topology) error {
		if t.Auth == nil {
			rep = cqlReply{}
			return errNoChange
		}
		o := n.cqlOptions()
		for _, x := range t.sorted() {
			if x.owner() && !slices.Contains(o.Datacenters, x.DC) {
				o.Datacenters = append(o.Datacenters, x.DC)
			}
		}
		s, keyspace, refused := cql.Run(o, *t.Auth, r.User, r.Statement)
		if rep = (cqlReply{keyspace, refused}); refused != nil {
			return errNoChange
		}
		t.Auth = &s
		return nil
	})
	return rep, err
}

// serveCQL serves the protocol on the CQL port, and on the maintenance socket where there is one.
func (n *Node) serveCQL(ctx context.Context, l net.Listener) {
	o := n.cqlOptions()
	o.Shared = &cql.Shared{
		Read: func() cql.State {
			if t := n.g0.state(); t != nil && t.Auth != nil {
				return *t.Auth
			}
			return cql.State{}
		},
		Change: func(u cql.User, statement string) (string, *cql.Error) {
			ctx, cancel := context.WithTimeout(n.ctx, 20*time.Second)
			defer cancel()
			var rep cqlReply
			if err := n.ask(ctx, "topo.cql", cqlChange{u, statement}, &rep); err != nil {
				return "", &cql.Error{Text: "no answer of group 0"}
			}
			return rep.Keyspace, rep.Refused
		},
	}
	var mu sync.Mutex
	holds := slices.Clone(n.o.CQLHolds)
	o.Hold = func(event string) bool {
		mu.Lock()
		defer mu.Unlock()
		i := slices.Index(holds, event)
		if i < 0 {
			return false
		}
		holds = slices.Delete(holds, i, i+1)
		n.log.info("cql_server", "scyllasim holds %s", event)
		return true
	}
	c := cql.New(o)
	if n.o.CQLTLS { // by a certificate that no client can verify
		s := httptest.NewTLSServer(nil)
		defer s.Close()
		l = tls.NewListener(l, s.TLS)
	}
	n.wg.Go(func() { c.Serve(ctx, l, false) })
	if n.o.MaintenanceSocket != "workdir" {
		return
	}
	socket := filepath.Join(n.o.Dir, "cql.m")
	_ = os.Remove(socket) // of a process that was killed
	u, err := net.Listen("unix", socket)
	if err != nil {
		n.log.error("maintenance_socket", "cannot listen: %v", err)
		return
	}
	n.wg.Go(func() { c.Serve(n.ctx, u, true) })
}

func (n *Node) startCQL() {
	if n.cqlOn.Load() {
		return
	}
	l, err := n.o.Network.listen(n.ctx, net.JoinHostPort(n.o.RPCAddress, cqlPort))
	if err != nil {
		n.log.error("cql_server_controller", "cannot listen: %v", err)
		return
	}
	ctx, end := context.WithCancel(n.ctx)
	n.mu.Lock()
	n.endCQL = func() { _ = l.Close(); end() }
	n.mu.Unlock()
	n.cqlOn.Store(true)
	n.log.info("cql_server_controller", "Starting listening for CQL clients on %s (unencrypted, non-shard-aware)", l.Addr())
	if n.o.Authenticator != "" {
		n.serveCQL(ctx, l)
		return
	}
	// There is no CQL protocol: the connection is closed when the client sends its first byte.
	n.wg.Go(func() { cql.Accept(ctx, l, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }) })
}

func (n *Node) stopCQL() {
	n.cqlOn.Store(false)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.endCQL != nil {
		n.endCQL()
	}
}
