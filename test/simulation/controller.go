// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/keep"
	"github.com/kubectl-scylla/kubectl-scylla/controller/members"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

// controller is ours, or plays the Scylla Operator's.
type controller struct {
	stopped time.Time // until then
	seen    int       // the version that it has worked on
	// renewed is the last attempt to renew the Lease, answered the last one that the API server answered. Until keepsNone the Lease lists nothing.
	renewed, answered, keepsNone time.Time
	evicts                       map[string]time.Time // the operator's replacements: member -> when its Pod is evicted
	way                          way
	// Of policy reports: one process that never ends.
	proof *keep.Proof
	queue queued
	next  time.Time // no assembly before
	equal int       // version whose assembly was found equal

	// Of policy permits.
	leads              *leader // nil while none leads
	takeOver           time.Time
	loopStalls         time.Time // until then the loop that writes stands still, while all else of the process goes on
	terms, transitions int64
}

// controllerTick is one second of the controller: what has changed is worked on once.
func (w *world) controllerTick() {
	c := &w.control
	if w.now.Before(c.stopped) || w.now.Before(c.way.dropped) {
		return
	}
	if w.hears() && !w.now.Before(c.next) && (c.seen != w.version || c.queue.is) {
		c.seen, c.queue.is, c.next = w.version, false, w.now.Add(reports)
		w.memberServices()
		if !w.assemble() {
			c.queue.is = true
			c.proof.Assembled(clusterKey, w.now, errRefused)
		} else {
			c.proof.Assembled(clusterKey, w.now, nil)
		}
	}
	w.prove(c.proof, &c.queue)
}

// memberServices does what package members does: one Service per ordinal, with what the node says of itself.
func (w *world) memberServices() {
	for _, s := range w.sets {
		for o := range s.replicas {
			name := podName(s, o)
			if w.service[name] != nil || s.away {
				continue
			}
			svc := members.Service(s.obj, s.place, o)
			svc.UID, svc.CreationTimestamp = types.UID(w.uid()), metav1.NewTime(w.now.Truncate(time.Second))
			w.serviceNames.changed()
			w.service[name] = svc
			w.wrote(cluster.KindServices)
		}
	}
	for _, name := range w.serviceNames.of(w.service) {
		p, svc := w.pods[name], w.service[name]
		if p == nil || p.row == nil || p.recorded == (recorded{svc, p.row}) {
			continue
		}
		record := members.Record
		if w.Rule == Operator {
			record = operatorRecord
		}
		what := record(svc.Annotations, p.row, w.clock(w.control.name()))
		if len(what) == 0 {
			p.recorded = recorded{svc, p.row}
		} else {
			w.annotate(name, func(_, annotations map[string]string) {
				for k, v := range what {
					annotations[k] = v
				}
			})
		}
	}
}

// recorded are a Service and the row that it has all of.
type recorded struct {
	service *corev1.Service
	row     *api.NodeStatusReport
}

// shelf has the lists of the API server's objects as they were last read. They are never written.
type shelf struct {
	version int // of the objects
	objects cluster.Objects
}

// objects are what the API server holds now. Pods alone carry what a decoder remembers, and a reading without Pods would have it forget all.
func (w *world) objects(kinds cluster.Kinds) cluster.Objects {
	s := &w.shelf
	if w.since(s.version)&(everything|cluster.KindPVCs)&^(cluster.KindReports|cluster.KindStatusReport) != 0 { // lists have no reports
		s.objects = cluster.Objects{}
	}
	s.version = w.version
	o := cluster.Objects{Key: cluster.Key{Namespace: namespace, Name: clusterName}, Read: kinds}
	o.Services = shelved(&s.objects.Services, w.serviceNames.of(w.service), func(name string) *corev1.Service { return w.service[name] })
	if kinds&cluster.KindPods != 0 {
		o.Decoder = w.decoder
		o.Pods = shelved(&s.objects.Pods, w.podNames.of(w.pods), func(name string) *corev1.Pod { return w.pods[name].obj })
	}
	if kinds&cluster.KindStatefulSets != 0 {
		if s.objects.StatefulSets == nil {
			s.objects.StatefulSets = make([]appsv1.StatefulSet, 0, len(w.sets))
			for _, set := range w.sets {
				if !set.away {
					s.objects.StatefulSets = append(s.objects.StatefulSets, *set.obj)
				}
			}
		}
		o.StatefulSets = s.objects.StatefulSets
	}
	if kinds&cluster.KindPVCs != 0 {
		o.PVCs = shelved(&s.objects.PVCs, w.claimNames.of(w.claims), func(name string) *corev1.PersistentVolumeClaim { return w.claims[name].obj })
	}
	if kinds&cluster.KindReports != 0 {
		o.Reports = slices.Clone(w.reports)
	}
	if kinds&cluster.KindStatusReport != 0 {
		o.StatusReport = w.status
	}
	return o
}

// judged has the Clusters that were made of the objects of one version in one moment.
type judged struct {
	version  int
	at       time.Time
	clusters map[readAs]*cluster.Cluster
	// of the barriers' objects, and their version: mostly only the report and the time are others
	indexed   *cluster.Cluster
	indexedAt int
}

// readAs is what such a Cluster depends on besides.
type readAs struct {
	kinds  cluster.Kinds
	source cluster.Source
	at     time.Time
	report *api.ScyllaDBStatusReport
}

// cluster is what those objects say, judged by a cluster report. What several read in one moment is judged once.
func (w *world) cluster(kinds cluster.Kinds, source cluster.Source, at time.Time, report *api.ScyllaDBStatusReport) *cluster.Cluster {
	s := &w.judged
	if s.version != w.version || !s.at.Equal(w.now) {
		s.version, s.at, s.clusters = w.version, w.now, map[readAs]*cluster.Cluster{}
	}
	key := readAs{kinds, source, at, report}
	c := s.clusters[key]
	switch {
	case c != nil:
		return c
	case kinds == kindsOfBarrier && s.indexed != nil && w.since(s.indexedAt)&kindsOfBarrier&^cluster.KindStatusReport == 0:
		again := *s.indexed
		again.TakenAt, again.Old = at, false
		c = again.WithReport(report)
	default:
		o := w.objects(kinds)
		o.StatusReport = report
		if c = cluster.New(o, source, at); kinds == kindsOfBarrier {
			s.indexed, s.indexedAt = c, w.version
		}
	}
	s.clusters[key] = c
	return c
}

// shelved is the list that was read of this version, or is read now.
func shelved[T any](list *[]T, names []string, of func(string) *T) []T {
	if *list == nil && len(names) > 0 {
		*list = make([]T, len(names))
		for i, name := range names {
			(*list)[i] = *of(name)
		}
	}
	return *list
}

const everything = cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets | cluster.KindReports | cluster.KindStatusReport

// assemble does what package reports does. It is true when all is written, or was found equal.
func (w *world) assemble() bool {
	if w.Rule == Operator {
		w.operatorReport()
		return true
	}
	if w.wider.far == nil && w.since(w.control.equal)&^cluster.KindPVCs == 0 {
		return true // an assembly of the same objects, in which no time counts but that of a datacenter elsewhere
	}
	if len(w.objects(cluster.KindStatefulSets).StatefulSets) == 0 {
		if w.status != nil || len(w.reports) > 0 {
			w.dropReports() // no member is left to report on
		}
		return true
	}
	reports, status := w.assembled(cluster.New(w.objects(everything), cluster.SourceAnnotation, w.clock(w.control.name())))
	identify(status, w.status)
	if sameObject(reports, w.reports) && sameObject(status, w.status) {
		w.control.equal = w.version
		return true
	}
	written := w.writeReports(reports, status)
	w.control.seen = w.version
	return written
}

func identify(status, stored *api.ScyllaDBStatusReport) {
	if stored != nil {
		status.UID, status.CreationTimestamp = stored.UID, stored.CreationTimestamp
	}
}

// assembled are the reports of what the controller reads.
func (w *world) assembled(c *cluster.Cluster) ([]api.ScyllaDBDatacenterNodesStatusReport, *api.ScyllaDBStatusReport) {
	var reports []api.ScyllaDBDatacenterNodesStatusReport
	for _, d := range c.LocalReports() {
		labels := setLabels(scope.Place{Cluster: clusterName, Datacenter: d.Datacenter})
		delete(labels, api.LabelRack)
		labels[api.LabelReportSelector] = clusterName
		reports = append(reports, api.ScyllaDBDatacenterNodesStatusReport{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName + "-" + d.Datacenter, Labels: labels}, DatacenterName: d.Datacenter, Racks: d.Racks,
		})
	}
	foreign, copies := w.foreign()
	reports = append(reports, copies...)
	status := c.ClusterReport(foreign, nil)
	status.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: clusterName, Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}
	return reports, status
}

// replacements is one look of package replacement's controller at all members that ask for one.
func (w *world) replacements() {
	if w.now.Before(w.control.stopped) || w.now.Before(w.control.way.dropped) || w.permits() && w.control.leads == nil || w.replaceSeen == w.version && w.now.Sub(w.replaceJudged) < 10*time.Second {
		return
	}
	w.replaceSeen, w.replaceJudged = w.version, w.now
	for _, name := range w.serviceNames.of(w.service) {
		svc := w.service[name]
		if rec := replace.ReadRecord(svc.Labels, svc.Annotations); !rec.Requested && !rec.Open() && rec.Request == "" {
			continue
		}
		if w.Rule == Operator {
			w.operatorReplaces(name)
			continue
		}
		w.replaceStep(name)
	}
}

func (w *world) replacementStep(name string) *replace.Step {
	c := w.cluster(everything|cluster.KindPVCs, cluster.SourceAuto, w.clock(w.control.name()), w.status)
	in := replace.Read(c).Input(name, w.clock(w.control.name()), fmt.Sprintf("request-%s-%d", name, w.version))
	if in == nil {
		return nil
	}
	step := replace.Next(*in)
	return &step
}

func (w *world) replaceStep(name string) {
	step := w.replacementStep(name)
	if step == nil {
		return
	}
	p := w.pods[name]
	if step.Action.Writes() {
		w.tracef("replacement of %s: %s", name, step.Action)
	}
	switch step.Action {
	case replace.ActionRefuse, replace.ActionHoldEviction, replace.ActionWaitRefused, replace.ActionFail:
		w.recall(name)
	}
	switch step.Action {
	case replace.ActionDeletePVC:
		w.deleteMarked(step)
	case replace.ActionKeepPVC:
		if c := w.claims[step.Claim.Name]; c != nil && c.obj.UID == step.Claim.UID {
			edit(w, &c.obj, func(o *corev1.PersistentVolumeClaim) {
				metav1.SetMetaDataAnnotation(&o.ObjectMeta, api.AnnotationReplaceKept, step.Request)
			})
		}
	case replace.ActionEvictPod:
		if p != nil && p.uid == step.PodUID {
			w.deletePod(p, false)
		}
	default:
		if step.Patch != nil {
			w.annotate(name, func(labels, annotations map[string]string) { step.Patch.Apply(&labels, &annotations) })
		}
	}
}
