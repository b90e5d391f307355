// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// rackWithData is rack with a claim for each member.
func rackWithData(name string) *appsv1.StatefulSet {
	s := rack(name)
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}}
	return s
}

// A StatefulSet is deleted as people do it, with everything that it owns: host ID and joined stay, until the claim is gone too.
func TestA7EvidenceSurvivesTheStatefulSet(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.install()
	p.namespace(rackWithData("r1"))
	r := p.run()
	defer r.stop(t)
	const member, id = "demo-r1-0", "11111111-0000-4000-8000-000000000001"
	p.say(member, row(id, "", id))
	recorded := func(ctx context.Context) error {
		svc := &corev1.Service{}
		if err := p.get(ctx, "demo", member, svc); err != nil {
			return err
		}
		if a := svc.Annotations; a[api.AnnotationHostID] != id || a[api.AnnotationNodeJoined] != "true" ||
			slices.ContainsFunc(svc.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind != "Namespace" }) {
			return fmt.Errorf("annotations %v, owners %v", a, svc.OwnerReferences)
		}
		return nil
	}
	p.eventually("the member to be recorded", recorded)

	remove := func() {
		t.Helper()
		p.kubectl("", "-n", "demo", "delete", "statefulset", "demo-r1", "--wait")
		p.eventually("the Pod to be gone", func(ctx context.Context) error { return p.absent(ctx, member, &corev1.Pod{}) })
	}
	remove()
	p.eventually("an Event that says why the Service stays", func(ctx context.Context) error {
		p.wake(ctx, member)
		return p.find(ctx, func(e eventsv1.Event) bool {
			return e.Reason == "MemberServiceKept" && strings.Contains(e.Note, "data-"+member)
		})
	})
	p.must(recorded(t.Context()))

	p.create(rackWithData("r1"))
	p.eventually("the Pod to be there again", func(ctx context.Context) error { return p.get(ctx, "demo", member, &corev1.Pod{}) })
	p.must(recorded(t.Context()))

	remove()
	p.kubectl("", "-n", "demo", "delete", "pvc", "data-"+member, "--wait")
	p.eventually("the Service of a cluster of which nothing is left to go", func(ctx context.Context) error {
		p.wake(ctx, member)
		return p.absent(ctx, member, &corev1.Service{})
	})
}

// wake makes the controller look at a Service before its time.
func (p *place) wake(ctx context.Context, service string) {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: service}}
	_ = p.client.Patch(ctx, svc, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"test":"%d"}}}`, time.Now().UnixNano())))
}
