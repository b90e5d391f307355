// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// makeSharedIDs returns the members of each host ID that several members have by their Services,
// their Pods' rows, or two places of a report. At most one of them is that node; which one is
// unknown.
func (c *Cluster) makeSharedIDs() map[hostid.ID][]string {
	owner, out := make(map[hostid.ID]string, len(c.ix.refs)), map[hostid.ID][]string{}
	add := func(id hostid.ID, name string) {
		first, known := owner[id]
		switch {
		case id == "":
		case !known:
			owner[id] = name
		case first != name && !slices.Contains(out[id], name):
			if out[id] == nil {
				out[id] = []string{first}
			}
			out[id] = append(out[id], name)
		}
	}
	for _, name := range c.ix.names() {
		add(c.ix.refs[name].HostID, name)
		if a := c.annotations[name]; a.report != nil {
			add(a.report.HostID, name)
		}
	}
	for i := range c.rows {
		if r := &c.rows[i].Reporter; r.Member != "" || r.Ordinal != nil {
			add(r.HostID, r.Name())
		}
	}
	return out
}

// SharedBy returns the other members that have the host ID which the member's Service records.
func (c *Cluster) SharedBy(member string) []string {
	return slices.DeleteFunc(slices.Clone(c.derived.sharedIDsOnce()[c.ix.refs[member].HostID]),
		func(name string) bool { return name == member })
}

// sharedBlockers returns the host IDs that several members have. The rows of all but one of these
// members are missing, and none of the members may start by that host ID.
func (c *Cluster) sharedBlockers() []matrix.Blocker {
	var out []matrix.Blocker
	shared := c.derived.sharedIDsOnce()
	for _, id := range slices.Sorted(maps.Keys(shared)) {
		out = append(out, matrix.Blocker{Reason: words.HostIDShared,
			Cause: words.New(words.HostIDOfMembers, "hostID", id, "members", shared[id])})
	}
	return out
}
