// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// summaryView sums the controller's view up. Parameters: epoch, seq, up, members, down, unknown, age, hold.
const summaryView code.Code = "ControllerView"

// viewOf is the controller's view of the cluster; nil where the cluster report has none, or is not ours.
func viewOf(s *cluster.Cluster) *api.StatusReportView {
	if s.StatusReport == nil || s.StatusReport.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return nil
	}
	return s.StatusReport.Status.View.DeepCopy()
}

// viewText says a view in one line. Its age compares the controller's clock with this one's, which the sentence says; with the zero time it has none.
func viewText(v *api.StatusReportView, now time.Time) string {
	up := 0
	var down, unknown []string
	for _, m := range v.Members {
		name := cmp.Or(m.Name, hostid.Known(m.HostID).Short())
		switch m.State {
		case api.NodeStatusUp:
			up++
		case api.NodeStatusDown:
			down = append(down, name)
		default:
			unknown = append(unknown, name)
		}
	}
	return words.Text(code.New(summaryView, "epoch", v.Epoch, "seq", v.Seq, "up", up, "members", len(v.Members),
		"down", down, "unknown", unknown, "age", words.Ago(v.ObservedAt.Time, now), "hold", v.Hold))
}

// view is the line about the controller's view.
func (p *painter) view(level detail) []string {
	if p.d.View == nil {
		return nil
	}
	line := viewText(p.d.View, p.d.at())
	if level.terse {
		return []string{Dim.Paint(p.one(line))}
	}
	return p.each(Dim, p.wrap(line, "  "))
}
