// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Steps returns the steps of a decommission in their order. Those that cannot be undone have
// commands only if the results prove that it is safe. The order for a datacenter is that of
// ScyllaDB's documentation (decommissioning-data-center.rst, 2025.1 to 2026.4).
func Steps(in *Now, results []Result) []words.Message {
	if in.For != ForDecommission || len(in.Stopped) == 0 {
		return nil
	}
	s := &safety{checker: &checker{}, Now: in}
	l, worst := s.plan(), Worst(results)
	safe := worst == OK || worst == Warning
	var out []words.Message
	if in.Datacenter != "" {
		out = s.emptying(l)
	}
	if !safe && in.Datacenter == "" {
		return nil // the results have the next step
	}
	out = append(out, s.leaving(l, safe)...)
	if in.Datacenter != "" {
		objects := "StatefulSets, Services and PVCs"
		if in.Cluster.Operator {
			objects = "racks in the Scylla Operator's object, or that object"
		}
		out = append(out, words.New(words.LeaveVerify, "datacenter", in.Datacenter, "objects", objects).Do(
			words.Scylla(in.Cluster.Namespace, "status")))
	}
	return out
}

// emptying returns the steps after which a datacenter has no data of its own.
func (s *safety) emptying(l *maintenance.Leave) []words.Message {
	var vnodes, tablets, all []string
	for i := range s.Keyspaces {
		k := &s.Keyspaces[i]
		switch replicas := l.Replicas(k, s.Datacenter); {
		case replicas == 0 || k.Everywhere() || k.Own() && !k.Tablets:
			continue
		case k.Tablets && s.repairsTablets():
			tablets = append(tablets, k.Name)
		default:
			vnodes = append(vnodes, k.Name)
		}
		all = append(all, k.Name)
	}
	if len(all) == 0 && s.DataErr != "" {
		all = []string{"every keyspace with replicas there"}
	}
	first, unknown := l.Members[0].Member, s.DataErr != ""
	nodetool := func(args ...string) words.Command {
		return append(append(words.Scylla(s.Cluster.Namespace, "nodetool", first), "--"), args...)
	}
	out := []words.Message{words.New(words.LeaveClients, "datacenter", s.Datacenter)}
	if len(vnodes) > 0 || unknown {
		out = append(out, words.New(words.LeaveRepair, "datacenter", s.Datacenter, "keyspaces", vnodes).Do(
			nodetool("repair", "-pr")))
	}
	if len(tablets) > 0 || unknown && s.repairsTablets() {
		out = append(out, words.New(words.LeaveRepairTablets, "keyspaces", tablets).Do(nodetool("cluster", "repair")))
	}
	if len(all) > 0 {
		out = append(out,
			words.New(words.LeaveAlter, "datacenter", s.Datacenter, "keyspaces", all).Do(s.describe(l, all)...),
			words.New(words.LeaveCheck).Do(s.again("--datacenter="+s.Datacenter)))
	}
	return out
}

// repairsTablets reports whether `nodetool cluster repair` exists: 2025.1 and later.
func (s *safety) repairsTablets() bool {
	for _, m := range s.Cluster.Members() {
		if v, _, err := release.Effective(m.Version, m.Image); err == nil {
			return v.SupportsNodeOperations() == release.Yes && v.Enterprise()
		}
	}
	return true
}

// leaving returns the steps of the first member, and the order of the others.
func (s *safety) leaving(l *maintenance.Leave, safe bool) []words.Message {
	m, ns := &l.Members[0], s.Cluster.Namespace
	do := func(message words.Message, c words.Command) words.Message {
		if safe {
			return message.Do(c)
		}
		return message
	}
	status := words.Scylla(ns, "status")
	var out []words.Message
	wanted := 0
	if m.StatefulSet != nil {
		_, n := cluster.Ordinals(m.StatefulSet)
		wanted = n - 1
	}
	if m.OfOperator() {
		out = append(out, words.New(words.LeaveMembers, "rack", m.Rack, "wanted", wanted, "node", m.Name()),
			words.New(words.LeaveGone, "node", m.Name()).Do(status))
	} else {
		out = append(out,
			do(words.New(words.LeaveDecommission, "node", m.Name()),
				append(words.Scylla(ns, "nodetool", m.Member), "--", "decommission")),
			words.New(words.LeaveEnded, "node", m.Name()).Do(words.Scylla(ns, "describe", m.Member)))
		if m.StatefulSet != nil {
			set := m.StatefulSet.Name
			out = append(out,
				do(words.New(words.LeaveScaleDown, "statefulSet", set, "wanted", wanted, "node", m.Name()),
					words.Kubectl(ns, "scale", "statefulset", set, "--replicas="+strconv.Itoa(wanted))))
		}
	}
	var others []string
	for i := range l.Members[1:] {
		others = append(others, l.Members[i+1].Name())
	}
	if len(others) > 0 {
		out = append(out, words.New(words.LeaveNext, "nodes", others).Do(s.again(l.Members[1].Member)))
	}
	return out
}
