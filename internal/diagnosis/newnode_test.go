// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// A new node that does not start was HEALTHY, "may start", without a word of it: what its Pod says decides, as for a node that is DOWN.
func TestANewNodeThatDoesNotStart(t *testing.T) {
	t.Parallel()
	const look = "check the Events of its Pod; no data is lost by this: kubectl describe pod demo-dc1-rack1-1 -n demo"
	waits := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	first := func(reason, message string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = pod.Status.InitContainerStatuses[:1], nil
			pod.Status.InitContainerStatuses[0] = corev1.ContainerStatus{Name: pod.Spec.InitContainers[0].Name, State: waits(reason, message)}
		}
	}
	for what, tc := range map[string]struct {
		age    time.Duration
		change func(*corev1.Pod)
		want   []string
	}{
		"its containers are being created": {9 * time.Minute, first("PodInitializing", ""), nil},
		"they have been for longer": {11 * time.Minute, first("PodInitializing", ""), []string{
			"NodeNotStarted: demo-dc1-rack1-1 not Ready: it is waiting for init container scylla-reporter (PodInitializing); " + look}},
		"an image does not exist": {time.Minute, first("ErrImagePull", "not found"), []string{
			"NodeNotStarted: demo-dc1-rack1-1 not Ready: init container scylla-reporter cannot pull its image (ErrImagePull): not found; " +
				"fix the name of the image in StatefulSet demo-dc1-rack1, its pull Secret, or access to its registry; no data is lost: kubectl describe pod demo-dc1-rack1-1 -n demo"}},
		"a Secret does not exist": {time.Minute, first("CreateContainerConfigError", `secret "x" not found`), []string{
			"NodeNotStarted: demo-dc1-rack1-1 not Ready: init container scylla-reporter lacks an object of its configuration (CreateContainerConfigError): secret \"x\" not found; " +
				"create the missing Secret, ConfigMap or key, or fix its name in StatefulSet demo-dc1-rack1; no data is lost: kubectl describe pod demo-dc1-rack1-1 -n demo"}},
		"it is evicted": {time.Minute, func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}
		}, []string{"NodeNotStarted: demo-dc1-rack1-1 not Ready: its Pod was evicted: The node was low on resource: memory.; " +
			"free memory on Kubernetes node worker-1; its StatefulSet then creates the Pod again, and no data is lost: kubectl describe node worker-1"}},
		"no Kubernetes node has room": {time.Minute, func(pod *corev1.Pod) {
			pod.Spec.NodeName = ""
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}}
		}, []string{"NodeNotStarted: demo-dc1-rack1-1 not Ready: no Kubernetes node takes its Pod: 0/3 nodes are available; " +
			"check why its Pod is not scheduled: kubectl describe pod demo-dc1-rack1-1 -n demo"}},
		"its Kubernetes node does not answer": {time.Minute, func(pod *corev1.Pod) { pod.Spec.NodeName = "lost" }, []string{
			"NodeNotStarted: Kubernetes node lost is not responding: demo-dc1-rack1-1 runs on it; " +
				"check Kubernetes node lost and bring it back: kubectl describe node lost"}},
		"its volume no longer exists": {time.Minute, func(pod *corev1.Pod) { pod.Spec.NodeName = "gone" }, []string{
			"NodeNotStarted: demo-dc1-rack1-1 not Ready: the volume of PVC data-demo-dc1-rack1-1 no longer exists (phase Lost); " +
				"delete PVC data-demo-dc1-rack1-1, which cannot be undone; the member then starts as a new node: " +
				`kubectl patch pvc data-demo-dc1-rack1-1 -n demo '--patch={"metadata":{"uid":"the-lost-one"}}' && ` +
				"kubectl delete pvc data-demo-dc1-rack1-1 -n demo --wait=false && kubectl delete pod demo-dc1-rack1-1 -n demo"}},
		"ScyllaDB runs": {9 * time.Minute, runs(9 * time.Minute), nil},
		"ScyllaDB has run for longer": {time.Hour, runs(11 * time.Minute), []string{
			"NodeNotStarted: demo-dc1-rack1-1 not Ready: it is waiting for container scylla to become ready; " +
				"do not delete anything; check its log for what it is doing, and the Events of its Pod: " +
				"kubectl logs demo-dc1-rack1-1 -c scylla -n demo; kubectl describe pod demo-dc1-rack1-1 -n demo"}},
		"it has received all data": {time.Hour, joins(100), []string{
			"NodeNotStarted: demo-dc1-rack1-1 not Ready: it is joining, 100 %, and waiting for container scylla to become ready; " +
				"do not delete anything; check its log for what it is doing, and the Events of its Pod: " +
				"kubectl logs demo-dc1-rack1-1 -c scylla -n demo; kubectl describe pod demo-dc1-rack1-1 -n demo"}},
		"its ignition is not ready": {time.Hour, func(pod *corev1.Pod) {
			runs(time.Hour)(pod)
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: api.ContainerIgnition})
			ignition := pod.Status.ContainerStatuses[0]
			ignition.Name = api.ContainerIgnition
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, ignition)
		}, []string{"NodeNotStarted: demo-dc1-rack1-1 not Ready: it is waiting for container scylladb-ignition to become ready; " +
			"do not delete anything; check its log for what it is doing, and the Events of its Pod: " +
			"kubectl logs demo-dc1-rack1-1 -c scylladb-ignition -n demo; kubectl describe pod demo-dc1-rack1-1 -n demo"}},
		"it waits at its barrier": {time.Hour, func(*corev1.Pod) {}, nil},
		"it is being deleted":     {time.Hour, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: scenes.Now} }, nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 1)
			pod := c.Pod(c.Newcomer("dc1", "rack1", 1))
			pod.CreationTimestamp.Time = scenes.Now.Add(-tc.age)
			tc.change(pod)
			o := scenes.Objects(c)
			o.Machines = map[string]string{"lost": cluster.KubernetesNodeNotReady}
			if pod.Spec.NodeName == "gone" {
				o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{
					ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "data-" + pod.Name, UID: "the-lost-one", Labels: pod.Labels},
					Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost},
				})
			}
			var got []string
			for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)) {
				if !f.Remark {
					t.Errorf("a new node blocks: %s", said([]diagnosis.Finding{f})[0])
				}
				got = append(got, string(f.Kind)+": "+words.Text(f.Message)+"; "+words.Text(f.Step))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A volume that no longer exists is discarded where no row lists the host ID that its Service records, and not where one does.
func TestTheVolumeOfANewNodeIsGone(t *testing.T) {
	t.Parallel()
	const removed = "99990000-7777-4777-8777-777777777777"
	for name, tc := range map[string]struct {
		id       string // "listed" is that of another member
		joined   string
		reports  int // of three members
		hides    bool
		discards bool
	}{
		"no host ID is recorded":      {"", "", 3, false, true},
		"no row lists it":             {removed, "false", 3, false, true},
		"one of three rows, and none": {removed, "false", 1, false, false},
		"all rows list it":            {"listed", "false", 3, false, false},
		"its node was removed":        {removed, "true", 3, false, true},
		"it was removed by one row":   {removed, "true", 1, false, false},
		"it is a member":              {"listed", "true", 3, false, false},
		"a row can hide it":           {removed, "false", 3, true, false},
		"a row can hide a member":     {removed, "true", 3, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 1).Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.Complete = !tc.hides })
			pod := c.Pod(c.Newcomer("dc1", "rack1", 1))
			pod.Spec.NodeName = "gone"
			o := scenes.Objects(c)
			o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "data-" + pod.Name, Labels: pod.Labels},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost},
			})
			for i := range o.Services {
				if svc := &o.Services[i]; svc.Name == pod.Name && tc.id != "" {
					metav1.SetMetaDataAnnotation(&svc.ObjectMeta, api.AnnotationHostID, tc.id)
					metav1.SetMetaDataAnnotation(&svc.ObjectMeta, api.AnnotationNodeJoined, tc.joined)
				} else if tc.id == "listed" && svc.Annotations[api.AnnotationHostID] != "" {
					tc.id = svc.Annotations[api.AnnotationHostID]
				}
			}
			o.Reports, o.StatusReport = nil, nil
			for i := range o.Pods {
				if p := &o.Pods[i]; p.Annotations[api.AnnotationNodeStatusReport] != "" {
					if tc.reports--; tc.reports < 0 {
						delete(p.Annotations, api.AnnotationNodeStatusReport)
					}
				}
			}
			got := slices.ContainsFunc(diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)), func(f diagnosis.Finding) bool {
				return f.Step.Code == words.DiscardClaim
			})
			if got != tc.discards {
				t.Errorf("the claim is deleted: %v", got)
			}
		})
	}
}

// runs has a Pod past its barrier, with ScyllaDB that has run for so long.
func runs(age time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for i := range pod.Status.InitContainerStatuses {
			if s := &pod.Status.InitContainerStatuses[i]; s.Name != api.ContainerReporter {
				s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			}
		}
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: scenes.Now.Add(-age)}}}
	}
}

// joins has a node that has received that much of its data.
func joins(percent int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		runs(time.Hour)(pod)
		text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{OperationMode: "BOOTSTRAP", JoinedPercent: &percent})
		if err != nil {
			panic(err) // strings always marshal
		}
		pod.Annotations = map[string]string{api.AnnotationNodeStatusReport: text}
	}
}
