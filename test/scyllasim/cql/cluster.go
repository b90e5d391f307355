// SPDX-License-Identifier: Apache-2.0

package cql

import (
	"cmp"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Numbers of errors (exceptions/exceptions.hh:24-46).
const (
	codeServer       = 0x0000
	codeProtocol     = 0x000A
	codeCredentials  = 0x0100
	codeSyntax       = 0x2000
	codeUnauthorized = 0x2100
	codeInvalid      = 0x2200
	codeConfig       = 0x2300
)

type Error struct {
	Code int
	Text string
}

func (e *Error) Error() string { return e.Text }

func refuse(code int, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Authenticators; names as ScyllaDB's AUTHENTICATE frame has them
// (auth/password_authenticator.cc:37 in 2026.1).
const (
	passwordAuthenticator = "org.apache.cassandra.auth.PasswordAuthenticator"
	defaultName           = "cassandra"
)

type Role struct {
	Superuser, CanLogIn bool
	// Hash is the salted hash of the password, empty for a role without one.
	Hash string
}

type Options struct {
	Release string
	// AllowAll is AllowAllAuthenticator: the server asks no client who it is.
	AllowAll bool
	// Superuser and Salted are auth_superuser_name and auth_superuser_salted_password.
	Superuser, Salted string
	// Datacenters have token owners.
	Datacenters []string
	// Shared is where the state is, for nodes that have one together; nil for a cluster of one.
	Shared *Shared
	// Hold is asked before and after each log-in and each change ("before CREATE ROLE", "after LOGIN
	// admin"): true keeps the client without an answer until it closes the connection. May be nil.
	Hold func(event string) bool
}

// State is what group 0 has of roles and keyspaces.
type State struct {
	Joined    bool
	Accounts  map[string]Role
	Keyspaces map[string]map[string]string
}

// Shared is a state outside: Read gives the present one, and Change runs a statement on it.
type Shared struct {
	Read   func() State
	Change func(u User, statement string) (keyspace string, err *Error)
}

// Initial is the state of a cluster whose first node has joined.
func Initial(o Options) State {
	c := New(o)
	c.Join()
	return c.State
}

// Run runs a change on a state, as the leader of group 0 does.
func Run(o Options, s State, u User, statement string) (State, string, *Error) {
	c := &Cluster{o: o, State: s}
	keyspace, err := c.changed(u, statement)
	return c.State, keyspace, err
}

// refresh takes the shared state. c.mu is held.
func (c *Cluster) refresh() {
	if c.o.Shared != nil {
		c.State = c.o.Shared.Read()
	}
}

// Cluster is what all nodes share: group 0 has the roles and the keyspaces. It is safe for
// concurrent use.
type Cluster struct {
	o Options

	mu sync.Mutex
	State
	legacy bool
	// statements and logins are what arrived, for tests. A password is kept as it came.
	statements []string
	refused    int
	fault      func(statement string) Fault
}

// Fault ends the connection of a statement.
type Fault int

const (
	None Fault = iota
	// Before ends the connection before the statement takes effect, After once it did.
	Before
	After
)

// New is a cluster whose first node has not joined yet.
func New(o Options) *Cluster {
	return &Cluster{o: o, State: State{Accounts: map[string]Role{}, Keyspaces: map[string]map[string]string{
		// db/system_distributed_keyspace.cc:276 and tracing/trace_keyspace_helper.cc:215, 2025.1.
		"system_distributed": {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "3"},
		"system_traces":      {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "2"},
	}}}
}

// socketRoles is true from 2026.2 on (auth/maintenance_socket_role_manager.cc).
func (c *Cluster) socketRoles() bool {
	major, rest, _ := strings.Cut(c.o.Release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	y, _ := strconv.Atoi(major)
	n, _ := strconv.Atoi(minor)
	return y > 2026 || y == 2026 && n >= 2
}

// Join is the end of the first node's join: the default superuser is created, unless a superuser
// that can log in exists (auth/standard_role_manager.cc:201-226 and
// auth/password_authenticator.cc:155-191 in 2026.1). From 2026.2 on only a configured one is
// (auth/common.cc:35: the default name is empty).
func (c *Cluster) Join() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Joined = true
	for _, r := range c.Accounts {
		if r.Superuser {
			return
		}
	}
	name, hash := c.o.Superuser, c.o.Salted
	if !c.socketRoles() {
		name, hash = cmp.Or(name, defaultName), cmp.Or(hash, Hash(defaultName))
	}
	if name != "" {
		c.Accounts[name] = Role{Superuser: true, CanLogIn: true, Hash: hash}
	}
}

// locked calls f while no client has the cluster.
func (c *Cluster) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// SetRole makes or replaces a role, as another administrator does.
func (c *Cluster) SetRole(name string, r Role) { c.locked(func() { c.Accounts[name] = r }) }

func (c *Cluster) SetReplication(keyspace string, options map[string]string) {
	c.locked(func() { c.Keyspaces[keyspace] = maps.Clone(options) })
}

// SetLegacy puts the roles into system_auth.roles, as in a cluster whose topology was never
// upgraded (auth/common.cc:47 in 2026.1).
func (c *Cluster) SetLegacy() { c.locked(func() { c.legacy = true }) }

// SetFault decides over each statement.
func (c *Cluster) SetFault(f func(statement string) Fault) { c.locked(func() { c.fault = f }) }

func (c *Cluster) Roles() (out map[string]Role) {
	c.locked(func() { out = maps.Clone(c.Accounts) })
	return out
}

func (c *Cluster) Replication(keyspace string) (out map[string]string) {
	c.locked(func() { out = maps.Clone(c.Keyspaces[keyspace]) })
	return out
}

// Statements are the changes that arrived, and Refused how many log-ins were refused.
func (c *Cluster) Statements() (out []string) {
	c.locked(func() { out = slices.Clone(c.statements) })
	return out
}

func (c *Cluster) Refused() (n int) {
	c.locked(func() { n = c.refused })
	return n
}

// Hash is a salted hash. The real one is crypt(3)'s SHA-512 with 5000 rounds (auth/passwords.cc);
// only its form is the same.
func Hash(password string) string {
	return salted(rand.Text()[:16], password)
}

func salted(salt, password string) string {
	sum := sha512.Sum512([]byte(salt + password))
	return "$6$" + salt + "$" + base64.RawStdEncoding.EncodeToString(sum[:])
}

func (r Role) Matches(password string) bool {
	parts := strings.Split(r.Hash, "$")
	return len(parts) == 4 && salted(parts[2], password) == r.Hash
}

func (c *Cluster) LogIn(name, password string) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	err := c.logIn(name, password)
	if err != nil {
		c.refused++
	}
	return err
}

func (c *Cluster) logIn(name, password string) *Error {
	switch r, ok := c.Accounts[name]; {
	case name == "":
		return refuse(codeCredentials, "Authentication ID must not be null") // auth/sasl_challenge.cc:52
	case password == "":
		return refuse(codeCredentials, "Password must not be null") // auth/sasl_challenge.cc:55
	case !ok, !r.Matches(password):
		return refuse(codeCredentials, "Username and/or password are incorrect") // auth/password_authenticator.cc:302 in 2025.1, :188 in 2026.2
	case !r.CanLogIn:
		return refuse(codeCredentials, "%s is not permitted to log in", name) // service/client_state.cc:46 in 2025.1
	}
	return nil
}

// User is who sends a statement: a role, or the maintenance socket.
type User struct {
	Name   string
	Socket bool
}

// anonymous is a client of AllowAllAuthenticator, and of the maintenance socket up to 2026.1
// (service/client_state.hh:170 in 2025.1).
func (c *Cluster) anonymous(u User) bool { return u.Name == "" && !c.bypasses(u) }

// bypasses is true for the maintenance socket from 2026.2 on (service/client_state.hh:150).
func (c *Cluster) bypasses(u User) bool { return u.Socket && c.socketRoles() }

func (c *Cluster) superuser(u User) bool { return c.bypasses(u) || c.Accounts[u.Name].Superuser }

// mayAlterRoles is how CREATE ROLE and ALTER ROLE begin (create_role_statement::check_access).
func (c *Cluster) mayAlterRoles(u User, operation string) *Error {
	if c.anonymous(u) {
		return refuse(codeUnauthorized, "You have to be logged in and not anonymous to perform this request") // service/client_state.cc:59 in 2025.1
	}
	if u.Socket && !c.Joined {
		// auth/maintenance_socket_role_manager.cc:87 in 2026.2; a std::runtime_error becomes a
		// server error (transport/server.cc:632 in 2026.1).
		return refuse(codeServer, "role manager: %s operation not available because manager not ready yet (role operations not enabled)", operation)
	}
	return nil
}

func (c *Cluster) create(u User, name string, r Role) *Error {
	if err := c.mayAlterRoles(u, "CREATE"); err != nil {
		return err
	}
	if !c.superuser(u) {
		if r.Superuser {
			return refuse(codeUnauthorized, "Only superusers can create a role with superuser status.") // cql3/statements/role-management-statements.cc:104 in 2025.1
		}
		return refuse(codeUnauthorized, "User %s has no CREATE permission on <all roles> or any of its parents", u.Name) // service/client_state.cc:222 in 2025.1
	}
	if _, ok := c.Accounts[name]; ok {
		return refuse(codeInvalid, "Role %s already exists.", name) // auth/role_manager.hh:57
	}
	c.Accounts[name] = r
	return nil
}

func (c *Cluster) alter(u User, name string, superuser, login bool) *Error {
	if err := c.mayAlterRoles(u, "ALTER"); err != nil {
		return err
	}
	r, ok := c.Accounts[name]
	switch {
	case !c.superuser(u):
		return refuse(codeUnauthorized, "Only superusers are allowed to alter superuser status.") // role-management-statements.cc:220 in 2025.1
	case u.Name == name:
		return refuse(codeUnauthorized, "You aren't allowed to alter your own superuser status or that of a role granted to you.") // role-management-statements.cc:226
	case !ok:
		return refuse(codeInvalid, "Role %s doesn't exist.", name) // auth/role_manager.hh:64
	}
	r.Superuser, r.CanLogIn = superuser, login
	c.Accounts[name] = r
	return nil
}

// alterKeyspace is ALTER KEYSPACE of a keyspace with vnodes: a factor above the number of racks or
// nodes is accepted (locator/tablets.cc:1127 in 2025.1).
func (c *Cluster) alterKeyspace(u User, keyspace string, options map[string]string) *Error {
	if !c.o.AllowAll && !c.superuser(u) {
		return refuse(codeUnauthorized, "User %s has no ALTER permission on <keyspace %s> or any of its parents", u.Name, keyspace) // service/client_state.cc:222 in 2025.1
	}
	if keyspace == "system" || keyspace == "system_schema" {
		return refuse(codeUnauthorized, "%s keyspace is not user-modifiable.", keyspace) // service/client_state.cc:129 in 2025.1
	}
	if _, ok := c.Keyspaces[keyspace]; !ok {
		return refuse(codeInvalid, "Unknown keyspace %s", keyspace) // cql3/statements/alter_keyspace_statement.cc:319 in 2025.1
	}
	options = maps.Clone(options)
	options["class"] = "org.apache.cassandra.locator." + options["class"]
	for k := range options {
		if k != "class" && !slices.Contains(c.o.Datacenters, k) { // locator/abstract_replication_strategy.cc:92 in 2025.1, locator/network_topology_strategy.cc:292 in 2026.1
			return refuse(codeConfig, "Unrecognized strategy option {%s} passed to %s for keyspace %s", k, options["class"], keyspace)
		}
	}
	c.Keyspaces[keyspace] = options
	return nil
}
