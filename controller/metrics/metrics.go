// SPDX-License-Identifier: Apache-2.0

// Package metrics has every metric of the controller and the names of their labels. No label has a
// value per node or pair of nodes: a cluster of 1,000 has as many series as one of 3.
package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "kubectl_scylla_"

// Label names.
const (
	namespace = "namespace"
	cluster   = "cluster"
	reason    = "reason"
	kind      = "kind"
	remote    = "remote"
	what      = "what"
	why       = "why"
	dc        = "datacenter"
	state     = "state"
	code      = "code"
	stage     = "stage"
)

// mostDatacenters limits how many datacenters of a cluster have their own series; all others share
// the label value others.
const (
	mostDatacenters = 32
	others          = "(others)"
)

// Heartbeats is the state of a cluster's heartbeats.
type Heartbeats struct {
	// Missing are members whose heartbeat is served but was not received, None members that serve
	// none.
	Missing, None int
	// Oldest is the longest time since a heartbeat last advanced, among those that ever did.
	Oldest time.Duration
	// Trailing is the largest known number of log entries of group 0 by which a member is behind.
	Trailing      int64
	TrailingKnown bool
}

// View is the state of a cluster's served view; the zero value means none.
type View struct {
	Served bool
	Epoch  int64
	// Age is the time since the content was last verified.
	Age time.Duration
	// Members is the number of members by datacenter and state.
	Members map[Place]int
}

// Place is a datacenter and a member state.
type Place struct{ Datacenter, State string }

// Metrics of one controller process.
type Metrics struct {
	nodes, nodesUp, replaceable, allUp, rowsStale, rowsMalformed, forced *prometheus.GaugeVec
	blockers                                                             *prometheus.GaugeVec
	remoteReachable                                                      *prometheus.GaugeVec
	permits, permitQueue                                                 *prometheus.GaugeVec
	reportWrites, permitChanges                                          *prometheus.CounterVec
	heartbeatAge, heartbeatsMissing, heartbeatsNone, trailing            *prometheus.GaugeVec
	heartbeatsMissed                                                     *prometheus.CounterVec
	viewAge, viewEpoch, members, initialized, split, replacements        *prometheus.GaugeVec
	credential, settings                                                 *prometheus.GaugeVec
	lastAssembly                                                         prometheus.Gauge
}

// New registers the metrics. A second registration with the same registry returns the same series.
//
//nolint:funlen // one metric after the other
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	var errs []error
	gauge := func(to **prometheus.GaugeVec, name, help string, labels ...string) {
		c := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
		errs = append(errs, register(r, c, to))
	}
	gauge(&m.nodes, "cluster_nodes", "Nodes of the cluster according to its status reports.", namespace, cluster)
	gauge(&m.nodesUp, "cluster_nodes_up", "Nodes that all reporting nodes see UP.", namespace, cluster)
	gauge(&m.replaceable, "cluster_nodes_replaceable",
		"Nodes that have been DOWN long enough to be replaced, as in condition NodeReplaceable.", namespace, cluster)
	gauge(&m.allUp, "cluster_all_up", "1 if all nodes see each other UP: a new node could join.", namespace, cluster)
	gauge(&m.rowsStale, "cluster_rows_stale", "Members whose reporter is not running.", namespace, cluster)
	gauge(&m.rowsMalformed, "cluster_rows_malformed", "Members whose annotation cannot be decoded.", namespace, cluster)
	gauge(&m.blockers, "cluster_blockers", "Reasons why a new node would have to wait.", namespace, cluster, reason)
	gauge(&m.forced, "members_forced", "Members whose Service makes the barrier open regardless of the reports.",
		namespace, cluster)
	gauge(&m.remoteReachable, "remote_reachable", "1 if the remote's reports were read recently.", namespace, cluster,
		remote)
	gauge(&m.permits, "cluster_permits",
		"Members with a permit: they may start ScyllaDB for the first time, or are joining.", namespace, cluster)
	gauge(&m.permitQueue, "cluster_permit_queue", "Members that wait for a permit.", namespace, cluster)
	errs = append(errs, register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "permits_total",
		Help: "Permits by kind (Form, Join, Replace) and outcome (Granted, Withdrawn, Used)."},
		[]string{namespace, cluster, kind, what}), &m.permitChanges))
	gauge(&m.heartbeatAge, "cluster_heartbeat_age_seconds",
		"Age of the oldest heartbeat: time since the last confirmed poll of ScyllaDB by that member's reporter.",
		namespace, cluster)
	gauge(&m.heartbeatsMissing, "cluster_heartbeats_missing", "Members whose heartbeat was missing at the last poll.",
		namespace, cluster)
	gauge(&m.heartbeatsNone, "cluster_members_without_heartbeat",
		"Members whose reporter serves no heartbeat: their status reports count while the Pod status shows a "+
			"running reporter.", namespace, cluster)
	errs = append(errs, register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "heartbeats_missed_total",
		Help: "Polls of members with a missing heartbeat, by reason: see docs/internals.md."},
		[]string{namespace, cluster, why}), &m.heartbeatsMissed))
	gauge(&m.trailing, "cluster_trailing_entries",
		"Entries of the log of group 0 by which the furthest member is behind the leader; absent while no heartbeat "+
			"contains it.", namespace, cluster)
	gauge(&m.viewAge, "cluster_view_age_seconds",
		"Time since the controller last confirmed the stored controller view; absent while none is stored.", namespace,
		cluster)
	gauge(&m.viewEpoch, "cluster_view_epoch",
		"Epoch of the stored controller view; it increases with each change of the leader.", namespace, cluster)
	gauge(&m.members, "cluster_members",
		"Members that have joined, by datacenter and by their state in the controller view: UP, DOWN, UNKNOWN.",
		namespace, cluster, dc, state)
	gauge(&m.initialized, "cluster_initialized", "1 once the cluster has had its first node; it never returns to 0.",
		namespace, cluster)
	gauge(&m.split, "cluster_split", "1 while nodes belong to two clusters of one name, as in condition SplitCluster.",
		namespace, cluster)
	gauge(&m.credential, "cluster_root_credential",
		"1 for the code of condition RootCredential; absent while no result is known.", namespace, cluster, code)
	gauge(&m.settings, "cluster_settings_pending", "First settings that are not applied.", namespace, cluster)
	gauge(&m.replacements, "replacements", "Replacements in progress, by stage.", namespace, cluster, stage)
	errs = append(errs, register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "report_writes_total", Help: "Reports written to the API server."}, []string{kind}),
		&m.reportWrites))
	errs = append(errs, register(r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "last_assembly_timestamp_seconds",
		Help: "Time at which reports were last assembled, even if nothing had to be written."}), &m.lastAssembly))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return m, nil
}

func register[C prometheus.Collector](r prometheus.Registerer, c C, to *C) error {
	err := r.Register(c)
	if are, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := are.ExistingCollector.(C); ok {
			*to = existing
			return nil
		}
	}
	*to = c
	return err
}

// Cluster is the state of one cluster.
type Cluster struct {
	Nodes, Up, RowsStale, RowsMalformed int
	AllUp                               bool
	Blockers                            map[string]int // by reason
	Remotes                             map[string]bool
}

// Set publishes a cluster.
func (m *Metrics) Set(ns, name string, c Cluster) {
	m.nodes.WithLabelValues(ns, name).Set(float64(c.Nodes))
	m.nodesUp.WithLabelValues(ns, name).Set(float64(c.Up))
	m.allUp.WithLabelValues(ns, name).Set(number(c.AllUp))
	m.rowsStale.WithLabelValues(ns, name).Set(float64(c.RowsStale))
	m.rowsMalformed.WithLabelValues(ns, name).Set(float64(c.RowsMalformed))
	m.blockers.DeletePartialMatch(prometheus.Labels{namespace: ns, cluster: name})
	for r, n := range c.Blockers {
		m.blockers.WithLabelValues(ns, name, r).Set(float64(n))
	}
	m.remoteReachable.DeletePartialMatch(prometheus.Labels{namespace: ns, cluster: name})
	for r, ok := range c.Remotes {
		m.remoteReachable.WithLabelValues(ns, name, r).Set(number(ok))
	}
}

// Forget removes a deleted cluster from the series.
func (m *Metrics) Forget(ns, name string) {
	for _, v := range []*prometheus.GaugeVec{m.nodes, m.nodesUp, m.replaceable, m.allUp, m.rowsStale, m.rowsMalformed,
		m.blockers, m.forced, m.remoteReachable,
		m.heartbeatAge, m.heartbeatsMissing, m.heartbeatsNone, m.trailing, m.permits, m.permitQueue,
		m.viewAge, m.viewEpoch, m.members, m.initialized, m.split, m.replacements, m.credential, m.settings} {
		v.DeletePartialMatch(prometheus.Labels{namespace: ns, cluster: name})
	}
	m.heartbeatsMissed.DeletePartialMatch(prometheus.Labels{namespace: ns, cluster: name})
	m.permitChanges.DeletePartialMatch(prometheus.Labels{namespace: ns, cluster: name})
}

// SetHeartbeats publishes the state of a cluster's heartbeats.
func (m *Metrics) SetHeartbeats(ns, name string, h Heartbeats) {
	m.heartbeatAge.WithLabelValues(ns, name).Set(h.Oldest.Seconds())
	m.heartbeatsMissing.WithLabelValues(ns, name).Set(float64(h.Missing))
	m.heartbeatsNone.WithLabelValues(ns, name).Set(float64(h.None))
	m.trailing.DeleteLabelValues(ns, name)
	if h.TrailingKnown {
		m.trailing.WithLabelValues(ns, name).Set(float64(h.Trailing))
	}
}

// HeartbeatMissed counts a poll of a member that got no valid heartbeat.
func (m *Metrics) HeartbeatMissed(ns, name, why string) {
	m.heartbeatsMissed.WithLabelValues(ns, name, why).Inc()
}

// SetPermits publishes how many members of a cluster have a permit, and how many wait for one.
func (m *Metrics) SetPermits(ns, name string, permits, queue int) {
	m.permits.WithLabelValues(ns, name).Set(float64(permits))
	m.permitQueue.WithLabelValues(ns, name).Set(float64(queue))
}

// Permit counts a permit that was granted, withdrawn or used.
func (m *Metrics) Permit(ns, name, kindName, became string) {
	m.permitChanges.WithLabelValues(ns, name, kindName, became).Inc()
}

// SetView publishes the state of a cluster's view after a poll.
func (m *Metrics) SetView(ns, name string, v View) {
	of := prometheus.Labels{namespace: ns, cluster: name}
	m.members.DeletePartialMatch(of)
	if !v.Served {
		m.viewAge.Delete(of)
		m.viewEpoch.Delete(of)
		return
	}
	m.viewAge.With(of).Set(v.Age.Seconds())
	m.viewEpoch.With(of).Set(float64(v.Epoch))
	known := map[string]bool{}
	for _, p := range slices.SortedFunc(maps.Keys(v.Members),
		func(a, b Place) int { return strings.Compare(a.Datacenter, b.Datacenter) }) {
		if !known[p.Datacenter] && len(known) < mostDatacenters {
			known[p.Datacenter] = true
		}
		called := others
		if known[p.Datacenter] {
			called = p.Datacenter
		}
		m.members.WithLabelValues(ns, name, called, p.State).Add(float64(v.Members[p]))
	}
}

// SetStanding publishes whether a cluster has had its first node, and whether its nodes belong to
// two clusters.
func (m *Metrics) SetStanding(ns, name string, initialized, split bool) {
	m.initialized.WithLabelValues(ns, name).Set(number(initialized))
	m.split.WithLabelValues(ns, name).Set(number(split))
}

// SetCredential publishes the code of the root credential (empty: none) and the number of first
// settings that are not applied.
func (m *Metrics) SetCredential(ns, name, is string, pending int) {
	m.credential.DeletePartialMatch(prometheus.Labels{namespace: ns, cluster: name})
	if is != "" {
		m.credential.WithLabelValues(ns, name, is).Set(1)
	}
	m.settings.WithLabelValues(ns, name).Set(float64(pending))
}

// SetReplacements publishes the number of replacements of a cluster per stage.
func (m *Metrics) SetReplacements(ns, name string, stages map[string]int) {
	m.replacements.DeletePartialMatch(prometheus.Labels{namespace: ns, cluster: name})
	for s, n := range stages {
		m.replacements.WithLabelValues(ns, name, s).Set(float64(n))
	}
}

// SetReplaceable publishes how many nodes of a cluster may be replaced.
func (m *Metrics) SetReplaceable(ns, name string, n int) {
	m.replaceable.WithLabelValues(ns, name).Set(float64(n))
}

// SetForced publishes how many members of a cluster are forced to start.
func (m *Metrics) SetForced(ns, name string, n int) {
	m.forced.WithLabelValues(ns, name).Set(float64(n))
}

// Wrote counts a report written.
func (m *Metrics) Wrote(kindName string) { m.reportWrites.WithLabelValues(kindName).Inc() }

// Assembled publishes the time of the last assembly in Unix seconds.
func (m *Metrics) Assembled(unix int64) { m.lastAssembly.Set(float64(unix)) }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
