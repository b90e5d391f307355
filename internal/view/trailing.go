// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// Log is the state of the log of group 0 at one poll of all members.
type Log struct {
	// Leader is the member that leads group 0; empty if no member names itself, or several do.
	Leader string
	// Behind is how many entries a member's apply index is behind the leader's commit index, by
	// Sighting.Key; members with an unknown index are left out.
	Behind map[string]int64
	// Differ has the first member with a known schema version, then the members with a different
	// one. Nil if all known versions are equal, or if Behind has every member.
	Differ []string
}

// LogOf returns the log's state by the members' heartbeats now. Only values confirmed by a
// heartbeat count: then the indexes of leader and member are from the last two polls.
func LogOf(all []Sighting, heard func(member string) Heartbeat, now time.Time) Log {
	said := make([]raftlog.State, len(all))
	leader, leaders := 0, 0
	for i := range all {
		if h := heard(all[i].Ref.Member); all[i].Heartbeat() != nil && all[i].Beats(h, now) {
			said[i] = h.Log
		}
		if said[i].Known && said[i].Leader {
			leader, leaders = i, leaders+1
		}
	}
	var out Log
	if leaders == 1 {
		out.Leader, out.Behind = all[leader].Name(), map[string]int64{}
		for i := range all {
			if said[i].Known {
				// The member was possibly queried after the leader.
				out.Behind[all[i].Key()] = max(0, said[leader].Commit-said[i].Apply)
			}
		}
	}
	if len(out.Behind) < len(all) {
		out.Differ = differ(all, said)
	}
	return out
}

// differ returns the members whose schema versions differ.
func differ(all []Sighting, said []raftlog.State) []string {
	first := slices.IndexFunc(said, func(s raftlog.State) bool { return s.Schema != "" })
	var out []string
	for i := range said {
		if said[i].Schema == "" || said[i].Schema == said[first].Schema {
			continue
		}
		if out == nil {
			out = []string{all[first].Name()}
		}
		out = append(out, all[i].Name())
	}
	return out
}

// Most returns the largest number of entries that a member is behind; false if none is known.
func (l *Log) Most() (most int64, known bool) {
	for _, n := range l.Behind {
		most = max(most, n)
	}
	return most, len(l.Behind) > 0
}
