// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// place is where a member stands; rows of reports carry nothing else.
type place struct {
	datacenter, rack string
	ordinal          int32
}

// index finds a snapshot's objects by name, place and host ID.
type index struct {
	services map[string]*corev1.Service
	pods     map[string]*corev1.Pod
	pvcs     map[string]*corev1.PersistentVolumeClaim
	sets     map[string]*appsv1.StatefulSet // by StatefulSet name
	refs     map[string]matrix.Ref          // by member name
	places   map[place]string               // member name
	hosts    map[string]string              // host ID -> member name, by the Services
}

func (s *Snapshot) index() *index {
	ix := &index{
		services: make(map[string]*corev1.Service, len(s.Services)),
		pods:     make(map[string]*corev1.Pod, len(s.Pods)),
		pvcs:     make(map[string]*corev1.PersistentVolumeClaim, len(s.PVCs)),
		sets:     make(map[string]*appsv1.StatefulSet, len(s.StatefulSets)),
		refs:     make(map[string]matrix.Ref, len(s.Services)+len(s.Pods)),
		places:   make(map[place]string, len(s.Services)),
		hosts:    make(map[string]string, len(s.Services)),
	}
	for i := range s.PVCs {
		ix.pvcs[s.PVCs[i].Name] = &s.PVCs[i]
	}
	for i := range s.StatefulSets {
		ix.sets[s.StatefulSets[i].Name] = &s.StatefulSets[i]
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		ix.pods[p.Name] = p
		ix.refs[p.Name] = placeOf(p.Name, p.Labels)
	}
	for i := range s.Services {
		v := &s.Services[i]
		ix.services[v.Name] = v
		ref := placeOf(v.Name, v.Labels)
		ref.HostID = v.Annotations[api.AnnotationHostID]
		ix.refs[v.Name] = ref
		if ref.HostID != "" {
			ix.hosts[ref.HostID] = v.Name
		}
	}
	for name, ref := range ix.refs {
		if ref.Ordinal != nil {
			ix.places[placeKey(ref)] = name
		}
	}
	return ix
}

func placeOf(name string, labels map[string]string) matrix.Ref {
	ref := bootstrap.Place(name, labels)
	ref.Member = name
	return ref
}

func placeKey(r matrix.Ref) place {
	p := place{datacenter: r.Datacenter, rack: r.Rack, ordinal: -1}
	if r.Ordinal != nil {
		p.ordinal = *r.Ordinal
	}
	return p
}

// names are the members known by Service or Pod, sorted.
func (ix *index) names() []string { return slices.Sorted(maps.Keys(ix.refs)) }

// member finds the member that a report's row speaks of, "" when it is not one of this namespace.
func (ix *index) member(r matrix.Ref) string {
	if r.Ordinal != nil {
		if name, ok := ix.places[placeKey(r)]; ok {
			return name
		}
	}
	if name, ok := ix.hosts[r.HostID]; ok && r.HostID != "" {
		return name
	}
	return ""
}

// cutOrdinal splits "demo-rack1-2" into "demo-rack1" and 2.
func cutOrdinal(name string) (set string, ordinal int32, ok bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(name[dash+1:], 10, 31)
	if err != nil {
		return "", 0, false
	}
	return name[:dash], int32(n), true
}

// set is the StatefulSet of a member, nil when it was not read.
func (ix *index) set(member string) *appsv1.StatefulSet {
	if p := ix.pods[member]; p != nil {
		if o := metav1.GetControllerOf(p); o != nil && o.Kind == "StatefulSet" {
			return ix.sets[o.Name]
		}
	}
	name, _, _ := cutOrdinal(member)
	return ix.sets[name]
}

// dataPath is where ScyllaDB keeps everything.
const dataPath = "/var/lib/scylla"

// pvcName is the name of a member's data claim: from the Pod where there is one, else from the StatefulSet's claim templates, else
// as the Scylla Operator names it.
func (ix *index) pvcName(member string) string {
	if p := ix.pods[member]; p != nil {
		if vol := dataVolume(&p.Spec); vol != "" {
			for i := range p.Spec.Volumes {
				if v := &p.Spec.Volumes[i]; v.Name == vol && v.PersistentVolumeClaim != nil {
					return v.PersistentVolumeClaim.ClaimName
				}
			}
		}
	}
	if s := ix.set(member); s != nil {
		vol := dataVolume(&s.Spec.Template.Spec)
		for i := range s.Spec.VolumeClaimTemplates {
			if t := &s.Spec.VolumeClaimTemplates[i]; t.Name == vol || vol == "" && len(s.Spec.VolumeClaimTemplates) == 1 {
				return t.Name + "-" + member
			}
		}
	}
	return "data-" + member
}

// dataVolume is the name of the volume that ScyllaDB's container mounts at its data path, "" when none is.
func dataVolume(spec *corev1.PodSpec) string {
	if c := scyllaContainer(spec); c != nil {
		for _, m := range c.VolumeMounts {
			if strings.TrimSuffix(m.MountPath, "/") == dataPath {
				return m.Name
			}
		}
	}
	return ""
}

func scyllaContainer(spec *corev1.PodSpec) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == api.ContainerScyllaDB {
			return &spec.Containers[i]
		}
	}
	for i := range spec.Containers {
		if isScyllaDBImage(spec.Containers[i].Image) {
			return &spec.Containers[i]
		}
	}
	return nil
}

// Rows are what the cluster's nodes say, by s.Source, in the order datacenter, rack, ordinal, host ID. Report rows are those of the
// reports, no more and no fewer; with annotations and live, every member that has joined has a row, reported or not, and newcomers
// have none. A row whose Pod or reporter is gone is Stale with the reason.
func (s *Snapshot) Rows() []matrix.Row {
	rows, _ := s.rows(s.index())
	return rows
}

func (s *Snapshot) rows(ix *index) ([]matrix.Row, Source) {
	src := s.used()
	var rows []matrix.Row
	switch src {
	case SourceLive:
		sh := sharedCells{}
		sh.add(maps.Values(s.Live))
		rows = s.memberRows(ix, func(ref matrix.Ref, pod *corev1.Pod) matrix.Row { return s.liveRow(sh, ref, pod) })
	case SourceAnnotation:
		sh := sharedCells{}
		sh.add(func(yield func(*api.NodeStatusReport) bool) {
			for _, a := range s.annotations() {
				if a.report != nil && !yield(a.report) {
					return
				}
			}
		})
		rows = s.memberRows(ix, func(ref matrix.Ref, pod *corev1.Pod) matrix.Row { return s.annotationRow(sh, ref, pod) })
	default:
		rows = s.reportRows(ix)
	}
	slices.SortStableFunc(rows, func(a, b matrix.Row) int { return compareRefs(a.Reporter, b.Reporter) })
	return rows, src
}

func compareRefs(a, b matrix.Ref) int {
	pa, pb := placeKey(a), placeKey(b)
	return cmp.Or(cmp.Compare(pa.datacenter, pb.datacenter), cmp.Compare(pa.rack, pb.rack), cmp.Compare(pa.ordinal, pb.ordinal),
		cmp.Compare(a.Member, b.Member), cmp.Compare(a.HostID, b.HostID))
}

func (s *Snapshot) reportRows(ix *index) []matrix.Row {
	var rows []matrix.Row
	if s.OverrideRef != "" || len(s.Reports) == 0 {
		if s.StatusReport == nil {
			return nil
		}
		rows = matrix.FromStatusReport(s.StatusReport)
		for i := range rows {
			s.refine(ix, &rows[i], false)
		}
		return rows
	}
	// All reports at once: rows that say the same share their membership.
	rows = matrix.FromReports(s.Reports)
	remote := s.remotePlaces()
	for i := range rows {
		s.refine(ix, &rows[i], remote[placeKey(rows[i].Reporter)])
	}
	return rows
}

// remotePlaces are the places whose only reports were copied in from elsewhere.
func (s *Snapshot) remotePlaces() map[place]bool {
	out := map[place]bool{}
	for pass := range 2 {
		for i := range s.Reports {
			r := &s.Reports[i]
			if isRemote(r) != (pass == 0) {
				continue
			}
			for j := range r.Racks {
				for k := range r.Racks[j].Nodes {
					out[place{r.DatacenterName, r.Racks[j].Name, r.Racks[j].Nodes[k].Ordinal}] = pass == 0
				}
			}
		}
	}
	return out
}

// refine adds to a report's row what the Pods here tell: the member's name, whether its reporter still runs, and why it did not
// report.
func (s *Snapshot) refine(ix *index, row *matrix.Row, remote bool) {
	if remote {
		return
	}
	name := ix.member(row.Reporter)
	if name == "" {
		return
	}
	if row.Reporter.Member == "" {
		row.Reporter.Member = name
	}
	if a := s.annotations()[name]; a.report != nil || a.err != nil {
		fillFromAnnotation(row, a, ix.pods[name])
	}
	if s.knowsPods() && row.Stale == "" && row.Reported {
		row.Stale, row.StaleSince = s.rowStale(name, ix.pods[name])
	}
}

func fillFromAnnotation(row *matrix.Row, a decoded, pod *corev1.Pod) {
	if a.err != nil {
		if !row.Reported && (row.Error == "" || row.Error == a.err.Error()) {
			row.Error, row.Fault = a.err.Error(), faultOf(pod)
		}
		return
	}
	if row.Version == "" {
		row.Version = a.report.ScyllaVersion
	}
	if row.OperationMode == "" {
		row.OperationMode = a.report.OperationMode
	}
	if !row.Reported && row.Error == "" && a.report.Error != nil {
		row.Error = *a.report.Error
	}
	if row.Error != "" && a.report.Error != nil && row.Error == *a.report.Error {
		row.Fault = matrix.FaultScyllaDB
	}
}

// faultOf is whose log tells why an annotation cannot be read: the Scylla Operator's reporter shares ScyllaDB's container.
func faultOf(pod *corev1.Pod) matrix.Fault {
	if pod != nil {
		if _, _, ours := reporterStatus(pod); !ours {
			return matrix.FaultScyllaDB
		}
	}
	return matrix.FaultReporter
}

// knowsPods is true when the absence of a Pod in the snapshot means that there is none.
func (s *Snapshot) knowsPods() bool {
	return s.loaded&kindPods != 0 || s.loaded == 0 && len(s.Pods) > 0
}

// knowsServices is true when the absence of a Service in the snapshot means that there is none.
func (s *Snapshot) knowsServices() bool {
	return s.loaded&kindServices != 0 || s.loaded == 0 && len(s.Services) > 0
}

// memberRows makes one row for every member that has joined.
func (s *Snapshot) memberRows(ix *index, say func(ref matrix.Ref, pod *corev1.Pod) matrix.Row) []matrix.Row {
	var rows []matrix.Row
	for _, name := range ix.names() {
		pod, svc := ix.pods[name], ix.services[name]
		row := say(ix.refs[name], pod)
		if !joinedByEvidence(svc, &row) {
			continue
		}
		recorded := ix.refs[name].HostID
		if svc != nil && recorded != "" && svc.Labels[api.LabelReplacingNodeHostID] == recorded &&
			(row.Reporter.HostID != recorded || !row.Reported) {
			continue // the member's Pod is the newcomer that replaces this very node
		}
		if recorded != "" && row.Reporter.HostID != "" && row.Reporter.HostID != recorded {
			if j := joined(svc); j != nil && *j {
				// The Pod speaks for another node than the one that its Service records as a member: after a lost volume, say.
				row.Error = fmt.Sprintf("the Pod reports as host ID %s, while its Service records member %s", row.Reporter.HostID, recorded)
				row.Reporter.HostID, row.Observed, row.Base, row.Fault = recorded, nil, nil, matrix.FaultScyllaDB
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// joinedByEvidence is true for a member that must have a row. The Service's word counts first; without it (older operators, or
// nobody who writes it) the node's own.
func joinedByEvidence(svc *corev1.Service, row *matrix.Row) bool {
	if j := joined(svc); j != nil {
		return *j
	}
	if row.Reporter.HostID == "" {
		return false // a host ID that its peers know will appear in their rows
	}
	switch row.State {
	case matrix.StateJoining, matrix.StateReplacing:
		return false
	}
	return true
}

// joined is the joined annotation, nil when absent or not a boolean.
func joined(svc *corev1.Service) *bool {
	if svc == nil {
		return nil
	}
	switch svc.Annotations[api.AnnotationNodeJoined] {
	case "true":
		return new(true)
	case "false":
		return new(false)
	}
	return nil
}

func (s *Snapshot) annotationRow(sh sharedCells, ref matrix.Ref, pod *corev1.Pod) matrix.Row {
	a := s.annotations()[ref.Member]
	row := sh.row(ref, a.report, a.err)
	if a.err != nil {
		row.Fault = faultOf(pod)
	}
	switch {
	case pod == nil && s.knowsPods() && !row.Reported:
		row.Error, row.Fault = fmt.Sprintf("pod %s/%s does not exist", s.Namespace, ref.Member), matrix.FaultPod
	case s.knowsPods() && row.Reported:
		row.Stale, row.StaleSince = s.rowStale(ref.Member, pod)
	}
	return row
}

func (s *Snapshot) liveRow(sh sharedCells, ref matrix.Ref, pod *corev1.Pod) matrix.Row {
	row := sh.row(ref, s.Live[ref.Member], nil)
	if !row.Reported && row.Error == "" {
		row.Error = "ScyllaDB was not asked"
		if pod == nil {
			row.Error = fmt.Sprintf("pod %s/%s does not exist", s.Namespace, ref.Member)
		}
	}
	if row.Error != "" && !strings.HasPrefix(row.Error, api.ErrorAskScyllaDB) {
		row.Fault = matrix.FaultPod // nobody got as far as asking ScyllaDB
	}
	return row
}

// sharedCells holds what different nodes say in the same words, converted once; keyed by the first of the cells.
type sharedCells map[*api.ObservedNodeStatusReport]matrix.Row

// add converts the cells of all reports together, so that those over the same host IDs share their membership.
func (sh sharedCells) add(reports iter.Seq[*api.NodeStatusReport]) {
	var first []*api.ObservedNodeStatusReport
	var nodes []api.NodeReport
	for r := range reports {
		if r == nil || len(r.ObservedNodes) == 0 {
			continue
		}
		k := &r.ObservedNodes[0]
		if _, known := sh[k]; !known {
			sh[k] = matrix.Row{}
			first, nodes = append(first, k), append(nodes, api.NodeReport{ObservedNodes: r.ObservedNodes})
		}
	}
	rows := matrix.FromReports([]api.ScyllaDBDatacenterNodesStatusReport{{Racks: []api.RackReport{{Nodes: nodes}}}})
	for i := range rows {
		sh[first[i]] = rows[i]
	}
}

func (sh sharedCells) row(ref matrix.Ref, report *api.NodeStatusReport, err error) matrix.Row {
	if err != nil {
		return matrix.Row{Reporter: ref, Reported: true, Error: err.Error()}
	}
	if report == nil {
		return matrix.FromAnnotation(ref, nil)
	}
	bare := *report
	bare.ObservedNodes = nil
	row := matrix.FromAnnotation(ref, &bare)
	if row.Error == "" && len(report.ObservedNodes) > 0 {
		cells := sh[&report.ObservedNodes[0]]
		row.Base, row.Observed, row.Reported = cells.Base, cells.Observed, true
	}
	if row.State == matrix.StateNormal && report.OwnsTokens != nil && !*report.OwnsTokens && newcomerMode(report.OperationMode) {
		row.State = matrix.StateJoining
	}
	return row
}

// newcomerMode is true for the words of a node that is on its way in. A zero-token node is NORMAL without tokens.
func newcomerMode(mode string) bool {
	switch strings.ToUpper(mode) {
	case "STARTING", "JOINING", "BOOTSTRAP", "UNKNOWN", "":
		return true
	}
	return false
}

// rowStale says why what a Pod's reporter wrote may be old; empty when the reporter runs.
func (s *Snapshot) rowStale(name string, pod *corev1.Pod) (reason string, since time.Time) {
	who := "pod " + s.Namespace + "/" + name
	if pod == nil && s.Offline {
		return who + " is not among the saved objects", time.Time{}
	}
	if pod == nil {
		return who + " is gone", time.Time{}
	}
	status, container, ours := reporterStatus(pod)
	switch {
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return fmt.Sprintf("%s is %s", who, pod.Status.Phase), podTransition(pod, corev1.ContainersReady)
	case status == nil && pod.Status.Phase != corev1.PodRunning:
		return fmt.Sprintf("%s is %s", who, cmp.Or(string(pod.Status.Phase), "not running")), pod.CreationTimestamp.Time
	case status == nil:
		return fmt.Sprintf("%s: nothing is known of container %s", who, container), time.Time{}
	case status.State.Terminated != nil:
		t := status.State.Terminated
		return fmt.Sprintf("%s: container %s ended (%s)", who, container, cmp.Or(t.Reason, fmt.Sprintf("exit code %d", t.ExitCode))), t.FinishedAt.Time
	case status.State.Waiting != nil && status.State.Waiting.Reason != "":
		return fmt.Sprintf("%s: container %s waits (%s)", who, container, status.State.Waiting.Reason), lastEnd(status)
	case status.State.Running == nil:
		return fmt.Sprintf("%s: container %s is not running", who, container), lastEnd(status)
	case ours && !status.Ready:
		// Its readiness says that its loop polls. The operator's reporter shares ScyllaDB's container, whose readiness is ScyllaDB's.
		return fmt.Sprintf("%s: container %s is not ready", who, container), podTransition(pod, corev1.ContainersReady)
	case nodeLost(pod):
		return fmt.Sprintf("%s: its Kubernetes node %s does not answer", who, pod.Spec.NodeName), podTransition(pod, corev1.PodReady)
	}
	return "", time.Time{}
}

// reporterStatus finds the container that writes the row: our sidecar where the Pod has one, else ScyllaDB's own container, which
// under the Scylla Operator is the reporter.
func reporterStatus(pod *corev1.Pod) (status *corev1.ContainerStatus, name string, ours bool) {
	has := func(cs []corev1.Container, name string) bool {
		return slices.ContainsFunc(cs, func(c corev1.Container) bool { return c.Name == name })
	}
	find := func(cs []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
		if i := slices.IndexFunc(cs, func(c corev1.ContainerStatus) bool { return c.Name == name }); i >= 0 {
			return &cs[i]
		}
		return nil
	}
	switch {
	case has(pod.Spec.InitContainers, api.ContainerReporter):
		return find(pod.Status.InitContainerStatuses, api.ContainerReporter), api.ContainerReporter, true
	case has(pod.Spec.Containers, api.ContainerReporter):
		return find(pod.Status.ContainerStatuses, api.ContainerReporter), api.ContainerReporter, true
	}
	name = api.ContainerScyllaDB
	if c := scyllaContainer(&pod.Spec); c != nil {
		name = c.Name
	}
	return find(pod.Status.ContainerStatuses, name), name, false
}

// nodeLost recognises what the node controller does to the Pods of a Kubernetes node that no longer answers: it alone sets Ready to
// False while the containers still count as ready.
func nodeLost(pod *corev1.Pod) bool {
	if pod.Status.Reason == "NodeLost" {
		return true
	}
	ready, containers := podCondition(pod, corev1.PodReady), podCondition(pod, corev1.ContainersReady)
	return ready != nil && ready.Status != corev1.ConditionTrue && ready.Reason != "ReadinessGatesNotReady" &&
		containers != nil && containers.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func podTransition(pod *corev1.Pod, t corev1.PodConditionType) time.Time {
	if c := podCondition(pod, t); c != nil && c.Status != corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

func lastEnd(s *corev1.ContainerStatus) time.Time {
	if t := s.LastTerminationState.Terminated; t != nil {
		return t.FinishedAt.Time
	}
	return time.Time{}
}

// rowWritten is when a member's row was last written, by the write times that the API server keeps; zero when it says nothing.
func (s *Snapshot) rowWritten(src Source, pod *corev1.Pod, ref matrix.Ref) time.Time {
	switch {
	case src == SourceLive:
		if s.Live[ref.Member] != nil {
			return s.TakenAt
		}
	case src == SourceAnnotation:
		if pod != nil {
			return writtenAt(pod.ManagedFields, "f:"+api.AnnotationNodeStatusReport)
		}
	case s.OverrideRef != "" || len(s.Reports) == 0:
		if s.StatusReport != nil {
			return writtenAt(s.StatusReport.ManagedFields, "f:datacenters")
		}
	default:
		for i := range s.Reports {
			if s.Reports[i].DatacenterName == ref.Datacenter {
				return writtenAt(s.Reports[i].ManagedFields, "f:racks")
			}
		}
	}
	return time.Time{}
}

// writtenAt is the latest write of a field.
func writtenAt(entries []metav1.ManagedFieldsEntry, field string) time.Time {
	var at time.Time
	for i := range entries {
		e := &entries[i]
		if e.Time != nil && e.FieldsV1 != nil && e.Time.After(at) && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(field)) {
			at = e.Time.Time
		}
	}
	return at
}

// Matrix of Rows. Where opts leaves them empty, names of host IDs and datacenters that nobody verified come from the snapshot.
func (s *Snapshot) Matrix(opts matrix.Options) *matrix.Matrix {
	ix := s.index()
	rows, _ := s.rows(ix)
	return s.matrix(ix, rows, opts)
}

func (s *Snapshot) matrix(ix *index, rows []matrix.Row, opts matrix.Options) *matrix.Matrix {
	if opts.Names == nil {
		opts.Names = s.names(ix, rows)
	}
	if opts.NotVerified == nil {
		opts.NotVerified = s.notVerified()
	}
	if opts.Reports == 0 {
		opts.Reports = s.reportCount()
	}
	if opts.Namespace == "" {
		opts.Namespace = s.Namespace
	}
	if opts.Fates == nil {
		opts.Fates = s.fates()
	}
	return matrix.New(rows, opts)
}

// fates are the replacements that the Services tell of: open ones by the host ID that is recorded, and before that, or by address, by that of
// the member that asks.
func (s *Snapshot) fates() map[string]matrix.Fate {
	fates := map[string]matrix.Fate{}
	for i := range s.Services {
		v := &s.Services[i]
		id := v.Labels[api.LabelReplacingNodeHostID]
		if id != "" {
			fates[id] = matrix.Fate{Member: v.Name, Open: true}
			continue
		}
		if _, asked := v.Labels[api.LabelReplace]; asked && v.Annotations[api.AnnotationHostID] != "" {
			fates[v.Annotations[api.AnnotationHostID]] = matrix.Fate{Member: v.Name}
		}
	}
	return fates
}

// names places host IDs: by the Services, and where these do not say by the Pods' own word.
func (s *Snapshot) names(ix *index, rows []matrix.Row) map[string]matrix.Ref {
	names := make(map[string]matrix.Ref, len(ix.hosts))
	for name, a := range s.annotations() {
		if a.report != nil && a.report.HostID != "" {
			ref := ix.refs[name]
			ref.HostID = a.report.HostID
			names[a.report.HostID] = ref
		}
	}
	for i := range rows {
		if r := rows[i].Reporter; r.HostID != "" {
			names[r.HostID] = r
		}
	}
	for id, name := range ix.hosts {
		names[id] = ix.refs[name]
	}
	return names
}

// notVerified are datacenters that exist and of which no report tells.
func (s *Snapshot) notVerified() []string {
	out := matrix.NotVerified(s.StatusReport)
	if s.OverrideRef != "" || len(s.Reports) == 0 {
		return out
	}
	have := map[string]bool{}
	for i := range s.Reports {
		have[s.Reports[i].DatacenterName] = true
	}
	for i := range s.Services {
		dc := s.Services[i].Labels[api.LabelDatacenter]
		if j := joined(&s.Services[i]); dc != "" && !have[dc] && j != nil && *j && !slices.Contains(out, dc) {
			out = append(out, dc)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reportCount is how many reports the rows come from.
func (s *Snapshot) reportCount() int {
	switch {
	case s.Source == SourceAnnotation || s.Source == SourceLive:
		return 0
	case s.OverrideRef != "" || len(s.Reports) == 0:
		if s.StatusReport != nil {
			return max(1, len(s.StatusReport.Datacenters))
		}
		return 0
	}
	return len(s.Reports)
}
