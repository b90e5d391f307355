// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// A Pod of an old or middle revision that will never be Ready blocks its rollout. It is deleted only if the new Pod has
// another template that other Pods run, and if that harms nothing.
func TestAPodOfAnOldRevision(t *testing.T) {
	t.Parallel()
	const deletes, restarts = "kubectl delete pod MEMBER -n demo", "check that a restart is safe: kubectl scylla check --for=restart MEMBER -n demo"
	partition := func(n int32) func(*appsv1.StatefulSet) {
		return func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
		}
	}
	policy := func(p appsv1.PodManagementPolicyType) func(*appsv1.StatefulSet) {
		return func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = p }
	}
	exits := func(pod *corev1.Pod) {
		st := &pod.Status.ContainerStatuses[0]
		st.State, st.Ready, st.RestartCount = waits("CrashLoopBackOff", ""), false, 7
		st.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	}
	sidecar := func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].Ready, pod.Status.ContainerStatuses[0].State = true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "agent"})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "agent", State: waits("ErrImagePull", "")})
	}
	type objects = cluster.Objects
	for what, tc := range map[string]struct {
		isNew, up bool // else a member that is DOWN
		pod       func(*corev1.Pod)
		set       func(*appsv1.StatefulSet)
		more      func(o *objects, member string)
		policy    string // empty: another step
	}{
		"its image does not exist":     {policy: "OrderedReady"},
		"it exits":                     {pod: exits, policy: "OrderedReady"},
		"its template was taken back":  {set: func(set *appsv1.StatefulSet) { set.Status.CurrentRevision = "new" }, policy: "OrderedReady"},
		"a new node before it started": {isNew: true, policy: "OrderedReady"},
		"OnDelete":                     {set: func(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }, policy: "OnDelete"},
		"a container beside ScyllaDB":  {up: true, pod: sidecar, policy: "OrderedReady"},

		"Parallel: Kubernetes replaces it":    {set: policy(appsv1.ParallelPodManagement)},
		"below the partition":                 {set: partition(1), pod: func(pod *corev1.Pod) { pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "old" }},
		"at the partition":                    {set: partition(0), policy: "OrderedReady"},
		"of the newest revision":              {pod: func(pod *corev1.Pod) { pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "new" }},
		"the newest template fails elsewhere": {more: func(o *objects, _ string) { o.Pods = append(o.Pods, failing("demo-dc1-rack3-1", "new")) }},
		"the newest template runs elsewhere": {more: func(o *objects, _ string) {
			pod := failing("demo-dc1-rack3-1", "new")
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			o.Pods = append(o.Pods, pod)
		}, policy: "OrderedReady"},
		"its claim is being deleted":  {more: func(o *objects, _ string) { o.PVCs[0].DeletionTimestamp = &metav1.Time{Time: scenes.Now} }},
		"its claims are unknown":      {more: func(o *objects, _ string) { o.PVCs = nil }},
		"it is being deleted":         {pod: func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: scenes.Now} }},
		"Kubernetes recreates it":     {pod: func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"} }},
		"its Kubernetes node is lost": {more: func(o *objects, _ string) { o.Machines = map[string]string{"worker-1": cluster.KubernetesNodeNotReady} }},
		"the status is old":           {set: func(set *appsv1.StatefulSet) { set.Generation = 2 }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c, member := plugintest.New(3, 1), "demo-dc1-rack3-0"
			switch {
			case tc.isNew:
				member = c.Newcomer("dc1", "rack1", 1)
			case !tc.up:
				c.Down(member)
			}
			o := scenes.Objects(c)
			for i := range o.Pods {
				if p := &o.Pods[i]; p.Name == member {
					*p = failing(member, "middle")
					p.Labels = c.Pod(member).Labels
					p.Labels[appsv1.ControllerRevisionHashLabelKey] = "middle"
					p.Annotations, p.ManagedFields, p.Spec = o.Pods[i].Annotations, c.Pod(member).ManagedFields, c.Pod(member).Spec
					if tc.up {
						p.Annotations = c.Pod(member).Annotations
						p.Status = c.Pod(member).Status
						p.Status.Conditions = nil
					}
					if tc.pod != nil {
						tc.pod(p)
					}
				}
			}
			for i := range o.StatefulSets {
				if set := &o.StatefulSets[i]; strings.HasPrefix(member, set.Name+"-") {
					set.Spec.Replicas = new(int32(2))
					set.Status.CurrentRevision, set.Status.UpdateRevision, set.Status.Replicas = "old", "new", 1
					if tc.set != nil {
						tc.set(set)
					}
				}
			}
			o.PVCs = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + member}}}
			if tc.more != nil {
				tc.more(&o, member)
			}
			var got strings.Builder
			for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)) {
				got.WriteString(string(f.Kind) + ": " + words.Text(f.Message) + "\n\t" + words.Text(f.Step) + "\n")
			}
			want := strings.ReplaceAll(deletes, "MEMBER", member)
			if has := strings.Contains(got.String(), want); has != (tc.policy != "") {
				t.Errorf("deletes the Pod: %t\n%s", has, got.String())
			}
			if safe := strings.Contains(got.String(), strings.ReplaceAll(restarts, "MEMBER", member)); safe != tc.up {
				t.Errorf("checks first: %t\n%s", safe, got.String())
			}
			if tc.policy != "" && !strings.Contains(got.String(), "with "+tc.policy+" Kubernetes") {
				t.Errorf("want %q\n%s", tc.policy, got.String())
			}
		})
	}
}

// failing is a Pod whose image cannot be pulled.
func failing(name, revision string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{
		api.LabelCluster: "demo", appsv1.ControllerRevisionHashLabelKey: revision, appsv1.StatefulSetPodNameLabel: name}},
		Spec: corev1.PodSpec{NodeName: "worker-1", Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}}
}
