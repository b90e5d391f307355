// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	hostA   = "aaaaaaaa-0000-4000-8000-000000000001"
	hostB   = "bbbbbbbb-0000-4000-8000-000000000002"
	hostC   = "cccccccc-0000-4000-8000-000000000003"
	hostOld = "dddddddd-0000-4000-8000-000000000004"
	hostNew = "eeeeeeee-0000-4000-8000-000000000005"
)

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// all is every text of a step.
func all(s Step) string {
	return strings.Join(append(words.Texts(s.Waiting), words.Text(s.Message), words.Text(s.Cure)), "\n")
}

func ref(member, rack, hostID string) matrix.Ref {
	return matrix.Ref{HostID: hostid.ID(hostID), Member: member, Datacenter: "dc1", Rack: rack, Ordinal: new(int32(0))}
}

func up(ids ...string) []matrix.Observation {
	var out []matrix.Observation
	for _, id := range ids {
		out = append(out, matrix.Observation{HostID: hostid.ID(id), Status: matrix.Up})
	}
	return out
}

func down(id string) matrix.Observation {
	return matrix.Observation{HostID: hostid.ID(id), Status: matrix.Down, Since: t0.Add(-10 * time.Minute)}
}

// member is one with a Service that records its host ID.
func member(r matrix.Ref) *cluster.Member {
	return &cluster.Member{Ref: r, Joined: new(true), Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: r.Member, Labels: map[string]string{api.LabelCluster: "demo"},
		Annotations: map[string]string{api.AnnotationHostID: string(r.HostID), api.AnnotationNodeJoined: "true"},
	}}}
}

// podOf is the Pod of demo-d-0, made by its StatefulSet; without a Kubernetes node where that is empty.
func podOf(uid, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-d-0", UID: types.UID(uid), OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "demo-d", Controller: new(true)}}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}},
	}
}

// claimOf is a claim of that name.
func claimOf(name, uid string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

// data is the data claim of demo-d-0, and nothing else; with a change.
func data(uid string, changes ...func(metav1.Object)) []*corev1.PersistentVolumeClaim {
	c := claimOf("data-demo-d-0", uid)
	for _, change := range changes {
		change(c)
	}
	return []*corev1.PersistentVolumeClaim{c}
}

// deleting is an object that is being deleted.
func deleting(o metav1.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: t0}) }

// says is the report of a node; ownsTokens is whether it has joined.
func says(id string, ownsTokens *bool, mode string) *api.NodeStatusReport {
	return &api.NodeStatusReport{HostID: hostid.ID(id), OwnsTokens: ownsTokens, OperationMode: mode}
}

// ready sets the Pod's condition.
func ready(p *corev1.Pod, is bool) {
	p.Status.Conditions = nil
	if is {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
}

// runs sets the state of ScyllaDB's container.
func runs(p *corev1.Pod, restarts int32, state corev1.ContainerState) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, RestartCount: restarts, State: state}}
}

// running and exited are states of a container.
func running(since time.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
}

func exited(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed"}}
}

// barrier puts the Pod into its barrier, which was started then.
func barrier(p *corev1.Pod, since time.Time) {
	p.Status.Phase, p.Spec.InitContainers = corev1.PodPending, []corev1.Container{{Name: api.ContainerBarrier}}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: running(since)}}
}

// rolls is a StatefulSet in the middle of a rollout.
func rolls(in *Input) {
	in.Self.StatefulSet.Status = appsv1.StatefulSetStatus{CurrentRevision: "1", UpdateRevision: "2"}
}

// unassigned: the Pod waits for a Kubernetes node. unschedulable: the scheduler finds none for it.
func unassigned(in *Input) {
	p := in.Self.Pod
	p.Spec.NodeName, p.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
}

func unschedulable(in *Input) {
	unassigned(in)
	in.Self.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
}

// made sets when the Pod was made.
func made(p *corev1.Pod, at time.Time) { p.CreationTimestamp = metav1.NewTime(at) }

// records sets what the Service records of the node.
func records(in *Input, id string, joined *bool) {
	in.Self.Service.Annotations[api.AnnotationHostID], in.Self.Joined = id, joined
}

// noPod takes the Pod away, and with it its node's report.
func noPod(in *Input) { in.Self.Pod, in.Self.Report = nil, nil }

// clone shares no object with the input, so that either may change.
func clone(in Input) Input {
	of := func(m *cluster.Member) *cluster.Member {
		c := *m
		c.Service, c.Pod, c.PVC, c.StatefulSet = m.Service.DeepCopy(), m.Pod.DeepCopy(), m.PVC.DeepCopy(), m.StatefulSet.DeepCopy()
		if m.Report != nil {
			c.Report = new(*m.Report)
		}
		return &c
	}
	in.Self, in.Others, in.Claims = of(in.Self), slices.Clone(in.Others), slices.Clone(in.Claims)
	for i := range in.Others {
		in.Others[i] = of(in.Others[i])
	}
	for i := range in.Claims {
		in.Claims[i] = in.Claims[i].DeepCopy()
	}
	return in
}

// base is a cluster of four racks: demo-a-0, demo-b-0 and demo-c-0 are UP and see demo-d-0 DOWN. The replacement of demo-d-0 is not requested yet.
func base() Input {
	in := Input{
		Namespace: "scylla", Cluster: "demo", Self: member(ref("demo-d-0", "d", hostOld)), Claims: data("pvc-1"),
		Version: "2025.2.1", ByHostID: release.Yes, OperationsKnown: true, Now: t0, NewID: "request-1",
	}
	in.Self.Service.ResourceVersion, in.Self.Service.Spec.ClusterIP = "1", "10.96.0.4"
	in.Self.Pod = podOf("pod-1", "k4")
	in.Self.Pod.Status.PodIP = "10.244.4.9"
	made(in.Self.Pod, t0.Add(-time.Hour))
	in.Self.StatefulSet = &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-d", Labels: map[string]string{api.LabelDatacenter: "dc1", api.LabelRack: "d"}},
		Spec: appsv1.StatefulSetSpec{
			Template:             corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB, Command: []string{"scylla-agent", "launch"}}}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claimOf("data", "")},
		},
	}
	var rows []matrix.Row
	for _, o := range []struct{ member, rack, id string }{{"demo-a-0", "a", hostA}, {"demo-b-0", "b", hostB}, {"demo-c-0", "c", hostC}} {
		in.Others = append(in.Others, member(ref(o.member, o.rack, o.id)))
		rows = append(rows, matrix.Row{
			Reporter: ref(o.member, o.rack, o.id), Reported: true, Observed: append(up(hostA, hostB, hostC), down(hostOld)),
		})
	}
	setRows(&in, append(rows, matrix.Row{Reporter: in.Self.Ref, Reported: true, Stale: matrix.Trouble{Code: words.PodGone}, Observed: up(hostA, hostB, hostC, hostOld)}))
	return in
}

func requested() Input {
	in := base()
	in.Self.Service.Labels[api.LabelReplace] = ""
	in.Self.Service.Annotations[api.AnnotationReplaceRequest] = "request-1"
	return in
}

// after applies the step's patch, as the API server would.
func after(in Input, s Step) Input {
	in = clone(in)
	s.Patch.Apply(&in.Self.Service.Labels, &in.Self.Service.Annotations)
	return in
}

func recorded() Input { in := requested(); return after(in, Next(in)) }

// newPod is the state after deletion: another claim, another Pod.
func newPod() Input {
	in := recorded()
	in.Claims, in.Self.Pod = data("pvc-2"), podOf("pod-2", "k5")
	in.Self.Pod.Status.PodIP = "10.244.5.7"
	return in
}

// joining: the newcomer is seen by its peers in a given state, and its Pod reports.
func joining(state matrix.State, ownsTokens bool) Input {
	in := newPod()
	in.Self.Report = says(hostNew, new(ownsTokens), "BOOTSTRAP")
	eachRow(&in, func(_ int, r *matrix.Row) {
		if r.Reporter.Member != in.Self.Member {
			r.Observed = append(r.Observed, matrix.Observation{HostID: hostNew, Status: matrix.Up, State: state})
		}
	})
	return in
}

// joined: the newcomer is a normal member, the old host ID is gone, the Pod is Ready.
func joined() Input {
	in := joining(matrix.StateNormal, true)
	unlist(&in, hostOld)
	ready(in.Self.Pod, true)
	in.Self.Report.OperationMode = "NORMAL"
	in.Now = t0.Add(7 * time.Minute)
	return in
}

// rowsOf are copies of the input's rows, ordered by node.
func rowsOf(in Input) []matrix.Row {
	var out []matrix.Row
	for r := range in.Matrix.Rows() {
		out = append(out, *r)
		out[len(out)-1].Observed = slices.Clone(r.Observed)
	}
	return out
}

func setRows(in *Input, rows []matrix.Row) { in.Matrix = matrix.New(rows, matrix.Options{}) }

// eachRow changes each row.
func eachRow(in *Input, f func(i int, r *matrix.Row)) {
	rows := rowsOf(*in)
	for i := range rows {
		f(i, &rows[i])
	}
	setRows(in, rows)
}

// ages makes the rows old.
func ages(in *Input, which ...int) {
	eachRow(in, func(i int, r *matrix.Row) {
		if slices.Contains(which, i) {
			r.Stale = matrix.Trouble{Code: words.PodGone}
		}
	})
}

// unlist takes the host IDs out of every row.
func unlist(in *Input, ids ...string) {
	eachRow(in, func(_ int, r *matrix.Row) {
		for _, id := range ids {
			r.Observed = without(r.Observed, id)
		}
	})
}

func without(obs []matrix.Observation, id string) []matrix.Observation {
	var out []matrix.Observation
	for _, o := range obs {
		if string(o.HostID) != id {
			out = append(out, o)
		}
	}
	return out
}

// setCell changes what one reporter says of one host ID; reporter "*" means every other member.
func setCell(in Input, reporter, id string, status matrix.Status, state matrix.State) Input {
	eachRow(&in, func(_ int, r *matrix.Row) {
		if r.Reporter.Member == in.Self.Member || reporter != "*" && r.Reporter.Member != reporter {
			return
		}
		r.Observed = append(without(r.Observed, id), matrix.Observation{HostID: hostid.ID(id), Status: status, State: state, Since: t0.Add(-10 * time.Minute)})
	})
	return in
}

// world is Kubernetes and ScyllaDB as far as a replacement touches them, with a history to hold promises against.
type world struct {
	in      Input // objects as they are
	history []Input

	pvcs, pods int
	started    bool   // ScyllaDB runs on the Pod
	argument   string // with this replace argument
	empty      bool   // the Pod's volume has never been written to
	onPVC      string // UID of the claim that the Pod runs on
	phase      int    // of the join: 0 not begun, 1 replacing, 2 normal with old listed, 3 old gone

	deletions map[string][]string // request -> UIDs of claims whose deletion took effect
	problems  []string
	userCut   bool // a person took the label away
	cancelled bool
}

func newWorld() *world {
	w := &world{in: requested(), pvcs: 1, pods: 1, onPVC: "pvc-1", deletions: map[string][]string{}}
	w.save()
	return w
}

func (w *world) save() {
	w.history = append(w.history, clone(w.in))
}

func (w *world) complain(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *world) bump() { w.in.Self.Service.ResourceVersion += "i" }

// act is one step of a controller that sees the world as it was `ago` changes before. It keeps nothing.
func (w *world) act(ago int) Step {
	seen := w.history[max(0, len(w.history)-1-ago)]
	seen.Now = w.in.Now
	seen.NewID = fmt.Sprintf("invented-%d", len(w.history))
	s := Next(seen)
	switch s.Action {
	case ActionRecord, ActionFinish, ActionCancel, ActionCancelRefused, ActionAdopt:
		if seen.Self.Service.ResourceVersion != w.in.Self.Service.ResourceVersion {
			return s // 409
		}
		before := RecordOf(w.in.Self)
		s.Patch.Apply(&w.in.Self.Service.Labels, &w.in.Self.Service.Annotations)
		w.bump()
		now := RecordOf(w.in.Self)
		if before.HasOriginal && now.HasOriginal && before.Original != now.Original {
			w.complain("original host ID changed from %q to %q", before.Original, now.Original)
		}
		if now.HasOriginal && now.Original != hostOld {
			w.complain("recorded original host ID %q", now.Original)
		}
		if s.Action == ActionFinish && w.phase < 3 {
			w.complain("labels removed in join phase %d", w.phase)
		}
		w.cancelled = w.cancelled || s.Action == ActionCancel
		if s.Action == ActionCancel && len(w.deletions) > 0 {
			w.complain("cancelled after a deletion")
		}
	case ActionDeletePVC:
		for _, c := range w.in.Claims {
			if c.UID != s.Claim.UID || c.ResourceVersion != s.Claim.ResourceVersion || goes(c) {
				continue // precondition fails, or nothing changes
			}
			deleting(c)
			if w.cancelled {
				w.complain("claim deleted after the request was cancelled")
			}
			w.deletions[s.Request] = append(w.deletions[s.Request], string(c.UID))
			w.protect()
			break
		}
	case ActionKeepPVC:
		for _, c := range w.in.Claims {
			if c.UID == s.Claim.UID {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, api.AnnotationReplaceKept, s.Request)
				c.ResourceVersion += "i"
			}
		}
	case ActionEvictPod:
		if p := w.in.Self.Pod; p != nil && string(p.UID) == s.PodUID {
			deleting(p)
		}
	}
	w.save()
	return s
}

// kubelet ends a terminating Pod and starts ScyllaDB on a new one, through the launcher.
func (w *world) kubelet() {
	p := w.in.Self.Pod
	switch {
	case p == nil:
	case w.in.Self.Deleting():
		noPod(&w.in)
		w.started, w.argument, w.phase = false, "", min(w.phase, 0)
		w.protect()
	case !w.started && p.UID != "pod-1":
		if w.in.Claims == nil || goes(w.in.Claims[0]) {
			return
		}
		w.onPVC = string(w.in.Claims[0].UID)
		rec := RecordOf(w.in.Self)
		if rec.Requested && !rec.HasOriginal {
			return // the launcher waits
		}
		w.started, w.argument = true, string(rec.Original)
		if w.empty && w.argument != hostOld {
			w.complain("ScyllaDB started on an empty volume with argument %q", w.argument)
		}
		if w.empty {
			w.in.Self.Report = says(hostNew, new(false), "")
		} else {
			w.in.Self.Report = says(hostOld, nil, "")
		}
	}
	w.save()
}

// protect is the claim protection: a terminating claim goes once no Pod uses it.
func (w *world) protect() {
	if len(w.in.Claims) > 0 && goes(w.in.Claims[0]) && w.in.Self.Pod == nil {
		w.in.Claims = nil
	}
}

func (w *world) statefulSet() {
	if len(w.in.Claims) > 0 && goes(w.in.Claims[0]) {
		return
	}
	if len(w.in.Claims) == 0 {
		w.pvcs++
		w.in.Claims = data(fmt.Sprintf("pvc-%d", w.pvcs))
		w.empty = true
	}
	if w.in.Self.Pod == nil {
		w.pods++
		w.in.Self.Pod = podOf(fmt.Sprintf("pod-%d", w.pods), "k5")
	}
	w.save()
}

// restart deletes the Pod from outside the controller.
func (w *world) restart() {
	if w.in.Self.Pod != nil && w.phase == 0 {
		deleting(w.in.Self.Pod)
		w.save()
	}
}

func (w *world) scylla() {
	p := w.in.Self.Pod
	if p == nil || w.in.Self.Deleting() || !w.started || !w.empty {
		return
	}
	w.phase = min(w.phase+1, 3)
	switch w.phase {
	case 1:
		w.in = setCell(w.in, "*", hostNew, matrix.Up, matrix.StateReplacing)
		w.in = setCell(w.in, "*", hostOld, matrix.Down, matrix.StateBeingReplaced)
	case 2:
		w.in = setCell(w.in, "*", hostNew, matrix.Up, matrix.StateNormal)
		w.in.Self.Report = says(hostNew, new(true), "")
	case 3:
		unlist(&w.in, hostOld)
		ready(p, true)
	}
	w.save()
}

// comeback: the old node is alive again for a moment, while its Pod is still the old one.
func (w *world) comeback(status matrix.Status) {
	if w.phase == 0 && (status == matrix.Down || w.pods == 1 && w.in.Self.Pod != nil) {
		w.in = setCell(w.in, "demo-a-0", hostOld, status, matrix.StateNormal)
		w.save()
	}
}

func (w *world) removeLabel(key string) {
	delete(w.in.Self.Service.Labels, key)
	w.userCut = w.userCut || key == api.LabelReplace
	w.bump()
	w.save()
}

func (w *world) over() bool {
	r := RecordOf(w.in.Self)
	return !r.Requested && !r.Open() && r.Request == ""
}
