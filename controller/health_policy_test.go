// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// The initialisation of a cluster and its later state, on a real API server, with the shipped kinds and rights: one member until it is initialised, a Secret that is missing, the
// health policy, the ID of group 0, and the second rack.
func TestInitialiseThenScaleOnARealAPIServer(t *testing.T) {
	t.Parallel()
	const group = "11111111-1111-1111-8111-111111111111"
	p := start(t)
	p.install()
	sets := []*appsv1.StatefulSet{rack("rack1"), rack("rack2")}
	for _, s := range sets {
		s.Annotations = map[string]string{api.AnnotationWantedReplicas: "1"}
	}
	sets[0].Spec.Replicas = ptr.To(int32(3))
	sets[0].Annotations[healthpolicy.Annotation(healthpolicy.FieldDead)] = "10m"
	sets[0].Annotations[healthpolicy.Annotation(healthpolicy.FieldContact)] = "1s"
	p.namespace(sets[0])
	p.run()
	// The oldest member Service is the first node's, and StatefulSets get theirs in any order.
	p.eventually("the Service of the first node", func(ctx context.Context) error { return p.get(ctx, "demo", "demo-rack1-0", &corev1.Service{}) })
	p.create(sets[1])

	counts := func(want string) {
		t.Helper()
		p.eventually("replicas "+want, func(ctx context.Context) error {
			var one, two appsv1.StatefulSet
			if err := errors.Join(p.get(ctx, "demo", "demo-rack1", &one), p.get(ctx, "demo", "demo-rack2", &two)); err != nil {
				return err
			}
			if got := fmt.Sprint(*one.Spec.Replicas, *two.Spec.Replicas); got != want {
				return fmt.Errorf("replicas %s", got)
			}
			return nil
		})
	}
	counts("1 0")
	p.report("the health policy", func(s *api.ScyllaDBStatusReportStatus) bool {
		return s.HealthPolicy != nil && s.HealthPolicy.Dead.Duration == 10*time.Minute && s.HealthPolicy.Contact.Duration == healthpolicy.Contact && s.HealthPolicy.MinQuorum == 3
	})
	p.condition(api.ConditionHealthPolicyValid, metav1.ConditionFalse, "StatefulSet demo/demo-rack1 has the invalid value \"1s\": specify a duration from 10s to 1m")

	// Its Kubernetes node cannot mount a Secret.
	pod := &corev1.Pod{}
	p.eventually("the first Pod on a Kubernetes node", func(ctx context.Context) error {
		if err := p.get(ctx, "demo", "demo-rack1-0", pod); err != nil || pod.Spec.NodeName != "" {
			return err
		}
		return p.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "kube-1"}})
	})
	p.create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "mount"}, EventTime: metav1.NowMicro(), Type: corev1.EventTypeWarning, Reason: "FailedMount", Action: "Mount",
		ReportingController: "kubelet", ReportingInstance: "kube-1", Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "demo", Name: pod.Name, UID: pod.UID},
		Note: `MountVolume.SetUp failed for volume "tls" : secret "demo-local-serving-certs" not found`,
	})
	p.condition(api.ConditionPrerequisitesMissing, metav1.ConditionTrue, "secret/demo-local-serving-certs does not exist in namespace demo, and demo-rack1-0 does not start")

	first := strings.Replace(row(h0, "", h0), `"hostID":"`+h0+`","operationMode"`, `"hostID":"`+h0+`","group0ID":"`+group+`","coordinator":"`+h0+`","operationMode"`, 1)
	p.say("demo-rack1-0", first)
	p.report("the initialisation, with group 0", func(s *api.ScyllaDBStatusReportStatus) bool {
		return s.Initialized && s.Group0ID == group
	})
	counts("1 1")

	p.say("demo-rack1-0", strings.Replace(first, group, "22222222-2222-1222-8222-222222222222", 1))
	p.condition(api.ConditionSplitCluster, metav1.ConditionTrue, "the cluster is recorded with group 0 ID "+group)
	p.report("group 0 as it was", func(s *api.ScyllaDBStatusReportStatus) bool { return s.Group0ID == group })
}
