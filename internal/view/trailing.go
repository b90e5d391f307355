// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/raftlog"
)

// Log is what one look at all members says of the log of group 0.
type Log struct {
	// Leader is the member that leads group 0; empty where none says so, or several do.
	Leader string
	// Behind is how many entries a member's apply index is behind the leader's commit index, by Evidence.Key; a member of which that is not known is not in it.
	Behind map[string]int64
	// Differ are members with another schema version than the first one that tells its own, and that one before them; nil where all that tell one tell the same, and where
	// Behind has every member.
	Differ []string
}

// LogOf is what the members' heartbeats say of it now. Only what a heartbeat confirms counts: then the leader's indexes and the member's are of the last two polls.
func LogOf(all []Evidence, heard func(member string) Heartbeat, now time.Time) Log {
	said := make([]raftlog.Said, len(all))
	leader, leaders := 0, 0
	for i := range all {
		if h := heard(all[i].Member); all[i].Heartbeat != nil && all[i].Beats(h, now) {
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
				// The member may have been asked after the leader.
				out.Behind[all[i].Key()] = max(0, said[leader].Commit-said[i].Apply)
			}
		}
	}
	if len(out.Behind) < len(all) {
		out.Differ = differ(all, said)
	}
	return out
}

// differ are the members whose schema versions are not one.
func differ(all []Evidence, said []raftlog.Said) []string {
	first := slices.IndexFunc(said, func(s raftlog.Said) bool { return s.Schema != "" })
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

// Most is how many entries the member is behind that is furthest; false where that is not known of any.
func (l *Log) Most() (most int64, known bool) {
	for _, n := range l.Behind {
		most = max(most, n)
	}
	return most, len(l.Behind) > 0
}
