// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// WhyNotRemovable returns why a host ID that no member here has must not be called orphaned and
// removed; zero if it may be. A removal permanently bans the host ID, so all of this needs
// evidence:
//   - its peers report a datacenter and rack whose nodes are all members here
//   - no Service elsewhere records it
//   - no other host ID is unknown
//   - no volume of its rack is without a member
//   - its peers have it DOWN and not UP
func (c *Cluster) WhyNotRemovable(hostID hostid.ID) words.Message {
	if !c.knowsServices() {
		return words.New(words.StrangerUnjudged)
	}
	if service := c.Elsewhere[hostID]; service != "" {
		return words.New(words.StrangerRecorded, "service", service)
	}
	dc, rack := c.placeOf(hostID)
	if dc != "" && !slices.Contains(c.ix.datacenters, dc) {
		return words.New(words.StrangerElsewhere, "datacenter", dc)
	} else if dc == "" {
		if sign := c.derived.elsewhere.get(c.derived.of, (*Cluster).otherDatacenter); !sign.IsZero() {
			return words.New(words.StrangerElsewhere, "sign", sign)
		}
	}
	if unknown := c.derived.unrecorded.get(c.derived.of, (*Cluster).withoutHostID); len(unknown) > 0 {
		return words.New(words.StrangerMayBeOurs, "members", unknown)
	}
	if o := c.all.Opinion(hostID); len(o.Up) > 0 || len(o.Down) == 0 {
		var by []string
		for _, i := range o.Up {
			by = append(by, c.all.Nodes()[i].Ref.String())
		}
		return words.New(words.StrangerNotDown, "by", by)
	}
	if left := c.LeftVolumes(dc, rack); len(left) > 0 {
		return left[0].fact()
	}
	if dc == "" || rack == "" {
		return words.New(words.StrangerNoPlace)
	}
	if !c.hasRack(dc, rack) {
		return words.New(words.StrangerElsewhere, "datacenter", dc, "rack", rack)
	}
	if others := c.othersOf(dc, hostID); len(others) > 0 {
		return words.New(words.StrangerShared, "datacenter", dc, "nodes", others)
	}
	var others []string
	for _, id := range c.Unknown() {
		if id != hostID {
			others = append(others, string(id))
		}
	}
	if len(others) > 0 {
		return words.New(words.StrangerOthers, "nodes", others)
	}
	if c.Old {
		return words.New(words.StrangerOld)
	}
	return words.Message{}
}

// MayBeElsewhere reports whether a host ID that no member here has may be a node of another
// datacenter: there is a sign of one. Otherwise the node was a member here.
func (c *Cluster) MayBeElsewhere() bool {
	return !c.derived.elsewhere.get(c.derived.of, (*Cluster).otherDatacenter).IsZero()
}

// Unknown returns the host IDs, UP or DOWN, that rows list and that nothing here explains: no
// member has, replaces or reports them. They also have no row and no place in a report of another
// datacenter. The caller must not change them.
func (c *Cluster) Unknown() []hostid.ID {
	return c.derived.unknown.get(c.derived.of, (*Cluster).makeUnknown)
}

func (c *Cluster) makeUnknown() []hostid.ID {
	ours := c.derived.oursOnce()
	var out []hostid.ID
	for i := range c.all.Nodes() {
		n := &c.all.Nodes()[i]
		if n.HostID != "" && !n.Removed && n.Row == nil && !ours[n.HostID] && c.datacenterOf(n.HostID) == "" &&
			n.SeenUp+n.SeenDown+n.SeenUnknown > 0 {
			out = append(out, n.HostID)
		}
	}
	return out
}

// ourHostIDs returns the host IDs that the members here record, replace, or report as their own.
func (c *Cluster) ourHostIDs() map[hostid.ID]bool {
	out := map[hostid.ID]bool{}
	for id := range c.ix.hosts {
		out[id] = true
	}
	for i := range c.Services {
		out[hostid.Known(c.Services[i].Labels[api.LabelReplacingNodeHostID])] = true
	}
	for name := range c.ix.refs {
		if said := c.Said(name); said != nil {
			out[said.HostID] = true
		}
	}
	return out
}

// othersOf returns the nodes of a datacenter, except but, that no member here has: with any, the
// datacenter is not wholly ours.
func (c *Cluster) othersOf(datacenter string, but hostid.ID) []string {
	ours := c.derived.oursOnce()
	var out []string
	for i := range c.all.Nodes() {
		if n := &c.all.Nodes()[i]; n.HostID != "" && n.HostID != but && n.Datacenter == datacenter && !n.Removed &&
			!ours[n.HostID] {
			out = append(out, n.Name())
		}
	}
	return out
}

// hasRack reports whether the rack has a member or a StatefulSet here.
func (c *Cluster) hasRack(datacenter, rack string) bool {
	for _, ref := range c.ix.refs {
		if ref.Datacenter == datacenter && ref.Rack == rack {
			return true
		}
	}
	return slices.ContainsFunc(c.StatefulSets, func(s appsv1.StatefulSet) bool {
		return s.Labels[api.LabelDatacenter] == datacenter && s.Labels[api.LabelRack] == rack
	})
}

// placeOf returns the location of a host ID that no member here has: from a report, else from the
// majority of the members with a row if none contradicts; empty if unknown.
func (c *Cluster) placeOf(hostID hostid.ID) (datacenter, rack string) {
	if dc := c.datacenterOf(hostID); dc != "" {
		i, ok := c.all.Index(hostID)
		if !ok {
			return dc, ""
		}
		return dc, c.all.Nodes()[i].Rack
	}
	witnesses, agree := 0, 0
	for name := range c.ix.refs {
		said := c.Said(name)
		if said == nil || said.Error != nil || len(said.ObservedNodes) == 0 {
			continue
		}
		witnesses++
		for _, p := range said.Places {
			switch {
			case p.HostID != hostID:
			case agree == 0:
				datacenter, rack, agree = p.Datacenter, p.Rack, 1
			case p.Datacenter != datacenter || p.Rack != rack:
				return "", ""
			default:
				agree++
			}
		}
	}
	if 2*agree <= witnesses {
		return "", ""
	}
	return datacenter, rack
}

// LostHostID returns the host ID that a member's node must have had if its Service records none,
// such as a recreated Service. It is the only host ID without a member that peers have DOWN, and
// the member is the only one without a known host ID. Empty if another one is possible.
func (c *Cluster) LostHostID(member string) hostid.ID {
	var found hostid.ID
	for i := range c.all.Nodes() {
		n := &c.all.Nodes()[i]
		if n.HostID == "" || n.Member != "" || n.Row != nil || !n.Joined {
			continue
		}
		why := c.WhyNotRemovable(n.HostID)
		if members, _ := why.Params["members"].([]string); why.Code != words.StrangerMayBeOurs ||
			!slices.Equal(members, []string{member}) {
			continue
		}
		if o := c.all.Opinion(n.HostID); len(o.Up) > 0 || len(o.Down) == 0 || found != "" {
			return ""
		}
		found = n.HostID
	}
	return found
}

// datacenterOf returns the datacenter of a host ID that no member here has, by its own row or the
// cluster report; empty if neither has it.
func (c *Cluster) datacenterOf(hostID hostid.ID) string {
	if i, ok := c.all.Index(hostID); ok && c.all.Nodes()[i].Datacenter != "" {
		return c.all.Nodes()[i].Datacenter
	}
	if c.StatusReport == nil {
		return ""
	}
	for _, d := range c.StatusReport.Datacenters {
		if slices.ContainsFunc(d.Nodes, func(n api.StatusReportNode) bool { return hostid.Known(n.HostID) == hostID }) {
			return d.Name
		}
	}
	return ""
}

// withoutHostID returns the members here, sorted, that may have started a node with an unknown host
// ID: an unknown host ID may be that node.
func (c *Cluster) withoutHostID() []string {
	var out []string
	shared := c.derived.sharedIDsOnce()
	for _, name := range c.ix.names() {
		id := c.ix.refs[name].HostID
		if id != "" && !c.replacedUnrecorded(name) && len(shared[id]) == 0 &&
			(!c.unlisted(id) || c.heldAtBarrier(name)) {
			continue
		}
		if a := c.annotations[name]; a.report != nil && a.report.HostID != "" {
			continue
		}
		pod := c.ix.pods[name]
		started := pod == nil && c.mayHaveVolume(name)
		if pod != nil {
			st := ScyllaDBStatus(pod)
			started = st != nil &&
				(st.State.Running != nil && !waitsInLauncher(pod) || st.State.Terminated != nil ||
					st.LastTerminationState.Terminated != nil || st.RestartCount > 0) || c.hadAnotherPod(name, pod)
		}
		if j := joined(c.ix.services[name]); started || j != nil && *j {
			out = append(out, name)
		}
	}
	for _, w := range c.wantedMembers() {
		if c.mayHaveVolume(w.Ref.Member) {
			// its Service no longer exists, and with it the host ID of its volume
			out = append(out, w.Ref.Member)
		}
	}
	return out
}

func recordsReplaced(v *corev1.Service) bool {
	original, open := v.Labels[api.LabelReplacingNodeHostID]
	_, asked := v.Labels[api.LabelReplace]
	return open && hostid.Known(original) == recordedHostID(v) || asked && !open
}

// quickest is the minimum time in which a Pod created with its PVC can join a cluster, end, and be
// recreated.
const quickest = 5 * time.Second

// hadAnotherPod reports whether the member's volume is older than its Pod, or may be. A node of an
// earlier Pod may be on it without a record, for example if no reporter could write when it joined.
// False if the barrier of the present Pod found the volume empty.
func (c *Cluster) hadAnotherPod(name string, pod *corev1.Pod) bool {
	if w := barrierWait(pod); w != nil && w.EmptyVolume {
		return false
	}
	pvc := c.ix.pvcs[c.ix.pvcName(name)]
	return pvc == nil && c.mayHaveVolume(name) || pvc != nil && pvc.Spec.VolumeName != "" &&
		!pvc.CreationTimestamp.IsZero() && pod.CreationTimestamp.Sub(pvc.CreationTimestamp.Time) >= quickest
}

// FreshVolume reports whether the member's Pod was created with its PVC: no earlier Pod can have
// written to its volume. False if unknown.
func (c *Cluster) FreshVolume(member string) bool {
	pod, pvc := c.ix.pods[member], c.ix.pvcs[c.ix.pvcName(member)]
	if pod == nil || pvc == nil || pod.CreationTimestamp.IsZero() || pvc.CreationTimestamp.IsZero() ||
		pvc.DeletionTimestamp != nil {
		return false
	}
	return pod.CreationTimestamp.Sub(pvc.CreationTimestamp.Time).Abs() < quickest
}

// replacedUnrecorded reports whether the member still records the node that it replaces although no
// row lists that node. Its new node has joined, and its host ID is not recorded yet, for example
// without a controller.
func (c *Cluster) replacedUnrecorded(name string) bool {
	v := c.ix.services[name]
	if v == nil || !recordsReplaced(v) {
		return false
	}
	at, listed := c.all.Index(recordedHostID(v))
	return c.all.Reporting() > 0 && (!listed || c.all.Nodes()[at].Removed)
}

// unlisted reports whether a Service records the host ID and no other node lists it, while others
// report: its member was recreated, or the record is wrong.
func (c *Cluster) unlisted(id hostid.ID) bool {
	o := c.all.Opinion(id)
	return o.Listing() == 0 && len(o.NotListed) > 0
}

// heldAtBarrier reports whether the member's ScyllaDB has not run on its volume because its barrier
// blocks it. So a host ID in the rows is not this member's. A DOWN host ID can be the reason why it
// waits, for example the new node of a failed replacement. If ScyllaDB has run in this Pod, as
// before its Kubernetes node restarted, or in an earlier Pod with this PVC, it may have joined
// without a record, and its barrier may wait for that very node: the volume's host ID may be
// unreadable.
func (c *Cluster) heldAtBarrier(name string) bool {
	pod := c.ix.pods[name]
	if pod == nil || c.hadAnotherPod(name, pod) {
		return false
	}
	st := ScyllaDBStatus(pod)
	return (waitsInLauncher(pod) || waitsInBarrier(pod)) && (st == nil || st.RestartCount == 0)
}

// otherDatacenter returns the strongest sign that the cluster may have a datacenter whose members
// are not here; zero if there is none. Without a sign, a host ID without a known datacenter can
// only belong to the datacenters here.
func (c *Cluster) otherDatacenter() words.Message {
	if dcs := matrix.NotVerified(c.StatusReport); len(dcs) > 0 {
		return words.New(words.SignDatacenterNotVerified, "datacenters", dcs)
	}
	for i := range c.Reports {
		if r := &c.Reports[i]; isRemote(r) {
			return words.New(words.SignReportCopiedIn, "datacenter", r.DatacenterName, "report", r.Name)
		}
	}
	here := c.ix.datacenters
	for i := range c.rows {
		if r := &c.rows[i].Reporter; !slices.Contains(here, r.Datacenter) {
			return words.New(words.SignRowOfOtherDatacenter, "datacenter", r.Datacenter, "node", r.Name())
		}
	}
	if name := c.scyllaDBCluster(); name != "" {
		return words.New(words.SignPartOfScyllaDBCluster, "name", name)
	}
	specs := c.podSpecs()
	if len(specs) == 0 {
		return words.New(words.SignPodsNotRead)
	}
	if c.OperatorState != nil && len(c.OperatorState.ExternalSeeds) > 0 {
		return words.New(words.SignExternalSeeds, "seeds", c.OperatorState.ExternalSeeds)
	}
	for _, spec := range specs {
		if seeds := c.externalSeeds(spec); len(seeds) > 0 {
			return words.New(words.SignExternalSeeds, "seeds", seeds)
		}
	}
	if slices.ContainsFunc(specs, lenientBarrier) {
		return words.New(words.SignLenientBarrier, "flag", lenientFlag)
	}
	return words.Message{}
}

// scyllaDBCluster returns the name of the ScyllaDBCluster that the objects belong to, empty if
// none.
func (c *Cluster) scyllaDBCluster() string {
	for part := range c.parts() {
		if name := part.GetLabels()[api.LabelParentScyllaDBCluster]; name != "" {
			return name
		}
	}
	if c.OperatorState != nil {
		return c.OperatorState.ScyllaDBCluster
	}
	return ""
}

// podSpecs returns the specs of the StatefulSets' templates and of the Pods. The template may lack
// seeds of its Pods that were removed after the other datacenter joined. It may also have seeds
// that no Pod has yet.
func (c *Cluster) podSpecs() []*corev1.PodSpec {
	var out []*corev1.PodSpec
	for i := range c.StatefulSets {
		out = append(out, &c.StatefulSets[i].Spec.Template.Spec)
	}
	for i := range c.Pods {
		out = append(out, &c.Pods[i].Spec)
	}
	return out
}

// seedFlags are the options that name seeds: the Scylla Operator's and ScyllaDB's.
var seedFlags = []string{"--external-seeds", "--seeds", "--seed-provider-parameters"}

// externalSeeds returns the seeds, on the command line of ScyllaDB's container, that are not
// members here.
func (c *Cluster) externalSeeds(spec *corev1.PodSpec) []string {
	return slices.DeleteFunc(seedWords(spec), c.isHere)
}

// seedWords returns the seeds on the command line of ScyllaDB's container, without duplicates.
func seedWords(spec *corev1.PodSpec) []string {
	container := ScyllaDBContainer(spec)
	if container == nil {
		return nil
	}
	var terms []string
	for _, arg := range slices.Concat(container.Command, container.Args) {
		// the operator's command line is one argument, a shell script
		terms = append(terms, strings.Fields(arg)...)
	}
	var out []string
	for i, word := range terms {
		flag, value, given := strings.Cut(word, "=")
		if !slices.Contains(seedFlags, flag) {
			continue
		}
		if !given && i+1 < len(terms) {
			value = terms[i+1]
		}
		value = strings.TrimPrefix(strings.Trim(value, `"'`), "seeds=")
		for seed := range strings.SplitSeq(value, ",") {
			if seed = strings.Trim(seed, ` "'\`); seed != "" && !slices.Contains(out, seed) {
				out = append(out, seed)
			}
		}
	}
	return out
}

// isHere reports whether the seed is a member or a Service of this namespace, by address or name. A
// variable that the container's shell expands is an address of its own Pod.
func (c *Cluster) isHere(seed string) bool {
	if strings.HasPrefix(seed, "$") {
		return true
	}
	if net.ParseIP(seed) != nil {
		return slices.ContainsFunc(c.Services,
			func(s corev1.Service) bool {
				return slices.Contains(append(s.Spec.ClusterIPs, s.Spec.ClusterIP),
					seed)
			}) ||
			slices.ContainsFunc(c.Pods, func(p corev1.Pod) bool { return p.Status.PodIP == seed })
	}
	labels := strings.Split(seed, ".")
	if at := slices.Index(labels, "svc"); at > 0 {
		return labels[at-1] == c.Namespace
	}
	// Forms: a name without a dot, SERVICE.NAMESPACE, or POD.SERVICE.
	return len(labels) == 1 || len(labels) == 2 && (labels[1] == c.Namespace || c.ix.refs[labels[0]].Member != "")
}

// lenientFlag is set by the Scylla Operator exactly if there are external seeds.
const lenientFlag = "--single-report-allow-non-reporting-host-ids"

// lenientBarrier reports whether the Pod's barrier accepts nodes that do not report.
func lenientBarrier(spec *corev1.PodSpec) bool {
	for i := range spec.InitContainers {
		gate := &spec.InitContainers[i]
		if gate.Name != api.ContainerBarrier {
			continue
		}
		for _, arg := range slices.Concat(gate.Command, gate.Args) {
			if arg == lenientFlag || arg == lenientFlag+"=true" {
				return true
			}
		}
	}
	return false
}

// strangerState returns the state of a host ID that no Service or Pod here has, and that peers list
// or that has a row in a report.
func (c *Cluster) strangerState(n *matrix.Node) (MemberState, words.Message) {
	why := c.WhyNotRemovable(n.HostID)
	dc, _ := why.Params["datacenter"].(string)
	switch {
	case why.Code == words.StrangerRecorded:
		return MemberRemote, words.New(words.RecordedElsewhere, "service", why.Params["service"])
	case why.Code == words.StrangerUnjudged && n.Row != nil:
		return MemberJoined, words.New(words.ServiceAndPodUnread)
	case why.Code == words.StrangerUnjudged:
		return MemberUnknown, words.New(words.ServicesUnread)
	case why.Code == words.StrangerElsewhere && n.Row != nil:
		return MemberRemote, words.New(words.PodElsewhere)
	case why.Code == words.StrangerElsewhere && dc != "":
		return MemberRemote, words.New(words.OfDatacenter, "datacenter", dc)
	case why.Code == words.StrangerElsewhere:
		return MemberRemote, words.New(words.OfAnotherDatacenter)
	}
	state := MemberUnknown
	if why.IsZero() {
		state = MemberGhost
	}
	if n.Row != nil {
		return state, words.New(words.RowOnly)
	}
	return state, words.New(words.ListedOnly)
}
