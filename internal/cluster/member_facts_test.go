// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
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
	if m.Ready() || m.Deleting() || m.Scheduled() || m.KubernetesNodeLost() || m.Owned() || m.Rolling() || m.OfOperator() || m.Decommissioning() ||
		m.Serves() || m.Stopped() || m.Current() {
		t.Error("something is true of it")
	}
	if m.RecordedID() != "" || m.Says().HostID != "" || m.Answer() != nil || m.Claim("") != nil || !m.BarrierSince().IsZero() || !m.StartedAt().IsZero() || m.LastExit() != nil || m.Launcher() != release.Unknown {
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

// Its ScyllaDB's answer is the one that was asked for now, also one with an error; the annotation of its Pod is none.
func TestTheAnswerOfAMember(t *testing.T) {
	t.Parallel()
	c := newStage(t, 1, 2).cluster(SourceAnnotation)
	if m := c.Member("demo-rack1-0"); m.Report == nil || m.Answer() != nil {
		t.Errorf("nobody was asked, and it answers %+v", m.Answer())
	}
	row := &api.NodeStatusReport{Error: new("refused")}
	c = c.WithLive(map[string]*api.NodeStatusReport{"demo-rack1-0": row}, nil, nil)
	if got := c.Member("demo-rack1-0").Answer(); got != row {
		t.Errorf("it answers %+v", got)
	}
	if got := c.Member("demo-rack1-1").Answer(); got != nil {
		t.Errorf("it was not asked, and answers %+v", got)
	}
}

// While guards are put in, StatefulSets and Pods carry no label of the cluster: each wanted name is a member, with the facts of its Pod.
func TestTheFactsOfMembersWithoutLabels(t *testing.T) {
	t.Parallel()
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(4))}, Status: appsv1.StatefulSetStatus{UpdateRevision: "new"}}
	pod := func(name, revision string, ready bool, state corev1.ContainerState) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: ready, State: state}}
		if ready {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		return p
	}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ends := pod("db-2", "new", true, runs)
	ends.DeletionTimestamp = &metav1.Time{Time: start}
	o := Objects{Key: key, StatefulSets: []appsv1.StatefulSet{set}, Pods: []corev1.Pod{pod("db-0", "new", true, runs), pod("db-1", "old", false, corev1.ContainerState{}), ends}}
	type facts struct{ Pod, Current, Serves, Stopped bool }
	want := map[string]facts{"db-0": {Pod: true, Current: true, Serves: true}, "db-1": {Pod: true, Stopped: true}, "db-2": {Pod: true, Current: true}, "db-3": {}}
	got := map[string]facts{}
	for _, name := range MemberNames(&set) {
		m := New(o, SourceAnnotation, start).Member(name)
		if m == nil || m.StatefulSet == nil {
			t.Fatalf("%s is no member of the StatefulSet", name)
		}
		got[name] = facts{m.Pod != nil, m.Current(), m.Serves(), m.Stopped()}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
