// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Cluster is everything known of one ScyllaDB cluster at one moment. It is made by New, never changes, and may be shared between goroutines.
// Objects are sorted by name; the caller must not change them.
type Cluster struct {
	Objects

	// TakenAt is when the objects were read, of saved objects the newest time in them; zero where they have none.
	TakenAt time.Time
	// Source is the source of Rows, never SourceAuto. SourceReason is why it was chosen.
	Source       Source
	SourceReason words.Message
	// OverrideRef is Objects.Override. StatusReport is then that object, or nil when it could not be read.
	OverrideRef string
	// Operator is true when the Scylla Operator owns the cluster's objects.
	Operator bool

	want        Source
	rowless     []hostid.ID // host IDs whose rows are in no report
	ix          *index
	annotations map[string]decoded // by Pod name; Pods without annotation are left out
	carried     func() *reading    // of the annotations, once
	rows        []matrix.Row
	behind      []behindReport // members whose Pods' annotations differ from the report
	all         *matrix.Matrix
	membersOf   func() []Member
	serviced    func() []*Member
	named       func() map[string]*Member
	applicants  func() []*Member
	elsewhere   func() words.Message // otherDatacenter, once
	unrecorded  func() []string      // withoutHostID, once: it is needed for each stranger
	unknown     func() []hostid.ID
	ours        func() map[hostid.ID]bool // ourHostIDs, once: it is needed for each stranger
}

// New makes the Cluster of the objects read at the time now, zero for saved objects whose age is not known. SourceAuto and the empty text choose the source by the objects.
func New(o Objects, source Source, now time.Time) *Cluster {
	c := &Cluster{Objects: o.own(), TakenAt: now}
	c.OverrideRef = c.Override()
	c.Operator = c.OfOperator()
	c.annotations = c.Decoder.all(c.Pods)
	c.ix = c.makeIndex()
	c.carried = sync.OnceValue(func() *reading { return c.read(c.annotation) })
	return c.judge(source)
}

// judge makes rows, matrix and members by one source.
func (c *Cluster) judge(want Source) *Cluster {
	c.want = want
	c.Source, c.SourceReason = c.choose(want)
	c.rows = c.makeRows()
	c.all = matrix.New(c.rows, c.options(c.names()))
	return c.later()
}

// later makes what is worked out when it is asked for.
func (c *Cluster) later() *Cluster {
	c.membersOf = sync.OnceValue(c.makeMembers)
	c.serviced = sync.OnceValue(c.makeServiced)
	c.named = sync.OnceValue(c.makeNamed)
	c.applicants = sync.OnceValue(c.makeApplicants)
	c.elsewhere = sync.OnceValue(c.otherDatacenter)
	c.unrecorded = sync.OnceValue(c.withoutHostID)
	c.unknown = sync.OnceValue(c.makeUnknown)
	c.ours = sync.OnceValue(c.ourHostIDs)
	return c
}

// Using is the same Cluster with rows from another source. Error: SourceLive, where no node was asked.
func (c *Cluster) Using(source Source) (*Cluster, error) {
	if source == SourceLive && c.Live == nil {
		return nil, errors.New("source live queries ScyllaDB, and saved objects contain no answer; use report or annotation")
	}
	if source == c.want {
		return c, nil
	}
	other := *c
	return other.judge(source), nil
}

// WithLive is the same Cluster with its nodes' own answers, and the problems of asking. Rows come from the answers with SourceLive, and with SourceAuto, whose caller asks the
// nodes where no other source has a row. Where SourceAuto finds that the right to ask is missing, rows come from the objects as before, and the missing right is among the
// Problems.
func (c *Cluster) WithLive(live map[string]*api.NodeStatusReport, facts map[string]LiveFacts, problems []Problem) *Cluster {
	other := *c
	other.Live, other.Facts = live, facts
	other.Problems = SortProblems(append(slices.Clip(other.Problems), problems...))
	if auto(c.want) && other.answered() == 0 && other.mayNotAsk() {
		other.Live, other.Facts = nil, nil
	}
	return other.judge(c.want)
}

// WithElsewhere is the same Cluster with the Services of other namespaces and clusters that record its unknown host IDs: see Objects.Elsewhere.
func (c *Cluster) WithElsewhere(services map[hostid.ID]string) *Cluster {
	other := *c
	other.Elsewhere = services
	return other.judge(c.want)
}

// auto is true where the objects decide the source.
func auto(want Source) bool { return want == SourceAuto || want == "" }

// Rows are the rows of the cluster's nodes, by Source, in the order datacenter, rack, ordinal, host ID. The caller must not change them.
func (c *Cluster) Rows() []matrix.Row { return c.rows }

// Matrix is the matrix of all rows, without any member left out.
func (c *Cluster) Matrix() *matrix.Matrix { return c.all }

// Members joins the data of Kubernetes and of the peers, in a stable order: datacenter, rack, ordinal, host ID. It has every Service and every Pod, every ordinal that a
// StatefulSet wants and that has neither yet, and every host ID that only rows mention. The caller must not change them.
func (c *Cluster) Members() []Member { return c.membersOf() }

// Serviced are the members that have a Service, by name. The caller may change the list.
func (c *Cluster) Serviced() []*Member { return slices.Clone(c.serviced()) }

// MayWait names the members that have a Service and may be kept from starting.
func (c *Cluster) MayWait() []string {
	var out []string
	for _, m := range c.serviced() {
		if m.MayWait() {
			out = append(out, m.Ref.Member)
		}
	}
	return out
}

// Member of that name, which has a Service or a Pod, or is wanted by a StatefulSet; nil where there is none.
func (c *Cluster) Member(name string) *Member { return c.named()[name] }

func (c *Cluster) makeNamed() map[string]*Member {
	members := c.Members()
	out := make(map[string]*Member, len(members))
	for i := range members {
		m := &members[i]
		if was := out[m.Ref.Member]; was == nil || m.Service != nil || was.Service == nil && m.Pod != nil {
			out[m.Ref.Member] = m
		}
	}
	delete(out, "") // only known by a host ID
	return out
}

// MemberOf is the member whose node it is. A node of elsewhere, or of a member that now has another node, is a member of its own.
func (c *Cluster) MemberOf(n *matrix.Node) *Member {
	switch m := c.Member(n.Member); {
	case m == nil:
		return &Member{Ref: n.Ref, Node: n, c: c}
	case m.Node != n:
		other := *m
		other.Ref, other.Node = n.Ref, n
		return &other
	default:
		return m
	}
}

// NoService is the error of a member that has no Service here.
func (c *Cluster) NoService(member string) *NotFoundError {
	e := &NotFoundError{What: "member", Name: member, In: "cluster " + c.Key.String(), Known: len(c.ix.refs)}
	if _, ok := c.ix.refs[member]; ok {
		e.Cure = "its Pod exists but its member Service does not; the controller creates the Service: check the controller log"
		return e
	}
	e.Nearest, e.Cure = Nearest(member, c.ix.names()), "the status lists the members"
	return e
}
