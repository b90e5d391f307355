// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Story is a quiet world of the same actors under policy permits: nothing goes wrong but by its acts. Its end is saved as people save a cluster.
type Story struct {
	// Sets are applied at the beginning, as `kubectl scylla inject` prints them.
	Sets []*appsv1.StatefulSet
	// HostID is that of the n-th node from 0.
	HostID func(n int) string
	Acts   []Act
	// Lasts is how long it takes.
	Lasts time.Duration
}

// Act is what happens at a moment of a story.
type Act struct {
	At time.Duration
	Do func(Play)
}

// Play is what an act can do.
type Play struct{ w *world }

// quietSeed draws durations. Of all that depends on a seed it has the plainest: clocks that agree, one controller, heartbeats by HTTPS, one join at a time.
const quietSeed = 9

// Told is a story at its end: its time, the API server's objects, and what the containers that do not run have logged, by POD/CONTAINER.
type Told struct {
	At      time.Time
	Objects []client.Object
	Logs    map[string]string
}

// Tell plays a story.
func Tell(s *Story) Told {
	w := staged(s, func(w *world) {
		for i, set := range s.Sets {
			w.apply(set)
			w.twoMachines(w.sets[i].place)
		}
	})
	w.run()
	return Told{At: w.now, Objects: w.saved(), Logs: w.logs()}
}

// staged is the world of a story before its first second.
func staged(s *Story, apply func(*world)) *world {
	w := newWorld(Options{Seed: quietSeed, Rule: Permits, Story: s})
	w.healed = true // no message is lost
	w.networkFaults()
	apply(w)
	w.makeLease()
	w.actors()
	for _, a := range s.Acts {
		w.after(a.At, func() { a.Do(Play{w}) })
	}
	w.after(s.Lasts, func() { w.over = true })
	return w
}

// twoMachines are the Kubernetes nodes of a rack.
func (w *world) twoMachines(place scope.Place) {
	for range 2 {
		w.machine = append(w.machine, &machine{name: fmt.Sprintf("worker-%d", len(w.machine)+1), place: place})
	}
}

// BreakDisk ends ScyllaDB of a member for good: each start of its supervisor fails.
func (p Play) BreakDisk(member string) {
	q := p.w.pods[member]
	p.w.exit(q.proc, "std::system_error (error system:5, Input/output error)")
	q.next = p.w.now.Add(p.w.Story.Lasts)
}

// ADayLater moves all clocks on by a day in which nothing happens.
func (p Play) ADayLater() {
	p.w.sleep(24 * time.Hour)
}

// Scale adds a replica to a StatefulSet.
func (p Play) Scale(set string) {
	p.w.scaleUpSet(p.w.setOf(set + "-0"))
}

// CutOff a datacenter from all others.
func (p Play) CutOff(datacenter string) {
	p.w.isolate(p.w.podsThat(func(q *pod) bool { return q.set.place.Datacenter == datacenter })...)
}

// LoseMachine takes the Kubernetes node of a member away for good, with the member's volume.
func (p Play) LoseMachine(member string) {
	m := p.w.pods[member].machine
	p.w.off(m)
	m.gone = true
}

// DeleteMachine removes the Kubernetes node of a member, and with it its Pod.
func (p Play) DeleteMachine(member string) {
	q := p.w.pods[member]
	p.w.machine = slices.DeleteFunc(p.w.machine, func(m *machine) bool { return m == q.machine })
	p.w.deletePod(q, true)
}

// Replace is what `kubectl scylla replace` writes.
func (p Play) Replace(member, request string) {
	p.w.annotate(member, func(labels, annotations map[string]string) {
		replace.RequestPatch(request, nil, nil).Apply(&labels, &annotations)
	})
}

// RestartWhileReplacing deletes the Pod of a member as soon as a new node that replaces another one has reported.
func (p Play) RestartWhileReplacing(member string) {
	for _, g := range p.w.groups {
		if r := g.current; r != nil && r.kind == rules.Replace && r.proc.pod.row != nil && string(r.proc.pod.row.HostID) == r.id {
			p.w.deletePod(p.w.pods[member], false)
			return
		}
	}
	p.w.after(time.Second, func() { p.RestartWhileReplacing(member) })
}

// logs are those of the ScyllaDB processes that failed, and of the barriers that wait.
func (w *world) logs() map[string]string {
	out := map[string]string{}
	for _, p := range w.pods {
		if p.stage == atBarrier && p.barrier != nil {
			var b strings.Builder
			slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					a.Value = slog.TimeValue(w.now)
				}
				return a
			}})).Info("waiting: " + words.Of(p.barrier.verdict.Self.Name(), p.barrier.verdict.Summary))
			out[p.name+"/"+api.ContainerBarrier] = b.String()
		}
		if p.proc == nil && p.log != "" {
			out[p.name+"/"+api.ContainerScyllaDB] = p.log
		}
	}
	return out
}

// fails logs the line with which ScyllaDB ends.
func (p *pod) fails(why string, now time.Time) {
	p.log += now.Format("ERROR 2006-01-02 15:04:05,000") + " [shard 0:main] init - Startup failed: " + why + "\n"
}

// saved are all objects, with what API server, StatefulSet controller and kubelet write and no decision of a seed reads.
func (w *world) saved() []client.Object {
	var out []client.Object
	for _, name := range w.serviceNames.of(w.service) {
		out = append(out, w.service[name])
	}
	for _, name := range w.podNames.of(w.pods) {
		out = append(out, w.savedPod(w.pods[name]))
	}
	for _, s := range w.sets {
		o := s.obj.DeepCopy()
		st := &o.Status
		st.CurrentReplicas, st.AvailableReplicas, st.CollisionCount = st.UpdatedReplicas, st.ReadyReplicas, ptr.To(int32(0))
		out = append(out, o)
	}
	for _, name := range w.claimNames.of(w.claims) {
		out = append(out, w.savedClaim(w.claims[name]))
	}
	for i := range w.reports {
		w.reports[i].CreationTimestamp = w.status.CreationTimestamp
		w.reports[i].ManagedFields = keptOf(w.rowsWritten, "", `{"f:racks":{}}`)
		out = append(out, &w.reports[i])
	}
	status := w.status.DeepCopy()
	status.ManagedFields = append(keptOf(w.rowsWritten, "", `{"f:datacenters":{}}`), keptOf(w.viewWritten, "status", `{"f:status":{}}`)...)
	l := w.lease.DeepCopy()
	l.Namespace, l.Name, l.CreationTimestamp = "kubectl-scylla", api.LeaseName, metav1.NewTime(start)
	return append(append(out, status, l), w.savedMachines()...)
}

func (w *world) savedPod(p *pod) *corev1.Pod {
	o := p.obj.DeepCopy()
	o.Labels[appsv1.PodIndexLabel] = fmt.Sprint(p.ordinal)
	o.OwnerReferences[0].BlockOwnerDeletion = ptr.To(true)
	if p.row != nil {
		o.ManagedFields = keptOf(p.wrote, "", `{"f:metadata":{"f:annotations":{"f:`+api.AnnotationNodeStatusReport+`":{}}}}`)
	}
	st := &o.Status
	st.HostIP, st.QOSClass, st.StartTime = "192.0.2.1", corev1.PodQOSBurstable, ptr.To(metav1.NewTime(p.began[querying]))
	st.PodIPs = []corev1.PodIP{{IP: st.PodIP}}
	var inits []corev1.ContainerStatus
	for i := range o.Spec.InitContainers {
		c := &o.Spec.InitContainers[i]
		at := slices.IndexFunc(st.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		s := corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}} // a copy of files, done at once
		if at >= 0 {
			s = st.InitContainerStatuses[at]
		}
		p.complete(&s, c, map[string]stage{api.ContainerBarrier: atBarrier}[c.Name])
		inits = append(inits, s)
	}
	st.InitContainerStatuses = inits
	for i := range st.ContainerStatuses {
		p.complete(&st.ContainerStatuses[i], &o.Spec.Containers[i], launching)
	}
	initialized := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(p.began[querying])}
	if p.status.stage >= launching {
		initialized.Status, initialized.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(p.began[launching])
	}
	st.Conditions = append(st.Conditions, initialized)
	return o
}

// complete adds to a container's status what the kubelet knows besides. It began in that stage of its Pod.
func (p *pod) complete(s *corev1.ContainerStatus, c *corev1.Container, in stage) {
	began := metav1.NewTime(p.began[max(in, querying)])
	s.Image, s.Started = c.Image, ptr.To(s.State.Running != nil)
	switch {
	case s.State.Running != nil:
		s.State.Running.StartedAt = began
	case s.State.Terminated != nil:
		ended := began
		if in == atBarrier {
			ended = metav1.NewTime(p.began[launching])
		}
		s.Ready, s.State.Terminated = true, &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: began, FinishedAt: ended}
	case s.State.Waiting == nil:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
}

func (w *world) savedClaim(c *claim) *corev1.PersistentVolumeClaim {
	o := c.obj.DeepCopy()
	for _, s := range w.sets {
		for i := range s.obj.Spec.VolumeClaimTemplates {
			t := &s.obj.Spec.VolumeClaimTemplates[i]
			if s == w.setOf(o.Name[len(t.Name)+1:]) {
				volume := o.Spec.VolumeName
				t.Spec.DeepCopyInto(&o.Spec)
				o.Spec.VolumeName = volume
			}
		}
	}
	o.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	if o.Spec.VolumeName != "" {
		o.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: o.Spec.AccessModes, Capacity: o.Spec.Resources.Requests}
	}
	return o
}

// savedMachines are the Kubernetes nodes; the node controller gives one up after 40 s.
func (w *world) savedMachines() []client.Object {
	var out []client.Object
	for _, m := range w.machine {
		ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}
		if m.off && w.now.Sub(m.since) > 40*time.Second {
			ready.Status, ready.LastTransitionTime = corev1.ConditionUnknown, metav1.NewTime(m.since.Add(40*time.Second))
		}
		out = append(out, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.name, CreationTimestamp: metav1.NewTime(start)}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}})
	}
	return out
}

// keptOf is what an API server keeps of the latest change of fields.
func keptOf(at time.Time, subresource, fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: "scylla-agent", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", Subresource: subresource,
		Time: ptr.To(metav1.NewTime(at.Truncate(time.Second))), FieldsV1: metav1.NewFieldsV1(fields),
	}}
}

// note remembers when a story's reports changed: their rows, and what the controller makes of them.
func (w *world) note(reports []api.ScyllaDBDatacenterNodesStatusReport, status *api.ScyllaDBStatusReport) {
	if w.Story == nil {
		return
	}
	if w.status == nil || !sameObject(reports, w.reports) || !sameObject(status.Datacenters, w.status.Datacenters) {
		w.rowsWritten = w.now
	}
	w.viewWritten = w.now
}

// EmptyVolume deletes a member's PVC and Pod: it starts on an empty volume.
func (p Play) EmptyVolume(member string) {
	q := p.w.pods[member]
	p.w.deleteClaim(q.claim)
	p.w.deletePod(q, true)
}

// EmptyVolumeWhileReplacing does so as soon as its new node joins.
func (p Play) EmptyVolumeWhileReplacing(member string) {
	p.w.whileIn(rules.Replace, func(*pod) { p.EmptyVolume(member) })
}

// Restart deletes a member's Pod.
func (p Play) Restart(member string) { p.w.deletePod(p.w.pods[member], false) }

// Stop ends ScyllaDB of a member, which nobody starts again.
func (p Play) Stop(member string) {
	q := p.w.pods[member]
	p.w.kill(q, true)
	q.next = p.w.now.Add(p.w.Story.Lasts)
}
