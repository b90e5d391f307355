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
	// ownAddress is for the driver, which wants an IP address of each host; dialer decides where a
	// connection leads.
	ownAddress = "127.0.0.1"
)

// Database opens sessions with the node of this Pod.
type Database struct{ Config credential.Config }

// Open implements credential.Database. The driver opens two connections, one of them for its own
// questions, and asks for no other host. It keeps no number in the error of a failed session
// (session.go:247 formats it away), so that the connection's own error is observed.
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
	c.HostDialer = dialer{ctx: ctx, config: d.Config, socket: as.Socket, closed: closed}
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

// dialer connects with the node of this Pod, whatever host the driver names.
type dialer struct {
	ctx    context.Context
	config credential.Config
	socket bool
	closed *atomic.Bool
}

// DialHost implements gocql.HostDialer. After the session's end it ends its caller: a session that
// is closed before the driver's heartbeat has started leaves that goroutine behind, which would log
// in again every second (control.go:88 and :617).
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
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", d.config.Socket)
		if err != nil {
			return nil, err
		}
		return d.dialed(socketConn{conn}), nil
	}
	var failed error
	for _, a := range d.config.Addresses {
		conn, err := dial(ctx, a)
		if err == nil {
			return d.dialed(conn), nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// dialed closes the connection when the round's time is over: the driver takes no context for a
// session.
func (d dialer) dialed(conn net.Conn) *gocql.DialedHost {
	context.AfterFunc(d.ctx, func() { _ = conn.Close() })
	return &gocql.DialedHost{Conn: conn, DisableCoalesce: true}
}

// dial connects with an address of this Pod: no name and no route leads a password elsewhere. This
// also is why the certificate, whose names are Service names, is not verified.
func dial(ctx context.Context, a credential.Address) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.HostPort)
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

// isOwn is true for an address of the Pod's own interfaces. All of 127.0.0.0/8 is, with one address
// in the list.
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

// socketConn has a TCP address: the driver asserts one (control.go:324), and panics without.
type socketConn struct{ net.Conn }

// RemoteAddr is the address that the driver was given.
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

// roleTables have the roles: system.roles since auth is in group 0, system_auth.roles in a cluster
// up to 2026.1 whose topology was never upgraded (auth/common.cc:47 in 2026.1). Neither statement
// reads the hash.
var roleTables = []string{"system.roles", "system_auth.roles"}

func (s *session) Role(ctx context.Context, name string) (r credential.Role, found bool, err error) {
	for i, table := range roleTables {
		query := s.s.Query("SELECT is_superuser, can_login FROM "+table+" WHERE role = ?", name)
		err := query.ScanContext(ctx, &r.Superuser, &r.CanLogIn)
		if err == nil {
			return r, true, nil
		}
		number, _ := serverError(err)
		if errors.Is(err, gocql.ErrNotFound) || i > 0 && number == gocql.ErrCodeInvalid {
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

func serverError(err error) (number int, ok bool) {
	r, ok := errors.AsType[gocql.RequestError](err)
	if !ok {
		return -1, false
	}
	return r.Code(), true
}

// Texts of ScyllaDB that make a number more exact, the same from 2025.1 to 2026.3. 0x0100 alone is
// not a definite no: a failure to read the role has that number as well
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

// failure is an error as a code; its text goes no further.
func failure(ctx context.Context, err error) error {
	number, answered := serverError(err)
	out := &credential.Failure{Reason: credential.Unreachable, Server: number}
	if answered {
		r, _ := errors.AsType[gocql.RequestError](err)
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
