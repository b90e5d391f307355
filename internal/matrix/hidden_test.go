// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Up to 2025.2 a DOWN member whose address another one has is in no row: a row that does not list it removes nothing, unless the row is complete.
func TestAMemberThatRowsCanHideIsNotRemoved(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	type row struct {
		version  string
		complete bool
		owns     *bool
	}
	const by, old, raft = "2025.2.1-0.20250901.abc", "2025.1.4-0.20250601.abc", "2025.3.0-0.20251001.abc"
	for name, tc := range map[string]struct {
		rows    [2]row // of its own rack, and of another one
		removed bool
	}{
		"a version that lists both":            {[2]row{{raft, false, nil}, {raft, false, nil}}, true},
		"an unknown version":                   {[2]row{{}, {}}, true},
		"one host ID per address":              {[2]row{{by, false, yes}, {by, false, yes}}, false},
		"proven by gossip and the ring":        {[2]row{{by, true, nil}, {by, true, nil}}, true},
		"proven by one of them":                {[2]row{{by, true, yes}, {by, false, yes}}, false},
		"a row of a newer version":             {[2]row{{raft, false, yes}, {by, false, yes}}, false},
		"proven by the ring alone":             {[2]row{{old, true, yes}, {old, true, yes}}, true},
		"the ring does not have its rack":      {[2]row{{old, true, no}, {old, true, yes}}, false},
		"nobody knows whether it owned tokens": {[2]row{{old, true, nil}, {old, true, yes}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := []Ref{member("rack1", 0, idA), member("rack2", 0, idB)}
			var rows []Row
			for i, r := range tc.rows {
				rows = append(rows, Row{Reporter: at[i], Reported: true, Observed: []Observation{{HostID: idA, Status: Up}, {HostID: idB, Status: Up}},
					Report: &api.NodeStatusReport{ScyllaVersion: r.version, Complete: r.complete, OwnsTokens: r.owns}})
			}
			dead := member("rack1", 1, idC)
			m := New(append(rows, Row{Reporter: dead, Trouble: Trouble{Code: words.PodMissing}}), Options{})
			i, _ := m.Index(idC)
			if got := m.Nodes()[i].Removed; got != tc.removed {
				t.Errorf("removed: %v, want %v", got, tc.removed)
			}
			if none := m.NoneLists(dead); none != tc.removed {
				t.Errorf("no row lists it: %v, want %v", none, tc.removed)
			}
			if blocks := len(m.Blockers()) > 0; blocks == tc.removed {
				t.Errorf("blockers: %v", m.Blockers())
			}
		})
	}
}
