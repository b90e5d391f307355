// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// What the Scylla Operator does at the commit that the vectors were observed on, written from its documented and observed behaviour.

// Place is a member's place in the operator's report.
type Place struct {
	Datacenter, Rack string
	Ordinal          int32
}

// OperatorPrecondition is the operator's rule: every host ID that appears anywhere, the newcomer's own entry left out, has a row in which every one
// of them is UP. No report at all is satisfied.
func OperatorPrecondition(reports []api.ScyllaDBDatacenterNodesStatusReport, self Place, lenient bool) bool {
	lenient = lenient && len(reports) == 1 && reports[0].DatacenterName == self.Datacenter
	all, rows := map[string]bool{}, map[string]map[string]bool{}
	for _, r := range reports {
		for _, rack := range r.Racks {
			for _, n := range rack.Nodes {
				if (Place{r.DatacenterName, rack.Name, n.Ordinal}) == self {
					continue
				}
				if n.HostID == nil {
					return false
				}
				all[*n.HostID] = true
				rows[*n.HostID] = map[string]bool{}
				for _, o := range n.ObservedNodes {
					all[o.HostID] = true
					rows[*n.HostID][o.HostID] = o.Status == api.NodeStatusUp
				}
			}
		}
	}
	for observer := range all { // all of them must agree: the order does not matter
		row, reports := rows[observer]
		if !reports {
			if lenient {
				continue
			}
			return false
		}
		for observed := range all {
			if !row[observed] {
				return false
			}
		}
	}
	return true
}

func (w *world) operatorJudges(p *pod) bootstrap.Verdict {
	yes := func(d bootstrap.Decision) bootstrap.Verdict {
		return bootstrap.Verdict{Satisfied: true, Decision: d, Summary: words.New(words.Code(d))}
	}
	if p.query.disk == bootstrap.BootstrappedYes {
		return yes(bootstrap.DecisionBootstrapped)
	}
	svc := w.service[p.name]
	switch {
	case svc == nil || w.cut[p.name]:
		return bootstrap.Verdict{Summary: words.New("OperatorCannotRead")}
	case svc.Labels[api.LabelReplacingNodeHostID] != "":
		return yes(bootstrap.DecisionReplacing)
	}
	if OperatorPrecondition(w.reports, Place{p.set.place.Datacenter, p.set.place.Rack, p.ordinal}, false) {
		if !slices.ContainsFunc(w.reports, func(r api.ScyllaDBDatacenterNodesStatusReport) bool { return len(r.Racks) > 0 }) {
			return yes(bootstrap.DecisionGenesis)
		}
		return yes(bootstrap.DecisionAllUp)
	}
	return bootstrap.Verdict{Summary: words.New("OperatorPreconditionUnmet")}
}

// operatorRecord: the host ID as soon as the process has one, before it joins; joined when it owns tokens, false when it is listed without any.
func operatorRecord(annotations map[string]string, row *api.NodeStatusReport, _ time.Time) map[string]string {
	if row.HostID == "" {
		return nil
	}
	want := map[string]string{api.AnnotationHostID: string(row.HostID)}
	listed := slices.ContainsFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.HostID == row.HostID })
	if row.OwnsTokens != nil && listed {
		want[api.AnnotationNodeJoined] = "false"
		if *row.OwnsTokens {
			want[api.AnnotationNodeJoined] = "true"
		}
	}
	for k, v := range want {
		if annotations[k] == v {
			delete(want, k)
		}
	}
	return want
}

// operatorReport: a row for each member whose Service records a join, from its Pod's annotation, which has no time.
func (w *world) operatorReport() {
	var all []api.ScyllaDBDatacenterNodesStatusReport
	for _, s := range w.sets {
		dc := s.place.Datacenter
		if !slices.ContainsFunc(all, func(r api.ScyllaDBDatacenterNodesStatusReport) bool { return r.DatacenterName == dc }) {
			all = append(all, api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName + "-" + dc}, DatacenterName: dc})
		}
		report := &all[len(all)-1]
		rack := api.RackReport{Name: s.place.Rack}
		for o := range s.replicas {
			name := podName(s, o)
			svc := w.service[name]
			if svc == nil || svc.Annotations[api.AnnotationNodeJoined] != "true" {
				continue
			}
			id := svc.Annotations[api.AnnotationHostID]
			node := api.NodeReport{Ordinal: o, HostID: &id}
			if p := w.pods[name]; p != nil && p.row != nil && p.row.Error == nil {
				node.ObservedNodes = api.Plain(p.row.ObservedNodes)
			}
			rack.Nodes = append(rack.Nodes, node)
		}
		if len(rack.Nodes) > 0 {
			report.Racks = append(report.Racks, rack)
		}
	}
	w.reports = all
}

// operatorSeeds: ready members, the oldest of each rack first; where none is ready the oldest member Service alone.
func (w *world) operatorSeeds(p *pod) []string {
	names := slices.Clone(w.serviceNames.of(w.service))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(w.service[a].CreationTimestamp.Compare(w.service[b].CreationTimestamp.Time), strings.Compare(a, b))
	})
	var seeds []string
	racks := map[string]bool{}
	for _, name := range names {
		if q := w.pods[name]; q != nil && q != p && q.isReady() && !racks[q.set.place.Rack] {
			racks[q.set.place.Rack] = true
			seeds = append(seeds, q.obj.Status.PodIP)
		}
	}
	if len(seeds) == 0 {
		if q := w.pods[names[0]]; q != nil {
			return []string{q.obj.Status.PodIP}
		}
		return []string{"10.0.255.255"}
	}
	return seeds
}

func replacementOver(labels, _ map[string]string) {
	delete(labels, api.LabelReplace)
	delete(labels, api.LabelReplacingNodeHostID)
}

// operatorReplaces is its procedure: claim, ten seconds, eviction, label; over when another host ID is recorded and the Pod is ready.
func (w *world) operatorReplaces(name string) {
	svc, p, c := w.service[name], w.pods[name], &w.control
	if c.evicts == nil {
		c.evicts = map[string]time.Time{}
	}
	id := svc.Annotations[api.AnnotationHostID]
	target := svc.Labels[api.LabelReplacingNodeHostID]
	switch {
	case target != "" && p != nil && id != target && p.isReady():
		w.annotate(name, replacementOver)
	case target != "" || id == "":
	case c.evicts[name].IsZero():
		c.evicts[name] = w.now.Add(10 * time.Second)
		if cl := w.claims["data-"+name]; cl != nil {
			w.deleteClaim(cl)
		}
	case !w.now.Before(c.evicts[name]):
		delete(c.evicts, name)
		if p != nil {
			w.deletePod(p, p.machine != nil && p.machine.gone)
		}
		w.annotate(name, func(labels, _ map[string]string) { labels[api.LabelReplacingNodeHostID] = id })
	}
}

// followManual is a person who does what the Scylla Operator's documentation says of a member that has not been well for a minute.
func (w *world) followManual() {
	for _, name := range w.unwell() {
		s := w.setOf(name)
		if s == nil || s.away {
			continue
		}
		if w.trouble[name].IsZero() {
			w.trouble[name] = w.now
		} else if cure := w.manual(name, w.pods[name]); cure != nil && w.now.Sub(w.trouble[name]) >= reaction {
			delete(w.trouble, name)
			w.tracef("a person, by the manual, about %s", name)
			cure()
			w.result.Commands++
		}
	}
	for _, name := range sortedKeys(w.trouble) {
		if w.well(name) {
			delete(w.trouble, name)
		}
	}
}

// manual is what to do about a member; nil for nothing.
func (w *world) manual(name string, p *pod) func() {
	svc := w.service[name]
	if svc == nil {
		return nil
	}
	id, replaced := svc.Annotations[api.AnnotationHostID], replace.ReadRecord(svc.Labels, svc.Annotations)
	switch {
	case p == nil:
		// Delete the StatefulSet with --cascade=orphan, apply it with Parallel: OrderedReady makes no Pod while a lower ordinal waits.
		if w.member(id) && w.setOf(name).obj.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement {
			return func() { w.applyParallel(name) }
		}
	case replaced.Requested || replaced.Open():
		return w.operatorReplacementCure(name, p)
	case p.lost() && !w.member(id):
		return func() { w.discard(p.claim); w.deletePod(p, true) }
	case p.lost(), p.waits() && w.member(id) && p.query.volume == bootstrap.VolumeEmpty:
		return func() { w.requestReplace(name) }
	case p.stage == running && p.failed != "" && (p.proc == nil || !p.proc.disk.complete && p.proc.group == nil):
		return func() { w.wipe(p) } // its log says that this data directory can never be used again
	}
	return nil
}

// operatorReplacementCure is its manual for a failed replacement: the old node is removed, the labels go, and the member joins anew.
func (w *world) operatorReplacementCure(name string, p *pod) func() {
	if p.machine != nil && p.machine.gone {
		return func() { w.deletePod(p, true) }
	}
	if p.failed == "" || p.stage != running {
		return nil
	}
	return func() {
		target := w.service[name].Labels[api.LabelReplacingNodeHostID]
		for _, g := range w.groups {
			if g.members[target] != "" && !w.removeNode(g, target, w.otherLost(name)) {
				return
			}
		}
		delete(w.lost, name)
		w.annotate(name, replacementOver)
		w.wipe(p)
	}
}
