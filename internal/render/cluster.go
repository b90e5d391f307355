// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
)

// NewClusterStatus makes the document of one cluster. now is when that happens.
func NewClusterStatus(s *kube.Snapshot, now time.Time) *ClusterStatus {
	return NewClusterStatusWithLogs(s, now, nil)
}

// NewClusterStatusWithLogs is NewClusterStatus where somebody has read the logs of new nodes that replace others.
func NewClusterStatusWithLogs(s *kube.Snapshot, now time.Time, logs Logs) *ClusterStatus {
	j := newJudge(s, now, logs)
	m := s.Matrix(matrix.Options{})
	members := s.Members()
	d := &ClusterStatus{Header: header(KindClusterStatus, s.Cluster, s, now), ManagedBy: managedBy(s)}

	staleSince := map[string]time.Time{}
	for _, n := range m.Nodes() {
		if n.Row != nil && n.Row.Stale != "" {
			staleSince[n.HostID+"\x00"+n.Member] = n.Row.StaleSince
		}
	}
	placed := make([]bool, len(m.Nodes()))
	noPods := slices.ContainsFunc(s.Problems, func(p kube.Problem) bool { return p.Resource == "pods" })
	strangers := false
	for _, member := range members {
		strangers = strangers || stranger(member)
		node := newNode(member)
		if noPods && member.Pod == nil {
			node.Pod = "?" // not read, which is not the same as not there
		}
		if i, ok := find(m, member.Ref); ok {
			placed[i] = true
			node.addView(m, i)
			node.Row.StaleSince = timePtr(staleSince[m.Nodes()[i].HostID+"\x00"+m.Nodes()[i].Member])
		}
		d.Nodes = append(d.Nodes, node)
		d.addSections(j, member, node)
	}
	// A node of the matrix that no member stands for must not vanish from the table: it is part of the verdict.
	for i, n := range m.Nodes() {
		if placed[i] {
			continue
		}
		node := Node{Ref: n.Ref, Membership: kube.MemberGhost, Detail: "seen by its peers only", Pod: "None", Row: RowState{Status: RowMissing}}
		if n.Row != nil {
			node.Membership, node.Detail, node.Pod, node.Row = kube.MemberRemote, "", "-", rowStateOf(n.Row)
			node.Version, node.OperationMode = n.Row.Version, n.Row.OperationMode
		}
		node.addView(m, i)
		d.Nodes = append(d.Nodes, node)
		strangers = true
		if n.Row == nil {
			d.GossipOnly = append(d.GossipOnly, n.HostID)
		}
	}
	if d.Nodes == nil {
		d.Nodes = []Node{}
	}
	if strangers {
		d.addLeftovers(j.leftovers())
	}
	d.addRows(m)
	d.Partition = m.Partition()
	d.Schemas = disagreement(s)

	m = j.know(m)
	h := m.Health()
	// What holds up a newcomer's barrier is no healthy cluster here either.
	silent, since := s.ControllerSilent()
	outdated := bootstrap.Outdated(m, s.Peers(), silent, since)
	d.Blockers = append(slices.Clip(h.Blockers), outdated...)
	matrix.SortBlockers(d.Blockers)
	d.Healthy = h.AllUp && len(outdated) == 0
	d.Counts.Nodes, d.Counts.Up, d.Counts.Blockers, d.Counts.Newcomers = h.Nodes, h.Up, h.Total+len(outdated), len(d.Newcomers)
	for _, b := range outdated {
		if _, ok := m.Index(b.Observed.HostID); !ok && b.Observed.HostID != "" {
			d.Counts.Nodes++ // of the matrix it is no node
		}
	}
	for _, n := range m.Nodes() {
		if n.Reports {
			d.Counts.Reporting++
		}
	}
	d.Summary = d.summarise()
	return d
}

// addLeftovers shows the ghosts, each of them, whatever else its host ID was taken for.
func (d *ClusterStatus) addLeftovers(ghosts []replacement.Ghost) {
	d.Leftovers = ghosts
	for _, g := range ghosts {
		if !slices.ContainsFunc(d.GossipOnly, func(id string) bool { return strings.EqualFold(id, g.HostID) }) {
			d.GossipOnly = append(d.GossipOnly, g.HostID)
		}
	}
}

func managedBy(s *kube.Snapshot) string {
	if s.Operator {
		return api.ManagedByOperator
	}
	for _, svc := range s.Services {
		if v := svc.Labels[api.LabelManagedBy]; v != "" {
			return v
		}
	}
	for _, set := range s.StatefulSets {
		if v := set.Labels[api.LabelManagedBy]; v != "" {
			return v
		}
	}
	return ""
}

// find looks a member up in the matrix: by host ID, or by name while it has none.
func find(m *matrix.Matrix, r matrix.Ref) (int, bool) {
	if r.HostID != "" {
		if i, ok := m.Index(r.HostID); ok {
			return i, true
		}
	}
	if r.Member == "" {
		return 0, false
	}
	for i, n := range m.Nodes() {
		if n.Member == r.Member && n.HostID == r.HostID {
			return i, true
		}
	}
	return 0, false
}

func newNode(m kube.Member) Node {
	n := Node{
		Ref: m.Ref, Namespace: m.Namespace, Membership: m.State, Detail: m.Detail,
		Version: m.Version, OperationMode: m.OperationMode, Image: m.Image, Pod: m.PodState, Force: m.Force,
		Row: RowState{Written: timePtr(m.RowWritten)},
	}
	if n.Pod == "" {
		n.Pod = "None"
	}
	switch {
	case m.RowError != "":
		n.Row.Status, n.Row.Detail = RowError, m.RowError
	case m.Reported && m.RowStale != "":
		n.Row.Status, n.Row.Detail = RowStale, m.RowStale
	case m.Reported:
		n.Row.Status = RowOK
	case m.State == kube.MemberNewcomer:
		n.Row.Status = RowNone
	default:
		n.Row.Status = RowMissing
	}
	return n
}

func rowStateOf(r *matrix.Row) RowState {
	switch {
	case r.Error != "":
		return RowState{Status: RowError, Detail: r.Error}
	case !r.Reported:
		return RowState{Status: RowMissing}
	case r.Stale != "":
		return RowState{Status: RowStale, Detail: r.Stale, StaleSince: timePtr(r.StaleSince)}
	}
	return RowState{Status: RowOK}
}

// addView adds how the others see node i.
func (n *Node) addView(m *matrix.Matrix, i int) {
	node := m.Nodes()[i]
	if n.HostID == "" {
		n.HostID = node.HostID
	}
	n.State = node.State.String()
	if node.HostID == "" {
		return
	}
	seen := Seen{Up: node.SeenUp, Down: node.SeenDown, Unknown: node.SeenUnknown, Missing: node.NotSeen, Since: timePtr(node.DownSince)}
	if node.Reports {
		// The counts are over all rows, the node's own included; a node that finds itself well proves nothing.
		switch own := m.At(i, i); {
		case own == matrix.Up && seen.Up > 0:
			seen.Up--
		case own == matrix.Down && seen.Down > 0:
			seen.Down--
		case own == matrix.Unknown && seen.Unknown > 0:
			seen.Unknown--
		case own == matrix.Missing && seen.Missing > 0:
			seen.Missing--
		}
	}
	switch {
	case seen.Down > 0:
		seen.Status = "DOWN"
	case seen.Unknown > 0:
		seen.Status = "UNKNOWN"
	case seen.Missing > 0:
		seen.Status = "MISSING"
	case seen.Up > 0:
		seen.Status = "UP"
	default:
		return
	}
	n.Seen = &seen
}

// addSections files a member under what is not ordinary about it.
func (d *ClusterStatus) addSections(j *judge, m kube.Member, n Node) {
	replaced := j.replacementOf(m, n.Pod)
	switch {
	case m.State == kube.MemberNewcomer && replaced == nil:
		d.Newcomers = append(d.Newcomers, newNewcomer(j.s, m))
	case m.State == kube.MemberGossipOnly, m.State == kube.MemberGhost && m.Member == "" && !m.Reported:
		d.GossipOnly = append(d.GossipOnly, m.HostID)
	case m.State == kube.MemberGhost:
		d.Ghosts = append(d.Ghosts, m.Name())
	}
	if replaced != nil {
		d.Replacements = append(d.Replacements, *replaced)
	}
}

func newNewcomer(s *kube.Snapshot, m kube.Member) Newcomer {
	n := Newcomer{Ref: m.Ref, Waiting: m.Waiting, Since: timePtr(m.WaitingSince)}
	if m.Service == nil {
		n.Summary = noService(m)
		return n
	}
	in, err := s.BootstrapInput(m.Member)
	if err != nil {
		n.Summary = err.Error()
		return n
	}
	v := bootstrap.Decide(in)
	n.MayStart, n.Decision, n.Summary = v.Satisfied, string(v.Decision), v.Summary
	for _, b := range v.Blockers {
		n.Blockers += b.Count()
	}
	return n
}

// noService says why a newcomer cannot be judged yet.
func noService(m kube.Member) string {
	if m.Member == "" {
		return m.Detail
	}
	return "it has no member Service yet, so its barrier does not know its place"
}

// disagreement joins what the nodes say of schema versions; nil when there is one, or nobody was asked. Nodes that cannot be reached are
// listed by ScyllaDB under a word of their own and are no version.
func disagreement(s *kube.Snapshot) map[string][]string {
	versions := map[string][]string{}
	for _, facts := range s.Facts {
		for version, addresses := range facts.Schemas {
			if version != "UNREACHABLE" {
				versions[version] = append(versions[version], addresses...)
			}
		}
	}
	if len(versions) < 2 {
		return nil
	}
	for version, addresses := range versions {
		slices.Sort(addresses)
		versions[version] = slices.Compact(addresses)
	}
	return versions
}

func short(hostID string) string { return matrix.Ref{HostID: hostID}.Short() }

// addRows lists, for each node that reports, who is not UP in its row.
func (d *ClusterStatus) addRows(m *matrix.Matrix) {
	nodes := m.Nodes()
	for i, observer := range nodes {
		if !observer.Reports {
			continue
		}
		row := Row{Observer: observer.Ref}
		for j, observed := range nodes {
			if i == j || observed.HostID == "" {
				continue
			}
			if c := m.Cell(i, j); c.Status != matrix.Up {
				cell := Pair{Observed: observed.HostID, Status: c.Status.String(), Since: timePtr(c.Since)}
				if c.State != matrix.StateNormal {
					cell.State = c.State.String()
				}
				row.NotUp = append(row.NotUp, cell)
			}
		}
		d.Rows = append(d.Rows, row)
	}
}

func (d *ClusterStatus) summarise() string {
	c := d.Counts
	switch {
	case c.Nodes == 0 && len(d.Newcomers) > 0:
		return fmt.Sprintf("no node has joined yet, %s", count(len(d.Newcomers), "newcomer waits", "newcomers wait"))
	case c.Nodes == 0:
		return "no rows: nothing says who sees whom"
	}
	text := fmt.Sprintf("%d of %s UP in every row", c.Up, count(c.Nodes, "node", "nodes"))
	if c.Blockers > 0 {
		text += ", " + count(c.Blockers, "blocker", "blockers")
	}
	if n := len(d.Newcomers); n > 0 {
		text += ", " + count(n, "newcomer waits", "newcomers wait")
	}
	failed := 0
	for i := range d.Replacements {
		if d.Replacements[i].Failure != nil {
			failed++
		}
	}
	if n := len(d.Replacements) - failed; n > 0 {
		text += ", " + count(n, "replacement open", "replacements open")
	}
	if failed > 0 {
		text += ", " + count(failed, "replacement failed", "replacements failed")
	}
	return text
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
