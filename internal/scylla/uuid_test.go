// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"strings"
	"testing"
)

// TestAttack5AnswersWithoutUUIDsAreARowWithAnError: whoever answers on ScyllaDB's port, what is no host ID gets into no annotation.
func TestAttack5AnswersWithoutUUIDsAreARowWithAnError(t *testing.T) {
	for name, tc := range map[string]struct{ path, body, says string }{
		"its own":     {pathLocal, `"x; touch /tmp/p #"`, `host ID of this node: "x; touch /tmp/p #" is not`},
		"of a member": {pathMembers, `[{"key":"10.0.0.1","value":"` + idA + `"},{"key":"10.0.0.2","value":"x; touch /tmp/p #"}]`, `host ID of member 10.0.0.2: "x; touch /tmp/p #" is not`},
	} {
		c := canned{
			pathLocal: `"` + idA + `"`, pathMode: `"NORMAL"`, pathMembers: `[{"key":"10.0.0.1","value":"` + idA + `"}]`,
			pathLive: `["10.0.0.1"]`, pathDown: `[]`, pathEndpoints: `[]`, pathTasks: `[]`,
		}
		c[tc.path] = tc.body
		row := NewReader(c.client()).Read(t.Context())
		if row.Error == nil || !strings.Contains(*row.Error, tc.says) || len(row.ObservedNodes) > 0 || strings.Contains(string(row.HostID), "touch") {
			t.Errorf("%s: %+v", name, row)
		}
	}
}
