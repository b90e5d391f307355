// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

func TestWhoseItIs(t *testing.T) {
	owner := func(apiVersion string, controller *bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: "X", Name: "x", Controller: controller}}
	}
	ours := map[string]string{api.LabelManagedBy: api.ManagedByUs}
	for name, c := range map[string]struct {
		meta           metav1.ObjectMeta
		ours, operator bool
	}{
		"nobody's":                    {},
		"ours":                        {meta: metav1.ObjectMeta{Labels: ours}, ours: true},
		"the operator's by label":     {meta: metav1.ObjectMeta{Labels: map[string]string{api.LabelManagedBy: api.ManagedByOperator}}, operator: true},
		"the operator's by hash":      {meta: metav1.ObjectMeta{Labels: ours, Annotations: map[string]string{api.AnnotationManagedHash: "x"}}, operator: true},
		"the operator's by owner":     {meta: metav1.ObjectMeta{Labels: ours, OwnerReferences: owner("scylla.scylladb.com/v1alpha1", ptr.To(true))}, operator: true},
		"an owner that is no manager": {meta: metav1.ObjectMeta{Labels: ours, OwnerReferences: owner("scylla.scylladb.com/v1alpha1", nil)}, ours: true},
		"owned by a StatefulSet":      {meta: metav1.ObjectMeta{Labels: ours, OwnerReferences: owner("apps/v1", ptr.To(true))}, ours: true},
	} {
		if got := scope.Managed(&c.meta); got != c.ours {
			t.Errorf("%s: managed %v", name, got)
		}
		if got := scope.OperatorOwned(&c.meta); got != c.operator {
			t.Errorf("%s: operator's %v", name, got)
		}
	}
}

func TestPlaceOfNamesWhatIsMissing(t *testing.T) {
	full := map[string]string{api.LabelCluster: "c", api.LabelDatacenter: "d", api.LabelRack: "r"}
	if p, err := scope.PlaceOf(&metav1.ObjectMeta{Namespace: "n", Labels: full}); err != nil || p != (scope.Place{Namespace: "n", Cluster: "c", Datacenter: "d", Rack: "r"}) {
		t.Errorf("got %+v, %v", p, err)
	}
	for k := range full {
		some := map[string]string{}
		for l, v := range full {
			if l != k {
				some[l] = v
			}
		}
		if _, err := scope.PlaceOf(&metav1.ObjectMeta{Namespace: "n", Name: "x", Labels: some}); err == nil || !strings.Contains(err.Error(), k) || !strings.Contains(err.Error(), "n/x") {
			t.Errorf("without %s: %v", k, err)
		}
	}
}

func TestOrdinals(t *testing.T) {
	for member, want := range map[string]int32{"a-0": 0, "a-12": 12, "a": -1, "a-": -1, "a-01": -1, "a-b-1": -1, "b-1": -1, "a--1": -1, "a-4294967296": -1} {
		got, ok := scope.Ordinal(member, "a")
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, want %d", member, got, want)
		}
	}
	if start, end := scope.Ordinals(&appsv1.StatefulSet{}); start != 0 || end != 1 {
		t.Errorf("default: %d to %d", start, end)
	}
	if start, end := scope.Ordinals(&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(3)), Ordinals: &appsv1.StatefulSetOrdinals{Start: 2}}}); start != 2 || end != 5 {
		t.Errorf("%d to %d", start, end)
	}
	if n, ok := scope.MemberOrdinal(&metav1.ObjectMeta{Name: "x-7", Labels: map[string]string{api.LabelRackOrdinal: "3"}}); n != 3 || !ok {
		t.Errorf("by label: %d, %v", n, ok)
	}
	if n, ok := scope.MemberOrdinal(&metav1.ObjectMeta{Name: "demo-dc1-r1-7"}); n != 7 || !ok {
		t.Errorf("by name: %d, %v", n, ok)
	}
	if _, ok := scope.MemberOrdinal(&metav1.ObjectMeta{Name: "demo"}); ok {
		t.Error("a name without a number has an ordinal")
	}
}

func TestStale(t *testing.T) {
	running := corev1.ContainerStatus{Name: api.ContainerReporter, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ready := func(pod, containers corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: pod}, {Type: corev1.ContainersReady, Status: containers}}
	}
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		stale bool
	}{
		"no pod":                   {nil, true},
		"a reporter that runs":     {&corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running}}}, false},
		"an ordinary container":    {&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running}}}, false},
		"ScyllaDB is not ready":    {&corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running}, Conditions: ready("False", "False")}}, false},
		"all is ready":             {&corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running}, Conditions: ready("True", "True")}}, false},
		"the node does not answer": {&corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running}, Conditions: ready("False", "True")}}, true},
		"a readiness gate is shut": {&corev1.Pod{Spec: corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "x"}}}, Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{running}, Conditions: ready("False", "True")}}, false},
		"no containers yet": {&corev1.Pod{}, true},
	} {
		if got := scope.Stale(c.pod); (got != "") != c.stale {
			t.Errorf("%s: %q", name, got)
		}
	}
}
