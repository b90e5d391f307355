// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// far is a datacenter in another Kubernetes cluster. Of that only its nodes are simulated, and its controller's report as the controller here reads it: stale, or not at all.
type far struct {
	name    string
	pods    []*pod
	racks   []api.RackReport // as this controller has read it last
	contact time.Time        // when that was
	unread  time.Time        // until then it is not readable
}

// chooseFar draws whether there are such datacenters.
func (w *world) chooseFar() {
	if w.Rule == Operator || w.wider.rng.IntN(3) > 0 {
		return
	}
	f := &far{name: "dc9"}
	for i := range 1 + w.wider.rng.IntN(2) {
		p := &pod{name: fmt.Sprintf("far-%s-rack9-%d", f.name, i), ordinal: int32(i), stage: running, obj: &corev1.Pod{}}
		place := placeOf("rack9")
		place.Datacenter = f.name
		p.set, p.claim = &set{place: place, tokens: true}, &claim{disk: &disk{}}
		p.next = start.Add(lasts(w.wider.rng, 0, healAt-10*time.Minute))
		p.obj.Status.PodIP = fmt.Sprintf("10.9.0.%d", i+1)
		f.pods = append(f.pods, p)
	}
	w.wider.far = f
	w.result.Kinds["datacenters elsewhere"]++
	w.every(time.Second, w.farTick)
	w.every(reportInterval, w.farReports)
}

// farTick starts its nodes: for the first time when the cluster is at rest, which is all that is simulated of the barrier there.
func (w *world) farTick() {
	for _, p := range w.wider.far.pods {
		d := p.claim.disk
		switch {
		case p.proc != nil || w.now.Before(p.next):
		case p.failed != "":
			p.next = w.now.Add(time.Minute)
			w.farMended(p)
		case d.asked || w.atRest():
			p.next, p.version = w.now.Add(10*time.Second), w.sets[0].image
			w.boot(p, w.addresses(), "", nil)
			return
		}
	}
}

// farMended is a person there: the host ID of a volume that can never be used again is removed, and the node starts on a new one.
func (w *world) farMended(p *pod) {
	if d := p.claim.disk; d.group == nil || d.group.members[d.id] == "" || w.removeNode(d.group, d.id, w.otherLost(p.name)) {
		p.failed, p.claim.disk = "", &disk{}
	}
}

// addresses are those of the nodes here that serve.
func (w *world) addresses() []string {
	var out []string
	for _, p := range w.podsThat(func(p *pod) bool { return p.proc != nil && p.proc.serves }) {
		out = append(out, p.obj.Status.PodIP)
	}
	return out
}

// atRest is true for a cluster of three in which nothing is in progress: with fewer here a loss would leave seeds elsewhere alone, which a person has to name.
func (w *world) atRest() bool {
	if len(w.groups) != 1 || w.healed {
		return false
	}
	g := w.groups[0]
	return len(g.order) >= 3 && g.completed && g.leader != nil && g.current == nil && len(g.queue) == 0 && len(g.down) == 0 && !slices.ContainsFunc(g.order, func(id string) bool {
		s := w.running(id)
		return s == nil || !s.serves
	})
}

// elsewhere stands for the objects of the other Kubernetes cluster, next to the kinds of this one.
const elsewhere = cluster.KindLease

// farReports is one look of the controller here at the report of the controller there.
func (w *world) farReports() {
	f := w.wider.far
	rack := api.RackReport{Name: "rack9"}
	for _, p := range f.pods {
		if id := p.claim.disk.id; id != "" && p.claim.disk.group != nil {
			node := api.NodeReport{Ordinal: p.ordinal, HostID: &id}
			if row := w.row(p); row.Error == nil {
				node.ObservedNodes = api.Plain(row.ObservedNodes)
			}
			rack.Nodes = append(rack.Nodes, node)
		}
	}
	if w.now.Before(f.unread) {
		return
	}
	late := f.racks == nil && len(rack.Nodes) == 0
	w.after(w.net.between(500*time.Millisecond, 4*time.Second), func() {
		f.contact = w.now
		if racks := []api.RackReport{rack}; !late && !sameObject(racks, f.racks) {
			f.racks = racks
			w.wrote(elsewhere)
		}
	})
}

// foreign is what package reports makes of it, and the copy that it keeps here.
func (w *world) foreign() ([]cluster.Foreign, []api.ScyllaDBDatacenterNodesStatusReport) {
	f := w.wider.far
	if f == nil || f.racks == nil {
		return nil, nil
	}
	of := cluster.Foreign{Name: f.name, Racks: f.racks}
	copied := api.ScyllaDBDatacenterNodesStatusReport{DatacenterName: f.name, Racks: f.racks, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: clusterName + "-far-external", Labels: map[string]string{
			api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: clusterName, api.LabelRemoteReport: "far",
		}, Annotations: map[string]string{api.AnnotationCopy: api.CopyPulled, api.AnnotationCopyOf: "far/demo/demo"},
	}}
	if w.now.Sub(f.contact) > remote.StaleAfter {
		of.Stale, of.StaleSince, of.Reason = true, f.contact, "no answer"
		copied.Racks = cluster.WithoutObservations(f.racks)
		copied.Annotations[api.AnnotationStaleSince] = f.contact.UTC().Format(time.RFC3339)
		copied.Annotations[api.AnnotationStaleReason] = of.Reason
	}
	return []cluster.Foreign{of}, []api.ScyllaDBDatacenterNodesStatusReport{copied}
}

// farUnread: the other API server does not answer, so that its rows are stale after a while.
func farUnread(w *world, rng *rand.Rand) bool {
	f := w.wider.far
	if f == nil || f.racks == nil {
		return false
	}
	f.unread = w.now.Add(lasts(rng, 10*time.Second, 6*time.Minute))
	w.after(remote.StaleAfter+time.Second, func() { w.wrote(elsewhere) })
	return true
}

// farDies ends ScyllaDB of a node there.
func farDies(w *world, rng *rand.Rand) bool {
	f := w.wider.far
	if f == nil {
		return false
	}
	p, d := pickBy(rng, f.pods), lasts(rng, 10*time.Second, 4*time.Minute)
	if p.proc == nil {
		return false
	}
	w.kill(p, rng.IntN(2) == 0)
	p.next = w.now.Add(d)
	return true
}
