// SPDX-License-Identifier: Apache-2.0

package cql

import (
	"strings"
	"testing"
)

// What each generation refuses, in ScyllaDB's words.
func TestRefusals(t *testing.T) {
	const create = "CREATE ROLE 'a' WITH PASSWORD = 'p' AND SUPERUSER = true AND LOGIN = true"
	const alter = "ALTER ROLE 'cassandra' WITH SUPERUSER = false AND LOGIN = false"
	socket := User{Socket: true}
	tests := map[string]struct {
		release   string
		unjoined  bool
		user      User
		statement string
		code      int
		text      string
	}{
		"default creates":             {"2026.1.0", false, User{Name: "cassandra"}, create, -1, ""},
		"own status":                  {"2026.1.0", false, User{Name: "cassandra"}, alter, codeUnauthorized, "your own superuser status"},
		"no superuser creates":        {"2026.1.0", false, User{Name: "app"}, create, codeUnauthorized, "Only superusers can create"},
		"no superuser alters":         {"2026.1.0", false, User{Name: "app"}, alter, codeUnauthorized, "Only superusers are allowed"},
		"socket up to 2026.1":         {"2026.1.0", false, socket, create, codeUnauthorized, "not anonymous"},
		"socket before the join":      {"2026.2.0", true, socket, create, codeServer, "manager not ready yet"},
		"socket from 2026.2":          {"2026.2.0", false, socket, create, -1, ""},
		"no such role":                {"2026.2.0", false, socket, alter, codeInvalid, "Role cassandra doesn't exist."},
		"role exists":                 {"2026.2.0", false, socket, strings.Replace(create, "'a'", "'app'", 1), codeInvalid, "Role app already exists."},
		"system keyspace":             {"2026.1.0", false, User{Name: "cassandra"}, "ALTER KEYSPACE system WITH replication = {'class': 'NetworkTopologyStrategy'}", codeUnauthorized, "not user-modifiable"},
		"no superuser, keyspace":      {"2026.1.0", false, User{Name: "app"}, "ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy'}", codeUnauthorized, "no ALTER permission"},
		"unknown keyspace":            {"2026.1.0", false, User{Name: "cassandra"}, "ALTER KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy'}", codeInvalid, "Unknown keyspace k"},
		"unknown datacenter":          {"2026.1.0", false, User{Name: "cassandra"}, "ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc9': '1'}", codeConfig, "Unrecognized strategy option {dc9}"},
		"more replicas than racks":    {"2026.1.0", false, User{Name: "cassandra"}, "ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}", -1, ""},
		"roles, by no superuser":      {"2026.1.0", false, User{Name: "app"}, "SELECT is_superuser, can_login FROM system.roles WHERE role = ?", codeUnauthorized, "no SELECT permission"},
		"roles, by the socket":        {"2026.1.0", false, socket, "SELECT is_superuser, can_login FROM system.roles WHERE role = ?", -1, ""},
		"roles of a former cluster":   {"2026.2.0", false, socket, "SELECT is_superuser, can_login FROM system_auth.roles WHERE role = ?", codeInvalid, "unconfigured table roles"},
		"another statement is quoted": {"2026.2.0", false, socket, "DROP ROLE x", codeSyntax, "'DROP ROLE x'"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := New(Options{Release: tc.release, Datacenters: []string{"dc1"}})
			if !tc.unjoined {
				c.Join()
			}
			c.SetRole("app", Role{CanLogIn: true, Hash: Hash("p")})
			var values []string
			if strings.HasSuffix(tc.statement, "?") {
				values = []string{"app"}
			}
			_, err := c.Do(tc.user, tc.statement, values...)
			switch {
			case err == nil && tc.code != -1, err != nil && (err.Code != tc.code || !strings.Contains(err.Text, tc.text)):
				t.Errorf("%+v, want 0x%04x %s", err, tc.code, tc.text)
			}
		})
	}
}
