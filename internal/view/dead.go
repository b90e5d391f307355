// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reasons of condition DeadReportRetained.
const (
	ReasonCleanUpOff = "CleanUpOff"
	ReasonMinQuorum  = "MinQuorum"
)

// DeadRows stores since when no member lists a node that has a row. The zero value stores nothing.
// A process that takes over starts with it, so that its times are never too early.
type DeadRows struct {
	since map[hostid.ID]time.Time
}

// Next returns the nodes that no member lists any more and whose rows must be omitted from the
// reports. kept is the condition about the nodes that are due but whose rows are kept; retained is
// false if there are none.
func (d *DeadRows) Next(c *cluster.Cluster, p *api.StatusReportHealthPolicy, now time.Time) (out []hostid.ID,
	kept Condition, retained bool) {
	is := map[hostid.ID]time.Time{}
	var names []string
	var commands []words.Command
	for _, ref := range c.DeadRows() {
		from, known := d.since[ref.HostID]
		if !known {
			from = now
		}
		is[ref.HostID] = from
		if now.Sub(from) < p.Dead.Duration {
			continue
		}
		out, names = append(out, ref.HostID), append(names, ref.String())
		commands = append(commands, words.Kubectl(c.Namespace, "annotate", "service", ref.Member, api.AnnotationHostID+
			"-", api.AnnotationNodeJoined+"-"))
	}
	d.since = is
	kept = Condition{Type: api.ConditionDeadReportRetained, Status: metav1.ConditionTrue}
	reporting := c.Matrix().Reporting()
	why := words.New(words.DeadReportsOff)
	switch {
	case len(out) == 0:
		return nil, Condition{}, false
	case !p.CleanUpDeadReports:
		kept.Reason = ReasonCleanUpOff
	case reporting < int(p.MinQuorum):
		kept.Reason, why = ReasonMinQuorum, words.New(words.DeadReportsFloor, "reporting", reporting, "least",
			int(p.MinQuorum))
	default:
		return out, Condition{}, false
	}
	kept.Message = words.New(words.DeadReports, "nodes", names, "why", why).Do(commands...)
	return nil, kept, true
}
