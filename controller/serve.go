// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
)

// viewServer serves GET /view. It runs in every controller; only the leader returns a view.
type viewServer struct {
	listener net.Listener
	key      *pinned.Key
	elected  <-chan struct{}
	of       viewwire.Source
	log      *slog.Logger
}

// newViewServer opens the listener; nil if no views are served.
func newViewServer(address string, elected <-chan struct{}, of viewwire.Source, log *slog.Logger) (*viewServer, error) {
	if address == "" || address == "0" {
		return nil, nil
	}
	key, err := pinned.NewKey("kubectl-scylla controller")
	if err != nil {
		return nil, fmt.Errorf("serve views: %w", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve views: %w", err)
	}
	return &viewServer{listener: l, key: key, elected: elected, of: of, log: log}, nil
}

// at returns the server's address for the Lease; empty if others cannot reach it.
func (s *viewServer) at(podIP string) string {
	if s == nil || podIP == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return ""
	}
	return net.JoinHostPort(podIP, port) + " " + s.key.Fingerprint
}

// NeedLeaderElection returns false: a standby controller responds that it does not lead.
func (s *viewServer) NeedLeaderElection() bool { return false }

// Start serves until ctx ends. A failed server does not end the controller: the reports also
// contain the views.
func (s *viewServer) Start(ctx context.Context) error {
	if err := pinned.Serve(ctx, s.listener, bounded.Controller, s.key, viewwire.Handler(s.view), s.log); err != nil {
		s.log.ErrorContext(ctx, "views are no longer served", "error", err)
	}
	return nil
}

func (s *viewServer) view(key types.NamespacedName) (*viewwire.View, error) {
	select {
	case <-s.elected:
		return s.of(key)
	default:
		return nil, viewwire.ErrNotLeading
	}
}
