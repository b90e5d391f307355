// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Cluster is everything known of one ScyllaDB cluster at one moment. It is made by New, never changes, and may be shared between goroutines.
// Objects are sorted by name; the caller must not change them.
type Cluster struct {
	Objects

	// TakenAt is when the objects were read; zero for saved objects whose age is not known.
	TakenAt time.Time
	// Source is never SourceAuto: it is where Rows come from. SourceReason says what was found.
	Source       Source
	SourceReason code.Message
	// OverrideRef is Objects.Override. StatusReport is then that object, or nil when it could not be read.
	OverrideRef string
	// Operator is true when the Scylla Operator owns the cluster's objects.
	Operator bool

	want        Source
	rowless     []hostid.ID // those whose rows are in no report
	ix          *index
	annotations map[string]decoded // by Pod name; Pods without annotation are left out
	rows        []matrix.Row
	behind      []behindReport // members whose Pods say something else than the report
	all         *matrix.Matrix
	membersOf   func() []Member
	peersOf     func() []bootstrap.Peer
	applicants  func() []Applicant
	health      func() Health
	elsewhere   func() code.Message // otherDatacenter, once
	unrecorded  func() []string     // withoutHostID, once: each of many strangers asks
}

// New makes the Cluster of what was read at the time now, zero for saved objects whose age is not known. Rows come from the source, which
// SourceAuto and the empty text leave to what there is.
func New(o Objects, source Source, now time.Time) *Cluster {
	c := &Cluster{Objects: o.own(), TakenAt: now}
	c.OverrideRef = c.Override()
	c.Operator = c.OfOperator()
	c.annotations = c.Decoder.all(c.Pods)
	c.ix = c.makeIndex()
	return c.judge(source)
}

// judge makes rows, matrix and members by one source.
func (c *Cluster) judge(want Source) *Cluster {
	c.want = want
	c.Source, c.SourceReason = c.choose(want)
	c.rows = c.makeRows()
	c.all = c.makeMatrix()
	c.membersOf = sync.OnceValue(c.makeMembers)
	c.peersOf = sync.OnceValue(c.makePeers)
	c.applicants = sync.OnceValue(c.makeApplicants)
	c.health = sync.OnceValue(func() Health { return c.HealthOf(c.all) })
	c.elsewhere = sync.OnceValue(c.otherDatacenter)
	c.unrecorded = sync.OnceValue(c.withoutHostID)
	return c
}

// Using is the same Cluster with rows from another source. Error: SourceLive, where no node was asked.
func (c *Cluster) Using(source Source) (*Cluster, error) {
	if source == SourceLive && c.Live == nil {
		return nil, errors.New("source live asks ScyllaDB itself, which saved objects cannot answer; use report or annotation")
	}
	if source == c.want {
		return c, nil
	}
	other := *c
	return other.judge(source), nil
}

// WithLive is the same Cluster with what its nodes said themselves, and what could not be asked. Rows come from there where SourceLive was asked
// for, and with SourceAuto, whose caller asks the nodes where nothing else has a row. Where SourceAuto finds that no node may be asked for want of
// the right, the objects speak as before, and the missing right is among the Problems.
func (c *Cluster) WithLive(live map[string]*api.NodeStatusReport, facts map[string]LiveFacts, problems []Problem) *Cluster {
	other := *c
	other.Live, other.Facts = live, facts
	other.Problems = SortProblems(append(slices.Clip(other.Problems), problems...))
	if auto(c.want) && other.answered() == 0 && other.mayNotAsk() {
		other.Live, other.Facts = nil, nil
	}
	return other.judge(c.want)
}

// auto is true where the source is left to what there is.
func auto(want Source) bool { return want == SourceAuto || want == "" }

// Rows are what the cluster's nodes say, by Source, in the order datacenter, rack, ordinal, host ID. The caller must not change them.
func (c *Cluster) Rows() []matrix.Row { return c.rows }

// Matrix is who sees whom, without any member left out.
func (c *Cluster) Matrix() *matrix.Matrix { return c.all }

// Members joins what Kubernetes and the peers know, in a stable order: datacenter, rack, ordinal, host ID. It has every Service and
// every Pod, every ordinal that a StatefulSet wants and that has neither yet, and every host ID that only rows mention. The caller must not
// change them.
func (c *Cluster) Members() []Member { return c.membersOf() }
