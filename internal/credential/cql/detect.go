// SPDX-License-Identifier: Apache-2.0

// Package cql connects package credential with one node of ScyllaDB: it reads the configuration by
// REST, and roles and keyspaces by CQL. Only this package imports the CQL driver. It decides
// nothing.
package cql

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// Detect reads a node's configuration.
func Detect(ctx context.Context, c *scylla.Client) (credential.Config, error) {
	a, err := c.Authentication(ctx)
	if err != nil {
		return credential.Config{}, fmt.Errorf("read how CQL clients log in: %w", err)
	}
	text, err := c.ReleaseVersion(ctx)
	if err != nil {
		return credential.Config{}, fmt.Errorf("read the release: %w", err)
	}
	v, _ := release.Parse(text) // an unknown release has no usable socket
	return credential.Config{
		Authenticator: a.Authenticator, Superuser: a.Superuser, Socket: a.Socket, SocketRoles: socketRoles(v),
		Addresses: addresses(a), ClientCertificate: a.TLS && a.ClientCertificate,
	}, nil
}

// socketRoles is true from 2026.2 on, including its release candidates. Before, the client of the
// maintenance socket is anonymous, and CREATE ROLE refuses that
// (cql3/statements/role-management-statements.cc, create_role_statement::check_access;
// service/client_state.cc:56 in 2025.1).
func socketRoles(v release.Version) bool {
	return v.Enterprise() && (v.Major > 2026 || v.Major == 2026 && v.Minor >= 2)
}

// addresses returns the addresses at which CQL may listen, in order. With TLS that is
// native_transport_port_ssl if configured, else native_transport_port
// (transport/controller.cc:120-135 in 2026.1).
func addresses(a scylla.Authentication) []credential.Address {
	host := a.Address
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	at := func(port int64) string { return net.JoinHostPort(host, strconv.FormatInt(port, 10)) }
	if a.TLS {
		return []credential.Address{{HostPort: at(a.TLSPort), TLS: true}, {HostPort: at(a.Port), TLS: true}}
	}
	return []credential.Address{{HostPort: at(a.Port)}}
}
