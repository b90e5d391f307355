// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
	"slices"
	"strings"
)

// Authentication is the part of a node's configuration that concerns CQL clients. The salted
// password of the superuser is never requested.
type Authentication struct {
	// Authenticator is the class, with or without its package.
	Authenticator string
	// Superuser is auth_superuser_name, empty if it is not set.
	Superuser string
	// Socket is the path of the maintenance socket in the node's own file system, empty if the node
	// does not open it.
	Socket string
	// Address is rpc_address: an IP address or a name.
	Address string
	Port    int64
	// TLSPort is native_transport_port_ssl. It may be closed: its default looks the same as a
	// configured value (transport/controller.cc:120, 2026.1).
	TLSPort int64
	// TLS is client_encryption_options.enabled; ClientCertificate is require_client_auth.
	TLS, ClientCertificate bool
}

const (
	socketIgnored  = "ignore"
	socketWorkdir  = "workdir"
	defaultWorkdir = "/var/lib/scylla"
)

// Authentication reads the options one by one. Errors: *APIError; 400 for an option that the
// release does not have.
func (c *Client) Authentication(ctx context.Context) (Authentication, error) {
	var a Authentication
	for name, into := range map[string]*string{
		"authenticator": &a.Authenticator, "auth_superuser_name": &a.Superuser,
		"rpc_address": &a.Address, "maintenance_socket": &a.Socket,
	} {
		text, err := c.string(ctx, "/v2/config/"+name)
		if err != nil {
			return a, err
		}
		*into = text
	}
	ports := map[string]*int64{"native_transport_port": &a.Port, "native_transport_port_ssl": &a.TLSPort}
	for name, into := range ports {
		decode := func(b io.Reader) (err error) { *into, err = decodeInt(b); return }
		if err := c.get(ctx, "/v2/config/"+name, decode); err != nil {
			return a, err
		}
	}
	options := map[string]string{}
	if err := c.get(ctx, "/v2/config/client_encryption_options", func(b io.Reader) error {
		data, err := limitValue.Read(b, theAnswer)
		if err != nil {
			return err
		}
		return decodeJSON(data, &options)
	}); err != nil {
		return a, err
	}
	a.TLS, a.ClientCertificate = on(options["enabled"]), on(options["require_client_auth"])
	switch a.Socket {
	case socketIgnored:
		a.Socket = ""
	case socketWorkdir:
		// The option's name has its short form in it, and the path matches the whole name
		// (db/config.cc:555, api/config.cc:92, 2025.1).
		dir, err := c.string(ctx, "/v2/config/workdir,W")
		if err != nil || dir == "" {
			dir = defaultWorkdir
		}
		a.Socket = strings.TrimRight(dir, "/") + "/cql.m"
	}
	return a, nil
}

// on is ScyllaDB's reading of a text as a boolean (utils::is_true).
func on(text string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(text))
}
