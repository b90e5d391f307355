// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

func TestQuorum(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replicas string // an upper-case letter is alive
		near     string
		want     bool
	}{
		"all are alive":              {"A B C", "abc", true},
		"two of three":               {"A B c", "abc", true},
		"one of three":               {"A b c", "abc", false},
		"half is none":               {"A B c d", "abcd", false},
		"the only one":               {"A", "a", true},
		"the only one is away":       {"a", "a", false},
		"none near is alive":         {"a B C", "a", false},
		"half of the near ones":      {"A b C D", "ab", false},
		"the near ones are not most": {"A B c d e", "ab", false},
		"nobody is near":             {"A B C", "", false},
		"nobody at all":              {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ids []hostid.ID
			for _, id := range strings.Fields(tc.replicas) {
				ids = append(ids, hostid.ID(id))
			}
			alive := func(id hostid.ID) bool { return strings.ToUpper(string(id)) == string(id) }
			near := func(id hostid.ID) bool { return strings.Contains(tc.near, strings.ToLower(string(id))) }
			if got := Quorum(ids, alive, near); got != tc.want {
				t.Errorf("quorum is %t", got)
			}
			if got := strings.Join(strings.Fields(tc.replicas), ""); got != joined(ids) {
				t.Errorf("it changed the replicas: %s", joined(ids))
			}
		})
	}
}

func joined(ids []hostid.ID) string {
	var out strings.Builder
	for _, id := range ids {
		out.WriteString(string(id))
	}
	return out.String()
}
