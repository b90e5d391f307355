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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestBesideOperator1NoRemovenodeForANodeOfAnotherDatacenter: a ScyllaDBCluster of two datacenters, looked at in the namespace of one. Nothing names a
// command that would ban a node of the other, whatever is known of it.
func TestBesideOperator1NoRemovenodeForANodeOfAnotherDatacenter(t *testing.T) {
	two := func() *plugintest.Cluster {
		c := plugintest.New(3, 1).AddDatacenter("dc2", 1, 2).Down("demo-dc2-rack1-0")
		c.Newcomer("dc1", "rack2", 1)
		return c
	}
	const elsewhere = "in another datacenter"
	frozen := func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Racks[0].Nodes[0].ObservedNodes = nil }
	nameless := func(objects []client.Object) []client.Object { // no sign of the ScyllaDBCluster but the seeds
		for _, o := range objects {
			l := o.GetLabels()
			delete(l, api.LabelParentScyllaDBCluster)
			o.SetLabels(l)
		}
		return objects
	}
	cutOff := two().Down("demo-dc2-rack1-1")
	lone := plugintest.New(4, 1).DownSince("demo-dc1-rack4-0", time.Hour)
	placeless := plugintest.New(4, 1).DownSince("demo-dc1-rack4-0", time.Hour).Says(func(_ plugintest.Node, said *api.NodeStatusReport) { said.Places = nil })
	tests := map[string]struct {
		objects []client.Object
		want    string // in the text of status
	}{
		"its copied report is frozen":                  {two().OperatorObjects("dc1", frozen), "check that it is running and reachable where the Pods of datacenter dc2 are"},
		"its copied report is gone":                    {two().OperatorObjects("dc1", nil), elsewhere},
		"the whole datacenter is cut off":              {cutOff.OperatorObjects("dc1", nil), elsewhere},
		"nothing but external seeds tells of it":       {nameless(cutOff.OperatorObjects("dc1", nil)), elsewhere + ", unknown here (its Pods have seeds that are not members here: 10.2.0.7)"},
		"one datacenter, and nobody has the host ID":   {lone.Leftover("demo-dc1-rack4-0"), "-- removenode " + lone.Node("demo-dc1-rack4-0").HostID},
		"one datacenter, and the host ID's node is UP": {plugintest.New(4, 1).Leftover("demo-dc1-rack4-0"), "do not remove: it is not DOWN: demo-dc1-rack1-0 (35d0f1a0), demo-dc1-rack2-0 (36d1f2a1) and demo-dc1-rack3-0 (37d2f3a2) see it UP"},
		"one datacenter, and a member without host ID": {withoutHostID(lone), "do not remove: it may be the node of demo-dc1-rack4-0, whose host ID is unknown"},
		"one datacenter, and a Pod made anew on an older volume": {
			heldAtBarrier(plugintest.New(4, 1).DownSince("demo-dc1-rack4-0", time.Hour), time.Minute), "do not remove: it may be the node of demo-dc1-rack4-0, whose host ID is unknown",
		},
		"one datacenter, and a Pod made anew whose barrier found the volume empty": {
			emptyVolume(heldAtBarrier(plugintest.New(4, 1).DownSince("demo-dc1-rack4-0", time.Hour), time.Minute)), "-- removenode " + lone.Node("demo-dc1-rack4-0").HostID,
		},
		"one datacenter, and a Pod at its barrier whose ScyllaDB has run before": {
			ranBefore(heldAtBarrier(plugintest.New(4, 1).DownSince("demo-dc1-rack4-0", time.Hour), time.Second)), "do not remove: it may be the node of demo-dc1-rack4-0, whose host ID is unknown",
		},
		"one datacenter, and a newcomer with a volume as old as its Pod": {heldAtBarrier(plugintest.New(4, 1).DownSince("demo-dc1-rack4-0", time.Hour), time.Second), "-- removenode " + lone.Node("demo-dc1-rack4-0").HostID},
		"a replacement that nobody recorded the end of":                  {unrecordedReplacement(plugintest.New(4, 1).DownSince("demo-dc1-rack4-0", time.Hour)), "do not remove: it may be the node of demo-dc1-rack4-0, whose host ID is unknown"},
		"one datacenter, and only the claim is left":                     {onlyClaim(lone), "do not remove: it may be the node of demo-dc1-rack4-0, whose host ID is unknown"},
		"one datacenter, and the lenient flag is given":                  {lenient(placeless), elsewhere + ", unknown here (its barriers run with --single-report-allow-non-reporting-host-ids, which is for external seeds)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			saved := string(plugintest.SavedYAML(t, tc.objects))
			var all strings.Builder
			for _, args := range [][]string{
				{"status", "--from", "-", "-o", "wide"}, {"status", "--from", "-"}, {"status", "--from", "-", "-o", "json"}, {"status", "--from", "-", "--source=annotation"},
				{"barrier", "--from", "-", "demo-dc1-rack2-1"}, {"report", "--from", "-", "-o", "wide"}, {"replace", "status", "--from", "-"},
			} {
				if args[0] == "barrier" && !strings.Contains(saved, args[3]+"\n") {
					continue
				}
				all.WriteString(plugintest.Run{Args: args, Stdin: saved}.Transcript(t))
			}
			got := strings.Join(strings.Fields(strings.ReplaceAll(all.String(), "\\\n", "")), " ")
			if !strings.Contains(got, tc.want) {
				t.Errorf("want %q in\n%s", tc.want, all.String())
			}
			if removes := strings.Contains(got, "removenode"); removes != strings.Contains(tc.want, "removenode") {
				t.Errorf("removenode named: %t\n%s", removes, all.String())
			}
		})
	}
}

// withoutHostID is a cluster whose fourth member runs and has not reported its host ID, while the others list one of no member.
func withoutHostID(c *plugintest.Cluster) []client.Object {
	objects := c.Objects()
	for _, o := range objects {
		a := o.GetAnnotations()
		if o.GetName() == "demo-dc1-rack4-0" && a != nil {
			delete(a, api.AnnotationHostID)
			delete(a, api.AnnotationNodeStatusReport)
			o.SetAnnotations(a)
		}
		if r, ok := o.(*api.ScyllaDBDatacenterNodesStatusReport); ok {
			r.Racks = r.Racks[:3]
		}
	}
	return withoutClusterReport(objects)
}

// heldAtBarrier is that cluster, whose fourth member has not started in its Pod, which was made that long after its claim.
func heldAtBarrier(c *plugintest.Cluster, after time.Duration) []client.Object {
	objects := withoutHostID(c)
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			if o.Name == "demo-dc1-rack4-0" {
				delete(o.Annotations, api.AnnotationNodeJoined)
			}
		case *corev1.Pod:
			if o.Name == "demo-dc1-rack4-0" {
				o.CreationTimestamp = metav1.NewTime(plugintest.Now.Add(-time.Hour))
				o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
			}
		}
	}
	return append(objects, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: "data-demo-dc1-rack4-0", Labels: map[string]string{api.LabelCluster: "demo"},
			CreationTimestamp: metav1.NewTime(plugintest.Now.Add(-time.Hour - after)),
		},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-4"},
	})
}

// ranBefore gives that Pod's container of ScyllaDB a run that has ended, as after a power failure.
func ranBefore(objects []client.Object) []client.Object {
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name == "demo-dc1-rack4-0" {
			pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 255}
		}
	}
	return objects
}

// emptyVolume has the barrier of that Pod say so.
func emptyVolume(objects []client.Object) []client.Object {
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name == "demo-dc1-rack4-0" {
			text, err := api.EncodeBarrierWait(&api.BarrierWait{EmptyVolume: true})
			if err != nil {
				panic(err)
			}
			pod.Annotations = map[string]string{api.AnnotationBarrier: text}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
				Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: pod.CreationTimestamp}},
			}}
		}
	}
	return objects
}

// unrecordedReplacement is a cluster whose fourth member has replaced its node, which no row lists any more, while the new host ID was not recorded.
func unrecordedReplacement(c *plugintest.Cluster) []client.Object {
	const old = "99990000-7777-4777-8777-777777777777"
	objects := withoutHostID(c)
	for _, o := range objects {
		if s, ok := o.(*corev1.Service); ok && s.Name == "demo-dc1-rack4-0" {
			s.Annotations[api.AnnotationHostID] = old
			s.Labels[api.LabelReplace], s.Labels[api.LabelReplacingNodeHostID] = "", old
		}
	}
	return objects
}

// onlyClaim is a cluster whose fourth member has only its volume left.
func onlyClaim(c *plugintest.Cluster) []client.Object {
	objects := c.Leftover("demo-dc1-rack4-0")
	for _, o := range objects {
		if s, ok := o.(*appsv1.StatefulSet); ok && s.Name == "demo-dc1-rack4" {
			*s.Spec.Replicas = 1
		}
	}
	return append(objects, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "data-demo-dc1-rack4-0", Labels: map[string]string{api.LabelCluster: "demo"},
	}})
}

func lenient(c *plugintest.Cluster) []client.Object {
	objects := c.Leftover("demo-dc1-rack4-0")
	for _, o := range objects {
		if s, ok := o.(*appsv1.StatefulSet); ok {
			s.Spec.Template.Spec.InitContainers[2].Args = append(s.Spec.Template.Spec.InitContainers[2].Args, "--single-report-allow-non-reporting-host-ids")
		}
	}
	return objects
}

func withoutClusterReport(objects []client.Object) []client.Object {
	return slices.DeleteFunc(objects, func(o client.Object) bool {
		_, is := o.(*api.ScyllaDBStatusReport)
		return is
	})
}
