// SPDX-License-Identifier: Apache-2.0

package support

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNoHarm46PasswordsOfStatements: a generated password is in no text of a CQL statement, a command line of cqlsh or nodetool, or a row of system.roles.
func TestNoHarm46PasswordsOfStatements(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// the marks show a part that is left; what is between them is anything that a string may have
		inner := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09 '\"=:;,.$%-_#@!(){}[]|&<>\\/äß")), 0, 12, -1).Draw(t, "inner")
		plain := strings.Map(func(c rune) rune {
			if strings.ContainsRune(" '\"\\", c) {
				return 'x'
			}
			return c
		}, inner)
		cql := "'zq1" + strings.ReplaceAll(inner, "'", "''") + "zq2'"
		word := "zq1" + plain + "zq2"
		verb := rapid.SampledFrom([]string{"CREATE ROLE", "ALTER ROLE", "create user", "Alter User", "CREATE ROLE IF NOT EXISTS"}).Draw(t, "verb")
		is := rapid.SampledFrom([]string{" PASSWORD ", " PASSWORD = ", " password=", " HASHED PASSWORD = ", "\tPASSWORD  =\t"}).Draw(t, "is")
		options := rapid.SampledFrom([]string{"", " SUPERUSER", " AND LOGIN = true;", ";"}).Draw(t, "options")
		hash := "$6$zq1" + strings.Repeat("aB./", 4) + "$zq2" + strings.Repeat("x9", 20)
		texts := []string{
			verb + " bob WITH" + is + cql + options,
			verb + " bob WITH LOGIN = true AND" + is + cql + options,
			verb + " bob WITH" + is + strings.TrimSuffix(cql, "'"), // the log ends within it
			"cqlsh -u cassandra -p " + word + " 10.0.0.1", "/usr/bin/cqlsh -p'" + word + "' -e x", "cqlsh -p" + word, `["cqlsh","-p","` + word + `"]`,
			"cqlsh -e \"" + verb + " bob WITH" + is + "'" + word + "'" + "\"",
			"cqlsh.py -u a --password=" + word, "nodetool -u a -pw " + word + " status", "nodetool --password " + word + " status", "nodetool -pw=" + word + " status",
			" cassandra | True | True | null | " + hash, "salted_hash: zq1zq2", "salted_hash='" + hash + "'", "role=a," + hash,
		}
		if !strings.Contains(inner, "$$") && !strings.HasSuffix(inner, "$") {
			texts = append(texts, verb+" bob WITH"+is+"$$zq1"+inner+"zq2$$"+options)
		}
		for _, s := range texts {
			got := Text(s)
			if strings.Contains(got, "zq1") || strings.Contains(got, "zq2") || Text(got) != got {
				t.Errorf("%q became %q, and that %q", s, got, Text(got))
			}
			if log, _ := logText([]byte(s)); strings.Contains(log, "zq1") || strings.Contains(log, "zq2") {
				t.Errorf("the log %q became %q", s, log)
			}
		}
	})
}

// What is no password stays.
func TestStatementsWithoutAPassword(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"CREATE ROLE bob WITH LOGIN = true", "ALTER KEYSPACE a WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}", "nodetool -p 7199 status",
		"cqlsh --protocol-version 4 10.0.0.1", "the maintenance socket of cqlsh", "costs $6 and $5", "mkdir -p /a: done",
	} {
		if got := Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}
