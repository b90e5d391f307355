// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// fewVoters is the largest number of nodes that have no majority once one of them is DOWN.
const fewVoters = 2

// leave: whether the nodes that remain can take the data, and Kubernetes can remove the Pods.
func (s *safety) leave() {
	l := s.plan()
	s.ordinals(l)
	s.group0(l)
	s.racksLeft(l)
	s.places(l)
	s.volumes(l)
}

// plan returns the decommission. Its members are sorted as they have to leave: the highest ordinal
// of each StatefulSet first.
func (s *safety) plan() *maintenance.Leave {
	members := slices.Clone(s.Stopped)
	slices.SortStableFunc(members, func(a, b cluster.Member) int {
		return cmp.Or(cmp.Compare(a.Datacenter, b.Datacenter), cmp.Compare(a.Rack, b.Rack),
			cmp.Compare(ordinal(&b), ordinal(&a)))
	})
	return maintenance.LeaveOf(s.Cluster, members)
}

func ordinal(m *cluster.Member) int32 {
	if m.Ordinal == nil {
		return -1
	}
	return *m.Ordinal
}

// joins: new nodes, and decommissions that are requested and that ScyllaDB does not list.
func (s *safety) joins(open []api.NodeOperation) {
	all := s.Cluster.Decommissions()
	for _, m := range s.Cluster.Members() {
		listed := slices.ContainsFunc(open, func(op api.NodeOperation) bool { return op.HostID == m.HostID })
		switch d := all[m.Member]; {
		case listed && m.HostID != "":
		case m.State == cluster.MemberNewcomer:
			s.add("operations", s.member(m.Ref), Failed, words.New(words.JoinNow, "node", m.Name()), s.waitNow())
		case m.Member != "" && (d.Requested || d.Running) && !d.Ended:
			s.add("operations", s.member(m.Ref), Failed, words.New(words.DecommissionNow, "node", m.Name()),
				s.waitNow())
		}
	}
}

func (s *safety) member(m matrix.Ref) string { return "member " + s.Cluster.Namespace + "/" + m.Member }

// ordinals: Kubernetes removes the highest ordinals of a StatefulSet only.
func (s *safety) ordinals(l *maintenance.Leave) {
	from := len(s.results)
	for i := range l.Members {
		m := &l.Members[i]
		if m.StatefulSet == nil {
			s.add("ordinal", s.member(m.Ref), Unknown, words.New(words.SetUnknownNow))
			continue
		}
		names := cluster.MemberNames(m.StatefulSet)
		at := len(names) - 1
		for at >= 0 && slices.ContainsFunc(l.Members, func(o cluster.Member) bool { return o.Member == names[at] }) {
			at--
		}
		if at > slices.Index(names, m.Member) && slices.Contains(names, m.Member) {
			s.add("ordinal", s.member(m.Ref), Failed,
				words.New(words.NotHighest, "statefulSet", m.StatefulSet.Name, "highest", names[at]),
				words.New(words.StepHighestFirst, "highest", names[at]).Do(s.again(names[at])))
		}
	}
	s.fine(from, "ordinal", s.subject, words.New(words.HighestGoes))
}

// again returns the check of this action for other members.
func (s *safety) again(members ...string) words.Command {
	return append(words.Scylla(s.Cluster.Namespace, "check", "--for="+ForDecommission), members...)
}

// group0: the majority after the decommission, and the coordinator that runs it.
func (s *safety) group0(l *maintenance.Leave) {
	from, left := len(s.results), len(l.Left)
	switch {
	case left == 0:
		s.add("group0", s.subject, Failed, words.New(words.NoNodeLeft))
	case left <= fewVoters:
		s.add("group0", s.subject, Warning, words.New(words.FewVotersLeft, "left", left))
	}
	if s.Cluster.Matrix().Coordinator().HostID == "" && s.raft() {
		s.add("group0", s.subject, Unknown, words.New(words.NoCoordinator),
			words.New(words.StepSeeCoordinator).Do(words.Scylla(s.Cluster.Namespace, "status", "--source=live")))
	}
	s.fine(from, "group0", s.subject, words.New(words.MajorityLeft, "left", left))
}

// raft reports whether a node may have its topology managed by Raft.
func (s *safety) raft() bool {
	return slices.ContainsFunc(s.Cluster.Members(), func(m cluster.Member) bool {
		v, _, err := release.Effective(m.Version, m.Image)
		return err != nil || v.KnowsTopologyByRaft() != release.No
	})
}

func (s *safety) racksLeft(l *maintenance.Leave) {
	from := len(s.results)
	for _, r := range l.EmptyRacks() {
		s.add("racks", s.subject, Warning, words.New(words.LastOfRack, "rack", r.Rack, "datacenter", r.Datacenter))
	}
	s.fine(from, "racks", s.subject, words.New(words.RacksLeft))
}

// places: the replicas that have no place on the nodes that remain.
func (s *safety) places(l *maintenance.Leave) {
	if s.DataErr != "" {
		s.add("data", s.subject, Unknown, words.New(words.PlacesUnknown, "why", s.DataErr),
			words.New(words.StepLookAtReplication).Do(s.describe(l, nil)...))
		return
	}
	from := len(s.results)
	for _, m := range l.Misfits(s.Keyspaces) {
		show := s.describe(l, m.Keyspaces)
		switch dc, rack := m.Place.Datacenter, m.Place.Rack; m.Cause {
		case words.RFAboveLeft:
			s.add("data", s.subject, Failed, words.New(words.RFAboveLeft, "keyspaces", m.Keyspaces, "datacenter", dc,
				"replicas", m.Replicas, "left", m.Left),
				words.New(words.StepAddOrLower, "keyspaces", m.Keyspaces, "datacenter", dc).Do(show...))
		case words.RackWithoutNode:
			s.add("data", s.subject, Failed,
				words.New(words.RackWithoutNode, "keyspaces", m.Keyspaces, "datacenter", dc, "rack", rack),
				words.New(words.StepAddOrLower, "keyspaces", m.Keyspaces, "datacenter", dc, "rack", rack).Do(show...))
		case words.ReplicasWithoutNode:
			s.add("data", s.subject, Failed,
				words.New(words.ReplicasWithoutNode, "keyspaces", m.Keyspaces, "datacenter", dc),
				words.New(words.StepAlterFirst, "keyspaces", m.Keyspaces).Do(show...))
		case words.RackMaybeNeeded:
			s.add("data", s.subject, Unknown,
				words.New(words.RackMaybeNeeded, "keyspaces", m.Keyspaces, "datacenter", dc, "rack", rack),
				words.New(words.StepLookAtReplication).Do(show...))
		case words.RFOfOwn:
			s.add("data", s.subject, Warning, words.New(words.RFOfOwn, "keyspaces", m.Keyspaces, "datacenter", dc,
				"replicas", m.Replicas, "left", m.Left))
		}
	}
	s.fine(from, "data", s.subject, words.New(words.PlacesLeft, "keyspaces", len(s.Keyspaces)))
}

// describe returns the command that shows the replication of keyspaces; of all for none.
func (s *safety) describe(l *maintenance.Leave, keyspaces []string) []words.Command {
	cql := "SELECT keyspace_name, replication FROM system_schema.keyspaces"
	if len(keyspaces) == 1 {
		cql = "DESCRIBE KEYSPACE " + keyspaces[0]
	}
	var members []string
	for _, m := range l.Members {
		members = append(members, m.Member)
	}
	for _, n := range l.Left {
		members = append(members, n.Member)
	}
	return s.exec(members, "cqlsh", "-e", cql)
}

// exec returns a command in the first of members where ScyllaDB runs; none if it runs nowhere.
func (s *safety) exec(members []string, args ...string) []words.Command {
	for _, name := range members {
		container := s.Cluster.Containers().Container(name)
		if pod := s.Cluster.Pod(name); pod != nil && cluster.ContainerRuns(pod, container) {
			command := append(words.Kubectl(s.Cluster.Namespace, "exec", name), "-c", container, "--")
			return []words.Command{append(command, args...)}
		}
	}
	return nil
}

// volumes: whether the data fits on the other nodes of the rack; of the datacenter, if the rack has
// none.
func (s *safety) volumes(l *maintenance.Leave) {
	from, done := len(s.results), map[[2]string]bool{}
	for i := range l.Members {
		m := &l.Members[i]
		inDatacenter, inRack := l.In(m.Datacenter, m.Rack)
		if inDatacenter == 0 {
			continue // places finds that the data has no place at all
		}
		rack := m.Rack
		if inRack == 0 {
			rack = ""
		}
		if at := [2]string{m.Datacenter, rack}; !done[at] {
			done[at] = true
			s.volumesOf(l, m, rack)
		}
	}
	s.fine(from, "disk", s.subject, words.New(words.NothingToMove))
}

// volumesOf judges the volumes of one datacenter, or of one rack of it.
func (s *safety) volumesOf(l *maintenance.Leave, first *cluster.Member, rack string) {
	var used, size int64
	var leaving, left, unknown []string
	for _, m := range s.Cluster.Members() {
		leaves := l.Leaves(m.HostID) && m.HostID != ""
		stays := slices.ContainsFunc(l.Left, func(n matrix.Ref) bool { return n.HostID == m.HostID })
		if m.Datacenter != first.Datacenter || rack != "" && m.Rack != rack || !leaves && !stays {
			continue
		}
		u, n, known := m.Volume()
		if !known {
			unknown = append(unknown, m.Name())
		}
		used += u
		if leaves {
			leaving = append(leaving, m.Name())
			continue
		}
		size += n
		left = append(left, m.Name())
	}
	subject := "datacenter " + first.Datacenter
	if rack != "" {
		subject = "rack " + rack + " of " + subject
	}
	look := s.exec(slices.Concat(left, leaving), "df", "-h", "/var/lib/scylla")
	if len(unknown) > 0 {
		s.add("disk", subject, Unknown,
			words.New(words.VolumesUnknown, "node", leaving, "nodes", left, "unknown", unknown),
			words.New(words.StepLookAtDisk).Do(look...))
		return
	}
	percent := int(used * 100 / max(1, size))
	if percent < cluster.DiskFull {
		s.add("disk", subject, OK, words.New(words.VolumesFit, "nodes", left, "percent", percent))
		return
	}
	s.add("disk", subject, Failed, words.New(words.VolumesTooFull, "nodes", left, "percent", percent),
		words.New(words.StepMoreSpace, "rack", rack, "datacenter", first.Datacenter).Do(look...))
}
