// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
)

// A Lease counts only for its Pod and for the row of its digest, with a number in its one spelling.
func TestWhatALeaseConfirms(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*coordinationv1.Lease)
		uid    types.UID
		digest string
		want   error
	}{
		"a good one":            {nil, "uid-1", "d1", nil},
		"another Pod":           {nil, "uid-2", "d1", heartbeat.ErrOtherPod},
		"a Pod without a UID":   {nil, "", "d1", heartbeat.ErrOtherPod},
		"another row":           {nil, "uid-1", "d2", heartbeat.ErrOtherRow},
		"no row at all":         {nil, "uid-1", "", heartbeat.ErrOtherRow},
		"nobody's":              {func(l *coordinationv1.Lease) { l.OwnerReferences = nil }, "uid-1", "d1", heartbeat.ErrOtherPod},
		"two owners":            {func(l *coordinationv1.Lease) { l.OwnerReferences = append(l.OwnerReferences, l.OwnerReferences[0]) }, "uid-1", "d1", heartbeat.ErrOtherPod},
		"an owner that is none": {func(l *coordinationv1.Lease) { l.OwnerReferences[0].Kind = "Node" }, "uid-1", "d1", heartbeat.ErrOtherPod},
		"no annotation":         {func(l *coordinationv1.Lease) { l.Annotations = nil }, "uid-1", "d1", heartbeat.ErrGarbled},
		"no number":             {func(l *coordinationv1.Lease) { l.Annotations[api.AnnotationHeartbeat] = "x d1" }, "uid-1", "d1", heartbeat.ErrGarbled},
		"another spelling":      {func(l *coordinationv1.Lease) { l.Annotations[api.AnnotationHeartbeat] = "+7 d1" }, "uid-1", "d1", heartbeat.ErrGarbled},
		"below zero":            {func(l *coordinationv1.Lease) { l.Annotations[api.AnnotationHeartbeat] = "-7 d1" }, "uid-1", "d1", heartbeat.ErrGarbled},
		"a number alone":        {func(l *coordinationv1.Lease) { l.Annotations[api.AnnotationHeartbeat] = "7" }, "uid-1", "d1", heartbeat.ErrOtherRow},
	} {
		l := &coordinationv1.Lease{}
		heartbeat.Fill(l, heartbeat.Owner{Pod: types.NamespacedName{Namespace: "db", Name: "demo-0"}, UID: "uid-1", Cluster: "demo"}, 7, "d1", metav1.MicroTime{}, 15)
		if c.change != nil {
			c.change(l)
		}
		if n, err := heartbeat.Read(l, c.uid, c.digest); !errors.Is(err, c.want) || c.want == nil && n.Number != 7 {
			t.Errorf("%s: %+v, %v; want %v", name, n, err, c.want)
		}
	}
}
