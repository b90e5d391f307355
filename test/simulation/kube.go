// SPDX-License-Identifier: Apache-2.0

package simulation

// Long: the simulated Kubernetes: each controller of it is a short function over the same objects.

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/controller/keep"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

const (
	namespace   = "demo"
	clusterName = "demo"
	datacenter  = "dc1"
)

// set is a StatefulSet, the deployed revision included.
type set struct {
	obj      *appsv1.StatefulSet
	place    scope.Place
	replicas int32
	revision int
	away     bool // deleted, to be applied again
	tokens   bool // its nodes own tokens
	image    int  // of versions
}

func (s *set) revisionName() string { return s.obj.Name + "-rev" + strconv.Itoa(s.revision) }

// claim is a PersistentVolumeClaim with its volume, which is bound to a machine.
type claim struct {
	obj      *corev1.PersistentVolumeClaim
	disk     *disk
	machine  *machine
	deleting bool
	mark     deletion
}

type machine struct {
	name  string
	place scope.Place
	off   bool
	gone  bool          // for ever
	slow  time.Duration // how much longer its disks take to start ScyllaDB
	since time.Time     // since when it is off
}

// stage is how far a Pod is.
type stage int

const (
	pending stage = iota
	querying
	atBarrier
	launching
	running
)

type pod struct {
	name     string
	uid      string
	set      *set
	ordinal  int32
	revision string
	version  int                   // of its image
	obj      *corev1.Pod           // never changed in place: each write makes a new one
	row      *api.NodeStatusReport // what its annotation says
	claim    *claim
	machine  *machine
	stage    stage
	next     time.Time // when the stage may go on
	deleting bool
	removed  bool

	query    query
	barrier  *barrier
	opened   *opening
	launcher launcher
	proc     *process
	args     *startArgs // what ScyllaDB was started with: its supervisor uses it again
	failed   string     // last words of ScyllaDB
	restarts int32
	tries    int
	reporter reporter
	status   podStatus
	probed   time.Time
	recorded recorded

	// Of stories alone: when each stage began, when its row was written, how ScyllaDB ended last, and what it has logged then.
	began [running + 1]time.Time
	wrote time.Time
	ended *api.ScyllaDBProcess
	log   string
}

// podStatus is what the kubelet writes, as long as it can.
type podStatus struct {
	stage    stage
	ip       string
	reporter reporterState
	ready    bool
	lost     bool // by the node controller
	restarts int32
}

func (w *world) makeCluster() {
	machines := 2
	if w.yearly() {
		machines = int(w.mostReplicas())
	}
	for _, place := range w.racks() {
		for j := range machines {
			w.machine = append(w.machine, &machine{name: fmt.Sprintf("node-%s-%s-%d", place.Datacenter, place.Rack, j), place: place})
		}
		replicas := int32(1)
		if w.chance(0.3) {
			replicas = 2
		}
		if w.yearly() {
			replicas = w.year.size.perRack
		}
		w.applySet(place, replicas, w.chance(0.3))
	}
	w.sets[len(w.sets)-1].tokens = !w.wider.arbiter
	w.makeLease()
}

func (w *world) makeLease() {
	w.lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: ptr.To(int32(leaseDuration / time.Second))}}
	w.control.proof = keep.NewProof(leaseDuration, w.now)
	w.control.renewed = w.now
	w.putLease(w.control.name(), true)
}

// placeOf a rack of the first datacenter, the only one of most worlds.
func placeOf(rack string) scope.Place {
	return scope.Place{Namespace: namespace, Cluster: clusterName, Datacenter: datacenter, Rack: rack}
}

func setLabels(at scope.Place) map[string]string {
	return map[string]string{
		api.LabelCluster: at.Cluster, api.LabelDatacenter: at.Datacenter, api.LabelRack: at.Rack, api.LabelManagedBy: api.ManagedByUs,
	}
}

func (w *world) applySet(place scope.Place, replicas int32, ordered bool) {
	policy := appsv1.ParallelPodManagement
	if ordered {
		policy = appsv1.OrderedReadyPodManagement
	}
	labels := setLabels(place)
	ofPods := maps.Clone(labels)
	ofPods[api.LabelPodType] = api.PodTypeNode
	w.apply(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName + "-" + place.Datacenter + "-" + place.Rack, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(replicas), PodManagementPolicy: policy, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: ofPods}, Spec: w.podSpec()},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	})
}

// apply is the first kubectl apply of a StatefulSet.
func (w *world) apply(obj *appsv1.StatefulSet) {
	at, err := scope.PlaceOf(obj)
	if err != nil {
		panic(err) // a manifest without the labels that inject adds
	}
	s := &set{obj: obj, place: at, replicas: *obj.Spec.Replicas, revision: 1, tokens: true, image: w.wider.image}
	obj.UID, obj.Generation, obj.CreationTimestamp = types.UID(w.uid()), 1, metav1.NewTime(w.now.Truncate(time.Second))
	s.obj.Status.CurrentRevision, s.obj.Status.UpdateRevision = s.revisionName(), s.revisionName()
	w.sets = append(w.sets, s)
	w.wrote(cluster.KindStatefulSets)
}

func (w *world) podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: []corev1.Container{
			{Name: api.ContainerReporter, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
			{Name: api.ContainerBootstrappedQuery}, {Name: api.ContainerBarrier, Args: []string{"barrier", "--policy=" + string(w.policy())}},
		},
		Containers: []corev1.Container{{
			Name: api.ContainerScyllaDB, Image: image(w.wider.image), Command: []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/scylla"}},
		}},
		Volumes: []corev1.Volume{{Name: "data"}},
	}
}

func (w *world) policy() api.Policy {
	if w.permits() {
		return api.PolicyPermits
	}
	return api.PolicyReports
}

// statefulSets is one second of the StatefulSet controller.
func (w *world) statefulSets() {
	if w.setsSeen == w.version || w.now.Before(w.net.gone) {
		return
	}
	w.setsSeen = w.version
	for _, s := range w.sets {
		if !s.away {
			w.reconcileSet(s)
		}
	}
}

func (w *world) reconcileSet(s *set) {
	ordered := s.obj.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement
	var all []*pod
	waits := false // an ordered set makes no Pod while a lower ordinal is not ready
	for o := range s.replicas {
		p := w.pods[podName(s, o)]
		if p == nil && !waits {
			p = w.makePod(s, o)
		}
		if p != nil {
			all = append(all, p)
		}
		waits = waits || ordered && (p == nil || !p.isReady())
	}
	st := appsv1.StatefulSetStatus{
		ObservedGeneration: s.obj.Generation, Replicas: int32(len(all)), CurrentRevision: s.obj.Status.CurrentRevision, UpdateRevision: s.revisionName(),
	}
	for _, p := range all {
		if p.isReady() {
			st.ReadyReplicas++
		}
		if p.revision == st.UpdateRevision {
			st.UpdatedReplicas++
		}
	}
	if st.UpdatedReplicas == st.Replicas && st.ReadyReplicas == st.Replicas && st.Replicas == s.replicas {
		st.CurrentRevision = st.UpdateRevision
	}
	w.roll(s, all, st.UpdateRevision)
	if !sameObject(st, s.obj.Status) {
		o := *s.obj
		o.Status = st
		s.obj = &o
		w.wrote(cluster.KindStatefulSets)
	}
}

// roll takes the largest ordinal of an old revision away, once all above it are ready: the StatefulSet controller's own order.
func (w *world) roll(s *set, all []*pod, revision string) {
	if s.obj.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement && (int32(len(all)) < s.replicas ||
		slices.ContainsFunc(all, func(p *pod) bool { return p.revision == revision && !p.isReady() })) {
		return
	}
	for _, p := range slices.Backward(all) {
		if p.revision != revision && !p.deleting {
			w.tracef("rollout: %s is taken away", p.name)
			w.deletePod(p, false)
			return
		}
		if !p.isReady() || p.deleting {
			return
		}
	}
}

func (p *pod) isReady() bool { return p.status.ready && !p.status.lost && !p.deleting }

func (w *world) makePod(s *set, ordinal int32) *pod {
	name := podName(s, ordinal)
	c := w.claims["data-"+name]
	if w.now.Before(w.wider.quota) {
		w.setsSeen = -1 // tries again
		return nil
	}
	if c != nil && c.deleting {
		return nil
	}
	if c == nil {
		c = &claim{disk: &disk{}, obj: &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "data-" + name, UID: types.UID(w.uid()), Labels: setLabels(s.place), ResourceVersion: "1",
			CreationTimestamp: metav1.NewTime(w.now.Truncate(time.Second)),
		}}}
		w.claims[c.obj.Name] = c
		w.claimNames.changed()
	}
	p := &pod{name: name, uid: w.uid(), set: s, ordinal: ordinal, revision: s.revisionName(), version: s.image, claim: c}
	labels := maps.Clone(s.obj.Spec.Template.Labels)
	labels[appsv1.StatefulSetPodNameLabel], labels[appsv1.ControllerRevisionHashLabelKey] = name, p.revision
	p.obj = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(p.uid), Labels: labels, CreationTimestamp: metav1.NewTime(w.now.Truncate(time.Second)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: s.obj.Name, UID: s.obj.UID, Controller: ptr.To(true)}},
		},
		Spec:   *s.obj.Spec.Template.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	p.obj.Spec.Volumes = append(slices.DeleteFunc(p.obj.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "data" }),
		corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.obj.Name}}})
	w.pods[name] = p
	w.podNames.changed()
	w.wrote(cluster.KindPods | cluster.KindPVCs)
	return p
}

// deletePod ends a Pod: in order, or by force.
func (w *world) deletePod(p *pod, force bool) {
	if p.removed || p.deleting && !force {
		return
	}
	if force || p.machine == nil {
		w.kill(p, false)
		w.removePod(p)
		return
	}
	p.deleting = true
	edit(w, &p.obj, func(o *corev1.Pod) { o.DeletionTimestamp = &metav1.Time{Time: w.now.Truncate(time.Second)} })
	w.after(w.between(time.Second, 3*time.Second), func() { w.stopPod(p) })
}

// stopPod is what the kubelet does with a Pod that is to go, where there is a kubelet.
func (w *world) stopPod(p *pod) {
	if p.removed {
		return
	}
	// Nor in the seconds in which that would cost the cluster its majority for ever: it has become a member since its deletion was asked for, and not COMPLETED.
	if p.machine.off || w.isCut(p) || !w.mayStop(p) {
		w.after(5*time.Second, func() { w.stopPod(p) })
		return
	}
	w.kill(p, true)
	p.reporter.sending = false
	w.report(p) // last words
	w.after(w.between(time.Second, 3*time.Second), func() { w.removePod(p) })
}

func (w *world) removePod(p *pod) {
	if p.removed {
		return
	}
	p.removed = true
	w.wider.freed = append(w.wider.freed, p.obj.Status.PodIP)
	delete(w.pods, p.name)
	w.podNames.changed()
	if p.claim.deleting {
		delete(w.claims, p.claim.obj.Name)
		w.claimNames.changed()
	}
	w.wrote(cluster.KindPods | cluster.KindPVCs)
}

// kill ends ScyllaDB in a Pod and leaves the restart to the caller.
func (w *world) kill(p *pod, clean bool) {
	if p.proc != nil {
		w.end(p.proc, clean)
	}
}

// deleteClaim is kubectl delete pvc: it goes when no Pod uses it.
func (w *world) deleteClaim(c *claim) {
	if c.deleting {
		return
	}
	c.deleting = true
	edit(w, &c.obj, func(o *corev1.PersistentVolumeClaim) { o.DeletionTimestamp = &metav1.Time{Time: w.now} })
	if len(w.podsThat(func(p *pod) bool { return p.claim == c })) > 0 {
		return
	}
	delete(w.claims, c.obj.Name)
	w.claimNames.changed()
}

// kubelets is one second of every kubelet.
func (w *world) kubelets() {
	for _, name := range w.podNames.of(w.pods) {
		p := w.pods[name]
		if p == nil || p.removed {
			continue
		}
		if p.machine == nil {
			w.place(p)
			continue
		}
		if !w.now.Before(w.net.gone) {
			w.nodeLost(p)
		}
		if p.machine.off {
			continue
		}
		if !p.deleting {
			w.progress(p)
		}
		w.probe(p)
	}
}

// place is the scheduler: the volume binds the machine.
func (w *world) place(p *pod) {
	m := p.claim.machine
	if w.now.Before(w.net.gone) {
		return
	}
	if m == nil {
		for _, x := range w.machine {
			if x.place == p.set.place && !x.off && (m == nil || len(w.podsOn(x)) < len(w.podsOn(m))) {
				m = x
			}
		}
	}
	if m == nil || m.off {
		if len(p.obj.Status.Conditions) == 0 {
			edit(w, &p.obj, func(o *corev1.Pod) {
				o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			})
		}
		return
	}
	p.claim.machine, p.machine = m, m
	p.stage, p.next = querying, w.now.Add(w.between(time.Second, 5*time.Second))
	p.reporter.begin(w, p)
	edit(w, &p.obj, func(o *corev1.Pod) {
		o.Spec.NodeName, o.Status.PodIP = m.name, w.address()
		o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	})
	if c := *p.claim.obj; c.Spec.VolumeName == "" {
		c.Spec.VolumeName = "pv-" + string(c.UID)
		p.claim.obj = &c
	}
}

// address of a new Pod: in the world "wide" mostly that of one that is gone.
func (w *world) address() string {
	if x := &w.wider; x.rng != nil && len(x.freed) > 0 && x.rng.IntN(4) > 0 {
		at := x.rng.IntN(len(x.freed))
		ip := x.freed[at]
		if x.freed = slices.Delete(x.freed, at, at+1); ip != "" {
			return ip
		}
	}
	w.ips++
	return fmt.Sprintf("10.0.%d.%d", w.ips/250, w.ips%250+1)
}

// podsThat are some of the Pods, in the order of their names.
func (w *world) podsThat(are func(*pod) bool) []*pod {
	var out []*pod
	for _, name := range w.podNames.of(w.pods) {
		if p := w.pods[name]; are(p) {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) podsOn(m *machine) []*pod {
	return w.podsThat(func(p *pod) bool { return p.machine == m })
}

// edit writes an object of the API server. Whoever has read it keeps what that was.
func edit[P interface{ DeepCopy() P }](w *world, obj *P, change func(P)) {
	o := (*obj).DeepCopy()
	change(o)
	*obj = o
	w.wrote(kindOf(o))
}

func kindOf(o any) cluster.Kinds {
	switch o.(type) {
	case *corev1.Pod:
		return cluster.KindPods
	case *corev1.PersistentVolumeClaim:
		return cluster.KindPVCs
	case *appsv1.StatefulSet:
		return cluster.KindStatefulSets
	}
	panic("unknown kind")
}

// sandbox starts the Pod anew on its machine, init containers included, as after a reboot.
func (w *world) sandbox(p *pod) {
	if p.stage >= launching {
		p.restarts++ // the kubelet counts the starts of a container that there was
	}
	p.stage, p.next, p.barrier, p.args, p.opened = querying, w.now.Add(w.between(time.Second, 5*time.Second)), nil, nil, nil
	p.reporter.begin(w, p)
}

// progress takes a Pod from one container to the next.
func (w *world) progress(p *pod) {
	if w.now.Before(p.next) {
		return
	}
	switch p.stage {
	case querying:
		p.query = w.query(p.claim.disk)
		p.stage, p.barrier = atBarrier, &barrier{}
	case running:
		if p.proc == nil && p.args != nil { // the supervisor
			p.tries++ // a real supervisor tries each second; what fails for ever fails as well at longer intervals
			p.next = w.now.Add(w.between(time.Second, 5*time.Second) + min(time.Duration(p.tries)*5*time.Second, time.Minute))
			w.boot(p, p.args.seeds, p.args.replace, p.args.ignore)
		}
	}
}

// probe writes what the kubelet sees of a Pod: readiness every five seconds.
func (w *world) probe(p *pod) {
	if w.isCut(p) || p.removed {
		return
	}
	s := podStatus{stage: p.stage, ip: p.obj.Status.PodIP, restarts: p.restarts, ready: p.status.ready, reporter: p.status.reporter}
	if w.now.Sub(p.probed) >= 5*time.Second || p.reporter.state(w.now) == reporterDead {
		p.probed = w.now
		s.reporter = p.reporter.state(w.now)
		s.ready = p.proc != nil && p.proc.serves
	}
	if p.proc == nil {
		s.ready = false
	}
	w.writeStatus(p, s)
}

// objectStays is after how long the cloud's controller deletes the object of a Kubernetes node that will not return.
const objectStays = 10 * time.Minute

func (w *world) objectGone(m *machine) bool {
	return m.gone && w.Story == nil && w.now.Sub(m.since) > objectStays
}

// nodeLost is the node controller: it says so 40 s after the last word of a kubelet, and has the Pods deleted after five minutes more.
func (w *world) nodeLost(p *pod) {
	silent := p.machine.off && w.now.Sub(p.machine.since) > 40*time.Second || w.cut[p.name] && w.now.Sub(w.cutAt[p.name]) > 40*time.Second
	if silent && !p.status.lost {
		s := p.status
		s.lost = true
		w.writeStatus(p, s)
	}
	switch off := w.now.Sub(p.machine.since); {
	case w.objectGone(p.machine) && off > objectStays+40*time.Second:
		w.deletePod(p, true) // the garbage collector of Pods
	case p.machine.off && off > 340*time.Second && !p.deleting:
		w.deletePod(p, false)
	}
}

func (w *world) writeStatus(p *pod, s podStatus) {
	if s == p.status {
		return
	}
	if s.stage != p.status.stage {
		p.began[s.stage] = w.now
	}
	// Whatever ScyllaDB ends with, its container goes on: supervisord in it does. Only the log and the nodes' answers tell.
	p.status = s
	o := p.obj.DeepCopy()
	st := &o.Status
	st.Phase = corev1.PodPending
	if s.stage >= launching {
		st.Phase = corev1.PodRunning
	}
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	run := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.next.Truncate(time.Second))}}
	reporter := corev1.ContainerStatus{Name: api.ContainerReporter, State: run, Ready: s.reporter == reporterWell, Started: ptr.To(true)}
	if s.reporter == reporterDead {
		reporter.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	}
	query, barrier, scylla := done, corev1.ContainerState{}, corev1.ContainerState{}
	switch {
	case s.stage >= launching:
		barrier, scylla = done, run
	case s.stage == atBarrier:
		barrier = run
	default:
		query = run
	}
	st.InitContainerStatuses = []corev1.ContainerStatus{reporter, {Name: api.ContainerBootstrappedQuery, State: query}, {Name: api.ContainerBarrier, State: barrier}}
	st.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, State: scylla, Ready: s.ready, RestartCount: s.restarts}}
	is := func(b bool) corev1.ConditionStatus {
		if b {
			return corev1.ConditionTrue
		}
		return corev1.ConditionFalse
	}
	all := s.ready && s.reporter == reporterWell
	conditions := []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: is(all)}, {Type: corev1.PodReady, Status: is(all && !s.lost)},
	}
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.NewTime(p.clock(w).Truncate(time.Second))
		for _, old := range p.obj.Status.Conditions {
			if old.Type == conditions[i].Type && old.Status == conditions[i].Status {
				conditions[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	st.Conditions = conditions
	p.obj = o
	w.wrote(cluster.KindPods)
}

// annotate changes the metadata of a member Service.
func (w *world) annotate(name string, change func(labels, annotations map[string]string)) {
	old := w.service[name]
	if old == nil {
		return
	}
	o := old.DeepCopy()
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	change(o.Labels, o.Annotations)
	if maps.Equal(o.Labels, old.Labels) && maps.Equal(o.Annotations, old.Annotations) {
		return
	}
	w.wrote(cluster.KindServices)
	o.ResourceVersion = strconv.Itoa(w.version)
	w.service[name] = o
}

func podName(s *set, ordinal int32) string { return s.obj.Name + "-" + strconv.Itoa(int(ordinal)) }
