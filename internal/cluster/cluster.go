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

// Cluster is everything known about one ScyllaDB cluster at one moment. New creates it; it never
// changes and is safe for concurrent use. Objects are sorted by name; the caller must not change
// them.
type Cluster struct {
	Objects

	// TakenAt is when the objects were read. For saved objects it is the newest time in them, zero
	// if they have none.
	TakenAt time.Time
	// Source is the source of Rows, never SourceAuto.
	Source Source
	// OverrideRef is Objects.Override. StatusReport is then that object, or nil if it could not be
	// read.
	OverrideRef string
	// Operator is true if the Scylla Operator owns the cluster's objects.
	Operator bool

	want        Source
	formHolder  string      // WithFormHolder
	rowless     []hostid.ID // host IDs whose rows are in no report
	ix          *index
	annotations map[string]decoded // by Pod name; without Pods that have no annotation
	carried     func() *reading    // rows of the annotations, computed once
	rows        []matrix.Row
	clocksOff   []ClockOff
	behind      []behindReport // members whose Pod annotation differs from the report
	all         *matrix.Matrix
	derived     *derived
}

// New returns the Cluster of the objects read at the time now; zero for saved objects of unknown
// age. With SourceAuto or an empty source, the objects decide the source.
func New(o Objects, source Source, now time.Time) *Cluster {
	c := &Cluster{Objects: o.own(), TakenAt: now}
	c.OverrideRef = c.Override()
	c.Operator = c.OfOperator()
	c.annotations = c.Decoder.all(c.Pods)
	c.ix = c.makeIndex()
	c.carried = sync.OnceValue(func() *reading { return c.read(c.annotation) })
	return c.judge(source)
}

// judge computes rows and matrix from one source.
func (c *Cluster) judge(want Source) *Cluster {
	if c.want, c.Source = want, want; auto(want) {
		c.Source, _ = c.choose(want)
	}
	c.rows = c.makeRows()
	c.all = matrix.New(c.rows, c.options(c.names()))
	c.Old = c.Old || len(c.Disputes()) > 0
	return c.later()
}

// derived has the results that are computed on first use, each once.
type derived struct {
	of         *Cluster
	members    once[[]Member]
	serviced   once[[]*Member]
	named      once[map[string]*Member]
	applicants once[[]*Member]
	elsewhere  once[words.Message] // of otherDatacenter
	unrecorded once[[]string]      // of withoutHostID
	unknown    once[[]hostid.ID]
	sharedIDs  once[map[hostid.ID][]string]
	ours       once[map[hostid.ID]bool] // of ourHostIDs
}

type once[T any] struct {
	sync.Once
	value T
}

func (o *once[T]) get(c *Cluster, compute func(*Cluster) T) T {
	o.Do(func() { o.value = compute(c) })
	return o.value
}

func (d *derived) servicedOnce() []*Member { return d.serviced.get(d.of, (*Cluster).makeServiced) }

func (d *derived) oursOnce() map[hostid.ID]bool { return d.ours.get(d.of, (*Cluster).ourHostIDs) }

func (d *derived) sharedIDsOnce() map[hostid.ID][]string {
	return d.sharedIDs.get(d.of, (*Cluster).makeSharedIDs)
}

// later forgets the results that are computed on first use.
func (c *Cluster) later() *Cluster {
	c.derived = &derived{of: c}
	return c
}

// Using returns the same Cluster with rows from another source. It returns an error for SourceLive
// if no node was queried.
func (c *Cluster) Using(source Source) (*Cluster, error) {
	if source == SourceLive && c.Live == nil {
		return nil,
			errors.New("source live queries ScyllaDB, and saved objects contain no answer")
	}
	if source == c.want {
		return c, nil
	}
	other := *c
	return other.judge(source), nil
}

// WithLive returns the same Cluster with the nodes' own answers and the problems of the queries.
// Rows come from the answers with SourceLive. They also do with SourceAuto: its caller queries the
// nodes only if no other source has a row. If SourceAuto lacks the permission to query, rows come
// from the objects and the missing permission is among Problems.
func (c *Cluster) WithLive(live map[string]*api.NodeStatusReport, facts map[string]LiveFacts,
	problems []Problem) *Cluster {
	other := *c
	other.Live, other.Facts = live, facts
	other.Problems = SortProblems(append(slices.Clip(other.Problems), problems...))
	if auto(c.want) && other.answered() == 0 && other.mayNotAsk() {
		other.Live, other.Facts = nil, nil
	}
	return other.judge(c.want)
}

// WithElsewhere returns the same Cluster with the Services of other namespaces and clusters that
// record its unknown host IDs, and the volumes of its namespace: see Objects.Elsewhere and Claimed.
func (c *Cluster) WithElsewhere(services map[hostid.ID]string, claimed map[string]string) *Cluster {
	other := *c
	other.Elsewhere, other.Claimed = services, claimed
	return other.judge(c.want)
}

// auto reports whether the objects decide the source.
func auto(want Source) bool { return want == SourceAuto || want == "" }

// Rows returns the rows of the cluster's nodes, from Source, sorted by datacenter, rack, ordinal,
// host ID. The caller must not change them.
func (c *Cluster) Rows() []matrix.Row { return c.rows }

// Matrix returns the matrix of all rows, with all members.
func (c *Cluster) Matrix() *matrix.Matrix { return c.all }

// Members joins the data of Kubernetes and of the peers, sorted by datacenter, rack, ordinal, host
// ID. It has every Service and Pod, every ordinal that a StatefulSet wants and that has neither
// yet, and every host ID that only rows mention. The caller must not change them.
func (c *Cluster) Members() []Member {
	return c.derived.members.get(c.derived.of, (*Cluster).makeMembers)
}

// Serviced returns the members that have a Service, by name. The caller may change the list.
func (c *Cluster) Serviced() []*Member { return slices.Clone(c.derived.servicedOnce()) }

// MayWait returns the names of the members that have a Service and that a barrier may block.
func (c *Cluster) MayWait() []string {
	var out []string
	for _, m := range c.derived.servicedOnce() {
		if m.MayWait() {
			out = append(out, m.Ref.Member)
		}
	}
	return out
}

// Member returns the member of that name: with a Service, with a Pod, or in the ordinals of a
// StatefulSet. Nil if there is none.
func (c *Cluster) Member(name string) *Member {
	return c.derived.named.get(c.derived.of, (*Cluster).makeNamed)[name]
}

func (c *Cluster) makeNamed() map[string]*Member {
	members := c.Members()
	out := make(map[string]*Member, len(members))
	for i := range members {
		m := &members[i]
		if was := out[m.Ref.Member]; was == nil || m.Service != nil || was.Service == nil && m.Pod != nil {
			out[m.Ref.Member] = m
		}
	}
	delete(out, "") // known by a host ID only
	return out
}

// MemberOf returns the member of a node. A node that belongs elsewhere, or whose member now has
// another node, is returned as a separate member.
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

// NoService returns the error for a member without a Service in this cluster.
func (c *Cluster) NoService(member string) *NotFoundError {
	e := &NotFoundError{What: "member", Name: member, In: "cluster " + c.Key.String(), Known: len(c.ix.refs)}
	if _, ok := c.ix.refs[member]; ok {
		e.Cure = "its Pod exists but its member Service does not; the controller creates the Service: check the " +
			"controller log"
		return e
	}
	e.Nearest, e.Cure = Nearest(member, c.ix.names()), "the status lists the members"
	return e
}
