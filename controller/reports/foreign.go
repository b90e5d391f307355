// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/controller/write"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

type report = api.ScyllaDBDatacenterNodesStatusReport

// foreign computes the datacenters that are assembled in other Kubernetes clusters. It returns the
// copies that should exist here, their rows in the cluster report, and the remotes that were never
// read. A datacenter that was read once is never dropped automatically; it becomes stale.
func (r *reconciler) foreign(key types.NamespacedName, m *memory, w *world, local []cluster.LocalReport,
	now time.Time) (
	copies []*report, out []cluster.Foreign, unread []string, again time.Duration,
) {
	f := &foreigners{key: key, w: w, now: now, taken: map[string]bool{}}
	for _, d := range local {
		f.taken[d.Datacenter] = true
	}
	configured := map[string]bool{}
	for _, s := range w.remotes {
		configured[s.Name] = true
		f.pull(s)
	}
	if r.o.Remotes == nil {
		names := map[string]bool{}
		for _, e := range w.reports {
			if pulled(e) {
				names[e.Labels[api.LabelRemoteReport]] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			f.pull(remote.State{Name: name, Stale: true, Reason: "remote datacenters are turned off here"})
		}
	}
	again = r.pushed(f, m)
	for _, name := range slices.Sorted(maps.Keys(w.reports)) {
		e := w.reports[name]
		// The cluster report must include every other report that barriers of this cluster select.
		if write.Foreign(e) != "" {
			f.add(cluster.Foreign{Name: e.DatacenterName, Racks: e.Racks})
		}
	}
	return f.copies, f.out, f.unread, again
}

type foreigners struct {
	key    types.NamespacedName
	w      *world
	now    time.Time
	taken  map[string]bool // datacenters that already have a source
	copies []*report
	out    []cluster.Foreign
	unread []string
}

func pulled(e *report) bool {
	return write.Foreign(e) == "" && e.Annotations[api.AnnotationCopy] == api.CopyPulled
}

func (f *foreigners) add(d cluster.Foreign) {
	if !f.taken[d.Name] {
		f.taken[d.Name] = true
		f.out = append(f.out, d)
	}
}

// pull adds the datacenters of one remote that our controller reads.
func (f *foreigners) pull(s remote.State) {
	existing := map[string]*report{} // by datacenter
	for _, name := range slices.Sorted(maps.Keys(f.w.reports)) {
		if e := f.w.reports[name]; pulled(e) && e.Labels[api.LabelRemoteReport] == s.Name {
			existing[e.DatacenterName] = e
		}
	}
	fresh := map[string]bool{}
	if s.Read && !s.Stale {
		for i := range s.Reports {
			t := &s.Reports[i]
			if f.taken[t.DatacenterName] {
				continue // our report by that name counts; a datacenter has one source
			}
			fresh[t.DatacenterName] = true
			f.copies = append(f.copies, f.copyOf(s.Name, t.DatacenterName, t.Namespace+"/"+t.Name, t.Racks))
			f.add(cluster.Foreign{Name: t.DatacenterName, Racks: t.Racks})
		}
	}
	if !s.Read && len(existing) == 0 {
		f.unread = append(f.unread, s.Name)
	}
	for _, dc := range slices.Sorted(maps.Keys(existing)) {
		e := existing[dc]
		if fresh[dc] || f.taken[dc] {
			continue
		}
		since, old := e.Annotations[api.AnnotationStaleSince]
		reason := e.Annotations[api.AnnotationStaleReason]
		switch {
		case s.Stale:
			reason = s.Reason
		case s.Read:
			reason = "its report no longer exists in the remote"
		case !old:
			// The copy of an earlier process has any age.
			reason = "this controller has not read it yet"
		}
		began, err := time.Parse(time.RFC3339, since)
		if err != nil {
			began = f.now
			if !s.FailedSince.IsZero() {
				began = s.FailedSince
			}
		}
		c := f.copyOf(s.Name, dc, e.Annotations[api.AnnotationCopyOf], cluster.WithoutObservations(e.Racks))
		c.Annotations[api.AnnotationStaleSince] = began.UTC().Format(time.RFC3339)
		c.Annotations[api.AnnotationStaleReason] = reason
		f.copies = append(f.copies, c)
		f.add(cluster.Foreign{Name: dc, Racks: e.Racks, Stale: true, StaleSince: began, Reason: reason})
	}
}

func (f *foreigners) copyOf(remoteName, datacenter, of string, racks []api.RackReport) *report {
	return &report{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.key.Namespace, Name: scope.ObjectName(f.key.Name, remoteName, datacenter, "external"),
			OwnerReferences: owners(f.w.sets, ""),
			Labels: map[string]string{
				api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: f.key.Name,
				api.LabelRemoteReport: remoteName,
			},
			Annotations: map[string]string{
				api.AnnotationCopy:   api.CopyPulled,
				api.AnnotationCopyOf: remoteName + "/" + strings.TrimPrefix(of, remoteName+"/"),
			},
		},
		DatacenterName: datacenter,
		Racks:          racks,
	}
}

// pushed adds copies that a remote controller writes here. Our controller cannot check that
// controller, so the copy's mark must keep changing. If it does not, the rows are removed from the
// copy, and the pusher's next write restores them.
func (r *reconciler) pushed(f *foreigners, m *memory) (again time.Duration) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(f.w.reports)) {
		e := f.w.reports[name]
		if write.Foreign(e) != "" || e.Annotations[api.AnnotationCopy] != api.CopyPushed || f.taken[e.DatacenterName] {
			continue
		}
		seen[name] = true
		mark := e.Annotations[api.AnnotationCopyRenewed]
		last, known := m.renewed[name]
		if !known || last.value != mark {
			// The first mark that this process sees has any age.
			last = renewal{value: mark, seen: f.now, fresh: known}
			m.renewed[name] = last
		}
		since, marked := e.Annotations[api.AnnotationStaleSince]
		reason := e.Annotations[api.AnnotationStaleReason]
		left := r.o.StaleAfter - f.now.Sub(last.seen)
		if left > 0 {
			again = min(cmp.Or(again, left), left)
		}
		switch {
		case left > 0 && last.fresh:
			if !marked {
				f.add(cluster.Foreign{Name: e.DatacenterName, Racks: e.Racks})
				continue
			}
			// Its origin, or an earlier local controller, marked it as stale: it remains stale
			// until its pusher removes the mark.
		case !marked && left > 0:
			reason = "the controller that copies it here has not renewed it yet"
		case !marked || left <= 0 && !last.fresh:
			reason = "the controller that copies it here is not responding"
		}
		began, err := time.Parse(time.RFC3339, since)
		if err != nil {
			began = last.seen
		}
		c := e.DeepCopy()
		c.Annotations[api.AnnotationStaleSince],
			c.Annotations[api.AnnotationStaleReason] = began.UTC().Format(time.RFC3339), reason
		c.Racks = cluster.WithoutObservations(e.Racks)
		f.copies = append(f.copies, c)
		f.add(cluster.Foreign{Name: e.DatacenterName, Racks: e.Racks, Stale: true, StaleSince: began, Reason: reason})
	}
	maps.DeleteFunc(m.renewed, func(name string, _ renewal) bool { return !seen[name] })
	return again
}
