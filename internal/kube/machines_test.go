// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func machine(name string, ready corev1.ConditionStatus, cordoned bool) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

func on(names ...string) []corev1.Pod {
	var out []corev1.Pod
	for _, n := range names {
		out = append(out, corev1.Pod{Spec: corev1.PodSpec{NodeName: n}})
	}
	return out
}

func TestMachines(t *testing.T) {
	t.Parallel()
	objects := []client.Object{machine("a", corev1.ConditionTrue, false), machine("b", corev1.ConditionUnknown, false), machine("c", corev1.ConditionTrue, true)}
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
	for name, tc := range map[string]struct {
		pods      []corev1.Pod
		forbidden bool
		want      map[string]string
	}{
		"by name":      {pods: on("a", "b", "c", "d", ""), want: map[string]string{"a": "Ready", "b": "NotReady", "c": "Ready,SchedulingDisabled", "d": "Gone"}},
		"as a list":    {pods: on(many...), want: map[string]string{"a": "Ready", "b": "NotReady", "c": "Ready,SchedulingDisabled", "d": "Gone", "e": "Gone", "f": "Gone", "g": "Gone", "h": "Gone", "i": "Gone"}},
		"no right":     {pods: on("a"), forbidden: true},
		"no Pod there": {want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := 0
			c := fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(copies(objects)...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					reads++
					if tc.forbidden {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, key.Name, nil)
					}
					return c.Get(ctx, key, obj, opts...)
				},
			}).Build()
			var m Machines
			start := time.Unix(1_000_000, 0)
			if diff := cmp.Diff(tc.want, m.read(t.Context(), c, tc.pods, start)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			first := reads
			if diff := cmp.Diff(tc.want, m.read(t.Context(), c, tc.pods, start.Add(machinesOld-time.Second))); diff != "" || reads != first {
				t.Errorf("a moment later %d reads more (-want +got):\n%s", reads-first, diff)
			}
			m.read(t.Context(), c, tc.pods, start.Add(machinesOld))
			if reads != 2*first {
				t.Errorf("when it is old it is read again: %d reads, want %d", reads, 2*first)
			}
		})
	}
	if got := (*Machines)(nil).read(t.Context(), nil, on("a"), time.Time{}); got != nil {
		t.Errorf("nobody asked, and got %v", got)
	}
}

// TestReadVolumes: the hostname label of a Kubernetes node need not be its name; only one that exists under neither is Gone.
func TestReadVolumes(t *testing.T) {
	t.Parallel()
	labelled := func(name, host string) client.Object {
		n := machine(name, corev1.ConditionTrue, false)
		n.Labels = map[string]string{corev1.LabelHostname: host}
		return n
	}
	objects := []client.Object{labelled("a", "a"), labelled("worker-2", "host-2"), labelled("x", "twice"), labelled("y", "twice")}
	term := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
	}
	const host = corev1.LabelHostname
	for name, tc := range map[string]struct {
		terms     []corev1.NodeSelectorTerm
		forbidden bool
		want      string
	}{
		"the label is the name":           {terms: []corev1.NodeSelectorTerm{term(host, "a")}, want: "[a] map[a:Ready]"},
		"the label is another":            {terms: []corev1.NodeSelectorTerm{term(host, "host-2")}, want: "[worker-2] map[worker-2:Ready]"},
		"it was deleted":                  {terms: []corev1.NodeSelectorTerm{term(host, "host-3")}, want: "[host-3] map[host-3:Gone]"},
		"Nodes cannot be listed":          {terms: []corev1.NodeSelectorTerm{term(host, "host-2")}, forbidden: true, want: "[] map[]"},
		"two have the label":              {terms: []corev1.NodeSelectorTerm{term(host, "twice")}, want: "[] map[]"},
		"two labels":                      {terms: []corev1.NodeSelectorTerm{term(host, "host-2", "host-3")}, want: "[host-2 host-3] map[]"},
		"two terms":                       {terms: []corev1.NodeSelectorTerm{term(host, "host-2"), term(host, "host-3")}, want: "[] map[]"},
		"of a zone":                       {terms: []corev1.NodeSelectorTerm{term(corev1.LabelTopologyZone, "z1")}, want: "[] map[]"},
		"of a node by a CSI driver's key": {terms: []corev1.NodeSelectorTerm{term("topology.local.csi.scylladb.com/node", "worker-2")}, want: "[] map[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
			pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: tc.terms}}
			lists := 0
			c := fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(append(copies(objects), pv)...).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if lists++; tc.forbidden {
						return forbidden("nodes")
					}
					return c.List(ctx, list, opts...)
				},
			}).Build()
			l := loader{c: c, opts: LoadOptions{Machines: &Machines{}}}
			l.o.Pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "demo-0"}}}
			l.o.PVCs = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data-demo-0"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}}}
			for range 2 {
				states := l.opts.Machines.read(t.Context(), c, l.o.Pods, start, l.readVolumes(t.Context())...)
				if got := fmt.Sprint(l.o.Volumes["pv"], states); got != tc.want || lists > 2 {
					t.Errorf("%s, want %s; %d lists", got, tc.want, lists)
				}
			}
		})
	}
}
