// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
)

// TestControllerWithRolesInItsNamespaces: the Roles of --namespaces are enough for a cluster in them, and allow nothing in another namespace.
func TestControllerWithRolesInItsNamespaces(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.namespace(rack("rack1"), rack("rack2"))
	elsewhere := rack("rack1")
	elsewhere.Namespace = "other"
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, elsewhere)
	p.install("demo")
	r := p.runBy(p.asController(), "demo")
	p.eventually("readiness", r.ready)
	for _, member := range []string{"demo-rack1-0", "demo-rack2-0"} {
		p.eventually("a Service of "+member, func(ctx context.Context) error { return p.get(ctx, "demo", member, &corev1.Service{}) })
	}
	p.say("demo-rack1-0", row(h0, "", h0, h1))
	p.say("demo-rack2-0", row(h1, "", h0, h1))
	p.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "2 nodes")
	for _, namespace := range []string{"demo", "other"} { // neither has a kubeconfig
		p.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: "remote-of-" + namespace,
			Labels:      map[string]string{api.LabelRemoteKubeconfig: "eu", api.LabelCluster: "demo"},
			Annotations: map[string]string{api.AnnotationRemoteLocalNamespace: namespace}}})
	}
	p.say("demo-rack1-0", "nope")
	p.event("about the Pod", func(e eventsv1.Event) bool { return e.Reason == "NodeStatusReportMalformed" })
	for secret, want := range map[string]string{"remote-of-demo": "key kubeconfig is missing", "remote-of-other": "does not manage namespace other"} {
		p.eventually("an Event about Secret "+secret, func(ctx context.Context) error {
			var l eventsv1.EventList
			if err := p.client.List(ctx, &l, client.InNamespace(manifests.Namespace)); err != nil {
				return err
			}
			for _, e := range l.Items {
				if e.Regarding.Name == secret && strings.Contains(e.Note, want) {
					return nil
				}
			}
			return fmt.Errorf("%d Events, none of it", len(l.Items))
		})
	}
	s := &corev1.Service{}
	p.must(p.get(t.Context(), "demo", "demo-rack1-0", s))
	if o := metav1.GetControllerOf(s); o == nil || o.Kind != "Namespace" {
		t.Errorf("the namespace does not own its member Service: %v", s.OwnerReferences)
	}

	// As the controller, in the other namespace and in all.
	as, err := kube.NewClient(p.asController())
	p.must(err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "demo-rack1-0"}}
	for name, do := range map[string]func(context.Context) error{
		"list Pods there":          func(ctx context.Context) error { return as.List(ctx, &corev1.PodList{}, client.InNamespace("other")) },
		"list Pods everywhere":     func(ctx context.Context) error { return as.List(ctx, &corev1.PodList{}) },
		"list Secrets in its own":  func(ctx context.Context) error { return as.List(ctx, &corev1.SecretList{}, client.InNamespace("demo")) },
		"list Services everywhere": func(ctx context.Context) error { return as.List(ctx, &corev1.ServiceList{}) },
		"read the namespace there": func(ctx context.Context) error {
			return as.Get(ctx, client.ObjectKey{Name: "other"}, &corev1.Namespace{})
		},
		"create a Service there": func(ctx context.Context) error {
			return as.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "x"}})
		},
		"delete a PVC there": func(ctx context.Context) error {
			return as.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "x"}})
		},
		"delete a Pod there": func(ctx context.Context) error { return as.Delete(ctx, pod) },
		"write a report there": func(ctx context.Context) error {
			return as.Create(ctx, &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "x"}})
		},
	} {
		if err := do(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var services corev1.ServiceList
	var reports api.ScyllaDBStatusReportList
	p.must(p.client.List(t.Context(), &services, client.InNamespace("other")))
	p.must(p.client.List(t.Context(), &reports, client.InNamespace("other")))
	if len(services.Items)+len(reports.Items) > 0 {
		t.Errorf("in the other namespace: %d Services, %d reports", len(services.Items), len(reports.Items))
	}
	r.stop(t)
	for _, no := range []string{"forbidden", "unknown namespace"} {
		if strings.Contains(r.log.String(), no) {
			t.Errorf("the log has %q:\n%s", no, r.log)
		}
	}
}
