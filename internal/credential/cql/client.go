// SPDX-License-Identifier: Apache-2.0

package cql

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
)

const (
	protocol = 4
	// stepTimeout bounds a connection, and one statement.
	stepTimeout = 10 * time.Second
	// agreement is how long the driver waits for the other nodes' schema after ALTER KEYSPACE.
	agreement = 20 * time.Second
	// ownAddress is for the driver, which requires an IP address of each host. dialer chooses the
	// address of a connection.
	ownAddress = "127.0.0.1"
)

// Database opens sessions with the node of this Pod.
type Database struct{ Config credential.Config }

// Open implements credential.Database. The driver opens two connections, one of them for its own
// queries, and discovers no other host. The error of a failed session lacks ScyllaDB's number
// (session.go:247), so an observer reads the error of the connection.
func (d Database) Open(ctx context.Context, as credential.Login) (credential.Session, error) {
	var seen connects
	c := gocql.NewCluster(ownAddress)
	c.ProtoVersion, c.NumConns, c.DisableInitialHostLookup = protocol, 1, true
	c.Timeout, c.ConnectTimeout, c.MaxWaitSchemaAgreement = stepTimeout, stepTimeout, agreement
	c.ReconnectInterval, c.ReconnectionPolicy = 0, &gocql.ConstantReconnectionPolicy{MaxRetries: 1}
	c.Events.DisableNodeStatusEvents, c.Events.DisableSchemaEvents, c.Events.DisableTopologyEvents = true, true, true
	c.Metadata.CacheMode = gocql.Disabled
	c.ConnectObserver = &seen
	closed := &atomic.Bool{}
	c.HostDialer = dialer{ctx: ctx, config: d.Config, socket: as.Socket, closed: closed,
		connect: (&net.Dialer{}).DialContext}
	if !as.Socket {
		s := as.Secret
		c.Authenticator = gocql.PasswordAuthenticator{Username: s.Username, Password: s.Password.Reveal()}
	}
	s, err := c.CreateSession()
	if err != nil {
		closed.Store(true)
		return nil, failure(ctx, errors.Join(seen.err, err))
	}
	return &session{s, closed}, nil
}

// connects keeps the last error of a connection.
type connects struct {
	mu  sync.Mutex
	err error
}

// ObserveConnect implements gocql.ConnectObserver.
func (c *connects) ObserveConnect(o gocql.ObservedConnect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Err != nil {
		c.err = o.Err
	}
}

var (
	// errNotLocal is the refusal to send a password out of the Pod.
	errNotLocal = errors.New("the CQL address is not this Pod's")
	errNoSocket = errors.New("the node opens no maintenance socket")
)

// dialer connects with the node of this Pod, for any host that the driver names.
type dialer struct {
	ctx    context.Context
	config credential.Config
	socket bool
	closed *atomic.Bool
	// connect is net.Dialer's.
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// DialHost implements gocql.HostDialer. After the end of the session it ends its caller: if a
// session is closed before the driver's heartbeat starts, that goroutine continues and would log in
// again every second (control.go:88 and :617).
func (d dialer) DialHost(context.Context, *gocql.HostInfo) (*gocql.DialedHost, error) {
	if d.closed.Load() {
		runtime.Goexit()
	}
	ctx, cancel := context.WithTimeout(d.ctx, stepTimeout)
	defer cancel()
	if d.socket && d.config.Socket == "" {
		return nil, errNoSocket
	}
	if d.socket {
		conn, err := d.connect(ctx, "unix", d.config.Socket)
		if err != nil {
			return nil, err
		}
		return d.dialed(socketConn{conn}), nil
	}
	var failed error
	for _, a := range d.config.Addresses {
		conn, err := d.dial(ctx, a)
		if err == nil {
			return d.dialed(conn), nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// dialed closes the connection at the end of the round: the driver has no context for a session.
func (d dialer) dialed(conn net.Conn) *gocql.DialedHost {
	context.AfterFunc(d.ctx, func() { _ = conn.Close() })
	return &gocql.DialedHost{Conn: conn, DisableCoalesce: true}
}

// dial connects only with an address of this Pod, so that no name or route sends a password
// elsewhere. The certificate has names of Services, and is therefore not verified.
func (d dialer) dial(ctx context.Context, a credential.Address) (net.Conn, error) {
	conn, err := d.connect(ctx, "tcp", a.HostPort)
	if err != nil {
		return nil, err
	}
	own, err := net.InterfaceAddrs()
	if err != nil || !isOwn(conn.RemoteAddr(), own) {
		return nil, errors.Join(errNotLocal, err, conn.Close())
	}
	if !a.TLS {
		return conn, nil
	}
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &handshakeError{err}
	}
	return secure, nil
}

// isOwn reports whether an address is one of the Pod's interfaces. Every address of 127.0.0.0/8 is,
// although the list has only one.
func isOwn(to net.Addr, own []net.Addr) bool {
	a, ok := to.(*net.TCPAddr)
	return ok && (a.IP.IsLoopback() || slices.ContainsFunc(own, func(o net.Addr) bool {
		n, ok := o.(*net.IPNet)
		return ok && n.IP.Equal(a.IP)
	}))
}

// handshakeError is a failed TLS handshake.
type handshakeError struct{ error }

// Unwrap gives the cause.
func (e *handshakeError) Unwrap() error { return e.error }

// socketConn has a TCP address: without it the driver panics (control.go:324).
type socketConn struct{ net.Conn }

// RemoteAddr returns the address in the driver's configuration.
func (socketConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(ownAddress), Port: 9042} }

// session implements credential.Session.
type session struct {
	s      *gocql.Session
	closed *atomic.Bool
}

func (s *session) Close() {
	s.closed.Store(true)
	s.s.Close()
}

// roleTables have the roles: system.roles if auth is in group 0, system_auth.roles in a cluster up
// to 2026.1 whose topology was never upgraded (auth/common.cc:47 in 2026.1). No statement reads the
// hash.
var roleTables = []string{"system.roles", "system_auth.roles"}

func (s *session) Role(ctx context.Context, name string) (r credential.Role, found bool, err error) {
	for i, table := range roleTables {
		query := s.s.Query("SELECT is_superuser, can_login FROM "+table+" WHERE role = ?", name)
		err := query.ScanContext(ctx, &r.Superuser, &r.CanLogIn)
		if err == nil {
			return r, true, nil
		}
		refusal, _ := errors.AsType[gocql.RequestError](err)
		if errors.Is(err, gocql.ErrNotFound) || i > 0 && refusal != nil && refusal.Code() == gocql.ErrCodeInvalid {
			continue
		}
		return r, false, failure(ctx, err)
	}
	return r, false, nil
}

// Create uses string literals, which keep the case of a name (cql3/Cql.g, userOrRoleName). ScyllaDB
// masks the password in its audit log (sanitize_audit_info).
func (s *session) Create(ctx context.Context, as credential.Secret) error {
	name, password := credential.Quote(as.Username), credential.Quote(as.Password.Reveal())
	return s.exec(ctx, "CREATE ROLE "+name+" WITH PASSWORD = "+password+" AND SUPERUSER = true AND LOGIN = true")
}

func (s *session) CloseDefault(ctx context.Context) error {
	return s.exec(ctx, "ALTER ROLE 'cassandra' WITH SUPERUSER = false AND LOGIN = false")
}

func (s *session) Replication(ctx context.Context, keyspace string) (out map[string]string, err error) {
	query := s.s.Query("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace)
	if err := query.ScanContext(ctx, &out); err != nil {
		return nil, failure(ctx, err)
	}
	return out, nil
}

func (s *session) Alter(ctx context.Context, statement string) error { return s.exec(ctx, statement) }

func (s *session) exec(ctx context.Context, statement string) error {
	if err := s.s.Query(statement).ExecContext(ctx); err != nil {
		return failure(ctx, err)
	}
	return nil
}

// Texts of ScyllaDB for numbers with several meanings, the same from 2025.1 to 2026.3. 0x0100
// without such a text is not a refusal: a failure to read the role also has that number
// (auth/password_authenticator.cc:306 and :314 in 2025.1, "Could not verify password",
// "authentication failed").
const (
	// auth/password_authenticator.cc:302 in 2025.1, :188 in 2026.2
	textIncorrect = "Username and/or password are incorrect"
	// service/client_state.cc:41 in 2025.1
	textNoRole = "doesn't exist - create it with CREATE USER query"
	// service/client_state.cc:46 in 2025.1, :47 in 2026.2
	textNoLogin = "is not permitted to log in"
	// auth/role_manager.hh:57
	textExists = "already exists"
	// auth/maintenance_socket_role_manager.cc:87 in 2026.2
	textNotReady = "because manager not ready yet"
)

// failure returns the code of an error, without its text.
func failure(ctx context.Context, err error) error {
	out := &credential.Failure{Reason: credential.Unreachable, Server: -1}
	if r, answered := errors.AsType[gocql.RequestError](err); answered {
		number := r.Code()
		out.Server = number
		has := func(text string) bool { return strings.Contains(r.Message(), text) }
		switch out.Reason = credential.Refused; {
		case number == gocql.ErrCodeCredentials && (has(textIncorrect) || has(textNoRole)):
			out.Reason = credential.Incorrect
		case number == gocql.ErrCodeCredentials && has(textNoLogin):
			out.Reason = credential.RoleCannotLogIn
		case number == gocql.ErrCodeInvalid && has(textExists):
			out.Reason = credential.Exists
		case number == gocql.ErrCodeServer && has(textNotReady):
			out.Reason = credential.ManagerNotReady
		}
		return out
	}
	var timeout net.Error
	switch _, handshake := errors.AsType[*handshakeError](err); {
	case errors.Is(err, errNotLocal):
		out.Reason = credential.NotLocal
	case errors.Is(err, errNoSocket):
		out.Reason = credential.SocketClosed
	case ctx.Err() != nil, errors.Is(err, gocql.ErrTimeoutNoResponse), errors.As(err, &timeout) && timeout.Timeout():
		out.Reason = credential.TimedOut
	case handshake:
		out.Reason = credential.TLSFailed
	}
	return out
}
