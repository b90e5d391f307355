// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// NewClusterStatus creates the document of one cluster.
//
//nolint:funlen // one literal with the fields of the document
func NewClusterStatus(j *diagnosis.Judged) *ClusterStatus {
	s := j.Cluster
	m := s.Matrix()
	members := s.Members()
	d := &ClusterStatus{Header: header(KindClusterStatus, s.Name, s, j.Made), ManagedBy: managedBy(s), View: viewOf(s)}

	placed := make([]bool, len(m.Nodes()))
	noPods := slices.ContainsFunc(s.Problems, func(p cluster.Problem) bool { return p.Resource == "pods" })
	for _, member := range members {
		node := newNode(s, member)
		if noPods && member.Pod == nil {
			node.Pod = "?" // not read, which differs from absent
		}
		if i, ok := find(m, member.Ref); ok {
			placed[i] = true
			node.addView(m, i)
			if row := m.Nodes()[i].Row; row != nil && !row.Stale.IsZero() {
				node.Row.StaleSince = TimePtr(row.StaleSince)
			}
		}
		d.Nodes = append(d.Nodes, node)
		d.addSections(j, &member, node)
	}
	// A node of the matrix without a member must stay in the table: it affects the verdict.
	for i, n := range m.Nodes() {
		if placed[i] {
			continue
		}
		node := Node{Ref: n.Ref, Membership: cluster.MemberGhost, Detail: "seen only by its peers", Pod: "None",
			Row: RowState{Status: RowMissing}}
		if n.Row != nil {
			node.Membership, node.Detail, node.Pod, node.Row = cluster.MemberRemote, "", "-", rowStateOf(n.Row)
			node.Version, node.OperationMode = n.Row.Says().ScyllaVersion, n.Row.Says().OperationMode
		}
		node.addView(m, i)
		d.Nodes = append(d.Nodes, node)
		if n.Row == nil {
			d.GossipOnly = append(d.GossipOnly, n.HostID)
		}
	}
	if d.Nodes == nil {
		d.Nodes = []Node{}
	}
	d.addLeftovers(newLeftovers(j.Ghosts))
	d.addRows(m)
	d.addOperations(s)
	d.Partition, d.Split = m.Partition(), m.Split()
	d.Schemas = disagreement(s)

	if c := m.Coordinator(); c.Rows > 0 {
		d.Coordinator = &Coordinator{Coordinator: c, Text: words.Text(c.Message())}
	}

	h := j.Health
	d.Findings = newFindings(j.Findings)
	d.Blockers, d.Healthy = h.Blockers, h.Healthy
	d.Counts.Nodes, d.Counts.Up, d.Counts.Blockers, d.Counts.Newcomers = h.Nodes, h.Up, h.Total, len(d.Newcomers)
	for _, n := range m.Nodes() {
		if n.Reports {
			d.Counts.Reporting++
		}
	}
	d.Counts.Problems = len(d.Problems())
	if text, well := RootCredential(s); !well {
		d.Notes = append(d.Notes, "root credential: "+text)
	}
	d.Afterwards = NewAfterwards(j.Afterwards)
	d.Verdict, d.Summary = d.Word(), d.summarise()
	return d
}

// addLeftovers adds every orphaned host ID, even if it is already in another section.
func (d *ClusterStatus) addLeftovers(ghosts []Leftover) {
	d.Leftovers = ghosts
	for _, g := range ghosts {
		if !slices.Contains(d.GossipOnly, g.HostID) {
			d.GossipOnly = append(d.GossipOnly, g.HostID)
		}
	}
}

func managedBy(s *cluster.Cluster) string {
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

// find returns the matrix index of a member: by host ID, or by name while it has none.
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

func newNode(s *cluster.Cluster, m cluster.Member) Node {
	n := Node{
		Ref: m.Ref, Namespace: m.Namespace, Membership: m.State, Detail: words.Text(m.Detail),
		Version: m.Version, OperationMode: m.OperationMode, Image: m.Image, Vitals: m.Vitals, Process: m.Process,
		Pod: m.PodState, Force: m.Force, Notes: m.Notes(),
		Row: RowState{Written: TimePtr(m.RowWritten)},
	}
	if n.Pod == "" {
		n.Pod = "None"
	}
	if m.Pod != nil {
		n.PodIP = m.Pod.Status.PodIP
		if on := s.KubernetesNode(m.Pod); on.Name != "" {
			n.KubernetesNode = &on
		}
	}
	switch {
	case !m.RowTrouble.IsZero():
		n.Row.Status, n.Row.Detail = RowError, words.Text(m.RowTrouble)
	case m.Reported && !m.RowStale.IsZero():
		n.Row.Status, n.Row.Detail = RowStale, words.Text(m.RowStale)
	case m.Reported:
		n.Row.Status = RowOK
	case m.State == cluster.MemberNewcomer:
		n.Row.Status = RowNone
	default:
		n.Row.Status = RowMissing
	}
	return n
}

func rowStateOf(r *matrix.Row) RowState {
	switch {
	case !r.Trouble.IsZero():
		return RowState{Status: RowError, Detail: words.Text(r.Trouble.Message(r.Reporter.Name()))}
	case !r.Reported:
		return RowState{Status: RowMissing}
	case !r.Stale.IsZero():
		return RowState{Status: RowStale, Detail: words.Text(r.Stale.Message(r.Reporter.Name())),
			StaleSince: TimePtr(r.StaleSince)}
	}
	return RowState{Status: RowOK}
}

// addView adds how the other nodes see node i.
func (n *Node) addView(m *matrix.Matrix, i int) {
	node := m.Nodes()[i]
	if n.HostID == "" {
		n.HostID = node.HostID
	}
	n.State = node.State.String()
	if node.HostID == "" {
		return
	}
	by := node.ByOthers()
	n.Seen = newSeen(grid.Tally{grid.Up: by.Up, grid.Down: by.Down, grid.Unknown: by.Unknown, grid.Missing: by.Missing},
		node.DownSince)
}

// addSections adds a member to its sections of the document.
func (d *ClusterStatus) addSections(j *diagnosis.Judged, m *cluster.Member, n Node) {
	replaced := replacementOf(j, m, PodText(n.Pod, n.NoteTexts()))
	switch {
	case m.State == cluster.MemberNewcomer && replaced == nil:
		d.Newcomers = append(d.Newcomers, newNewcomer(j, m))
	case m.State == cluster.MemberGossipOnly, m.State == cluster.MemberGhost && m.Member == "" && !m.Reported:
		d.GossipOnly = append(d.GossipOnly, m.HostID)
	case m.State == cluster.MemberGhost:
		d.Ghosts = append(d.Ghosts, m.Name())
	}
	// A report that is out of date has the replaced node in the place of the new one.
	if named := j.Cluster.Member(m.Ref.Member); replaced != nil && (named == nil || named.HostID == m.HostID) {
		d.Replacements = append(d.Replacements, *replaced)
	}
}

func newNewcomer(j *diagnosis.Judged, m *cluster.Member) Newcomer {
	n := Newcomer{Ref: m.Ref, Waiting: words.Text(m.Waiting), Since: TimePtr(m.WaitingSince),
		Notes: noteTexts(m.Notes(), false)}
	if m.Service == nil {
		n.Summary = noService(m)
		return n
	}
	start := j.Starts[m.Ref.Member]
	if start.Err != nil {
		n.Summary = words.New(words.NotJudged, "error", start.Err.Error())
		return n
	}
	v := &start.Verdict
	n.MayStart, n.Decision, n.Summary = v.Satisfied, string(v.Decision), v.Summary
	state := m.Barrier()
	if not := instead(running(m), &state); v.Satisfied && !not.IsZero() || not.Code == words.NewcomerRuns {
		n.Summary = not
	}
	for _, b := range v.Blockers {
		n.Blockers += b.Count()
	}
	return n
}

// noService is why a new node cannot be judged yet.
func noService(m *cluster.Member) words.Message {
	if m.Ref.Member == "" {
		return words.New(words.NewcomerWithoutMember, "detail", m.Detail)
	}
	return words.New(words.MemberWithoutService)
}

// disagreement merges the nodes' schema versions; nil if there is only one, or no node was queried.
// ScyllaDB lists unreachable nodes under UNREACHABLE, which is not a version.
func disagreement(s *cluster.Cluster) map[string][]string {
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

// addOperations lists the topology operations, with their nodes if ScyllaDB reports them.
func (d *ClusterStatus) addOperations(s *cluster.Cluster) {
	operations, _ := s.Operations()
	for _, op := range operations {
		o := Operation{Type: op.Type, State: op.State, Error: op.Error}
		name := ""
		if op.HostID != "" {
			ref := matrix.Ref{HostID: op.HostID}
			if i := slices.IndexFunc(d.Nodes, func(n Node) bool { return n.HostID == op.HostID }); i >= 0 {
				ref = d.Nodes[i].Ref
			}
			o.Node, name = &ref, ref.String()
		}
		if cluster.OperationOpen(op) {
			o.UnderWay = cluster.OperationFact(op, name)
		}
		d.Operations = append(d.Operations, o)
	}
}

// UnderWay returns the open topology operations as text.
func (d *ClusterStatus) UnderWay() []string {
	var out []string
	for i := range d.Operations {
		if u := d.Operations[i].UnderWay; !u.IsZero() {
			out = append(out, words.Text(u))
		}
	}
	return out
}

// addRows lists, for each node that reports, the nodes that are not UP in its row.
func (d *ClusterStatus) addRows(m *matrix.Matrix) {
	nodes := m.Nodes()
	for i := range nodes {
		observer := &nodes[i]
		if !observer.Reports {
			continue
		}
		row := Row{Observer: observer.Ref}
		for j, c := range m.NotUp(i) {
			observed := &nodes[j]
			if i == j || observed.HostID == "" {
				continue
			}
			cell := Pair{Observed: observed.HostID, Status: api.NodeStatus(c.Status.String()), Since: TimePtr(c.Since)}
			if c.State != matrix.StateNormal {
				cell.State = c.State.String()
			}
			row.NotUp = append(row.NotUp, cell)
		}
		d.Rows = append(d.Rows, row)
	}
}
