// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"testing"
	"testing/synctest"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
)

// Roles and the two keyspaces are in group 0: a change by one node is seen by all, with each generation's rules.
func TestRolesAreReplicated(t *testing.T) {
	for release, first := range map[string]string{"2026.1.0": "cassandra", "2026.2.0": ""} {
		t.Run(release, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startCluster(t, 1, Options{Version: release, Authenticator: "PasswordAuthenticator"})
				ready(t, add(t, c, nil))
				roles := c.Node(0).g0.state().Auth.Accounts
				if _, ok := roles["cassandra"]; ok != (first != "") {
					t.Errorf("roles %v", roles)
				}
				for _, x := range []struct {
					user      cql.User
					statement string
					refused   bool
				}{
					{cql.User{Name: first, Socket: first == ""}, "CREATE ROLE 'admin' WITH PASSWORD = 'p' AND SUPERUSER = true AND LOGIN = true", false},
					{cql.User{Name: "admin"}, "ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '2'}", false},
					{cql.User{Name: "nobody"}, "CREATE ROLE 'x' WITH PASSWORD = 'p' AND SUPERUSER = true AND LOGIN = true", true},
				} {
					var rep cqlReply
					if err := c.Node(1).ask(t.Context(), "topo.cql", cqlChange{x.user, x.statement}, &rep); err != nil || (rep.Refused != nil) != x.refused {
						t.Fatalf("%s: %v, %+v", x.statement, err, rep.Refused)
					}
				}
				for i := range 2 {
					eventually(t, "the change is seen by all", func() bool {
						a := c.Node(i).g0.state().Auth
						return a.Accounts["admin"].Matches("p") && a.Keyspaces["system_traces"]["datacenter1"] == "2"
					})
				}
			})
		})
	}
}
