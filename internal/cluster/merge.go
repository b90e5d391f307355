// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// DuplicateError is an object that two files have in different versions.
type DuplicateError struct{ Kind, Namespace, Name string }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s %s/%s is in both, and differs", e.Kind, e.Namespace, e.Name)
}

// Merge returns the objects of two files about one cluster, such as one for each datacenter. Equal
// objects count once, and the original of a report counts instead of its copy; other duplicates are
// a *DuplicateError. The files were saved at different times, so the result is Old.
func (o *Objects) Merge(with *Objects) (Objects, error) {
	out := *o
	var err error
	merge(&err, &out.Services, with.Services, "Service")
	merge(&err, &out.Pods, with.Pods, "Pod")
	merge(&err, &out.StatefulSets, with.StatefulSets, "StatefulSet")
	merge(&err, &out.PVCs, with.PVCs, "PersistentVolumeClaim")
	merge(&err, &out.Reports, with.Reports, "ScyllaDBDatacenterNodesStatusReport")
	out.Reports = slices.DeleteFunc(out.Reports, func(r api.ScyllaDBDatacenterNodesStatusReport) bool {
		original := func(other api.ScyllaDBDatacenterNodesStatusReport) bool {
			return other.DatacenterName == r.DatacenterName && !isRemote(&other)
		}
		return isRemote(&r) && slices.ContainsFunc(out.Reports, original)
	})
	if out.StatusReport == nil {
		out.StatusReport = with.StatusReport
	} else if r := with.StatusReport; r != nil && !equality.Semantic.DeepEqual(r, out.StatusReport) && err == nil {
		err = &DuplicateError{"ScyllaDBStatusReport", r.Namespace, r.Name}
	}
	if l := with.Lease; out.Lease == nil || l != nil && l.Spec.RenewTime.Before(out.Lease.Spec.RenewTime) {
		out.Lease = l
	}
	if out.OperatorState == nil {
		out.OperatorState = with.OperatorState
	}
	out.Machines = both(o.Machines, with.Machines)
	out.NotReadySince = both(o.NotReadySince, with.NotReadySince)
	out.Volumes, out.Claimed = both(o.Volumes, with.Volumes), both(o.Claimed, with.Claimed)
	out.Classes = both(o.Classes, with.Classes)
	out.Live, out.Facts = both(o.Live, with.Live), both(o.Facts, with.Facts)
	out.Elsewhere, out.Gathered = both(o.Elsewhere, with.Elsewhere), both(o.Gathered, with.Gathered)
	out.Banned, out.Logged = both(o.Banned, with.Banned), both(o.Logged, with.Logged)
	out.Events = slices.Concat(o.Events, with.Events)
	out.Problems = SortProblems(slices.Concat(o.Problems, with.Problems))
	out.Notes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Notes, with.Notes))))
	out.Read &= with.Read
	if with.SavedAt.After(out.SavedAt) {
		out.SavedAt = with.SavedAt
	}
	out.Offline, out.Old, out.Decoder = true, true, nil
	return out, err
}

// merge adds the objects to a list; err is the first duplicate that differs.
func merge[T any, P interface {
	*T
	metav1.Object
}](err *error, list *[]T, with []T, kind string) {
	out, at := slices.Clone(*list), map[string]int{}
	for i := range out {
		at[P(&out[i]).GetName()] = i
	}
	for i := range with {
		object := P(&with[i])
		k, twice := at[object.GetName()]
		switch {
		case !twice:
			out = append(out, with[i])
		case equality.Semantic.DeepEqual(out[k], with[i]), isCopy(object):
		case isCopy(P(&out[k])):
			out[k] = with[i]
		case *err == nil:
			*err = &DuplicateError{kind, object.GetNamespace(), object.GetName()}
		}
	}
	*list = out
}

// isCopy reports whether an object is a report that was copied from elsewhere.
func isCopy(o metav1.Object) bool {
	r, is := o.(*api.ScyllaDBDatacenterNodesStatusReport)
	return is && isRemote(r)
}

// both returns the entries of two maps; one that differs is unknown. Nil if neither was read.
func both[K comparable, V any](a, b map[K]V) map[K]V {
	if a == nil {
		return b
	}
	out := maps.Clone(a)
	for k, v := range b {
		if was, twice := a[k]; twice && !equality.Semantic.DeepEqual(was, v) {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	return out
}
