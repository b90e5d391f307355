// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ofSet makes a Pod a StatefulSet's.
func ofSet(p *corev1.Pod, set string) *corev1.Pod {
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: "u", Controller: &yes}}
	return p
}

// TestAttack4AMistypedLabelMakesNoFirstNode: the newcomer's label names a cluster without other members, while a living cluster is in the namespace.
func TestAttack4AMistypedLabelMakesNoFirstNode(t *testing.T) {
	t.Parallel()
	const typo = "dmeo"
	everybody := func(selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "scylla"}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	for name, tc := range map[string]struct {
		args    []string
		objects []client.Object
		pod     string // its label
		sets    string // of the newcomer and the others
		forced  bool
		waits   string
	}{
		"it names itself":                    {args: []string{"--seeds=" + newcomer + ".scylla"}, pod: typo},
		"it names its own address":           {args: []string{"--seeds", "10.0.0.3"}, pod: typo},
		"its shell names it":                 {args: []string{"--seeds=$(POD_IP)"}, pod: typo},
		"it names nobody, and is started so": {pod: typo},
		"its first seed is not there yet":    {args: []string{"--seeds=demo-rack9-0.scylla"}, objects: []client.Object{everybody(map[string]string{"x": "y"})}, pod: typo},
		"a Service of itself":                {args: []string{"--seeds=scylla"}, objects: []client.Object{everybody(map[string]string{api.LabelCluster: typo})}, pod: typo},

		"a member of the living cluster, by name":    {args: []string{"--seeds=demo-rack1-0.scylla"}, objects: []client.Object{everybody(map[string]string{"x": "y"})}, pod: typo, waits: "is demo-rack1-0 of cluster demo"},
		"by its full name":                           {args: []string{"--seeds=" + newcomer + ".scylla.demo.svc,demo-rack2-0.scylla.demo.svc.cluster.local"}, pod: typo, waits: "is demo-rack2-0 of cluster demo"},
		"by its address":                             {args: []string{"--seeds", "10.0.0.2"}, pod: typo, waits: "is demo-rack2-0 of cluster demo"},
		"a Service of all of them":                   {args: []string{"--seeds=scylla.demo"}, objects: []client.Object{everybody(map[string]string{api.LabelDatacenter: "dc1"})}, pod: typo, waits: "of cluster demo"},
		"a Service that selects nothing":             {args: []string{"--seeds=scylla"}, objects: []client.Object{everybody(nil)}, pod: typo, waits: "not a member of its cluster"},
		"an address elsewhere":                       {args: []string{"--seeds=192.0.2.1"}, pod: typo, waits: "not a member of its cluster"},
		"a name elsewhere":                           {args: []string{"--seeds=scylla.example.com"}, pod: typo, waits: "not a member of its cluster"},
		"another namespace":                          {args: []string{"--seeds=demo-rack1-0.scylla.other.svc"}, pod: typo, waits: "not a member of its cluster"},
		"its Service alone was relabelled":           {pod: "demo", waits: `is "demo" on its Pod, but "dmeo" on its Service`},
		"others of its StatefulSet are of the other": {pod: typo, sets: "demo-rack1", waits: "of the same StatefulSet demo-rack1 belongs to cluster demo"},
		"a person knows better":                      {args: []string{"--seeds=192.0.2.1"}, pod: typo, forced: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own := service(newcomer, "rack3", map[string]string{})
				own.Labels[api.LabelCluster] = typo
				if tc.forced {
					own.Annotations[api.AnnotationForceProceed] = api.ForceProceedValue
				}
				lives := lease("controller-1")
				lives.Annotations[api.AnnotationKeeps] += " " + api.KeepMark(ns, typo)
				objs := append(others(), own, allUp(), lives)
				for _, o := range objs {
					if p, ok := o.(*corev1.Pod); ok && tc.sets != "" {
						ofSet(p, tc.sets)
					}
				}
				w := newWorld(t, append(objs, tc.objects...)...)
				pod := &corev1.Pod{}
				pod.Namespace, pod.Name = ns, newcomer
				w.update(pod, func() {
					pod.Labels[api.LabelCluster], pod.Labels[api.LabelDatacenter] = tc.pod, "dc1"
					pod.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB, Args: tc.args}}
					if tc.sets != "" {
						ofSet(pod, tc.sets)
					}
				})
				pod.Status.PodIP = "10.0.0.3"
				if err := w.c.Status().Update(t.Context(), pod); err != nil {
					t.Fatal(err)
				}
				ctx, done := running(t, w)
				w.renews(ctx)
				if tc.waits == "" {
					time.Sleep(time.Minute)
					synctest.Wait()
					select {
					case err := <-done:
						if err != nil {
							t.Fatal(err)
						}
					default:
						t.Fatalf("it waits:\n%s", w.logged())
					}
					return
				}
				time.Sleep(time.Minute)
				stillWaiting(t, done)
				if log := w.logged(); !strings.Contains(log, string(words.SeedsOfAnotherCluster)) || !strings.Contains(log, strings.ReplaceAll(tc.waits, `"`, `\"`)) {
					t.Errorf("it does not say why, %s:\n%s", tc.waits, log)
				}
				if said := w.said(); said == nil || said.Refusals[0].Reason != string(words.SeedsOfAnotherCluster) || !strings.Contains(words.Text(words.Message(said.Refusals[0].Cause)), tc.waits) {
					t.Errorf("the Pod says %+v", said)
				}
			})
		})
	}
}

// TestAttack4ANamespaceThatMayNotBeListedBlocksTheFirstNode: the cluster of the seeds is not known then.
func TestAttack4ANamespaceThatMayNotBeListedBlocksTheFirstNode(t *testing.T) {
	for _, resource := range []string{"pods", "statefulsets"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, service(newcomer, "rack3", nil), lease("controller-1"))
				w.deny[resource] = true
				ctx, done := running(t, w)
				w.renews(ctx)
				time.Sleep(time.Minute)
				stillWaiting(t, done)
				if !strings.Contains(w.logged(), string(words.ReadingIncomplete)) {
					t.Errorf("log:\n%s", w.logged())
				}
			})
		})
	}
}

// TestAttack4NobodyIsFirstWithoutALiveController: a barrier can judge a new cluster only by the reports of a controller that has read the whole namespace; that controller
// must be alive and keep this cluster's reports.
func TestAttack4NobodyIsFirstWithoutALiveController(t *testing.T) {
	for name, tc := range map[string]struct {
		lease func(*coordinationv1.Lease)
		// renews is true when a controller renews the Lease, with its present content.
		none, renews, opens bool
	}{
		"it lives and keeps the cluster":         {renews: true, opens: true},
		"there is no Lease":                      {none: true},
		"its Lease is never renewed":             {},
		"it gave its Lease up":                   {lease: func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "" }, renews: true},
		"it looks after other namespaces":        {lease: func(l *coordinationv1.Lease) { l.Annotations[api.AnnotationKeeps] = api.KeepMark("other", "demo") }, renews: true},
		"it has assembled nothing yet":           {lease: func(l *coordinationv1.Lease) { delete(l.Annotations, api.AnnotationKeeps) }, renews: true},
		"it keeps a cluster of another spelling": {lease: func(l *coordinationv1.Lease) { l.Annotations[api.AnnotationKeeps] = api.KeepMark(ns, "dmeo") }, renews: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := lease("controller-1")
				if tc.lease != nil {
					tc.lease(l)
				}
				objs := []client.Object{service(newcomer, "rack3", map[string]string{})}
				if !tc.none {
					objs = append(objs, l)
				}
				w := newWorld(t, objs...)
				ctx, done := running(t, w)
				if tc.renews {
					w.renews(ctx)
				}
				time.Sleep(2 * time.Minute)
				if !tc.opens {
					stillWaiting(t, done)
					if log := w.logged(); !strings.Contains(log, string(words.ControllerSilent)) {
						t.Errorf("log:\n%s", log)
					}
					return
				}
				synctest.Wait()
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Errorf("it waits:\n%s", w.logged())
				}
			})
		})
	}
}
