// SPDX-License-Identifier: Apache-2.0

// Package observe turns what the API server holds into the input of a replacement. It reads in the order that package replacement needs
// (claims first), takes rows from the Pods themselves rather than from a report that somebody may have stopped keeping, and says
// nothing about what to do.
package observe

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// Cluster is one reading of a cluster.
type Cluster struct {
	Snapshot *kube.Snapshot
	Claims   []corev1.PersistentVolumeClaim // read before everything else

	rows        []matrix.Row
	operations  []api.NodeOperation
	known       bool
	notVerified []string
}

// Options of Load.
type Options struct {
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// Live, when set, asks each node itself for its row, after the objects were read.
	Live func(context.Context, *kube.Snapshot) error
}

// Load reads a cluster: claims, then everything else. What may not be read is in Snapshot.Problems.
func Load(ctx context.Context, c client.Reader, key kube.ClusterKey, o Options) (*Cluster, error) {
	var claims corev1.PersistentVolumeClaimList
	if err := c.List(ctx, &claims, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("list persistentvolumeclaims in namespace %s: %w", key.Namespace, err)
	}
	s, err := kube.Load(ctx, c, key, kube.LoadOptions{Source: kube.SourceAuto, StatefulSets: true, StatusReport: true, Now: o.Now})
	if err != nil {
		return nil, err
	}
	if o.Live != nil {
		if err := o.Live(ctx, s); err != nil {
			return nil, err
		}
	}
	return New(s, claims.Items), nil
}

// New makes a Cluster of a snapshot and claims that were read before it. It takes the snapshot over.
func New(s *kube.Snapshot, claims []corev1.PersistentVolumeClaim) *Cluster {
	c := &Cluster{Snapshot: s, Claims: claims}
	c.readRows()
	c.readOperations()
	return c
}

// readRows takes the rows of this namespace's members from their Pods (or from the nodes themselves, when they were asked), and those of
// other datacenters from the reports that were copied in.
func (c *Cluster) readRows() {
	s := c.Snapshot
	stale := map[string]string{}
	if s.StatusReport != nil {
		for _, dc := range s.StatusReport.Datacenters {
			if dc.Stale {
				stale[dc.Name] = "the report of datacenter " + dc.Name + " can no longer be read"
			}
			if dc.NotVerified {
				c.notVerified = append(c.notVerified, dc.Name)
			}
		}
	}
	slices.Sort(c.notVerified)
	direct := kube.SourceAnnotation
	if s.Live != nil {
		direct = kube.SourceLive
	}
	var near []matrix.Row
	if s.Use(direct) == nil {
		near = s.Rows()
	}
	var far []matrix.Row
	if s.Use(kube.SourceReport) == nil {
		far = s.Rows()
	}
	// Without any annotation, as with a Scylla Operator that does not report into Pods we may read, the report is all there is.
	reported := slices.ContainsFunc(near, func(r matrix.Row) bool { return r.Reported })
	here := map[string]bool{}
	if reported {
		c.rows = near
		for _, r := range near {
			here[strings.ToLower(r.Reporter.HostID)] = true
		}
		_ = s.Use(direct) // it was used a moment ago
	}
	for _, r := range far {
		if reported && (r.Reporter.Member != "" || r.Reporter.HostID != "" && here[strings.ToLower(r.Reporter.HostID)]) {
			continue
		}
		if why := stale[r.Reporter.Datacenter]; why != "" && r.Stale == "" {
			r.Stale = why
		}
		c.rows = append(c.rows, r)
	}
}

// readOperations collects what nodes that are up say of topology operations. States of nodes are part of their rows.
func (c *Cluster) readOperations() {
	s := c.Snapshot
	seen := map[api.NodeOperation]bool{}
	fresh := map[string]bool{}
	for _, r := range c.rows {
		fresh[r.Reporter.Member] = r.Reported && r.Stale == "" && r.Error == ""
	}
	for i := range s.Pods {
		said := c.said(&s.Pods[i])
		if said == nil || !fresh[s.Pods[i].Name] {
			continue
		}
		// Only our reporter says a mode; a node that is not NORMAL may not have looked.
		if said.OperationMode == "NORMAL" && said.ScyllaVersion != "" {
			c.known = true
		}
		for _, op := range said.Operations {
			if !seen[op] {
				seen[op] = true
				c.operations = append(c.operations, op)
			}
		}
	}
	slices.SortFunc(c.operations, func(a, b api.NodeOperation) int {
		return strings.Compare(a.HostID+a.Type+a.State+a.Error, b.HostID+b.Type+b.State+b.Error)
	})
}

// said is what a Pod's node says of itself.
func (c *Cluster) said(pod *corev1.Pod) *api.NodeStatusReport {
	if r := c.Snapshot.Live[pod.Name]; r != nil && r.Error == nil {
		return r
	}
	v, ok := pod.Annotations[api.AnnotationNodeStatusReport]
	if !ok {
		return nil
	}
	r, err := api.DecodeNodeStatusReport(v)
	if err != nil {
		return nil // its row says so
	}
	return r
}

// Service returns the member's Service, nil when there is none.
func (c *Cluster) Service(member string) *corev1.Service {
	for i := range c.Snapshot.Services {
		if c.Snapshot.Services[i].Name == member {
			return &c.Snapshot.Services[i]
		}
	}
	return nil
}

// Pod returns the member's Pod, nil when there is none.
func (c *Cluster) Pod(member string) *corev1.Pod {
	for i := range c.Snapshot.Pods {
		if c.Snapshot.Pods[i].Name == member {
			return &c.Snapshot.Pods[i]
		}
	}
	return nil
}

// Claim returns the claim of that UID, nil when there is none.
func (c *Cluster) Claim(uid string) *corev1.PersistentVolumeClaim {
	for i := range c.Claims {
		if string(c.Claims[i].UID) == uid {
			return &c.Claims[i]
		}
	}
	return nil
}

// Input gathers what a replacement of the member looks at. It is nil when the member has no Service.
func (c *Cluster) Input(member string, now time.Time, newID string) *replacement.Input {
	svc := c.Service(member)
	if svc == nil {
		return nil
	}
	s := c.Snapshot
	pod := c.Pod(member)
	set := c.statefulSet(svc, pod)
	in := &replacement.Input{
		Namespace: s.Namespace, Cluster: s.Cluster, Now: now, NewID: newID,
		Self: bootstrap.Place(svc.Name, svc.Labels),
		Service: replacement.Service{
			UID: string(svc.UID), ResourceVersion: svc.ResourceVersion, Labels: svc.Labels, Annotations: svc.Annotations, ClusterIP: svc.Spec.ClusterIP,
		},
		Joined: boolean(svc.Annotations[api.AnnotationNodeJoined]),
		Rows:   c.rows, Operations: c.operations, OperationsKnown: c.known, NotVerified: c.notVerified,
		Operator: s.Operator || kube.OwnedByOperator(svc),
	}
	in.Self.HostID = svc.Annotations[api.AnnotationHostID]
	if pod != nil {
		in.Pod = c.toPod(pod, set)
	}
	if set != nil {
		in.StatefulSet = toStatefulSet(set, in.Operator)
	}
	in.Claims = c.claimsOf(member, set)
	for i := range s.Services {
		if o := &s.Services[i]; o.Name != member {
			in.Others = append(in.Others, c.toOther(o))
		}
	}
	c.version(in, set)
	return in
}

func (c *Cluster) statefulSet(svc *corev1.Service, pod *corev1.Pod) *appsv1.StatefulSet {
	var names []string
	for _, o := range []metav1.Object{pod, svc} {
		if o == (*corev1.Pod)(nil) {
			continue
		}
		if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "StatefulSet" {
			names = append(names, owner.Name)
		}
	}
	if dash := strings.LastIndexByte(svc.Name, '-'); dash > 0 {
		names = append(names, svc.Name[:dash])
	}
	for _, name := range names {
		for i := range c.Snapshot.StatefulSets {
			if c.Snapshot.StatefulSets[i].Name == name {
				return &c.Snapshot.StatefulSets[i]
			}
		}
	}
	return nil
}

func toStatefulSet(set *appsv1.StatefulSet, operator bool) *replacement.StatefulSet {
	out := &replacement.StatefulSet{
		Name: set.Name, Replicas: 1, Deleting: set.DeletionTimestamp != nil,
		Datacenter: set.Labels[api.LabelDatacenter], Rack: set.Labels[api.LabelRack],
	}
	if set.Spec.Replicas != nil {
		out.Replicas = *set.Spec.Replicas
	}
	if set.Spec.Ordinals != nil {
		out.First = set.Spec.Ordinals.Start
	}
	for i := range set.Spec.VolumeClaimTemplates {
		out.ClaimTemplates = append(out.ClaimTemplates, set.Spec.VolumeClaimTemplates[i].Name)
	}
	if operator {
		out.Launcher = replacement.SupportYes // the operator's sidecar reads the label
	} else {
		out.Launcher = launcher(scyllaContainer(&set.Spec.Template.Spec))
	}
	return out
}

// launcher looks for `scylla-agent launch` in a container's command line.
func launcher(c *corev1.Container) replacement.Support {
	if c == nil {
		return replacement.SupportUnknown
	}
	line := slices.Concat(c.Command, c.Args)
	for i, arg := range line {
		if path.Base(arg) == "scylla-agent" && i+1 < len(line) && line[i+1] == "launch" {
			return replacement.SupportYes
		}
		// In a shell's script the words are one argument.
		if strings.Contains(arg, "scylla-agent launch") {
			return replacement.SupportYes
		}
	}
	return replacement.SupportNo
}

func scyllaContainer(spec *corev1.PodSpec) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == api.ContainerScyllaDB {
			return &spec.Containers[i]
		}
	}
	return nil
}

// claimsOf lists the claims that the StatefulSet's templates make for the member; "data" when the templates are not known.
func (c *Cluster) claimsOf(member string, set *appsv1.StatefulSet) []replacement.Claim {
	templates := []string{"data"}
	if set != nil {
		templates = nil
		for i := range set.Spec.VolumeClaimTemplates {
			templates = append(templates, set.Spec.VolumeClaimTemplates[i].Name)
		}
	}
	var out []replacement.Claim
	for _, t := range templates {
		for i := range c.Claims {
			p := &c.Claims[i]
			if p.Name != t+"-"+member || p.Namespace != c.Snapshot.Namespace {
				continue
			}
			claim := replacement.Claim{
				Name: p.Name, UID: string(p.UID), ResourceVersion: p.ResourceVersion, Deleting: p.DeletionTimestamp != nil,
				Kept: p.Annotations[api.AnnotationReplaceKept], Unbound: p.Spec.VolumeName == "",
			}
			if q, ok := p.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
				claim.Size = q.String()
			}
			out = append(out, claim)
		}
	}
	return out
}

func (c *Cluster) toPod(p *corev1.Pod, set *appsv1.StatefulSet) *replacement.Pod {
	out := &replacement.Pod{
		Name: p.Name, UID: string(p.UID), Created: p.CreationTimestamp.Time, Deleting: p.DeletionTimestamp != nil,
		Scheduled: p.Spec.NodeName != "", KubernetesNode: p.Spec.NodeName, IP: p.Status.PodIP,
	}
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "StatefulSet" {
		out.Owned = set == nil || set.Name == owner.Name && set.UID == owner.UID
	}
	ready, containers := condition(p, corev1.PodReady), condition(p, corev1.ContainersReady)
	out.Ready = ready != nil && ready.Status == corev1.ConditionTrue
	// The node controller alone sets Ready to False while the containers count as ready: the kubelet is silent.
	if p.Status.Reason == "NodeLost" || ready != nil && ready.Status != corev1.ConditionTrue && ready.Reason != "ReadinessGatesNotReady" &&
		containers != nil && containers.Status == corev1.ConditionTrue {
		out.KubernetesNodeGone = "does not answer"
	}
	for i := range p.Status.ContainerStatuses {
		if st := &p.Status.ContainerStatuses[i]; st.Name == api.ContainerScyllaDB {
			out.ScyllaDB = toContainer(st)
		}
	}
	for _, mb := range c.Snapshot.Members() {
		if mb.Member == p.Name {
			out.Waiting = mb.Waiting
		}
	}
	out.Barrier = c.barrier(p)
	if said := c.said(p); said != nil {
		out.HostID, out.OwnsTokens, out.OperationMode = said.HostID, said.OwnsTokens, said.OperationMode
	}
	return out
}

// barrier says what a Pod that is in its barrier waits for, as the barrier itself judges.
func (c *Cluster) barrier(p *corev1.Pod) []string {
	waits := slices.ContainsFunc(p.Status.InitContainerStatuses, func(st corev1.ContainerStatus) bool {
		return st.Name == api.ContainerBarrier && st.State.Running != nil
	})
	if !waits {
		return nil
	}
	in, err := c.Snapshot.BootstrapInput(p.Name)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	groups, _ := matrix.GroupBlockers(bootstrap.Decide(in).Blockers)
	for _, g := range groups {
		out = append(out, g.Text(time.Time{})) // without ages: the same fact is the same text
	}
	return out
}

func toContainer(st *corev1.ContainerStatus) replacement.Container {
	out := replacement.Container{Running: st.State.Running != nil, Restarts: st.RestartCount}
	if w := st.State.Waiting; w != nil {
		out.Waiting = w.Reason
	}
	ended := st.State.Terminated
	if ended == nil {
		ended = st.LastTerminationState.Terminated
	}
	if ended != nil {
		out.Exited = &replacement.Exit{Code: ended.ExitCode, Reason: ended.Reason, Message: ended.Message}
	}
	return out
}

func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func (c *Cluster) toOther(svc *corev1.Service) replacement.Other {
	out := replacement.Other{
		Ref:             bootstrap.Place(svc.Name, svc.Labels),
		Joined:          boolean(svc.Annotations[api.AnnotationNodeJoined]),
		Decommissioning: svc.Labels[api.LabelDecommissioned] == "false",
	}
	out.HostID = svc.Annotations[api.AnnotationHostID]
	if ip := svc.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		out.Addresses = append(out.Addresses, ip)
	}
	if p := c.Pod(svc.Name); p != nil {
		if p.Status.PodIP != "" {
			out.Addresses = append(out.Addresses, p.Status.PodIP)
		}
		if said := c.said(p); said != nil {
			out.PodHostID = said.HostID
		}
	}
	rec := replacement.ReadRecord(svc.Labels, svc.Annotations)
	if rec.Open() {
		out.Replacing = rec.Original
		if addr, ok := rec.Address(); ok && out.Replacing == "" {
			out.Replacing = addr
		}
		if out.Replacing == "" {
			out.Replacing = "a node whose host ID is not recorded"
		}
		out.ReplacingSince = rec.StartedAt
		out.ReplacingDeleted = rec.Accepted == "" || rec.Attempt > 1 || len(rec.PVCUIDs) == 0
		for _, uid := range rec.PVCUIDs {
			if p := c.Claim(uid); p == nil || p.DeletionTimestamp != nil {
				out.ReplacingDeleted = true
			}
		}
	}
	return out
}

// version asks the image of the Pod that will be made and the nodes that run: all must be able.
func (c *Cluster) version(in *replacement.Input, set *appsv1.StatefulSet) {
	var support []scylla.Support
	image := ""
	if set != nil {
		if sc := scyllaContainer(&set.Spec.Template.Spec); sc != nil {
			image = sc.Image
		}
	} else if p := c.Pod(in.Self.Member); p != nil {
		if sc := scyllaContainer(&p.Spec); sc != nil {
			image = sc.Image
		}
	}
	v, err := scylla.ImageVersion(image)
	if image == "" {
		in.VersionDetail = "no image is known"
	} else if err != nil {
		in.VersionDetail = err.Error()
	}
	if v.Known {
		in.Version = v.String()
		support = append(support, v.SupportsReplaceByHostID())
	}
	for i := range c.Snapshot.Pods {
		p := &c.Snapshot.Pods[i]
		if p.Name == in.Self.Member {
			continue
		}
		said := c.said(p)
		if said == nil || said.ScyllaVersion == "" {
			continue
		}
		running, err := scylla.ParseVersion(said.ScyllaVersion)
		if err != nil || !running.Known {
			continue
		}
		if in.Version == "" {
			in.Version = running.String()
		}
		support = append(support, running.SupportsReplaceByHostID())
	}
	switch {
	case len(support) == 0:
		in.ByHostID = replacement.SupportUnknown
	case slices.Contains(support, scylla.SupportNo):
		in.ByHostID = replacement.SupportNo
	case slices.Contains(support, scylla.SupportUnknown):
		in.ByHostID = replacement.SupportUnknown
	default:
		in.ByHostID = replacement.SupportYes
	}
}

func boolean(text string) *bool {
	switch text {
	case "true":
		return new(true)
	case "false":
		return new(false)
	}
	return nil
}

// Ghosts lists the host IDs that the cluster's nodes list and nobody here has.
func (c *Cluster) Ghosts(now time.Time) []replacement.Ghost {
	if len(c.Snapshot.Services) == 0 {
		return nil // then nothing tells a member from a ghost
	}
	return replacement.Ghosts(*c.Input(c.Snapshot.Services[0].Name, now, ""))
}

// Requested lists the members whose Services ask for a replacement or have one open, by name.
func (c *Cluster) Requested() []string {
	var out []string
	for i := range c.Snapshot.Services {
		svc := &c.Snapshot.Services[i]
		rec := replacement.ReadRecord(svc.Labels, svc.Annotations)
		if rec.Requested || rec.Open() || rec.Request != "" {
			out = append(out, svc.Name)
		}
	}
	slices.Sort(out)
	return out
}
