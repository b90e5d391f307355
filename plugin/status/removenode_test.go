// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestNoHarm4ARemovenodeNeedsAllTheEvidence: removenode bans a host ID for good. No output names it for a node that may live elsewhere, may return
// with a volume that is left, or may be the node of a member here.
func TestNoHarm4ARemovenodeNeedsAllTheEvidence(t *testing.T) {
	const gone, sibling = "demo-dc1-rack4-0", "demo-dc1-rack4-1"
	down := func(members int, member string) *plugintest.Cluster {
		return plugintest.New(4, members).DownSince(member, time.Hour)
	}
	lone, pair := down(1, gone), down(2, gone)
	id := lone.Node(gone).HostID
	removes, mayBeOurs := "-- removenode "+id, "do not remove: it may be the node of demo-dc1-rack4-0, whose host ID is unknown"
	says := func(members int, change func(*api.NodeStatusReport)) *plugintest.Cluster {
		return down(members, gone).Says(func(_ plugintest.Node, said *api.NodeStatusReport) { change(said) })
	}
	places := func(change func(*api.NodePlace)) []client.Object {
		return says(2, func(said *api.NodeStatusReport) {
			for i := range said.Places {
				change(&said.Places[i])
			}
		}).Leftover(gone)
	}
	placeless := func(said *api.NodeStatusReport) { said.Places = nil }
	unknown := says(2, func(said *api.NodeStatusReport) {
		said.ObservedNodes = append(said.ObservedNodes,
			api.ObservedNodeStatusReport{HostID: "f00d0000-5ea1-4d00-8000-000000000001", Status: api.NodeStatusUp})
	})
	service := func(namespace string) []client.Object {
		return append(pair.Leftover(gone), &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "other-dc2-rack1-0", Labels: map[string]string{api.LabelCluster: "other"},
			Annotations: map[string]string{api.AnnotationHostID: pair.Node(gone).HostID},
		}})
	}
	// A ScyllaDBCluster of two datacenters, looked at in the namespace of one.
	two := func() *plugintest.Cluster {
		c := plugintest.New(3, 1).AddDatacenter("dc2", 1, 2).Down("demo-dc2-rack1-0")
		c.Newcomer("dc1", "rack2", 1)
		return c
	}
	const elsewhere, seeds = "in another datacenter", "its Pods have seeds that are not members here: "
	cutOff := two().Down("demo-dc2-rack1-1")
	frozen := func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Racks[0].Nodes[0].ObservedNodes = nil }
	nameless := func(o client.Object) { delete(o.GetLabels(), api.LabelParentScyllaDBCluster) }
	// unsigned has no sign of the other datacenter left but what a row gives it.
	unsigned := func(containers bool, more ...client.Object) []client.Object {
		clean := func(s *corev1.PodSpec) {
			s.Containers[0].Command, s.Containers[0].Args, s.InitContainers = nil, nil, nil
		}
		objects := edit(cutOff.OperatorObjects("dc1", nil), "", nameless)
		edit(objects, "", func(s *appsv1.StatefulSet) { clean(&s.Spec.Template.Spec) })
		edit(objects, "", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", UID: "set",
				Name: p.Name[:strings.LastIndexByte(p.Name, '-')], Controller: new(true)}}
			if !containers {
				clean(&p.Spec)
			}
		})
		return append(objects, more...)
	}
	datacenter := func(labels, scylla map[string]any) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": api.GroupVersion.String(), "kind": api.ScyllaDBDatacenterGVK.Kind,
			"metadata": map[string]any{"namespace": "demo", "name": "demo", "labels": labels}, "spec": map[string]any{"scyllaDB": scylla},
		}}
	}
	recorded := func(id string) []client.Object {
		return edit(plugintest.New(4, 1).Down(gone).OperatorObjects("dc1", nil), gone, func(s *corev1.Service) {
			s.Annotations[api.AnnotationHostID] = id
		})
	}
	scaled := func(objects []client.Object) []client.Object {
		return edit(objects, "demo-dc1-rack4", func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 1 })
	}
	// The rack of sibling was scaled down; left is what is left beside it.
	left := func(more ...client.Object) []client.Object {
		return scaled(append(down(2, sibling).Leftover(sibling), more...))
	}
	claim := func(member string, change ...func(*corev1.PersistentVolumeClaim)) client.Object {
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: "data-" + member, Labels: map[string]string{api.LabelCluster: "demo"}}}
		pvc.Status.Phase = corev1.ClaimBound
		for _, f := range change {
			f(pvc)
		}
		return pvc
	}
	volume := func(namespace, member string) client.Object {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-7"}, Spec: corev1.PersistentVolumeSpec{
			ClaimRef:                      &corev1.ObjectReference{Namespace: namespace, Name: "data-" + member},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		}}
	}
	unlabelled := func(p *corev1.PersistentVolumeClaim) { p.Labels = nil }
	const back, removed = "If it was scaled down by mistake, scale it back to ", "this cannot be undone: kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- removenode "
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string // removenode is named where this has it
	}{
		"every evidence":                               {pair.Leftover(gone), "-- removenode " + pair.Node(gone).HostID},
		"DOWN for five seconds":                        {plugintest.New(4, 2).DownSince(gone, 5*time.Second).Leftover(gone), "must have shown it DOWN for 5m"},
		"its place is not known":                       {says(2, placeless).Leftover(gone), "its datacenter and rack are unknown"},
		"a second datacenter":                          {places(func(p *api.NodePlace) { p.Datacenter = "dc2" }), "it is in datacenter dc2"},
		"a rack without a member here":                 {places(func(p *api.NodePlace) { p.Rack = "rack9" }), "it is in datacenter dc1, rack rack9, which has no member here"},
		"another unknown host ID is UP":                {unknown.NoReports().Leftover(gone), "f00d0000-5ea1-4d00-8000-000000000001 is also listed"},
		"a Service in another namespace records it":    {service("other"), "Service other/other-dc2-rack1-0 records it"},
		"a Service of another cluster here records it": {service("demo"), "Service demo/other-dc2-rack1-0 records it"},

		"its copied report is frozen":                         {two().OperatorObjects("dc1", frozen), "check that it is running and reachable where the Pods of datacenter dc2 are"},
		"its copied report is gone":                           {two().OperatorObjects("dc1", nil), elsewhere},
		"the whole datacenter is cut off":                     {cutOff.OperatorObjects("dc1", nil), elsewhere},
		"nothing but external seeds tells of it":              {edit(cutOff.OperatorObjects("dc1", nil), "", nameless), elsewhere + ", unknown here (" + seeds + "10.2.0.7)"},
		"the template has lost the seeds, its Pods have them": {unsigned(true), elsewhere + ", unknown here (" + seeds + "10.2.0.7)"},
		"the datacenter asks for seeds, no Pod has them yet": {
			unsigned(false, datacenter(nil, map[string]any{"externalSeeds": []any{"dc2.example.com"}})), elsewhere + ", unknown here (" + seeds + "dc2.example.com)"},
		"the datacenter alone says whose part it is": {
			unsigned(false, datacenter(map[string]any{api.LabelParentScyllaDBCluster: "multi"}, nil)), elsewhere + ", unknown here (it is part of ScyllaDBCluster multi"},
		"the lenient flag is given": {lenient(says(1, placeless)), elsewhere + ", unknown here (its barriers run with --single-report-allow-non-reporting-host-ids, which is for external seeds)"},

		"one datacenter, and nobody has the host ID":           {lone.Leftover(gone), removes},
		"one datacenter, and the host ID's node is UP":         {plugintest.New(4, 1).Leftover(gone), "do not remove: it is not DOWN: demo-dc1-rack1-0 (35d0f1a0), demo-dc1-rack2-0 (36d1f2a1) and demo-dc1-rack3-0 (37d2f3a2) see it UP"},
		"a member without host ID":                             {withoutHostID(lone), mayBeOurs},
		"a Pod made anew on an older volume":                   {heldAtBarrier(down(1, gone), time.Minute, nil), mayBeOurs},
		"a Pod made anew whose barrier found the volume empty": {heldAtBarrier(down(1, gone), time.Minute, empty), removes},
		"a Pod at its barrier whose ScyllaDB has run before":   {heldAtBarrier(down(1, gone), time.Second, ran), mayBeOurs},
		"a Pod made anew on a claim without a label":           {edit(append(heldAtBarrier(down(1, gone), time.Minute, nil), claim("demo-dc1-rack1-0"), volume("demo", gone)), "data-"+gone, unlabelled), mayBeOurs},
		"no Pod yet, and a claim without a label":              {append(pair.Leftover(gone), claim("demo-dc1-rack1-0"), claim(gone, unlabelled), volume("demo", gone)), mayBeOurs},
		"a newcomer with a volume as old as its Pod":           {heldAtBarrier(down(1, gone), time.Second, nil), removes},
		"a replacement that nobody recorded the end of":        {unrecordedReplacement(down(1, gone)), mayBeOurs},
		"only the claim is left":                               {scaled(append(lone.Leftover(gone), claim(gone))), mayBeOurs},
		"two Services record one host ID":                      {recorded(plugintest.HostID(1)), "it may be the node of demo-dc1-rack2-0 and demo-dc1-rack4-0, whose host ID is unknown"},
		"a Service records a host ID that no node lists":       {recorded("c0ffee00-5ea1-4d00-8000-000000000099"), "it may be the node of demo-dc1-rack4-0, whose host ID is unknown"},

		"scaled down, no volume":                     {left(), removed},
		"scaled down, a claim of the next ordinal":   {left(claim("demo-dc1-rack4-2")), back + "3, and the node returns. Check the volume: kubectl describe pvc data-demo-dc1-rack4-2 -n demo"},
		"scaled down, a claim of its own ordinal":    {left(claim(sibling)), back + "2, and the node returns: kubectl scale statefulset demo-dc1-rack4 --replicas=2 -n demo"},
		"scaled down, a claim without a label":       {left(claim(sibling, unlabelled)), back + "2"},
		"scaled down, a claim that is lost":          {left(claim(sibling, func(p *corev1.PersistentVolumeClaim) { p.Status.Phase = corev1.ClaimLost })), removed},
		"scaled down, a claim of another rack":       {left(claim("demo-dc1-rack2-7")), removed},
		"scaled down, a claim of a StatefulSet else": {left(claim("other-0", unlabelled)), removed},
		"scaled down, a claim of a StatefulSet that is gone": {left(claim("demo-dc1-rack9-0")),
			"the volume of demo-dc1-rack9-0 still exists, and may have its data; check it: kubectl describe pvc data-demo-dc1-rack9-0 -n demo"},
		"scaled down, a volume that was retained":    {left(volume("demo", sibling)), "Check the volume: kubectl describe pv pv-7"},
		"scaled down, a volume of another namespace": {left(volume("other", sibling)), removed},
		"scaled down, under the Scylla Operator": {scaled(append(down(2, sibling).Operator().Leftover(sibling), claim(sibling))),
			"rack rack4 of the ScyllaCluster has 1 replica,"},
		"scaled down, a volume, and a claim of this member": {left(claim("demo-dc1-rack1-0"), volume("demo", "demo-dc1-rack1-0")), removed},
	} {
		t.Run(name, func(t *testing.T) {
			whose := pair.Node(gone).HostID
			if strings.HasPrefix(name, "scaled down") {
				whose = pair.Node(sibling).HostID
			}
			got := printed(t, tc.objects, "status demo --all", "status demo -o json", "status demo --source=annotation", "report demo -o wide",
				"replace status", "barrier demo-dc1-rack2-1", "describe "+whose)
			elsewhere := strings.HasPrefix(tc.want, "Service ")
			got += flat(plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--from", "-"}, Stdin: string(plugintest.SavedYAML(t, tc.objects))}.Transcript(t))
			if !strings.Contains(got, tc.want) || elsewhere && !strings.Contains(got, "remote add") {
				t.Errorf("want %q in\n%s", tc.want, got)
			}
			if removes := strings.Contains(got, "removenode"); removes != strings.Contains(tc.want, "removenode") {
				t.Errorf("removenode named: %t\n%s", removes, got)
			}
			if strings.Contains(got, "nodetool removenode") {
				t.Errorf("removenode without its guard in\n%s", got)
			}
		})
	}
	// The Service of the member is kept: replace refuses, and names no removal either.
	got := printed(t, scaled(down(2, sibling).Objects()), "replace "+sibling+" --dry-run")
	if !strings.Contains(got, "scale it back to 2") || strings.Contains(got, "removenode instead") {
		t.Errorf("replace of a member that was scaled away:\n%s", got)
	}
}

// withoutHostID is a cluster whose fourth member runs and has not reported its host ID, while the others list one of no member.
func withoutHostID(c *plugintest.Cluster) []client.Object {
	objects := edit(c.Objects(), "demo-dc1-rack4-0", func(o client.Object) {
		delete(o.GetAnnotations(), api.AnnotationHostID)
		delete(o.GetAnnotations(), api.AnnotationNodeStatusReport)
	})
	edit(objects, "", func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Racks = r.Racks[:3] })
	return slices.DeleteFunc(objects, func(o client.Object) bool {
		_, is := o.(*api.ScyllaDBStatusReport)
		return is
	})
}

// heldAtBarrier is that cluster, whose fourth member has not started in its Pod, which was made that long after its claim.
func heldAtBarrier(c *plugintest.Cluster, after time.Duration, change func(*corev1.Pod)) []client.Object {
	made := plugintest.Now.Add(-time.Hour)
	objects := edit(withoutHostID(c), "demo-dc1-rack4-0", func(s *corev1.Service) { delete(s.Annotations, api.AnnotationNodeJoined) })
	edit(objects, "demo-dc1-rack4-0", func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(made)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
		if change != nil {
			change(p)
		}
	})
	return append(objects, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-demo-dc1-rack4-0", Labels: map[string]string{api.LabelCluster: "demo"},
			CreationTimestamp: metav1.NewTime(made.Add(-after))},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-4"},
	})
}

// empty has the barrier of a Pod say that its volume is empty.
func empty(p *corev1.Pod) {
	p.Annotations = map[string]string{api.AnnotationBarrier: `{"emptyVolume":true}`}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: p.CreationTimestamp}},
	}}
}

// ran gives a Pod's container of ScyllaDB a run that has ended, as after a power failure.
func ran(p *corev1.Pod) {
	p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 255}
}

// unrecordedReplacement is a cluster whose fourth member has replaced its node, which no row lists any more, while the new host ID was not recorded.
func unrecordedReplacement(c *plugintest.Cluster) []client.Object {
	const old = "99990000-7777-4777-8777-777777777777"
	return edit(withoutHostID(c), "demo-dc1-rack4-0", func(s *corev1.Service) {
		s.Annotations[api.AnnotationHostID] = old
		s.Labels[api.LabelReplace], s.Labels[api.LabelReplacingNodeHostID] = "", old
	})
}

func lenient(c *plugintest.Cluster) []client.Object {
	return edit(c.Leftover("demo-dc1-rack4-0"), "", func(s *appsv1.StatefulSet) {
		args := &s.Spec.Template.Spec.InitContainers[2].Args
		*args = append(*args, "--single-report-allow-non-reporting-host-ids")
	})
}
