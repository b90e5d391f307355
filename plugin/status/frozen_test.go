// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

func operatorDeployment(replicas, available int32) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorName},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{AvailableReplicas: available},
	}
}

func operatorLease(renewed time.Duration) client.Object {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorLeaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("op-1"), LeaseDurationSeconds: new(int32(60)), RenewTime: &metav1.MicroTime{Time: plugintest.Now.Add(-renewed)},
		},
	}
}

func conditioned(conditions ...any) client.Object {
	o := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "demo", "name": "demo"}, "status": map[string]any{"conditions": conditions},
	}}
	o.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
	return o
}

func condition(typ, status, reason, message string) map[string]any {
	return map[string]any{"type": typ, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-11-21T11:50:00Z"}
}

// pods changes the annotations that the Pods carry, while the report stays as it was.
func pods(objects []client.Object, change func(p *corev1.Pod)) []client.Object {
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			change(p)
		}
	}
	return objects
}

// TestBesideOperator4AFrozenReportIsNotHealthy: the report says that all is well. What the Pods say, and what can be seen of the operator, says otherwise.
func TestBesideOperator4AFrozenReportIsNotHealthy(t *testing.T) {
	healthy := func() []client.Object {
		c := plugintest.New(3, 1)
		c.Newcomer("dc1", "rack1", 1)
		return c.OperatorObjects("dc1", nil)
	}
	third := plugintest.New(3, 1).Node("demo-dc1-rack3-0").HostID
	says := func(id, status string) func(p *corev1.Pod) {
		return func(p *corev1.Pod) {
			text := p.Annotations[api.AnnotationNodeStatusReport]
			if p.Name == "demo-dc1-rack1-0" {
				p.Annotations[api.AnnotationNodeStatusReport] = strings.Replace(text, `"hostID":"`+id+`","status":"UP"`, `"hostID":"`+id+`","status":"`+status+`"`, 1)
			}
		}
	}
	tests := map[string]struct {
		objects []client.Object
		status  string // in the text of status; empty: healthy
	}{
		"all is well, the operator runs":         {append(healthy(), operatorDeployment(2, 2), operatorLease(5*time.Second), conditioned(condition("Degraded", "False", "AsExpected", ""))), ""},
		"nothing can be seen of the operator":    {healthy(), ""},
		"an annotation says DOWN":                {pods(healthy(), says(third, "DOWN")), "demo-dc1-rack1-0 (35d0f1a0) sees demo-dc1-rack3-0 (37d2f3a2) DOWN"},
		"an annotation is newer than the report": {pods(healthy(), says(third, "DOWN")), "the status report differs from the Pod annotations: the status report of demo-dc1-rack1-0 differs from its Pod's annotation"},
		"an annotation says a word nobody knows": {pods(healthy(), says(third, "PERHAPS")), "demo-dc1-rack1-0 (35d0f1a0) reports demo-dc1-rack3-0 (37d2f3a2) as UNKNOWN"},
		"an annotation cannot be decoded": {pods(healthy(), func(p *corev1.Pod) {
			if p.Name == "demo-dc1-rack3-0" {
				p.Annotations[api.AnnotationNodeStatusReport] = `{"observedNodes": "none"}`
			}
		}), "the annotation of Pod demo-dc1-rack3-0 is unreadable, so the Scylla Operator does not update the report"},
		"an annotation is an error": {pods(healthy(), func(p *corev1.Pod) {
			if p.Name == "demo-dc1-rack3-0" {
				p.Annotations[api.AnnotationNodeStatusReport] = `{"error":"connection refused"}`
			}
		}), "no usable status report from demo-dc1-rack3-0 (37d2f3a2): cannot query the local ScyllaDB: connection refused"},
		"a Pod was made anew and says nothing": {pods(healthy(), func(p *corev1.Pod) {
			if p.Name == "demo-dc1-rack3-0" {
				delete(p.Annotations, api.AnnotationNodeStatusReport)
			}
		}), "has no status report any more, but the datacenter report still has it"},
		"the operator is scaled to 0":        {append(healthy(), operatorDeployment(0, 0), operatorLease(5*time.Second)), "the Scylla Operator is scaled to 0 (Deployment scylla-operator/scylla-operator)"},
		"no Pod of the operator runs":        {append(healthy(), operatorDeployment(2, 0)), "no Pod of the Scylla Operator is available (Deployment scylla-operator/scylla-operator: 0 of 2)"},
		"the operator's Lease is old":        {append(healthy(), operatorLease(10*time.Minute)), "has not renewed Lease scylla-operator/scylla-operator-lock"},
		"the operator says that it cannot":   {append(healthy(), conditioned(condition("Degraded", "True", "Error", "x"), condition("ScyllaDBDatacenterNodesStatusReportControllerDegraded", "True", "Error", "cannot decode"))), "condition ScyllaDBDatacenterNodesStatusReportControllerDegraded: Error: cannot decode"},
		"a condition without a reason of it": {append(healthy(), conditioned(condition("Degraded", "True", "AsExpected", ""))), "the Scylla Operator is degraded: condition Degraded"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, run := range []plugintest.Run{
				{Objects: tc.objects, Args: []string{"-n", "demo"}},
				{Args: []string{"-n", "demo", "--from", plugintest.Save(t, tc.objects)}},
			} {
				saved := len(run.Objects) == 0
				if saved && strings.Contains(tc.status, "Lease") {
					continue // saved objects have no time to compare with
				}
				args := run.Args
				run.Args = append([]string{"status", "-o", "wide"}, args...)
				got := run.Do(t)
				if want := 3; tc.status == "" {
					if want = 0; got.Code != want {
						t.Errorf("saved %t: status ended with %d, want %d:\n%s%s", saved, got.Code, want, got.Stdout, got.Stderr)
					}
				} else if got.Code != want || !strings.Contains(got.Stdout, tc.status) || strings.Contains(got.Stdout, "AsExpected") {
					t.Errorf("saved %t: status ended with %d and does not say %q:\n%s%s", saved, got.Code, tc.status, got.Stdout, got.Stderr)
				}
				run.Args = append([]string{"barrier", "demo-dc1-rack1-1"}, args...)
				if got := run.Do(t); got.Code != map[bool]int{true: 0, false: 3}[tc.status == ""] {
					t.Errorf("saved %t: barrier ended with %d:\n%s%s", saved, got.Code, got.Stdout, got.Stderr)
				}
			}
		})
	}
}

// TestBesideOperator4AReportThatIsOnItsWay: a new annotation blocks at once, with the node that it has DOWN as the cause; that the report differs is a cause after 30 s.
func TestBesideOperator4AReportThatIsOnItsWay(t *testing.T) {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack1", 1)
	objects := c.OperatorObjects("dc1", nil)
	third := c.Node("demo-dc1-rack3-0").HostID
	pods(objects, func(p *corev1.Pod) {
		if p.Name == "demo-dc1-rack1-0" {
			p.Annotations[api.AnnotationNodeStatusReport] = strings.Replace(p.Annotations[api.AnnotationNodeStatusReport], `"hostID":"`+third+`","status":"UP"`, `"hostID":"`+third+`","status":"DOWN"`, 1)
			p.ManagedFields[0].Time = &metav1.Time{Time: plugintest.Now.Add(-2 * time.Second)}
		}
	})
	got := plugintest.Run{Objects: objects, Args: []string{"status", "-n", "demo", "-o", "wide"}}.Do(t)
	findings, _, _ := strings.Cut(got.Stdout, "Blockers")
	if got.Code != 3 || !strings.Contains(findings, "DOWN") || strings.Contains(findings, "differs from the Pod annotations") {
		t.Errorf("written two seconds ago: the node that is DOWN is the cause, and nobody is called silent; got %d\n%s", got.Code, got.Stdout)
	}
}
