// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reading is the input of replacements from one cluster. For the proof about cancelling, the claims must have been read before the Services.
type Reading struct {
	// Cluster has the rows of the Pods where there are any, else those that it was read with.
	Cluster *cluster.Cluster

	rows        []matrix.Row
	operations  []api.NodeOperation
	known       bool
	notVerified []string
}

// Read makes a Reading of a cluster. Rows come from the Pods themselves (or from the nodes, when they were asked), and not from a report, which may
// be out of date; those of other datacenters come from the copied reports.
func Read(c *cluster.Cluster) *Reading {
	r := &Reading{Cluster: c}
	r.readRows()
	r.operations, r.known = r.Cluster.Operations()
	return r
}

// readRows takes the rows of the members here from their Pods, or from the nodes themselves where they were asked; those of other datacenters are among
// them. Without any, as with a Scylla Operator that does not report into Pods we may read, the report is all there is.
func (r *Reading) readRows() {
	c := r.Cluster
	r.notVerified = matrix.NotVerified(c.StatusReport)
	slices.Sort(r.notVerified)
	direct := cluster.SourceAnnotation
	if c.Live != nil {
		direct = cluster.SourceLive
	}
	for _, source := range []cluster.Source{direct, cluster.SourceReport} {
		by, err := c.Using(source)
		if err == nil && slices.ContainsFunc(by.Rows(), func(row matrix.Row) bool { return row.Reported }) {
			r.Cluster, r.rows = by, by.Rows()
			return
		}
	}
}

// Input collects the input of the member's replacement; nil when the member has no Service.
func (r *Reading) Input(member string, now time.Time, newID string) *Input {
	c := r.Cluster
	svc, pod, set := c.Service(member), c.Pod(member), c.StatefulSet(member)
	if svc == nil {
		return nil
	}
	in := &Input{
		Namespace: c.Namespace, Cluster: c.Name, Now: now, Dead: c.HealthPolicy().Dead.Duration, NewID: newID, Self: c.Place(member),
		Service: Service{
			UID: string(svc.UID), ResourceVersion: svc.ResourceVersion, Labels: svc.Labels, Annotations: svc.Annotations, ClusterIP: svc.Spec.ClusterIP,
		},
		Joined: cluster.Joined(svc), Claims: r.claims(member),
		Rows: r.rows, Containers: c.Containers(), Operations: r.operations, OperationsKnown: r.known, NotVerified: r.notVerified,
		Operator: c.Operator || cluster.OwnedByOperator(svc),
	}
	if in.Operator && in.Self.HostID == "" {
		in.LostHostID = c.LostHostID(member)
	}
	in.Away = WhileAway(c.Matrix(), in.Self.HostID)
	in.OperatorOff, _ = c.OperatorOff()
	if o := c.OperatorState; o != nil {
		in.Conditions = cluster.ConditionWords(o.Conditions)
		if len(o.Budgets) > 0 {
			in.Budget = o.Budgets[0]
		}
	}
	if pod != nil {
		in.Pod = r.pod(pod, set)
	}
	rec := ReadRecord(svc.Labels, svc.Annotations)
	if !in.Operator && rec.Open() && in.Self.HostID == rec.Original && (c.FreshVolume(member) || in.Pod != nil && !in.Pod.Scheduled) {
		in.Unrecorded = c.LostHostID(member)
	}
	if set != nil {
		in.StatefulSet = readStatefulSet(set, in.Operator)
	}
	for i := range c.Services {
		if o := &c.Services[i]; o.Name != member {
			in.Others = append(in.Others, r.other(o))
		}
	}
	if choice, launched := bootstrap.SeedChoiceOf(c, member); launched {
		in.Seeds = &choice
	}
	r.readVersion(in, pod, set)
	return in
}

// Requested lists the members whose Services request a replacement or have one open, by name.
func (r *Reading) Requested() []string {
	var out []string
	for i := range r.Cluster.Services {
		svc := &r.Cluster.Services[i]
		if rec := ReadRecord(svc.Labels, svc.Annotations); rec.Requested || rec.Open() || rec.Request != "" || r.lost(svc.Name) {
			out = append(out, svc.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Recorded lists the members of Requested, and those whose last replacement is over, by name.
func (r *Reading) Recorded() []string {
	out := r.Requested()
	for i := range r.Cluster.Services {
		svc := &r.Cluster.Services[i]
		if ReadRecord(svc.Labels, svc.Annotations).Last != nil && !slices.Contains(out, svc.Name) {
			out = append(out, svc.Name)
		}
	}
	slices.Sort(out)
	return out
}

// lost is true for a member of the Scylla Operator whose claim is being deleted while no record gives the reason.
func (r *Reading) lost(member string) bool {
	if !r.Cluster.Operator || !slices.ContainsFunc(r.claims(member), func(c Claim) bool { return c.Deleting }) {
		return false
	}
	in := r.Input(member, time.Time{}, "")
	return in != nil && !LostRecord(*in).IsZero()
}

// Ghosts lists the host IDs that the cluster's nodes list and no member here has. Without any Service a member cannot be told from a ghost; the list
// is then empty.
func (r *Reading) Ghosts(now time.Time) []Ghost {
	if len(r.Cluster.Services) == 0 {
		return nil
	}
	return ghosts(*r.Input(r.Cluster.Services[0].Name, now, ""), func(id hostid.ID) words.Message {
		why := r.Cluster.Stranger(id)
		if IsElsewhere(why) {
			return evidence.Do(words.New(words.GhostElsewhere, "why", why), evidence.Facts{"namespace": r.Cluster.Namespace, "cluster": r.Cluster.Name})
		}
		return why
	})
}

// Claim of that UID, nil when there is none.
func (r *Reading) Claim(uid string) *corev1.PersistentVolumeClaim {
	for i := range r.Cluster.PVCs {
		if string(r.Cluster.PVCs[i].UID) == uid {
			return &r.Cluster.PVCs[i]
		}
	}
	return nil
}

func (r *Reading) claims(member string) []Claim {
	var out []Claim
	for _, p := range r.Cluster.Claims(member) {
		claim := Claim{
			Name: p.Name, UID: string(p.UID), ResourceVersion: p.ResourceVersion, Deleting: p.DeletionTimestamp != nil,
			Kept: p.Annotations[api.AnnotationReplaceKept], Unbound: p.Spec.VolumeName == "", Volume: p.Spec.VolumeName,
		}
		if q, there := p.Spec.Resources.Requests[corev1.ResourceStorage]; there {
			claim.Size = q.String()
		}
		out = append(out, claim)
	}
	return out
}

func readStatefulSet(set *appsv1.StatefulSet, operator bool) *StatefulSet {
	first, replicas := cluster.Ordinals(set)
	out := &StatefulSet{
		Name: set.Name, First: int32(first), Replicas: int32(replicas), Deleting: set.DeletionTimestamp != nil, Rolling: cluster.Rolling(set),
		Datacenter: set.Labels[api.LabelDatacenter], Rack: set.Labels[api.LabelRack],
	}
	for i := range set.Spec.VolumeClaimTemplates {
		out.ClaimTemplates = append(out.ClaimTemplates, set.Spec.VolumeClaimTemplates[i].Name)
	}
	out.Launcher = launcher(cluster.ScyllaDBContainer(&set.Spec.Template.Spec))
	if operator {
		out.Launcher = release.Yes // the operator's sidecar reads the label
	}
	return out
}

// launcher looks for `scylla-agent launch` in a container's command line.
func launcher(c *corev1.Container) release.Support {
	if c == nil {
		return release.Unknown
	}
	line := slices.Concat(c.Command, c.Args)
	for i, arg := range line {
		// In a shell's script the words are one argument.
		if path.Base(arg) == "scylla-agent" && i+1 < len(line) && line[i+1] == "launch" || strings.Contains(arg, "scylla-agent launch") {
			return release.Yes
		}
	}
	return release.No
}

func (r *Reading) pod(p *corev1.Pod, set *appsv1.StatefulSet) *Pod {
	out := &Pod{
		Name: p.Name, UID: string(p.UID), Created: p.CreationTimestamp.Time, Deleting: p.DeletionTimestamp != nil,
		Scheduled: p.Spec.NodeName != "", KubernetesNode: p.Spec.NodeName, IP: p.Status.PodIP,
		KubernetesNodeLost: r.Cluster.NodeLost(p) || r.Cluster.KubernetesNode(p).State == cluster.KubernetesNodeGone,
		Ready:              cluster.PodReady(p), Initialising: cluster.Initialising(p), Waiting: cluster.PodWaiting(p),
	}
	cause, object := r.Cluster.OnlyUnscheduled(p.Name)
	out.Unscheduled = WhileCause(r.Cluster, p.Name, cause, object)
	if out.Paused = r.Cluster.Paused(p.Name); !out.Paused.IsZero() {
		out.Resume = HaltedStep(r.Cluster, p.Name, out.Paused.Code)
	}
	if i := slices.IndexFunc(p.Status.InitContainerStatuses, inBarrier); i >= 0 {
		out.Barrier, out.BarrierSince = r.barrier(p), p.Status.InitContainerStatuses[i].State.Running.StartedAt.Time
	}
	if p.DeletionTimestamp != nil {
		out.EndsBy = p.DeletionTimestamp.Time
	}
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "StatefulSet" {
		out.Owned = set == nil || set.Name == owner.Name && set.UID == owner.UID
	}
	if st := cluster.ScyllaDBStatus(p); st != nil {
		out.ScyllaDB = readContainer(st)
	}
	if said := r.Cluster.Said(p.Name); said != nil {
		out.HostID, out.Joined, out.OperationMode = said.HostID, cluster.SaysJoined(said), said.OperationMode
	}
	return out
}

func inBarrier(st corev1.ContainerStatus) bool {
	return st.Name == api.ContainerBarrier && st.State.Running != nil
}

// barrier returns the reasons why a Pod waits in its barrier, as the barrier itself judges.
func (r *Reading) barrier(p *corev1.Pod) []words.Message {
	in, err := bootstrap.Of(r.Cluster, p.Name)
	if err != nil {
		return []words.Message{words.New(words.BarrierCannotBeJudged, "why", err.Error())}
	}
	var out []words.Message
	groups, _ := matrix.GroupBlockers(bootstrap.Decide(in).Blockers)
	for _, g := range groups {
		out = append(out, g.Message())
	}
	return out
}

func readContainer(st *corev1.ContainerStatus) Container {
	out := Container{Running: st.State.Running != nil, Restarts: st.RestartCount}
	if st.State.Running != nil {
		out.Started = st.State.Running.StartedAt.Time
	}
	if w := st.State.Waiting; w != nil {
		out.Waiting = w.Reason
	}
	ended := cmp.Or(st.State.Terminated, st.LastTerminationState.Terminated)
	if ended != nil {
		out.Exited = &Exit{Code: ended.ExitCode, Reason: ended.Reason, Message: ended.Message}
	}
	return out
}

func (r *Reading) other(svc *corev1.Service) Other {
	out := Other{
		Ref: r.Cluster.Place(svc.Name), Joined: cluster.Joined(svc), Decommissioning: svc.Labels[api.LabelDecommissioned] == "false",
	}
	if ip := svc.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		out.Addresses = append(out.Addresses, ip)
	}
	if p := r.Cluster.Pod(svc.Name); p != nil && p.Status.PodIP != "" {
		out.Addresses = append(out.Addresses, p.Status.PodIP)
	}
	if said := r.Cluster.Said(svc.Name); said != nil {
		out.PodHostID = said.HostID
	}
	rec := ReadRecord(svc.Labels, svc.Annotations)
	out.Requested = rec.Requested
	if !rec.Open() {
		return out
	}
	addr, _ := rec.Address()
	out.ReplacingOpen, out.Replacing, out.ReplacingSince = true, cmp.Or(string(rec.Original), addr), rec.StartedAt
	out.ReplacingDeleted = rec.Accepted == "" || rec.Attempt > 1 || len(rec.PVCUIDs) == 0
	for _, uid := range rec.PVCUIDs {
		if p := r.Claim(uid); p == nil || p.DeletionTimestamp != nil {
			out.ReplacingDeleted = true
		}
	}
	return out
}

// readVersion asks the image of the Pod that will be made and the nodes that run: all must be able.
func (r *Reading) readVersion(in *Input, pod *corev1.Pod, set *appsv1.StatefulSet) {
	var spec *corev1.PodSpec
	switch {
	case set != nil:
		spec = &set.Spec.Template.Spec
	case pod != nil:
		spec = &pod.Spec
	}
	image := ""
	if spec != nil {
		if c := cluster.ScyllaDBContainer(spec); c != nil {
			image = c.Image
		}
	}
	var support, excludes []release.Support
	v, err := release.OfImage(image)
	switch {
	case image == "":
		in.VersionDetail = "no image is known"
	case err != nil:
		in.VersionDetail = err.Error()
	}
	if v.Known {
		in.Version = v.String()
		support, excludes = append(support, v.SupportsReplaceByHostID()), append(excludes, v.SupportsExcludeNode())
	}
	for i := range r.Cluster.Pods {
		name := r.Cluster.Pods[i].Name
		said := r.Cluster.Said(name)
		if name == in.Self.Member || said == nil {
			continue
		}
		if running, err := release.Parse(said.ScyllaVersion); err == nil && running.Known {
			in.Version = cmp.Or(in.Version, running.String())
			support, excludes = append(support, running.SupportsReplaceByHostID()), append(excludes, running.SupportsExcludeNode())
		}
	}
	in.Excludes = len(excludes) > 0 && !slices.ContainsFunc(excludes, func(s release.Support) bool { return s != release.Yes })
	switch {
	case slices.Contains(support, release.No):
		in.ByHostID = release.No
	case len(support) > 0 && !slices.Contains(support, release.Unknown):
		in.ByHostID = release.Yes
	}
}
