// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

//nolint:funlen // one pass over the Services, and then one over Pods and host IDs without a Service
func (c *Cluster) makeMembers() []Member {
	nodes, rows := c.all.Nodes(), c.rows
	byMember := make(map[string]*matrix.Row, len(rows))
	nodeOf := func(id hostid.ID) *matrix.Node {
		if at, ok := c.all.Index(id); ok && id != "" {
			return &nodes[at]
		}
		return nil
	}
	for i := range rows {
		if rows[i].Reporter.Member != "" {
			byMember[rows[i].Reporter.Member] = &rows[i]
		}
	}
	out := make([]Member, 0, max(len(c.ix.refs), len(nodes)))
	shown := make(map[hostid.ID]bool, len(nodes))
	for _, name := range c.ix.names() {
		mb := c.member(name, byMember[name])
		mb.State, mb.Detail = c.memberState(&mb, nodeOf(mb.HostID))
		if mb.HostID != "" {
			shown[mb.HostID] = true
		}
		out = append(out, mb)
	}
	wanted := c.wantedMembers()
	wantedAt := make(map[place]*Member, len(wanted))
	for i := range wanted {
		wantedAt[placeKey(wanted[i].Ref)] = &wanted[i]
	}
	for i := range nodes {
		n := &nodes[i]
		if n.HostID == "" || shown[n.HostID] {
			continue
		}
		shown[n.HostID] = true
		mb := c.peerMember(n)
		if w := wantedAt[placeKey(n.Ref)]; w != nil && n.Row != nil && w.HostID == "" {
			// Its row is in the report although its Service and Pod are missing: one member, not
			// two.
			mb.Ref.Member, mb.Namespace, mb.PVCName, mb.PVC, mb.StatefulSet = w.Ref.Member, w.Namespace, w.PVCName,
				w.PVC, w.StatefulSet
			mb.Waiting = w.Waiting
			*w = mb
			continue
		}
		out = append(out, mb)
	}
	out = append(out, wanted...)
	for _, asked := range slices.Sorted(maps.Keys(c.Facts)) {
		for _, e := range c.Facts[asked].GossipOnly {
			if id := hostid.Known(e.HostID); !shown[id] {
				shown[id] = true
				out = append(out, Member{
					Ref: matrix.Ref{HostID: id}, State: MemberGossipOnly, PodState: PodState(nil),
					Detail: words.New(words.GossipOnly, "pod", asked, "address", e.Address),
				})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Member) int { return compareRefs(a.Ref, b.Ref) })
	for i := range out {
		mb := &out[i]
		mb.c, mb.Report, mb.recorded = c, c.Said(mb.Ref.Member), mb.RecordedID()
		mb.Node = nodeOf(mb.HostID)
	}
	return out
}

// makeServiced returns the members that have a Service, by name.
func (c *Cluster) makeServiced() []*Member {
	members := c.Members()
	out := make([]*Member, 0, len(c.Services))
	for i := range members {
		if members[i].Service != nil {
			out = append(out, &members[i])
		}
	}
	slices.SortFunc(out, func(a, b *Member) int { return cmp.Compare(a.Ref.Member, b.Ref.Member) })
	return out
}

// member collects everything known under one name except its state.
func (c *Cluster) member(name string, row *matrix.Row) Member {
	mb := Member{
		Ref: c.ix.refs[name], Namespace: c.Namespace,
		Service: c.ix.services[name], Pod: c.ix.pods[name], StatefulSet: c.ix.set(name),
		PVCName: c.ix.pvcName(name), PodState: PodState(c.ix.pods[name]), Vitals: c.Facts[name].Vitals,
		Process: c.process(name),
	}
	mb.PVC = c.ix.pvcs[mb.PVCName]
	mb.Joined = joined(mb.Service)
	if v := mb.Service; v != nil {
		_, mb.ReplaceRequested = v.Labels[api.LabelReplace]
		mb.Replacing = hostid.Known(v.Labels[api.LabelReplacingNodeHostID])
		mb.Force = v.Annotations[api.AnnotationForceProceed]
	}
	said := c.Live[name]
	if said == nil {
		said = c.annotations[name].report
	}
	if said != nil {
		mb.Version, mb.OperationMode = said.ScyllaVersion, said.OperationMode
		if mb.HostID == "" {
			mb.HostID = said.HostID
		}
	}
	if row == nil {
		st := c.statement(name, c.say(name))
		mb.RowTrouble = st.trouble.Message(mb.podName())
	}
	if row != nil {
		mb.takeRow(row)
		mb.Version, mb.OperationMode = cmp.Or(mb.Version, row.Says().ScyllaVersion),
			cmp.Or(mb.OperationMode, row.Says().OperationMode)
		if mb.HostID == "" {
			mb.HostID = row.Reporter.HostID
		}
		if mb.Reported {
			mb.RowWritten = c.rowWritten(mb.Pod, row.Reporter)
		}
	}
	if mb.LeftReplacing, mb.LeftRows = c.leftReplacing(&mb); mb.LeftReplacing != "" {
		mb.Replacing = ""
	}
	mb.Version = cmp.Or(mb.Version, mb.runningVersion())
	if mb.Pod != nil {
		mb.Waiting, mb.WaitingSince = podWaiting(mb.Pod)
		if c := ScyllaDBContainer(&mb.Pod.Spec); c != nil {
			mb.Image = c.Image
		}
	} else if mb.StatefulSet != nil {
		if c := ScyllaDBContainer(&mb.StatefulSet.Spec.Template.Spec); c != nil {
			mb.Image = c.Image
		}
	}
	return mb
}

// takeRow copies the row's state into the member.
func (mb *Member) takeRow(row *matrix.Row) {
	mb.Reported = row.Reported && row.Trouble.IsZero()
	if row.Stale.IsZero() && row.Trouble.IsZero() {
		return
	}
	mb.RowStale, mb.RowTrouble = row.Stale.Message(mb.podName()), row.Trouble.Message(mb.podName())
}

// podName returns "namespace/name" of the member's Pod, or the known part of it.
func (mb *Member) podName() string {
	if mb.Namespace == "" {
		return mb.Ref.Name()
	}
	return mb.Namespace + "/" + mb.Ref.Name()
}

// memberState distinguishes members, new nodes, leaving members and orphaned host IDs by evidence.
// It uses first the Service's joined annotation, then the host ID's state in the peers' rows, then
// the node's own row.
func (c *Cluster) memberState(mb *Member, node *matrix.Node) (MemberState, words.Message) {
	if v := mb.Service; v != nil {
		switch v.Labels[api.LabelDecommissioned] {
		case "false":
			return MemberLeaving, words.New(words.DecommissionAsked)
		case api.DecommissionedDone:
			switch {
			case len(c.normalIn(mb.HostID)) > 0: // the label is wrong: see labelBlockers
			case node == nil || node.Removed || node.State == matrix.StateDecommissioned:
				return MemberLeaving, words.New(words.IsDecommissioned)
			default:
				return MemberLeaving, words.New(words.DecommissionAsked)
			}
		}
	}
	peers := node != nil && node.SeenUp+node.SeenDown+node.SeenUnknown > 0
	if node != nil {
		switch s := node.State; {
		case s == matrix.StateLeaving, s == matrix.StateDecommissioned:
			return MemberLeaving, peersSay(node)
		case s.NewNode() && !mb.HasJoined():
			return MemberNewcomer, peersSay(node)
		}
	}
	in := mb.Joined != nil && *mb.Joined || mb.Joined == nil && node != nil && node.Joined && (peers || mb.Reported)
	if !in {
		switch {
		case mb.Joined != nil:
			return MemberNewcomer, words.New(words.HasNotJoined)
		case mb.HostID == "" && (!mb.Waiting.IsZero() || mb.Pod == nil):
			return MemberNewcomer, words.New(words.NoHostIDKnown)
		}
		return MemberUnknown, words.New(words.JoinUnknown)
	}
	if mb.Pod == nil && c.KnowsPods() {
		return MemberGhost, words.New(words.MemberWithoutPod)
	}
	if mb.Replacing != "" {
		return MemberNewcomer, words.New(words.ReplacesHostID, "hostID", mb.Replacing)
	}
	return MemberJoined, words.Message{}
}

// peersSay returns the state in the peers' rows of a node that joins or leaves.
func peersSay(n *matrix.Node) words.Message {
	return words.New(words.PeersSay, "state", strings.ToLower(n.State.String()))
}

// wantedMembers returns the ordinals that a StatefulSet wants and that have neither Service nor
// Pod.
func (c *Cluster) wantedMembers() []Member {
	var out []Member
	for i := range c.StatefulSets {
		set := &c.StatefulSets[i]
		first, n := Ordinals(set)
		for o := first; o < first+min(n, maxWanted); o++ {
			name := memberName(set.Name, o)
			if _, ok := c.ix.refs[name]; ok {
				continue
			}
			ref := Place(name, set.Labels)
			pvc := c.ix.pvcName(name)
			out = append(out, Member{
				Ref: ref, Namespace: c.Namespace, State: MemberNewcomer, Detail: words.New(words.PodNotMade),
				Waiting: words.New(words.WaitsForStatefulSet, "statefulSet", set.Name), PodState: PodState(nil),
				PVCName: pvc, PVC: c.ix.pvcs[pvc], StatefulSet: set,
			})
		}
	}
	return out
}

// maxWanted is the maximum number of members that a StatefulSet's replicas add.
const maxWanted = 10_000

// Ordinals returns the ordinals that a StatefulSet wants: the first, and their number.
func Ordinals(set *appsv1.StatefulSet) (first, n int) {
	n = 1
	if set.Spec.Replicas != nil {
		n = max(0, int(*set.Spec.Replicas))
	}
	if set.Spec.Ordinals != nil {
		first = max(0, int(set.Spec.Ordinals.Start))
	}
	return first, n
}

// peerMember returns the member for a host ID that has neither Service nor Pod here.
func (c *Cluster) peerMember(n *matrix.Node) Member {
	mb := Member{Ref: n.Ref, PodState: PodState(nil)}
	mb.State, mb.Detail = c.strangerState(n)
	switch {
	case n.Row != nil:
		mb.takeRow(n.Row)
		mb.Version, mb.OperationMode = n.Row.Says().ScyllaVersion, n.Row.Says().OperationMode
		if mb.Reported {
			mb.RowWritten = c.rowWritten(nil, n.Row.Reporter)
		}
	case n.State.NewNode():
		mb.State, mb.Detail = MemberNewcomer,
			words.New(words.SeenWithoutService, "state", strings.ToLower(n.State.String()))
	case n.State == matrix.StateLeaving || n.State == matrix.StateDecommissioned:
		mb.State, mb.Detail = MemberLeaving, peersSay(n)
	}
	return mb
}

// MemberNames returns the names of the members that a StatefulSet wants, in order.
func MemberNames(set *appsv1.StatefulSet) []string {
	first, n := Ordinals(set)
	names := make([]string, min(n, maxWanted))
	for i := range names {
		names[i] = memberName(set.Name, first+i)
	}
	return names
}

func memberName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }
