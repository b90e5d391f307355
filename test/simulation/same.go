// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Comparisons, of which a seed makes thousands: mostly nothing has changed.

// sameObject is what our controllers write by. Where package reflect finds no difference there is none, and it is quicker to say so.
func sameObject(a, b any) bool { return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) }

// sameButView is true for cluster reports that differ in the controller's view at most.
func sameButView(a, b *api.ScyllaDBStatusReport) bool {
	x, y := *a, *b
	x.Status.View, y.Status.View = nil, nil
	return sameObject(x, y)
}

// sameRow is true for rows that are written with the same words. Each field is named here: a test sees whether one is missing.
func sameRow(a, b *api.NodeStatusReport) bool {
	return a.HostID == b.HostID && a.OperationMode == b.OperationMode && a.ScyllaVersion == b.ScyllaVersion && a.Fault == b.Fault &&
		a.LegacyTopology == b.LegacyTopology && a.Complete == b.Complete && a.Coordinator == b.Coordinator && a.Group0ID == b.Group0ID &&
		sameValue(a.Error, b.Error) && sameValue(a.OwnsTokens, b.OwnsTokens) && sameValue(a.Heartbeat, b.Heartbeat) && sameProcess(a.Process, b.Process) && sameValue(a.DiskUsedPercent, b.DiskUsedPercent) && sameValue(a.JoinedPercent, b.JoinedPercent) && sameValue(a.VnodeKeyspaces, b.VnodeKeyspaces) &&
		(a.Credential == b.Credential || sameObject(a.Credential, b.Credential)) &&
		slices.Equal(a.RepairBased, b.RepairBased) && slices.Equal(a.Operations, b.Operations) && slices.Equal(a.Places, b.Places) && sameCells(a.ObservedNodes, b.ObservedNodes) &&
		(a.LastRow == b.LastRow || a.LastRow != nil && b.LastRow != nil && a.LastRow.HostID == b.LastRow.HostID && sameCells(a.LastRow.ObservedNodes, b.LastRow.ObservedNodes))
}

func sameCells(a, b []api.ObservedNodeStatusReport) bool {
	return slices.EqualFunc(a, b, func(x, y api.ObservedNodeStatusReport) bool {
		return x.HostID == y.HostID && x.Status == y.Status && x.State == y.State && sameTime(x.Since, y.Since)
	})
}

func sameProcess(a, b *api.ScyllaDBProcess) bool {
	return a == b || a != nil && b != nil && a.State == b.State && sameValue(a.ExitStatus, b.ExitStatus) && sameTime(a.Ended, b.Ended)
}

func sameTime(a, b *metav1.Time) bool { return a == b || a != nil && b != nil && a.Equal(b) }

func sameValue[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
