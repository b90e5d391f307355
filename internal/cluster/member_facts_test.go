// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// A member without objects and without a cluster has no facts.
func TestTheFactsOfAMemberWithoutObjects(t *testing.T) {
	t.Parallel()
	m := &Member{}
	if m.Ready() || m.Deleting() || m.Scheduled() || m.KubernetesNodeLost() || m.Owned() || m.Rolling() || m.OfOperator() || m.Decommissioning() {
		t.Error("something is true of it")
	}
	if m.Recorded().HostID != "" || m.Says().HostID != "" || m.Claim("") != nil || !m.BarrierSince().IsZero() || !m.StartedAt().IsZero() || m.LastExit() != nil || m.Launcher() != release.Unknown {
		t.Error("something is known of it")
	}
}

// A member in a cluster has the facts of the cluster's other objects.
func TestTheFactsOfAMemberInItsCluster(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	st.Pods["demo-rack1-0"].Spec.NodeName = "a"
	o := st.cluster(SourceAnnotation).Objects
	o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "logs-demo-rack1-1", UID: "of another"}})
	for state, lost := range map[string]bool{KubernetesNodeReady: false, KubernetesNodeNotReady: true, KubernetesNodeGone: true} {
		o.Machines = map[string]string{"a": state}
		if got := New(o, SourceAnnotation, start).Member("demo-rack1-0").KubernetesNodeLost(); got != lost {
			t.Errorf("%s: lost is %t", state, got)
		}
	}
	m := New(o, SourceAnnotation, start).Member("demo-rack1-0")
	if c := m.Claim("of another"); c == nil || c.Name != "logs-demo-rack1-1" || m.Claim("of nobody") != nil {
		t.Errorf("claim %+v", c)
	}
	m.HostID = "the node says another"
	if recorded := m.Recorded(); recorded.HostID == m.HostID || string(recorded.HostID) != m.Service.Annotations[api.AnnotationHostID] || recorded.Rack != m.Rack {
		t.Errorf("recorded is %+v", recorded)
	}
}
