// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Members joins what Kubernetes and the peers know, in a stable order: datacenter, rack, ordinal, host ID. It has every Service and
// every Pod, every ordinal that a StatefulSet wants and that has neither yet, and every host ID that only rows mention.
func (s *Snapshot) Members() []Member {
	ix := s.index()
	rows, src := s.rows(ix)
	return s.members(ix, rows, src)
}

func (s *Snapshot) members(ix *index, rows []matrix.Row, src Source) []Member {
	m := s.matrix(ix, rows, matrix.Options{})
	nodes := m.Nodes()
	byHost := make(map[string]*matrix.Node, len(nodes))
	byMember := make(map[string]*matrix.Row, len(rows))
	for i := range nodes {
		if nodes[i].HostID != "" {
			byHost[nodes[i].HostID] = &nodes[i]
		}
	}
	for i := range rows {
		if rows[i].Reporter.Member != "" {
			byMember[rows[i].Reporter.Member] = &rows[i]
		}
	}
	var out []Member
	shown := map[string]bool{}
	for _, name := range ix.names() {
		mb := s.member(ix, name, byMember[name], src)
		node := byHost[mb.HostID]
		mb.State, mb.Detail = s.memberState(&mb, node)
		if mb.HostID != "" {
			shown[mb.HostID] = true
		}
		out = append(out, mb)
	}
	wanted := s.wantedMembers(ix)
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
		mb := s.peerMember(n, src)
		if w := wantedAt[placeKey(n.Ref)]; w != nil && n.Row != nil && w.HostID == "" {
			// Its row stands in the report while both its objects are missing: one member, not two.
			mb.Ref.Member, mb.Namespace, mb.PVCName, mb.PVC, mb.StatefulSet = w.Ref.Member, w.Namespace, w.PVCName, w.PVC, w.StatefulSet
			mb.Waiting = w.Waiting
			*w = mb
			continue
		}
		out = append(out, mb)
	}
	out = append(out, wanted...)
	for _, asked := range slices.Sorted(maps.Keys(s.Facts)) {
		for _, e := range s.Facts[asked].GossipOnly {
			if !shown[e.HostID] {
				shown[e.HostID] = true
				out = append(out, Member{
					Ref: matrix.Ref{HostID: e.HostID}, State: MemberGossipOnly, PodState: podState(nil),
					Detail: fmt.Sprintf("%s gossips with it at %s and does not have it as a member", asked, e.Address),
				})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Member) int { return compareRefs(a.Ref, b.Ref) })
	return out
}

// member gathers everything of one name but its state.
func (s *Snapshot) member(ix *index, name string, row *matrix.Row, src Source) Member {
	mb := Member{
		Ref: ix.refs[name], Namespace: s.Namespace,
		Service: ix.services[name], Pod: ix.pods[name], StatefulSet: ix.set(name),
		PVCName: ix.pvcName(name), PodState: podState(ix.pods[name]),
	}
	mb.PVC = ix.pvcs[mb.PVCName]
	mb.Joined = joined(mb.Service)
	if v := mb.Service; v != nil {
		_, mb.ReplaceRequested = v.Labels[api.LabelReplace]
		mb.Replacing = v.Labels[api.LabelReplacingNodeHostID]
		mb.Force = v.Annotations[api.AnnotationForceProceed]
	}
	said := s.Live[name]
	if said == nil {
		said = s.annotations()[name].report
	}
	if said != nil {
		mb.Version, mb.OperationMode = said.ScyllaVersion, said.OperationMode
		if mb.HostID == "" {
			mb.HostID = said.HostID
		}
	}
	if a := s.annotations()[name]; row == nil && s.Live[name] == nil && a.err != nil {
		mb.RowError = a.err.Error()
	}
	if row == nil && said != nil && said.Error != nil {
		mb.RowError = *said.Error
	}
	if row != nil {
		mb.Reported = row.Reported && row.Error == ""
		mb.RowStale, mb.RowError = row.Stale, row.Error
		mb.Version, mb.OperationMode = cmp.Or(mb.Version, row.Version), cmp.Or(mb.OperationMode, row.OperationMode)
		if mb.HostID == "" {
			mb.HostID = row.Reporter.HostID
		}
		if mb.Reported {
			mb.RowWritten = s.rowWritten(src, mb.Pod, row.Reporter)
		}
	}
	if mb.Pod != nil {
		mb.Waiting, mb.WaitingSince = podWaiting(mb.Pod)
		if c := scyllaContainer(&mb.Pod.Spec); c != nil {
			mb.Image = c.Image
		}
	} else if mb.StatefulSet != nil {
		if c := scyllaContainer(&mb.StatefulSet.Spec.Template.Spec); c != nil {
			mb.Image = c.Image
		}
	}
	return mb
}

// memberState tells members, newcomers, leavers and ghosts apart by evidence: the Service's joined annotation first, then what the
// peers' rows say of the host ID, then the node's own word.
func (s *Snapshot) memberState(mb *Member, node *matrix.Node) (MemberState, string) {
	if v := mb.Service; v != nil {
		switch v.Labels[api.LabelDecommissioned] {
		case "false":
			return MemberLeaving, "its decommission is asked for"
		case "true":
			return MemberLeaving, "it is decommissioned"
		}
	}
	peers := node != nil && node.SeenUp+node.SeenDown+node.SeenUnknown > 0
	if node != nil {
		switch node.State {
		case matrix.StateLeaving:
			return MemberLeaving, "its peers say that it is leaving"
		case matrix.StateDecommissioned:
			return MemberLeaving, "its peers say that it is decommissioned"
		case matrix.StateJoining, matrix.StateReplacing:
			if mb.Joined == nil || !*mb.Joined {
				return MemberNewcomer, "its peers say that it is " + strings.ToLower(node.State.String())
			}
		}
	}
	in := mb.Joined != nil && *mb.Joined || mb.Joined == nil && node != nil && node.Joined && (peers || mb.Reported)
	if !in {
		switch {
		case mb.Joined != nil:
			return MemberNewcomer, "it has not joined"
		case mb.HostID == "" && (mb.Waiting != "" || mb.Pod == nil):
			return MemberNewcomer, "no host ID is known of it"
		}
		return MemberUnknown, "nothing tells whether it has joined"
	}
	if mb.Pod == nil && s.knowsPods() {
		return MemberGhost, "it is a member and has no Pod"
	}
	if mb.Replacing != "" {
		return MemberNewcomer, "it replaces host ID " + mb.Replacing
	}
	return MemberJoined, ""
}

// wantedMembers are ordinals that a StatefulSet wants and that have neither Service nor Pod.
func (s *Snapshot) wantedMembers(ix *index) []Member {
	var out []Member
	for i := range s.StatefulSets {
		set := &s.StatefulSets[i]
		first, n := wantedOrdinals(set)
		for o := first; o < first+n; o++ {
			name := fmt.Sprintf("%s-%d", set.Name, o)
			if _, ok := ix.refs[name]; ok {
				continue
			}
			ref := placeOf(name, set.Labels)
			pvc := ix.pvcName(name)
			out = append(out, Member{
				Ref: ref, Namespace: s.Namespace, State: MemberNewcomer, Detail: "its Pod is not made yet",
				Waiting: fmt.Sprintf("StatefulSet %s to make its Pod", set.Name), PodState: podState(nil),
				PVCName: pvc, PVC: ix.pvcs[pvc], StatefulSet: set,
			})
		}
	}
	return out
}

// maxWanted bounds what a StatefulSet's replicas can make us invent.
const maxWanted = 10_000

func wantedOrdinals(set *appsv1.StatefulSet) (first, n int) {
	n = 1
	if set.Spec.Replicas != nil {
		n = min(max(0, int(*set.Spec.Replicas)), maxWanted)
	}
	if set.Spec.Ordinals != nil {
		first = max(0, int(set.Spec.Ordinals.Start))
	}
	return first, n
}

// peerMember is a host ID that has neither Service nor Pod here.
func (s *Snapshot) peerMember(n *matrix.Node, src Source) Member {
	mb := Member{Ref: n.Ref, PodState: podState(nil), State: MemberGhost, Detail: "peers list it as a member; no Service or Pod here has its host ID"}
	if !s.knowsServices() {
		mb.State, mb.Detail = MemberUnknown, "the Services, which record host IDs, were not read"
	}
	switch {
	case n.Row != nil:
		mb.Reported = n.Row.Reported && n.Row.Error == ""
		mb.RowStale, mb.RowError = n.Row.Stale, n.Row.Error
		mb.Version, mb.OperationMode = n.Row.Version, n.Row.OperationMode
		if mb.Reported {
			mb.RowWritten = s.rowWritten(src, nil, n.Row.Reporter)
		}
		switch {
		case !s.knowsServices():
			mb.State, mb.Detail = MemberJoined, "neither its Service nor its Pod was read"
		case slices.Contains(s.datacenters(), n.Datacenter):
			mb.Detail = "the report has its row; no Service or Pod here has its host ID"
		default:
			mb.State, mb.Detail = MemberRemote, "its Pod is not in this namespace"
		}
	case n.State == matrix.StateJoining || n.State == matrix.StateReplacing:
		mb.State, mb.Detail = MemberNewcomer, "peers see it "+strings.ToLower(n.State.String())+"; no Service here has its host ID yet"
	case n.State == matrix.StateLeaving || n.State == matrix.StateDecommissioned:
		mb.State, mb.Detail = MemberLeaving, "its peers say that it is "+strings.ToLower(n.State.String())
	}
	return mb
}

// podState is what kubectl's STATUS and READY columns say, in one.
func podState(pod *corev1.Pod) string {
	if pod == nil {
		return "None"
	}
	ready, total := 0, len(pod.Spec.Containers)
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Ready {
			ready++
		}
	}
	if pod.DeletionTimestamp != nil {
		return fmt.Sprintf("Terminating %d/%d", ready, total)
	}
	done, inits := 0, 0
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if isSidecar(c) {
			continue
		}
		inits++
		if st := containerStatus(pod.Status.InitContainerStatuses, c.Name); st != nil {
			switch {
			case st.State.Terminated != nil && st.State.Terminated.ExitCode == 0:
				done++
			case st.State.Terminated != nil || st.State.Waiting != nil && failing(st.State.Waiting.Reason):
				return "Init:" + initReason(st)
			}
		}
	}
	if done < inits && pod.Status.Phase == corev1.PodPending && podScheduled(pod) {
		return fmt.Sprintf("Init:%d/%d", done, inits)
	}
	for i := range pod.Status.ContainerStatuses {
		st := &pod.Status.ContainerStatuses[i]
		if w := st.State.Waiting; w != nil && failing(w.Reason) {
			return fmt.Sprintf("%s %d/%d", w.Reason, ready, total)
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		return fmt.Sprintf("Running %d/%d", ready, total)
	}
	return cmp.Or(string(pod.Status.Phase), "Unknown")
}

func initReason(st *corev1.ContainerStatus) string {
	if t := st.State.Terminated; t != nil {
		return cmp.Or(t.Reason, fmt.Sprintf("ExitCode:%d", t.ExitCode))
	}
	return st.State.Waiting.Reason
}

// failing tells the waits that something is wrong with from those that every start goes through.
func failing(reason string) bool {
	return reason != "" && reason != "PodInitializing" && reason != "ContainerCreating"
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func containerStatus(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

func podScheduled(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue || pod.Spec.NodeName != ""
}

// podWaiting says what a Pod that does not serve waits for: its place, its init containers in their order, then ScyllaDB itself. Empty
// when ScyllaDB's container is ready.
func podWaiting(pod *corev1.Pod) (what string, since time.Time) {
	if pod.DeletionTimestamp != nil {
		return "the Pod is terminating", pod.DeletionTimestamp.Time
	}
	if !podScheduled(pod) {
		if c := podCondition(pod, corev1.PodScheduled); c != nil {
			return strings.TrimSuffix(fmt.Sprintf("a Kubernetes node: %s", cmp.Or(c.Message, c.Reason)), ": "), c.LastTransitionTime.Time
		}
		return "a Kubernetes node", pod.CreationTimestamp.Time
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
		if st != nil && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0 && !isSidecar(c) {
			continue
		}
		if isSidecar(c) && st != nil && (st.Started != nil && *st.Started || st.State.Running != nil) {
			continue
		}
		return containerWaiting("init container "+c.Name, st, pod)
	}
	c := scyllaContainer(&pod.Spec)
	if c == nil {
		return "", time.Time{}
	}
	st := containerStatus(pod.Status.ContainerStatuses, c.Name)
	if st != nil && st.Ready {
		return "", time.Time{}
	}
	return containerWaiting("container "+c.Name, st, pod)
}

func containerWaiting(who string, st *corev1.ContainerStatus, pod *corev1.Pod) (string, time.Time) {
	switch {
	case st == nil:
		return who + " to start", pod.CreationTimestamp.Time
	case st.State.Running != nil && strings.HasPrefix(who, "init "):
		return who + " to finish", st.State.Running.StartedAt.Time
	case st.State.Running != nil:
		return who + " to become ready", st.State.Running.StartedAt.Time
	case st.State.Terminated != nil:
		t := st.State.Terminated
		return withMessage(fmt.Sprintf("%s, which ended with exit code %d", who, t.ExitCode), firstLine(t.Message)), t.FinishedAt.Time
	case st.State.Waiting != nil && st.State.Waiting.Reason != "":
		msg := firstLine(st.State.Waiting.Message)
		if t := st.LastTerminationState.Terminated; t != nil {
			msg = cmp.Or(firstLine(t.Message), fmt.Sprintf("exit code %d", t.ExitCode))
		}
		return withMessage(fmt.Sprintf("%s (%s)", who, st.State.Waiting.Reason), msg), lastEnd(st)
	}
	return who + " to start", pod.CreationTimestamp.Time
}

func withMessage(text, msg string) string {
	if msg == "" {
		return text
	}
	return text + ": " + msg
}

// firstLine keeps a container's message to what fits a table.
func firstLine(msg string) string {
	msg, _, _ = strings.Cut(strings.TrimSpace(msg), "\n")
	if r := []rune(msg); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return msg
}

// BootstrapInput is everything that the decision needs and the API knows. What only the Pod can tell (Disk, DiskDetail, Banned) is
// left to the caller. Error: *NotFoundError for an unknown member.
func (s *Snapshot) BootstrapInput(member string) (bootstrap.Input, error) {
	ix := s.index()
	svc := ix.services[member]
	if svc == nil {
		e := &NotFoundError{What: "member", Name: member, In: "cluster " + s.Key().String(), Known: len(ix.refs)}
		if _, ok := ix.refs[member]; ok {
			e.Cure = "its Pod exists and its member Service does not; the controller makes it, see its log"
		} else {
			e.Nearest = Nearest(member, ix.names())
			e.Cure = "\"kubectl scylla status\" lists the members"
		}
		return bootstrap.Input{}, e
	}
	rows, _ := s.rows(ix)
	in := bootstrap.Input{
		Self: ix.refs[member], Namespace: s.Namespace, SelfJoined: joined(svc),
		ServiceLabels: svc.Labels, ServiceAnnotations: svc.Annotations,
		DiskDetail: "only the Pod can read its data directory",
		PVC:        ix.pvcName(member),
		Reports:    s.reportCount(), NotVerified: s.notVerified(),
		AllowNonReporting: s.allowNonReporting(ix, member),
	}
	in.Matrix = s.matrix(ix, rows, matrix.Options{
		Self: &in.Self, Reports: in.Reports, AllowNonReporting: in.AllowNonReporting, NotVerified: in.NotVerified,
	})
	if err := s.knowsEnough(rows, in.Self); err != nil {
		return bootstrap.Input{}, fmt.Errorf("judge member %s/%s: without any row it cannot be told from the first node of all: %w", s.Namespace, member, err)
	}
	in.Peers = slices.DeleteFunc(s.peers(ix), func(p bootstrap.Peer) bool { return p.Member == member })
	in.ControllerSilent, in.ControllerSilentSince = s.ControllerSilent()
	return in, nil
}

// ControllerSilent names our controller, and since when, where the rows are its reports and it keeps them no more; empty otherwise, also where its Lease
// could not be read.
func (s *Snapshot) ControllerSilent() (controller string, since time.Time) {
	if s.used() != SourceReport || !s.ours() || s.Lease == nil || s.TakenAt.IsZero() {
		return "", time.Time{}
	}
	l := LeaseAt(s.Lease, s.TakenAt)
	if !l.Silent {
		return "", time.Time{}
	}
	return cmp.Or(l.Holder, s.Lease.Name), l.Since
}

// Peers are the members by their Services, those that have not joined among them.
func (s *Snapshot) Peers() []bootstrap.Peer { return s.peers(s.index()) }

func (s *Snapshot) peers(ix *index) []bootstrap.Peer {
	peers := make([]bootstrap.Peer, len(s.Services))
	for i := range s.Services {
		v := &s.Services[i]
		peers[i] = bootstrap.Peer{Ref: ix.refs[v.Name], Joined: joined(v)}
	}
	return peers
}

// knowsEnough is an error when nothing speaks of a cluster and something that could have spoken was not readable: then a decision would
// take ignorance for a new cluster.
func (s *Snapshot) knowsEnough(rows []matrix.Row, self matrix.Ref) error {
	for i := range rows {
		if placeKey(rows[i].Reporter) != placeKey(self) {
			return nil
		}
	}
	var errs []error
	for _, p := range s.Problems {
		switch p.Resource {
		case resourceServices, resourceReports, resourceStatusReports:
			if p.Kind != ProblemNotInstalled {
				errs = append(errs, p)
			}
		}
	}
	return errors.Join(errs...)
}

// ours is true when our controller keeps the reports.
func (s *Snapshot) ours() bool {
	for i := range s.Reports {
		if s.Reports[i].Labels[api.LabelManagedBy] == api.ManagedByUs {
			return true
		}
	}
	return false
}

// allowNonReporting reads the flag that the member's own barrier runs with.
func (s *Snapshot) allowNonReporting(ix *index, member string) bool {
	var spec *corev1.PodSpec
	if p := ix.pods[member]; p != nil {
		spec = &p.Spec
	} else if set := ix.set(member); set != nil {
		spec = &set.Spec.Template.Spec
	} else {
		return false
	}
	const flag = "--single-report-allow-non-reporting-host-ids"
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.Name != api.ContainerBarrier {
			continue
		}
		for _, arg := range slices.Concat(c.Command, c.Args) {
			if arg == flag || arg == flag+"=true" {
				return true
			}
		}
	}
	return false
}

// ResolveTarget finds the member that a person means by a host ID or its unique prefix of at least 8 characters, the name of a Pod or
// member Service (also as pod/NAME, svc/NAME), or rack/ordinal or datacenter/rack/ordinal. Errors: *NotFoundError, *AmbiguousError.
func ResolveTarget(s *Snapshot, text string) (Member, error) {
	members := s.Members()
	in := "cluster " + s.Key().String()
	typed := strings.TrimSpace(text)
	want := typed
	for _, prefix := range []string{"pod/", "pods/", "svc/", "service/", "services/"} {
		want = strings.TrimPrefix(want, prefix)
	}
	want = strings.TrimSuffix(strings.TrimSuffix(want, "…"), "...")
	var hits []Member
	for _, match := range []func(*Member) bool{
		func(m *Member) bool { return m.Ref.Member != "" && m.Ref.Member == want },
		func(m *Member) bool { return m.HostID != "" && strings.EqualFold(m.HostID, want) },
		func(m *Member) bool { return slices.Contains(placeNames(m.Ref), want) },
		func(m *Member) bool {
			return len(want) >= minPrefix && len(m.HostID) > len(want) && strings.EqualFold(m.HostID[:len(want)], want)
		},
	} {
		for i := range members {
			if match(&members[i]) {
				hits = append(hits, members[i])
			}
		}
		if len(hits) > 0 {
			break
		}
	}
	if len(hits) > 1 {
		// A node that is being replaced, and one that was banned on the way, bear the member's name too; the name means the one with the Service.
		if own := slices.DeleteFunc(slices.Clone(hits), func(m Member) bool { return m.Service == nil }); len(own) == 1 {
			hits = own
		}
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		e := &NotFoundError{
			What: "member", Name: typed, In: in, Known: len(members),
			Cure: "name a Pod, rack/ordinal, or a host ID or its first 8 characters; \"kubectl scylla status\" lists them",
		}
		if want != "" {
			e.Nearest = Nearest(want, targetNames(members))
		}
		return Member{}, e
	}
	e := &AmbiguousError{What: "member", Name: typed, In: in}
	for i := range hits {
		e.Candidates = append(e.Candidates, cmp.Or(hits[i].Ref.Member, hits[i].HostID)+describeHost(&hits[i]))
	}
	slices.Sort(e.Candidates)
	return Member{}, e
}

// minPrefix of a host ID: fewer characters collide too easily to delete a volume by.
const minPrefix = 8

func describeHost(m *Member) string {
	if m.Ref.Member == "" || m.HostID == "" {
		return ""
	}
	return " (" + m.HostID + ")"
}

func placeNames(r matrix.Ref) []string {
	if r.Ordinal == nil || r.Rack == "" {
		return nil
	}
	short := fmt.Sprintf("%s/%d", r.Rack, *r.Ordinal)
	return []string{short, fmt.Sprintf("%s-%d", r.Rack, *r.Ordinal), r.Datacenter + "/" + short}
}

func targetNames(members []Member) []string {
	var names []string
	for i := range members {
		m := &members[i]
		if m.Ref.Member != "" {
			names = append(names, m.Ref.Member)
		}
		if p := placeNames(m.Ref); p != nil {
			names = append(names, p[0])
		}
		if m.HostID != "" {
			names = append(names, m.HostID)
		}
	}
	return names
}
