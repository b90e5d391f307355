// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// An adversary places events between two steps of an actor, where a moment drawn at random hardly ever is. Nothing else goes wrong in its worlds.

// Boundary is a place between two steps. Those of a judgement are "before" and "after" one kind of reading.
type Boundary string

// Boundaries that are not of a reading.
const (
	Opening  Boundary = "opening"  // of the barrier, before its launcher begins
	Starts   Boundary = "starts"   // ScyllaDB's process, before its request
	Writes   Boundary = "writes"   // of the controller, after it has judged what it read
	Recorded Boundary = "recorded" // a node is a NORMAL member, and its Service does not say so
)

// source is one method of gate.Reads.
type source string

const (
	readCluster source = "Cluster"
	readReport  source = "Report"
	readLease   source = "Lease"
	readClaim   source = "Claim"
	readPodUID  source = "PodUID"
	readPods    source = "Pods"
	readConfirm source = "Confirm"
	readViews   source = "Views"
)

// before and after one kind of reading.
func before(r source) Boundary { return Boundary("before " + string(r)) }
func after(r source) Boundary  { return Boundary("after " + string(r)) }

type What string

const (
	TimePasses      What = "time passes"
	NodeDies        What = "a node dies" // its supervisor starts it again after For
	NodeEnds        What = "a node ends" // in order, so that its peers know at once
	NodeIsCutOff    What = "a node is cut off from the others"
	NodesComeBack   What = "all nodes come back"
	RowSaysDown     What = "a row has a node as DOWN"
	RowIsOutdated   What = "a reporter has another row than its Pod"
	ReporterHangs   What = "a reporter hangs"
	ReporterCrashes What = "a reporter starts again"
	PermitGoes      What = "the permit is withdrawn"
	PermitOfPod     What = "the permit is for another Pod"
	PermitOfClaim   What = "the permit is for another claim"
	PermitOfKind    What = "the permit is of another kind"
	ViewHolds       What = "the view holds"
	ViewUnknown     What = "the view has a node as UNKNOWN"
	ViewDown        What = "the view has a node as DOWN"
	ViewRenewed     What = "the view is renewed"
	ViewByNoPolicy  What = "the view gives no permits"
	RolloutBegins   What = "a rollout begins"
	PodIsNotReady   What = "a Pod is not ready"
	PodIsNew        What = "the Pod is created again"
	ClaimIsNew      What = "the claim is created again"
	ClaimGoes       What = "the claim is deleted"
	LeaderFreezes   What = "the controller is frozen"
	LeaderDies      What = "the controller is replaced"
	LeaseIsFreed    What = "the controller gives its Lease up"
	LeaseKeepsNone  What = "the Lease does not name the cluster"
	AnswersAreOld   What = "the API server answers what it has now"
	AnswersGoBack   What = "the API server answers what it had before"
	ReportIsNew     What = "the cluster report is created again"
	MachineIsCut    What = "the machine does not reach the API server"
)

// Boundaries are all.
var Boundaries = []Boundary{
	Opening, Starts, Writes, Recorded, before(readCluster), after(readCluster), before(readReport), after(readReport), before(readLease), after(readLease),
	before(readClaim), after(readClaim), before(readPodUID), after(readPodUID), before(readPods), after(readPods), before(readConfirm), after(readConfirm),
	before(readViews), after(readViews),
}

var Events = []What{
	TimePasses, NodeDies, NodeEnds, NodeIsCutOff, NodesComeBack, RowSaysDown, RowIsOutdated, ReporterHangs, ReporterCrashes, PermitGoes, PermitOfPod, PermitOfClaim,
	PermitOfKind, ViewHolds, ViewUnknown, ViewDown, ViewRenewed, ViewByNoPolicy, RolloutBegins, PodIsNotReady, PodIsNew, ClaimIsNew, ClaimGoes, LeaderFreezes,
	LeaderDies, LeaseIsFreed, LeaseKeepsNone, AnswersAreOld, AnswersGoBack, ReportIsNew, MachineIsCut,
}

// Placed is an event at the Nth time, from 1, that a boundary is reached after the cluster was scaled up.
type Placed struct {
	At   Boundary
	Nth  int
	Do   What
	Node int           // which of the other members, by name
	For  time.Duration // how long it lasts
}

// adversary has the schedule of a world.
type adversary struct {
	armed   bool
	passed  map[Boundary]int
	pinned  *api.ScyllaDBStatusReport   // what the API server answers
	pinnedX time.Time                   // until then
	past    []*api.ScyllaDBStatusReport // what it had at each reading of a cluster
}

// besiege begins a world without faults but those of its schedule: a cluster, and one newcomer when it is well.
func (w *world) besiege() {
	w.healed = true // no message is lost
	w.networkFaults()
	w.makeCluster()
	w.actors()
	w.every(time.Second, w.assault)
	w.after(patience/2, func() {
		if w.over = true; w.newcomer() != nil && !w.needsAPerson() {
			w.giveUp()
		}
	})
}

// assault begins the schedule when all is well, and ends the world when all is well again, or a person would have to help.
func (w *world) assault() {
	a := &w.adversary
	switch {
	case len(w.groups) == 0 || len(w.unwell()) > 0:
	case !a.armed:
		a.armed, a.passed = true, map[Boundary]int{}
		w.tracef("the adversary begins")
		w.scaleUpSet(w.sets[int(w.Seed)%len(w.sets)])
	case w.newcomer() == nil:
		w.over = true
	}
	if n := w.newcomer(); a.armed && n != nil {
		w.unrecorded(n)
	}
	w.over = w.over || a.armed && w.joinFailed()
}

// newcomer is the Pod of a node that has not joined, if there is one.
func (w *world) newcomer() *pod {
	if all := w.podsThat(func(p *pod) bool { return !p.claim.disk.complete }); len(all) > 0 {
		return all[0]
	}
	return nil
}

func (w *world) cross(p *pod, b Boundary) {
	a := &w.adversary
	if !a.armed {
		return
	}
	if b == before(readCluster) && w.status != nil {
		a.past = append(a.past, w.status)
	}
	a.passed[b]++
	n := a.passed[b]
	for i := range w.Schedule {
		if e := &w.Schedule[i]; e.At == b && e.Nth == n {
			w.tracef("FAULT %s %d: %s", b, n, e.Do)
			w.strike(p, e)
		}
	}
}

// unrecorded is the boundary between a join and its record.
func (w *world) unrecorded(p *pod) {
	d, svc := p.claim.disk, w.service[p.name]
	if d.group != nil && d.group.members[d.id] == normal && svc != nil && svc.Annotations[api.AnnotationNodeJoined] != "true" {
		w.cross(p, Recorded)
	}
}

// pass lets the world go on while an actor is between two steps. Loops that wait for it do not run meanwhile.
func (w *world) pass(d time.Duration) {
	until := w.now.Add(d).Sub(start)
	for len(w.queue) > 0 && w.queue.next().at <= until && !w.over {
		e := w.queue.pop()
		w.now = start.Add(e.at)
		e.do()
	}
	w.now = start.Add(until)
}

// others are the Pods of members, but one.
func (w *world) others(but *pod) []*pod {
	return w.podsThat(func(p *pod) bool { return p != but && p.claim.disk.complete && p.proc != nil })
}

// strike makes an event happen. p is the Pod at the boundary; nil for the controller's.
//
//nolint:gocyclo // one line for each event
func (w *world) strike(p *pod, e *Placed) {
	w.result.Faults++
	lasts := max(e.For, time.Second)
	newcomer, q := p, (*pod)(nil)
	if all := w.others(p); len(all) > 0 {
		q = all[e.Node%len(all)]
	}
	if newcomer == nil {
		newcomer = w.newcomer()
	}
	if newcomer == nil || q == nil {
		return
	}
	permit := func(change func(*api.StatusReportViewPermit)) {
		w.turnView(func(v *api.StatusReportView) {
			for i := range v.Permits {
				if v.Permits[i].Member == newcomer.name {
					change(&v.Permits[i])
				}
			}
		})
	}
	switch e.Do {
	case TimePasses:
		w.pass(lasts)
	case NodeDies, NodeEnds:
		if w.mayLose(q.name) {
			w.kill(q, e.Do == NodeEnds)
			q.next = w.now.Add(lasts)
		}
	case NodeIsCutOff:
		w.isolate(q)
		w.after(lasts, w.mend)
	case NodesComeBack:
		w.mend()
		for _, x := range w.pods { // each alone: the order does not matter
			x.next = w.now
		}
	case RowSaysDown, RowIsOutdated:
		w.sayDown(q, e.Do == RowSaysDown)
	case ReporterHangs:
		q.reporter.hung, q.reporter.frozen = w.now.Add(lasts), true
		q.reporter.polled = w.now.Add(-time.Minute)
	case ReporterCrashes:
		q.reporter.beat.start()
		q.reporter.views, q.reporter.crashed = view.Receiver{}, w.now.Add(lasts)
	case PermitGoes:
		w.turnView(func(v *api.StatusReportView) {
			v.Permits = slices.DeleteFunc(v.Permits, func(x api.StatusReportViewPermit) bool { return x.Member == newcomer.name })
		})
	case PermitOfPod:
		permit(func(x *api.StatusReportViewPermit) { x.PodUID = "another-pod" })
	case PermitOfClaim:
		permit(func(x *api.StatusReportViewPermit) { x.PVCUID = "another-claim" })
	case PermitOfKind:
		permit(func(x *api.StatusReportViewPermit) { x.Kind = api.PermitReplace })
	case ViewHolds:
		w.turnView(func(v *api.StatusReportView) { v.Hold = string(words.RolloutInProgress) })
	case ViewUnknown, ViewDown:
		w.turnView(func(v *api.StatusReportView) {
			if state := api.NodeStatusUnknown; len(v.Members) > 0 {
				if e.Do == ViewDown {
					state = api.NodeStatusDown
				}
				v.Members[e.Node%len(v.Members)].State = state
			}
		})
	case ViewRenewed:
		w.turnView(func(*api.StatusReportView) {})
	case ViewByNoPolicy:
		w.turnView(func(v *api.StatusReportView) { v.Policy = api.PolicyReports })
	case RolloutBegins:
		w.changeTemplate(q.set)
	case PodIsNotReady:
		s := q.status
		s.ready = false
		q.probed = w.now.Add(lasts)
		w.writeStatus(q, s)
		w.reconcileSet(q.set)
	case PodIsNew:
		newcomer.uid = w.uid()
		edit(w, &newcomer.obj, func(o *corev1.Pod) { o.UID = types.UID(newcomer.uid) })
	case ClaimIsNew:
		edit(w, &newcomer.claim.obj, func(o *corev1.PersistentVolumeClaim) { o.UID = types.UID(w.uid()) })
	case ClaimGoes:
		w.deleteClaim(newcomer.claim)
		w.after(lasts, func() {
			if !newcomer.claim.disk.complete { // else a person would have to replace it
				w.deletePod(newcomer, false)
			}
		})
	case LeaderFreezes:
		if w.freezeController(lasts); !w.permits() {
			w.control.stopped = w.now.Add(lasts)
		}
	case LeaderDies:
		w.crashController()
	case LeaseIsFreed:
		w.putLease("", false)
		w.control.renewed = w.now.Add(lasts)
	case LeaseKeepsNone:
		w.control.keepsNone = w.now.Add(lasts)
		w.putLease(w.control.name(), false)
	case AnswersAreOld:
		w.adversary.pinned, w.adversary.pinnedX = w.status, w.now.Add(lasts)
	case AnswersGoBack:
		if a := &w.adversary; len(a.past) > e.Node+1 {
			a.pinned, a.pinnedX = a.past[len(a.past)-2-e.Node], w.now.Add(lasts)
		}
	case ReportIsNew:
		w.control.way.reports++
		w.status = nil
		w.wrote(cluster.KindStatusReport)
	case MachineIsCut:
		w.cutFor(newcomer, lasts)
	}
}

// turnView has the controller write another view, the next one.
func (w *world) turnView(change func(*api.StatusReportView)) {
	if w.status == nil || w.status.Status.View == nil {
		return
	}
	s := *w.status
	s.Status.View = w.status.Status.View.DeepCopy()
	s.Status.View.Seq++
	change(s.Status.View)
	w.writeReports(w.reports, &s)
}

// sayDown makes the row of a reporter have another node as DOWN until its next poll: it is written, or the reporter alone has it.
func (w *world) sayDown(q *pod, written bool) {
	r := &q.reporter
	if r.said == nil || q.row == nil {
		return
	}
	row := *r.said
	row.ObservedNodes = slices.Clone(row.ObservedNodes)
	for i := range row.ObservedNodes {
		if o := &row.ObservedNodes[i]; string(o.HostID) != q.claim.disk.id {
			o.Status = api.NodeStatusDown
			break
		}
	}
	r.beat.say(r.encode(&row), true)
	if written {
		w.arrives(q, &message{text: r.text, row: &row, base: q.obj})
		r.readBack(w, q)
	}
}

func (e Placed) String() string {
	text := string(e.At) + " " + strconv.Itoa(e.Nth) + ": " + string(e.Do)
	if e.Node != 0 {
		text += " (" + strconv.Itoa(e.Node) + ")"
	}
	if e.For != 0 {
		text += " for " + e.For.String()
	}
	return text
}

// Said is a schedule in one line.
func Said(all []Placed) string {
	var out []string
	for _, e := range all {
		out = append(out, e.String())
	}
	return strings.Join(out, "; ")
}
