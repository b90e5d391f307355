// SPDX-License-Identifier: Apache-2.0

package cql

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kind is a CQL type, with its number in the protocol.
type kind uint16

const (
	typeBoolean kind = 0x0004
	typeUUID    kind = 0x000C
	typeText    kind = 0x000D
	typeInet    kind = 0x0010
	typeMap     kind = 0x0021 // of texts
)

type column struct {
	name string
	kind kind
}

// table is an answer: one table's columns and rows. A value is nil, a bool, a string, [16]byte,
// [4]byte or a map[string]string.
type table struct {
	keyspace, name string
	columns        []column
	rows           [][]any
}

const (
	hostID        = "\x8e\xbd\x00\x00\x00\x00\x40\x00\x80\x00\x00\x00\x00\x00\x00\x01"
	schemaVersion = "\x59\xad\xb2\x4e\xf3\xcd\x3e\x02\x97\xf0\x5b\x39\x58\x27\x45\x3f"
)

var local = table{"system", "local",
	[]column{{"key", typeText}, {"cluster_name", typeText}, {"data_center", typeText}, {"host_id", typeUUID}, {"rack", typeText}, {"release_version", typeText}, {"rpc_address", typeInet}, {"schema_version", typeUUID}},
	[][]any{{"local", "scyllasim", "dc1", [16]byte([]byte(hostID)), "rack1", "3.0.8", [4]byte{127, 0, 0, 1}, [16]byte([]byte(schemaVersion))}},
}

// selects are the SELECTs that are known, with the number of bind markers.
var selects = map[string]int{
	"SELECT * FROM system.local WHERE key='local'":                            0,
	"SELECT schema_version FROM system.local WHERE key='local'":               0,
	"SELECT * FROM system.peers":                                              0,
	"SELECT * FROM system_schema.keyspaces":                                   0,
	"SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?": 1,
	"SELECT is_superuser, can_login FROM system.roles WHERE role = ?":         1,
	"SELECT is_superuser, can_login FROM system_auth.roles WHERE role = ?":    1,
}

// selected answers a SELECT; a client without permission is refused. c.mu is held.
func (c *Cluster) selected(u User, statement string, values []string) (*table, *Error) {
	value := ""
	if len(values) > 0 {
		value = values[0]
	}
	keyspaces := table{"system_schema", "keyspaces", []column{{"keyspace_name", typeText}, {"replication", typeMap}}, nil}
	switch {
	case strings.HasPrefix(statement, "SELECT * FROM system.local"):
		return &local, nil
	case strings.HasPrefix(statement, "SELECT schema_version"):
		return &table{"system", "local", local.columns[7:], [][]any{local.rows[0][7:]}}, nil
	case strings.HasSuffix(statement, "system.peers"):
		return &table{"system", "peers", []column{{"peer", typeInet}, {"schema_version", typeUUID}}, nil}, nil
	case strings.HasPrefix(statement, "SELECT * FROM system_schema"):
		for _, k := range slices.Sorted(maps.Keys(c.Keyspaces)) {
			keyspaces.rows = append(keyspaces.rows, []any{k, c.Keyspaces[k]})
		}
		return &keyspaces, nil
	case strings.HasPrefix(statement, "SELECT replication"):
		keyspaces.columns = keyspaces.columns[1:]
		if options, ok := c.Keyspaces[value]; ok {
			keyspaces.rows = [][]any{{options}}
		}
		return &keyspaces, nil
	}
	return c.selectedRole(u, statement, value)
}

func (c *Cluster) selectedRole(u User, statement, name string) (*table, *Error) {
	out := table{"system", "roles", []column{{"is_superuser", typeBoolean}, {"can_login", typeBoolean}}, nil}
	if strings.Contains(statement, "system_auth.") {
		if out.keyspace = "system_auth"; c.socketRoles() || !c.legacy {
			return nil, refuse(codeInvalid, "unconfigured table roles") // validation.cc:64 in 2026.2
		}
	}
	// The socket reads every table: up to 2026.1 by its allow-all authorizer, from 2026.2 on
	// because it bypasses the checks.
	if !u.Socket && !c.superuser(u) { // service/client_state.cc:222 in 2025.1
		return nil, refuse(codeUnauthorized, "User %s has no SELECT permission on <table %s.roles> or any of its parents", u.Name, out.keyspace)
	}
	if r, ok := c.Accounts[name]; ok && c.legacy == (out.keyspace == "system_auth") {
		out.rows = [][]any{{r.Superuser, r.CanLogIn}}
	}
	return &out, nil
}

const literal = `'((?:[^']|'')*)'`

var (
	createRole    = regexp.MustCompile(`^CREATE ROLE ` + literal + ` WITH PASSWORD = ` + literal + ` AND SUPERUSER = (true|false) AND LOGIN = (true|false)$`)
	alterRole     = regexp.MustCompile(`^ALTER ROLE ` + literal + ` WITH SUPERUSER = (true|false) AND LOGIN = (true|false)$`)
	alterKeyspace = regexp.MustCompile(`^ALTER KEYSPACE (\w+) WITH replication = \{(.*)\}$`)
	pair          = regexp.MustCompile(literal + `: ` + literal)
)

func unquote(text string) string { return strings.ReplaceAll(text, "''", "'") }

// changed runs a statement that is not a SELECT; keyspace is that of a schema change. c.mu is held.
func (c *Cluster) changed(u User, statement string) (keyspace string, err *Error) {
	c.statements = append(c.statements, statement)
	if m := createRole.FindStringSubmatch(statement); m != nil {
		return "", c.create(u, unquote(m[1]), Role{Superuser: m[3] == "true", CanLogIn: m[4] == "true", Hash: Hash(unquote(m[2]))})
	}
	if m := alterRole.FindStringSubmatch(statement); m != nil {
		return "", c.alter(u, unquote(m[1]), m[2] == "true", m[3] == "true")
	}
	if m := alterKeyspace.FindStringSubmatch(statement); m != nil {
		options := map[string]string{}
		for _, p := range pair.FindAllStringSubmatch(m[2], -1) {
			options[unquote(p[1])] = unquote(p[2])
		}
		return m[1], c.alterKeyspace(u, m[1], options)
	}
	// ScyllaDB's parser quotes what it does not understand (cql3/error_collector.hh:118 in 2026.2):
	// so does this one, which has a password's statement in an error.
	return "", refuse(codeSyntax, "line 1:0 no viable alternative at input '%s'", statement)
}

// Do runs a statement without a connection and returns the rows of a SELECT.
func (c *Cluster) Do(u User, statement string, values ...string) ([][]any, *Error) {
	t, _, err := c.do(u, statement, values)
	if t == nil {
		return nil, err
	}
	return t.rows, err
}

// do is a statement: a table for a SELECT, the keyspace of a schema change.
func (c *Cluster) do(u User, statement string, values []string) (*table, string, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	if markers, ok := selects[statement]; ok && markers == len(values) {
		t, err := c.selected(u, statement, values)
		return t, "", err
	}
	if c.o.Shared != nil {
		keyspace, err := c.o.Shared.Change(u, statement)
		return nil, keyspace, err
	}
	keyspace, err := c.changed(u, statement)
	return nil, keyspace, err
}

func (c *Cluster) faultOf(statement string) Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		return None
	}
	return c.fault(statement)
}
