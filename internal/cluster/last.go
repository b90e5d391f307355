// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// maxLastListed is the maximum number of members of last rows in the report.
const maxLastListed = 4096

// lastRows is the membership in rows that no reporter can renew. Their UP and DOWN are ignored and
// are in no matrix.
type lastRows struct {
	joined func(hostid.ID) bool // a Service records its join: a row that has it as a new node is older
	// node -> the node that lists it as a plain member: the first other node by host ID, else the
	// node itself
	by      map[hostid.ID]hostid.ID
	against map[hostid.ID]bool // listed as new node, replaced or gone
}

func (c *Cluster) newLastRows() lastRows {
	return lastRows{joined: c.recordsJoin, by: map[hostid.ID]hostid.ID{}, against: map[hostid.ID]bool{}}
}

// recordsJoin reports whether a Service records the join of the host ID.
func (c *Cluster) recordsJoin(id hostid.ID) bool {
	j := joined(c.ix.services[c.ix.hosts[id]])
	return j != nil && *j
}

func (l lastRows) list(id, by hostid.ID) {
	if id == "" || by == "" {
		return
	}
	if was, ok := l.by[id]; !ok || was == id || by != id && by < was {
		l.by[id] = by
	}
}

func (l lastRows) add(by, id hostid.ID, state matrix.State) {
	switch {
	case state == matrix.StateNormal, state == matrix.StateLeaving, state.NewNode() && l.joined(id):
		l.list(id, by)
	default:
		l.against[id] = true
	}
}

func (l lastRows) row(r *matrix.Row) {
	for o := range r.Each() {
		l.add(r.Reporter.HostID, o.HostID, o.State)
	}
}

// counts reports whether the last rows agree on the member. Its own row alone is enough if the rows
// list no other node: no other row could list it.
func (l lastRows) counts(id hostid.ID) bool {
	by := l.by[id]
	return by != "" && !l.against[id] && (by != id || len(l.by) == 1)
}

// listed returns the members that the last rows agree on, by host ID.
func (l lastRows) listed() []api.LastListed {
	var out []api.LastListed
	for id, by := range l.by {
		if l.counts(id) {
			out = append(out, api.LastListed{HostID: id, By: by})
		}
	}
	slices.SortFunc(out, func(a, b api.LastListed) int { return cmp.Compare(a.HostID, b.HostID) })
	return out[:min(len(out), maxLastListed)]
}

// kept adds the last rows that the Pods store with their errors, and those in the cluster report.
func (l lastRows) kept(c *Cluster) {
	for name, a := range c.annotations {
		if a.report == nil || a.report.LastRow == nil {
			continue
		}
		last := a.report.LastRow
		if recorded := c.ix.refs[name].HostID; recorded == "" || recorded == last.HostID {
			for i := range last.ObservedNodes {
				l.add(last.HostID, last.ObservedNodes[i].HostID, matrix.ParseState(string(last.ObservedNodes[i].State)))
			}
		}
	}
	if c.StatusReport == nil || c.OverrideRef != "" {
		return
	}
	for _, one := range c.StatusReport.LastListed {
		l.list(hostid.Known(string(one.HostID)), hostid.Known(string(one.By)))
	}
}

// lastListed returns the membership that the report stores while no row is usable. rows are all
// rows of the report, none fresh. The rows in the present report are the last ones of Pods that no
// longer exist.
func (c *Cluster) lastListed(rows []*matrix.Row) []api.LastListed {
	l := c.newLastRows()
	l.kept(c)
	for _, r := range rows {
		l.row(r)
	}
	if c.StatusReport != nil && c.OverrideRef == "" {
		was := matrix.FromStatusReport(c.StatusReport)
		for i := range was {
			if was[i].Trouble.IsZero() {
				l.row(&was[i])
			}
		}
	}
	return l.listed()
}

// LastListedBy returns the node whose last row lists a node as a plain member; zero if there is
// none.
func (c *Cluster) LastListedBy(id hostid.ID) matrix.Ref {
	l := c.newLastRows()
	l.kept(c)
	by := l.by[id]
	if !l.counts(id) {
		return matrix.Ref{}
	}
	if ref, ok := c.names()[by]; ok {
		return ref
	}
	return matrix.Ref{HostID: by}
}
