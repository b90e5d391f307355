// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

func (cl *Cluster) readEvents(ctx context.Context, c client.Reader, limits Limits) {
	related := cl.related()
	next := ""
	for page := 0; ; page++ {
		var list corev1.EventList
		err := c.List(ctx, &list, client.InNamespace(cl.Snapshot.Namespace), client.Limit(pageSize),
			client.Continue(next))
		if err != nil {
			if apierrors.IsForbidden(err) {
				err = fmt.Errorf("request a Role with verb list on resource events: %w", err)
			}
			cl.leaveOut("events", err)
			break
		}
		for i := range list.Items {
			if o := list.Items[i].InvolvedObject; related(o.Kind, o.Name) {
				cl.Events = append(cl.Events, list.Items[i])
			}
		}
		if next = list.Continue; next == "" {
			break
		}
		if page+1 >= limits.EventPages {
			cl.LeftOut = append(cl.LeftOut,
				LeftOut{What: "events", Why: TooBig, Detail: fmt.Sprintf("only the first %d of the namespace were read",
					limits.EventPages*pageSize)})
			break
		}
	}
	slices.SortStableFunc(cl.Events, func(a, b corev1.Event) int {
		return cmp.Or(cluster.EventTime(&a).Compare(cluster.EventTime(&b)), cmp.Compare(a.Name, b.Name))
	})
	if more := len(cl.Events) - limits.Events; more > 0 {
		cl.Events = slices.Clone(cl.Events[more:])
		cl.LeftOut = append(cl.LeftOut,
			LeftOut{What: "events", Why: TooBig, Detail: fmt.Sprintf("the oldest %d of the cluster's events", more)})
	}
}

// allEvents returns the Events and the snapshot's: saved objects have no others, and the
// limits of an archive must not hide the cause of a problem.
func (cl *Cluster) allEvents() []corev1.Event {
	out, have := slices.Clone(cl.Events), map[string]bool{}
	for i := range out {
		have[out[i].Name] = true
	}
	for _, e := range slices.Backward(cl.Snapshot.Events) { // the newest first
		if !have[e.Name] {
			out = append(out, e)
		}
	}
	return out
}

// related returns whether an object belongs to the cluster. Deleted Pods do if their StatefulSet
// does, by its name.
func (cl *Cluster) related() func(kind, name string) bool {
	s := cl.Snapshot
	names := map[[2]string]bool{}
	add := func(kind, name string) { names[[2]string{kind, name}] = true }
	for _, m := range s.Members() {
		if m.Member == "" {
			continue
		}
		add("Service", m.Member)
		add("Pod", m.Member)
		if m.PVCName != "" {
			add("PersistentVolumeClaim", m.PVCName)
		}
	}
	for i := range s.StatefulSets {
		add("StatefulSet", s.StatefulSets[i].Name)
	}
	for i := range s.PVCs {
		add("PersistentVolumeClaim", s.PVCs[i].Name)
	}
	for i := range s.Reports {
		add("ScyllaDBDatacenterNodesStatusReport", s.Reports[i].Name)
	}
	if s.StatusReport != nil {
		add("ScyllaDBStatusReport", s.StatusReport.Name)
	}
	for _, gvk := range []string{api.ScyllaClusterGVK.Kind, api.ScyllaDBDatacenterGVK.Kind, "ScyllaDBStatusReport"} {
		add(gvk, s.Name)
	}
	return func(kind, name string) bool {
		if names[[2]string{kind, name}] {
			return true
		}
		set, ordinal := name, ""
		if i := strings.LastIndexByte(name, '-'); i >= 0 {
			set, ordinal = name[:i], name[i+1:]
		}
		return kind == "Pod" && ordinal != "" && strings.Trim(ordinal, "0123456789") == "" &&
			names[[2]string{"StatefulSet", set}]
	}
}
