// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Foreign is a datacenter that is assembled elsewhere.
type Foreign struct {
	Name  string
	Racks []api.RackReport
	// Stale says that Racks may be old, since StaleSince, for Reason. The rows are then the last that are known.
	Stale      bool
	StaleSince time.Time
	Reason     string
}

// ClusterInput is everything that a cluster report is made of.
type ClusterInput struct {
	Local   []Datacenter
	Foreign []Foreign
	// Unread names remotes of which nothing has ever been read.
	Unread []string
	// Previous is the report as it stands, nil when there is none: the last rows of a datacenter that has become stale are there.
	Previous *api.ScyllaDBStatusReport
}

// Aggregate makes the content of the cluster report: membership, datacenters, and of the status members and operations. The order of
// anything in the input never matters.
func Aggregate(in ClusterInput) *api.ScyllaDBStatusReport {
	type fullRow struct {
		hostID   string
		observed []api.ObservedNodeStatusReport
	}
	type fullDatacenter struct {
		api.StatusReportDatacenter
		rows []fullRow
	}
	var all []fullDatacenter
	out := &api.ScyllaDBStatusReport{}
	var fresh [][]api.ObservedNodeStatusReport

	for _, d := range in.Local {
		f := fullDatacenter{StatusReportDatacenter: api.StatusReportDatacenter{Name: d.Name}}
		for _, r := range d.Rows {
			if r.Stale == "" {
				f.rows = append(f.rows, fullRow{r.HostID, r.Observed})
				fresh = append(fresh, r.Observed)
			} else {
				f.rows = append(f.rows, fullRow{r.HostID, withoutStates(r.Observed)})
			}
		}
		all = append(all, f)
		out.Status.Members = append(out.Status.Members, d.Members...)
		out.Status.Operations = append(out.Status.Operations, d.Operations...)
	}
	for _, d := range in.Foreign {
		f := fullDatacenter{StatusReportDatacenter: api.StatusReportDatacenter{Name: d.Name, Stale: d.Stale}}
		if d.Stale && !d.StaleSince.IsZero() {
			f.StaleSince = ptr.To(metav1.NewTime(d.StaleSince.Truncate(time.Second)))
		}
		last := map[string][]api.ObservedNodeStatusReport{}
		if d.Stale {
			last = previousRows(in.Previous, d.Name)
		}
		for _, rack := range d.Racks {
			for _, n := range rack.Nodes {
				observed := sorted(n.ObservedNodes)
				id := ptr.Deref(n.HostID, "")
				if d.Stale && len(observed) == 0 {
					observed = last[id]
				}
				if d.Stale {
					observed = withoutStates(observed)
				} else {
					fresh = append(fresh, observed)
				}
				f.rows = append(f.rows, fullRow{id, observed})
				out.Status.Members = append(out.Status.Members, api.StatusReportMember{
					Datacenter: d.Name, Rack: rack.Name, Ordinal: n.Ordinal, HostID: id, Joined: true, RowStale: d.Stale,
				})
			}
		}
		all = append(all, f)
	}
	for _, name := range in.Unread {
		all = append(all, fullDatacenter{StatusReportDatacenter: api.StatusReportDatacenter{Name: name, NotVerified: true}})
	}

	out.Membership = Membership(fresh...)
	slices.SortStableFunc(all, func(a, b fullDatacenter) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range all {
		slices.SortStableFunc(d.rows, func(a, b fullRow) int { return strings.Compare(a.hostID, b.hostID) })
		for _, r := range d.rows {
			d.Nodes = append(d.Nodes, Compress(r.hostID, r.observed, out.Membership))
		}
		out.Datacenters = append(out.Datacenters, d.StatusReportDatacenter)
	}
	states := majorityStates(fresh)
	for i := range out.Status.Members {
		out.Status.Members[i].State = states[out.Status.Members[i].HostID]
	}
	slices.SortStableFunc(out.Status.Members, func(a, b api.StatusReportMember) int {
		return cmp.Or(strings.Compare(a.Datacenter, b.Datacenter), strings.Compare(a.Rack, b.Rack), cmp.Compare(a.Ordinal, b.Ordinal),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.HostID, b.HostID))
	})
	slices.SortFunc(out.Status.Operations, func(a, b api.NodeOperation) int {
		return cmp.Or(strings.Compare(a.HostID, b.HostID), strings.Compare(a.Type, b.Type), strings.Compare(a.State, b.State), strings.Compare(a.Error, b.Error))
	})
	out.Status.Operations = slices.Compact(out.Status.Operations)
	return out
}

// withoutStates takes off what a row says beyond UP and DOWN. A state relaxes what is asked of a node, and for that old evidence is none.
func withoutStates(observed []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
	if !slices.ContainsFunc(observed, func(o api.ObservedNodeStatusReport) bool { return o.State != "" }) {
		return observed
	}
	out := slices.Clone(observed)
	for i := range out {
		out[i].State = ""
	}
	return out
}

// previousRows are the rows of a datacenter as a cluster report has them, by host ID.
func previousRows(report *api.ScyllaDBStatusReport, datacenter string) map[string][]api.ObservedNodeStatusReport {
	out := map[string][]api.ObservedNodeStatusReport{}
	if report == nil {
		return out
	}
	for _, d := range report.Datacenters {
		if d.Name != datacenter {
			continue
		}
		for _, n := range d.Nodes {
			if observed, ok := Expand(n, report.Membership); ok {
				out[n.HostID] = observed
			}
		}
	}
	return out
}

// majorityStates is the state that more than half of the rows that mention a node give it, where that is anything but normal.
func majorityStates(rows [][]api.ObservedNodeStatusReport) map[string]api.NodeState {
	votes := map[string]map[api.NodeState]int{}
	for _, row := range rows {
		for i := range row {
			o := &row[i]
			if o.State == "" || o.State == api.NodeStateNormal {
				continue
			}
			if votes[o.HostID] == nil {
				votes[o.HostID] = map[api.NodeState]int{}
			}
			votes[o.HostID][o.State]++
		}
	}
	if len(votes) == 0 {
		return nil
	}
	mentions := map[string]int{}
	for _, row := range rows {
		for i := range row {
			if _, ok := votes[row[i].HostID]; ok {
				mentions[row[i].HostID]++
			}
		}
	}
	out := map[string]api.NodeState{}
	for id, v := range votes {
		for state, n := range v {
			if 2*n > mentions[id] {
				out[id] = state
			}
		}
	}
	return out
}

// shownBlockers is how many blockers a condition's message has in words.
const shownBlockers = 5

// judge fills the printer columns and returns the AllNodesUp condition and how often each reason blocks. Texts carry no ages: a report that
// says the same must be the same.
func judge(report *api.ScyllaDBStatusReport) (metav1.Condition, map[string]int, matrix.Health) {
	h := matrix.New(matrix.FromStatusReport(report), matrix.Options{NotVerified: matrix.NotVerified(report)}).Health()
	s := &report.Status
	s.Nodes, s.Up, s.Blockers, s.FirstBlocker = int32(h.Nodes), fmt.Sprintf("%d/%d", h.Up, h.Nodes), int32(h.Total), ""
	reasons := map[string]int{}
	for _, b := range h.Blockers {
		reasons[string(b.Reason)] += b.Count()
	}
	c := metav1.Condition{Type: api.ConditionAllNodesUp}
	switch {
	case len(h.Blockers) > 0:
		var words []string
		for _, b := range h.Blockers[:min(len(h.Blockers), shownBlockers)] {
			words = append(words, b.Text(time.Time{}))
		}
		if more := len(h.Blockers) - shownBlockers; more > 0 {
			words = append(words, fmt.Sprintf("and %d more", more))
		}
		s.FirstBlocker = words[0]
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(h.Blockers[0].Reason), strings.Join(words, "; ")
	case h.AllUp:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "AllUp", fmt.Sprintf("every one of %d nodes sees every other node UP", h.Nodes)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "NoNodes", "no node has joined yet"
	}
	return c, reasons, h
}
