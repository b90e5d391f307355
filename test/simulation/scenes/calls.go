// SPDX-License-Identifier: Apache-2.0

package scenes

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// Call is what people are called for most often: one member of a small cluster has one fault.
type Call struct {
	Objects []client.Object
	// Logs are those of containers, by "POD/CONTAINER".
	Logs map[string]string
}

// Member is the member with the fault in every call.
const Member = "demo-dc1-rack3-0"

// Calls by name, as docs/on-call.md shows them.
func Calls() map[string]Call {
	terminated := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: metav1.NewTime(Now.Add(-4 * time.Minute)), FinishedAt: metav1.NewTime(Now.Add(-3 * time.Minute)),
		}}
	}
	ends := func(code int32, reason, log string) Call {
		c := downFor(20 * time.Minute)
		st := &c.Pod(Member).Status.ContainerStatuses[0]
		st.RestartCount, st.LastTerminationState = 14, terminated(code, reason)
		return Call{c.Objects(), map[string]string{Member + "/" + api.ContainerScyllaDB: log}}
	}
	line := func(text string) string { return "ERROR 2026-11-21 11:52:08,100 [shard 0:main] init - " + text + "\n" }

	memory := downFor(20 * time.Minute)
	memory.Pod(Member).Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Gi")}
	memory.Pod(Member).Status.ContainerStatuses[0].RestartCount = 6
	memory.Pod(Member).Status.ContainerStatuses[0].LastTerminationState = terminated(137, "OOMKilled")

	image := downFor(20 * time.Minute)
	image.Pod(Member).Spec.Containers[0].Image = "docker.io/scylladb/scylla:2025.9.9"
	image.Pod(Member).Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ImagePullBackOff", Message: `Back-off pulling image "docker.io/scylladb/scylla:2025.9.9"`}}}

	full := downFor(20 * time.Minute)
	full.Pod(Member).Status.ContainerStatuses[0].LastTerminationState = terminated(1, "Error")

	return map[string]Call{
		"crash loop": ends(1, "Error", line("Startup failed: sstables::malformed_sstable_exception (Failed to read partition from SSTable /var/lib/scylla/data/app/t-1/me-1-big-Data.db)")),
		"memory":     {Objects: memory.Objects()},
		"image":      {Objects: image.Objects()},
		"disk full": {full.Objects(), map[string]string{Member + "/" + api.ContainerScyllaDB: line(
			"Startup failed: storage_io_error (Storage I/O error: 28: filesystem error: open failed: No space left on device)")}},
		"no place":              {Objects: noPlace().Objects()},
		"rollout":               {Objects: stuckRollout().Objects()},
		"decommission":          {Objects: failedDecommission().Objects()},
		"replacement not begun": {Objects: notBegun().Objects()},
	}
}

// downFor is a cluster whose Member has been DOWN for so long. Its claim has a volume that the other claims have too.
func downFor(ago time.Duration) *plugintest.Cluster {
	c := plugintest.New(3, 1).DownSince(Member, ago)
	c.Pod(Member).Status.Conditions[1].LastTransitionTime = metav1.NewTime(Now.Add(-ago))
	for _, n := range c.Nodes {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: c.Meta("pvc", "data-"+n.Name, map[string]string{api.LabelCluster: c.Name}), Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: "pv-" + n.Name, StorageClassName: new("fast"),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("500Gi")}},
		}}
		claim.Status.Phase = corev1.ClaimBound
		c.Add(claim, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + n.Name}})
	}
	return c
}

func noPlace() *plugintest.Cluster {
	c := downFor(20 * time.Minute)
	p := c.Pod(Member)
	p.Spec.NodeName, p.CreationTimestamp = "", metav1.NewTime(Now.Add(-19*time.Minute))
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: p.CreationTimestamp,
		Message: "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
	}}}
	return c
}

// stuckRollout has a Pod of an old template with an image that does not exist: a rolling update waits for it, although the newest template is right.
func stuckRollout() *plugintest.Cluster {
	c := downFor(20 * time.Minute)
	set := c.Set("dc1", "rack3")
	set.Generation, set.Status = 3, appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 1, CurrentRevision: "rack3-2", UpdateRevision: "rack3-3"}
	p := c.Pod(Member)
	p.Labels[appsv1.ControllerRevisionHashLabelKey] = "rack3-2"
	p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}
	return c
}

func failedDecommission() *plugintest.Cluster {
	c := plugintest.New(3, 2)
	leaver := strings.TrimSuffix(Member, "0") + "1"
	c.Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
		said.Operations = append(said.Operations, api.NodeOperation{Type: "decommission", State: "failed", HostID: hostid.ID(c.Node(leaver).HostID), Error: "Rolled back: Failed to drain tablets: " +
			"std::runtime_error (There are nodes with tablets to drain but no candidate nodes in rack rack3 of DC dc1. Consider adding new nodes or reducing replication factor.)"})
	})
	return c
}

// notBegun has the label that requests a replacement, and neither the controller nor the operator has acted on it.
func notBegun() *plugintest.Cluster {
	c := downFor(30 * time.Minute)
	svc := c.Service(Member)
	svc.Labels[api.LabelReplace] = ""
	asked := metav1.NewTime(Now.Add(-20 * time.Minute))
	svc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-scylla", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", Time: &asked,
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + api.LabelReplace + `":{}}}}`)}}
	return c
}
