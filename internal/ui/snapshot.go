// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// Snapshot is one state of a cluster, made ready for drawing outside the event loop. It is never changed after NewSnapshot.
type Snapshot struct {
	doc    *render.ClusterStatus
	matrix *matrix.Matrix
	groups []matrix.Group
	total  int // blockers
	nodes  []node
	racks  []rack
	// datacenters is how many there are.
	datacenters int
	// cells is how the nodes of one rack see those of another.
	cells [][]tally
	// at is when it was read; zero for saved objects.
	at    time.Time
	lease *coordinationv1.Lease
	// controller is what is known when there is no Lease to look at.
	controller string
	// changes since the snapshot before.
	changes []Change
	// pairs that are not UP by observer and observed host ID, for the next snapshot to compare with.
	pairs map[[2]string]string
	known map[string]int // nodes by host ID, and by member where there is no host ID
	print uint64         // of the objects; zero when they cannot be told apart
	made  time.Time      // when the document was made, which the same objects may use again for a while
}

// Status is the document that the snapshot draws.
func (s *Snapshot) Status() *render.ClusterStatus { return s.doc }

// node is one line of the document's table, by the same number.
type node struct {
	*render.Node
	index    int // in the matrix; -1 for who has not joined
	rack     int
	newcomer *render.Newcomer
	reports  bool
	notUp    int  // pairs that its own row does not have UP
	flag     byte // one character for what is not ordinary
}

// column is true for nodes that somebody could see.
func (n *node) column() bool { return n.index >= 0 && n.HostID != "" }

// name is never empty.
func (n *node) name() string { return cmp.Or(n.Member, n.Short(), "?") }

// summary is what holds a newcomer, without its own name.
func (n *node) summary() string {
	if rest, ok := strings.CutPrefix(n.newcomer.Summary, n.Member+" "); ok && n.Member != "" {
		return rest
	}
	return n.newcomer.Summary
}

// trouble orders nodes by how badly the others see them.
func (n *node) trouble() int {
	t := 0
	if n.Seen != nil {
		t = n.Seen.Down*1_000_000 + n.Seen.Unknown*1_000 + n.Seen.Missing
	}
	if n.Row.Status != render.RowOK {
		t++
	}
	return t
}

type rack struct {
	datacenter, name string
	members          []int // nodes
}

func (r *rack) String() string { return cmp.Or(r.datacenter, "?") + "/" + cmp.Or(r.name, "?") }

// tally counts pairs.
type tally struct{ up, down, unknown, missing int }

func (t tally) of() int    { return t.up + t.down + t.unknown + t.missing }
func (t tally) notUp() int { return t.down + t.unknown + t.missing }

func (t tally) mark() mark {
	switch {
	case t.down > 0:
		return markDown
	case t.unknown > 0:
		return markUnknown
	case t.missing > 0:
		return markMissing
	case t.up > 0:
		return markUp
	}
	return markNone
}

// NewSnapshot prepares what was loaded at now. previous, when not nil, is what it is compared with. looked is true when the controller's Lease
// was asked for.
func NewSnapshot(s *kube.Snapshot, previous *Snapshot, looked bool, now time.Time) *Snapshot {
	print := fingerprint(s)
	if previous != nil && print != 0 && print == previous.print && s.TakenAt.Sub(previous.made) < madeAnew {
		return previous.again(s, looked)
	}
	out := &Snapshot{
		print: print, made: s.TakenAt,
		doc: render.NewClusterStatus(s, now), matrix: s.Matrix(matrix.Options{}), at: s.TakenAt, lease: s.Lease,
		pairs: map[[2]string]string{}, known: map[string]int{},
	}
	out.controller = controllerWords(s, looked)
	out.groups, out.total = matrix.GroupBlockers(out.doc.Blockers)
	out.addNodes()
	out.addRacks()
	if previous != nil {
		out.changes = previous.diff(out)
	}
	return out
}

// madeAnew is how long a document of the same objects is used: some rows grow old by themselves.
const madeAnew = 20 * time.Second

// again is the same cluster read once more: only time and the controller's Lease have gone on. With a thousand nodes this saves most of the
// work, as the Lease is renewed every few seconds.
func (s *Snapshot) again(k *kube.Snapshot, looked bool) *Snapshot {
	out := *s
	out.at, out.lease, out.controller = k.TakenAt, k.Lease, controllerWords(k, looked)
	out.changes = s.diffController(&out)
	return &out
}

// fingerprint is the same for the same versions of the same objects; zero when an object has no version or more than objects was read.
func fingerprint(s *kube.Snapshot) uint64 {
	if s.Live != nil || s.Offline {
		return 0
	}
	h := fnv.New64a()
	ok := true
	add := func(o metav1.Object) {
		ok = ok && o.GetResourceVersion() != ""
		_, _ = io.WriteString(h, string(o.GetUID())+"/"+o.GetName()+"@"+o.GetResourceVersion()+"\n") // a hash takes everything
	}
	for i := range s.Services {
		add(&s.Services[i])
	}
	for i := range s.Pods {
		add(&s.Pods[i])
	}
	for i := range s.StatefulSets {
		add(&s.StatefulSets[i])
	}
	for i := range s.PVCs {
		add(&s.PVCs[i])
	}
	for i := range s.Reports {
		add(&s.Reports[i])
	}
	if s.StatusReport != nil {
		add(s.StatusReport)
	}
	for _, p := range s.Problems {
		_, _ = io.WriteString(h, p.Message+"\n")
	}
	silent := s.Lease != nil && kube.LeaseAt(s.Lease, s.TakenAt).Silent
	_, _ = fmt.Fprint(h, s.Source, s.SourceReason, s.OverrideRef, silent)
	if !ok {
		return 0
	}
	return h.Sum64()
}

const noController = "no controller"

func controllerWords(s *kube.Snapshot, looked bool) string {
	if s.Operator {
		return "managed by scylla-operator"
	}
	if s.Offline || s.Lease != nil || !looked {
		return ""
	}
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Resource, "leases") && p.Kind != kube.ProblemNotFound {
			return "controller not known (its Lease may not be read)"
		}
	}
	return noController
}

func (s *Snapshot) addNodes() {
	newcomers := map[string]*render.Newcomer{}
	for i := range s.doc.Newcomers {
		newcomers[s.doc.Newcomers[i].Member] = &s.doc.Newcomers[i]
	}
	byMember := map[string]int{}
	for i, n := range s.matrix.Nodes() {
		if n.HostID == "" && n.Member != "" {
			byMember[n.Member] = i
		}
	}
	for i := range s.doc.Nodes {
		d := &s.doc.Nodes[i]
		n := node{Node: d, index: -1}
		if j, ok := s.matrix.Index(d.HostID); ok && d.HostID != "" {
			n.index = j
		} else if j, ok := byMember[d.Member]; ok && d.HostID == "" && d.Member != "" {
			n.index = j
		}
		if n.index >= 0 {
			n.reports = s.matrix.Nodes()[n.index].Reports
		}
		if d.Membership == kube.MemberNewcomer {
			n.newcomer = newcomers[d.Member]
		}
		n.flag = flagOf(d)
		s.nodes = append(s.nodes, n)
		if d.HostID != "" {
			s.known[d.HostID] = i
		} else {
			s.known[d.Member] = i
		}
	}
	for _, r := range s.doc.Rows {
		if i, ok := s.find(r.Observer); ok {
			s.nodes[i].notUp = len(r.NotUp)
		}
		for _, p := range r.NotUp {
			s.pairs[[2]string{r.Observer.HostID, p.Observed}] = p.Status
		}
	}
}

// flagOf is the character behind a node's name; help explains it.
func flagOf(n *render.Node) byte {
	switch n.State {
	case matrix.StateJoining.String():
		return 'J'
	case matrix.StateLeaving.String():
		return 'L'
	case matrix.StateReplacing.String():
		return 'R'
	case matrix.StateBeingReplaced.String():
		return 'B'
	case matrix.StateDecommissioned.String():
		return 'X'
	}
	switch n.Membership {
	case kube.MemberNewcomer:
		return 'N'
	case kube.MemberLeaving:
		return 'L'
	case kube.MemberGhost:
		return 'G'
	case kube.MemberGossipOnly:
		return 'g'
	case kube.MemberUnknown:
		return '?'
	}
	return ' '
}

// find looks a node up by host ID, and by member where it has none.
func (s *Snapshot) find(r matrix.Ref) (int, bool) {
	if r.HostID != "" {
		if i, ok := s.known[r.HostID]; ok {
			return i, true
		}
	}
	if r.Member != "" {
		for i := range s.nodes {
			if s.nodes[i].Member == r.Member {
				return i, true
			}
		}
	}
	return 0, false
}

func (s *Snapshot) addRacks() {
	index := map[[2]string]int{}
	for i := range s.nodes {
		n := &s.nodes[i]
		key := [2]string{n.Datacenter, n.Rack}
		r, ok := index[key]
		if !ok {
			r = len(s.racks)
			index[key] = r
			s.racks = append(s.racks, rack{datacenter: n.Datacenter, name: n.Rack})
		}
		n.rack = r
		s.racks[r].members = append(s.racks[r].members, i)
	}
	seen := map[string]bool{}
	for i := range s.racks {
		seen[s.racks[i].datacenter] = true
	}
	s.datacenters = len(seen)
	columns := make([]int, len(s.racks))
	for i := range s.nodes {
		if s.nodes[i].column() {
			columns[s.nodes[i].rack]++
		}
	}
	s.cells = make([][]tally, len(s.racks))
	for i := range s.cells {
		s.cells[i] = make([]tally, len(s.racks))
	}
	// The document lists only what is not UP, so this costs as much as there is trouble, and not nodes squared.
	for _, row := range s.doc.Rows {
		i, ok := s.find(row.Observer)
		if !ok {
			continue
		}
		a := s.nodes[i].rack
		for b, n := range columns {
			s.cells[a][b].up += n
		}
		if s.nodes[i].column() {
			s.cells[a][a].up-- // itself
		}
		for _, p := range row.NotUp {
			j, ok := s.known[p.Observed]
			if !ok {
				continue
			}
			c := &s.cells[a][s.nodes[j].rack]
			c.up--
			switch p.Status {
			case "DOWN":
				c.down++
			case "MISSING":
				c.missing++
			default:
				c.unknown++
			}
		}
	}
}

// cell is what node i says of node j.
func (s *Snapshot) cell(i, j int) mark {
	a, b := &s.nodes[i], &s.nodes[j]
	if a.index < 0 || b.index < 0 || !a.reports {
		if i == j {
			return markSelf
		}
		return markNone
	}
	switch st := s.matrix.At(a.index, b.index); {
	case st == matrix.Down:
		return markDown
	case i == j && (st == matrix.Up || st == matrix.Missing):
		return markSelf
	case st == matrix.Up:
		return markUp
	case st == matrix.Missing:
		return markMissing
	}
	return markUnknown
}

// leaseAt is the controller in a few words, and whether they are good news. now is the moment to which the Lease is compared.
func (s *Snapshot) leaseAt(now time.Time) (words string, ok bool) {
	if s.lease == nil {
		// Annotations and the nodes themselves need none; a report that nobody keeps is old news.
		return s.controller, s.controller != noController || s.doc.Source.Used != kube.SourceReport
	}
	if now.IsZero() {
		return "", true // saved: nobody knows how old
	}
	st := kube.LeaseAt(s.lease, now)
	switch {
	case st.Silent && st.Holder == "":
		return "no controller leads", false
	case st.Silent:
		return fmt.Sprintf("controller SILENT for %s", age(st.Age)), false
	}
	return "controller alive", true
}
