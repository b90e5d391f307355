// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// warned is a warning of Kubernetes, ten seconds ago.
func warned(kind, name, reason, message string) corev1.Event {
	return corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name},
		LastTimestamp: metav1.NewTime(scenes.Now.Add(-10 * time.Second))}
}

// podCase is a Pod that Kubernetes does not run, with the cause and the one step, for a member MEMBER of StatefulSet SET.
type podCase struct {
	change func(*corev1.Pod)
	events func(pod, set string) []corev1.Event
	claim  func(*corev1.PersistentVolumeClaim)
	more   func(*cluster.Objects)
	why    string
	step   string
}

const room = "kubectl describe pod MEMBER -n demo"

func podCases() map[string]podCase {
	pending := func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		for i := range pod.Spec.InitContainers {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.InitContainers[i].Name,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}})
		}
	}
	on := func(reason, message string) func(pod, set string) []corev1.Event {
		return func(pod, _ string) []corev1.Event { return []corev1.Event{warned("Pod", pod, reason, message)} }
	}
	noPlace := func(message string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.NodeName = ""
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}}
		}
	}
	again := func(reason string, ran time.Duration) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			runs(time.Minute)(pod)
			st := &pod.Status.ContainerStatuses[0]
			end := scenes.Now.Add(-time.Minute)
			st.Ready, st.RestartCount = false, 22
			st.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason, StartedAt: metav1.NewTime(end.Add(-ran)), FinishedAt: metav1.NewTime(end)}
		}
	}
	return map[string]podCase{
		"a Secret that it mounts does not exist": {change: pending, events: on("FailedMount", `MountVolume.SetUp failed for volume "certs" : secret "demo-tls" not found`),
			why:  "its Pod mounts secret/demo-tls, which does not exist",
			step: "create secret/demo-tls, or fix its name in StatefulSet SET; its Pod then starts, and no data is lost: " + room},
		"a volume cannot be mounted": {change: pending, events: on("FailedMount", `MountVolume.MountDevice failed for volume "pv-1" : input/output error`),
			why:  `a volume of its Pod cannot be mounted: MountVolume.MountDevice failed for volume "pv-1" : input/output error`,
			step: "check the volume and its driver on Kubernetes node worker-1; treat the data as intact: " + room},
		"a volume is attached elsewhere": {change: pending, events: on("FailedAttachVolume", `Multi-Attach error for volume "pv-1" Volume is already exclusively attached to one node`),
			why:  `its volume cannot be attached: Multi-Attach error for volume "pv-1" Volume is already exclusively attached to one node`,
			step: "check which Kubernetes node still has its volume pv-1 attached, and bring that back or detach it; treat the volume as intact: kubectl get volumeattachments"},
		"an unknown warning": {change: pending, events: on("FailedCreatePodSandBox", "plugin type=\"cni\" failed\nsecond line"),
			why: `its Pod does not start (FailedCreatePodSandBox): plugin type="cni" failed`, step: "check the Events of its Pod; no data is lost by this: " + room},
		"its probe ends it": {change: again("Error", time.Minute), events: on("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503"),
			why: "its liveness probe ends container scylla before it is ready, 22 restarts",
			step: "give container scylla more time in StatefulSet SET: a startupProbe, or a higher failureThreshold of its liveness probe. " +
				"ScyllaDB replays its commit log before it responds, and each restart begins that again; no data is lost: kubectl logs MEMBER -c scylla --previous -n demo"},
		"it runs for a moment between its ends": {change: again("Error", 5*time.Minute), events: on("Unhealthy", "Readiness probe failed: 503"),
			why: "scylla exits with code 137, 22 restarts", step: "check the end of its log; do not replace it yet: kubectl logs MEMBER -c scylla --previous -n demo"},
		"it is out of memory again and again": {change: again("OOMKilled", 5*time.Minute),
			why: "container scylla exceeded its memory limit (OOMKilled, 22 restarts)", step: "raise the memory limit of container scylla in StatefulSet SET, or lower ScyllaDB's --memory; no data is lost: " + room},
		"an init container is out of memory": {change: func(pod *corev1.Pod) {
			pending(pod)
			pod.Status.InitContainerStatuses[1] = corev1.ContainerStatus{Name: pod.Spec.InitContainers[1].Name, RestartCount: 2, State: waits("CrashLoopBackOff", ""),
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}}
		},
			why:  "init container scylladb-bootstrapped-query exceeded its memory limit (OOMKilled, 2 restarts)",
			step: "raise the memory limit of init container scylladb-bootstrapped-query in StatefulSet SET; no data is lost: " + room},
		"a warning about a former Pod of this name": {change: pending, events: func(pod, _ string) []corev1.Event {
			e := warned("Pod", pod, "FailedMount", `MountVolume.SetUp failed for volume "certs" : secret "demo-tls" not found`)
			e.LastTimestamp = metav1.NewTime(scenes.Now.Add(-time.Hour))
			return []corev1.Event{e}
		}, more: func(o *cluster.Objects) {
			later := warned("Pod", o.Events[0].InvolvedObject.Name, "FailedCreatePodSandBox", "no address left")
			o.Events = append(o.Events, later)
		}, why: "its Pod does not start (FailedCreatePodSandBox): no address left", step: "check the Events of its Pod; no data is lost by this: " + room},
		"too little memory": {change: noPlace("0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."),
			why:  "no Kubernetes node takes its Pod: 3 have too little memory",
			step: "free memory on a Kubernetes node, add one, or lower the request of its Pod in StatefulSet SET; no data is lost: " + room},
		"too little cpu where its volume is": {change: noPlace("0/3 nodes are available: 2 node(s) had volume node affinity conflict, 1 Insufficient cpu."),
			more: func(o *cluster.Objects) {
				o.Volumes, o.Machines = map[string][]string{"pv-1": {"worker-1"}}, map[string]string{"worker-1": cluster.KubernetesNodeReady}
			},
			why:  "no Kubernetes node takes its Pod: 1 has too little cpu and 2 cannot use its volume",
			step: "free cpu on Kubernetes node worker-1, which has its volume, or lower the request of its Pod in StatefulSet SET; no data is lost: kubectl describe node worker-1"},
		"no Kubernetes node can use its volume": {change: noPlace("0/3 nodes are available: 3 node(s) had volume node affinity conflict."),
			why:  "no Kubernetes node takes its Pod: 3 cannot use its volume",
			step: "bring back or add a Kubernetes node that can use volume pv-1, as its node affinity requires; treat the volume as intact: kubectl get persistentvolume pv-1 -o yaml"},
		"taints": {change: noPlace("0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: scylla}, 2 node(s) were unschedulable."),
			why:  "no Kubernetes node takes its Pod: 1 has a taint dedicated: scylla and 2 are cordoned",
			step: "uncordon a Kubernetes node that can use its volume, when its maintenance is finished; no data is lost: kubectl get nodes"},
		"too many Pods": {change: noPlace("0/1 nodes are available: 1 Too many pods."),
			why:  "no Kubernetes node takes its Pod: 1 has the maximum number of Pods",
			step: "make room on a Kubernetes node that can use its volume, add one, or relax the placement in StatefulSet SET; no data is lost: " + room},
		"its affinity": {change: noPlace("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."),
			why:  "no Kubernetes node takes its Pod: 3 without the labels of its node affinity",
			step: "give a Kubernetes node the labels that StatefulSet SET requires, or change its nodeSelector or node affinity; no data is lost: " + room},
		"its claim has no volume": {change: noPlace("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
			claim: func(p *corev1.PersistentVolumeClaim) {
				p.Spec.VolumeName, p.Spec.StorageClassName = "", new("fast")
				p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}
			},
			events: func(pod, _ string) []corev1.Event {
				return []corev1.Event{warned("PersistentVolumeClaim", "data-"+pod, "ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`)}
			},
			why:  `PVC data-MEMBER has no volume (StorageClass fast): storageclass.storage.k8s.io "fast" not found`,
			step: "give PVC data-MEMBER a volume of 100Gi: fix its StorageClass fast or provisioner, or create a PersistentVolume; its Events show the cause: kubectl describe pvc data-MEMBER -n demo"},
		"its claim was deleted": {change: noPlace(`0/3 nodes are available: persistentvolumeclaim "data-x" not found.`),
			why:  "no Kubernetes node takes its Pod: PVC data-x does not exist",
			step: "do not delete anything: check who deleted PVC data-x, and whether a PersistentVolume has kept its data: kubectl get persistentvolumes"},
		"an unknown reason of the scheduler": {change: noPlace("0/3 nodes are available: 3 node(s) are on strike."),
			why: "no Kubernetes node takes its Pod: 3 node(s) are on strike", step: "check why its Pod is not scheduled: " + room},
		"evicted for its Kubernetes node's disk": {change: func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi"}
		},
			why:  "its Pod was evicted: The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi",
			step: "free ephemeral-storage on Kubernetes node worker-1; its StatefulSet then creates the Pod again, and no data is lost: kubectl describe node worker-1"},
		"it does not end": {change: func(pod *corev1.Pod) {
			pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: scenes.Now.Add(-time.Hour)}, []string{"example.com/x"}
			pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = nil, nil
		},
			why:  "its Pod has been Terminating for 1h0m after its grace period; finalizers example.com/x keep it",
			step: "do not use --force while its containers may run; check its Kubernetes node, finalizers and Events: " + room},
		"a quota": {change: nil, events: func(pod, set string) []corev1.Event {
			return []corev1.Event{warned("StatefulSet", set, "FailedCreate", "create Pod "+pod+" in StatefulSet "+set+" failed error: pods \""+pod+"\" is forbidden: exceeded quota: team, requested: cpu=4")}
		},
			why:  `StatefulSet SET cannot create its Pod: pods "MEMBER" is forbidden: exceeded quota: team, requested: cpu=4`,
			step: "raise ResourceQuota team, or lower what StatefulSet SET requests; no data is lost: kubectl describe resourcequota team -n demo"},
		"an admission": {change: nil, events: func(pod, set string) []corev1.Event {
			return []corev1.Event{warned("StatefulSet", set, "FailedCreate", "create Pod "+pod+" in StatefulSet "+set+` failed error: admission webhook "policy.example.com" denied the request: no`)}
		},
			why:  `StatefulSet SET cannot create its Pod: admission webhook "policy.example.com" denied the request: no`,
			step: "change StatefulSet SET so that it is accepted, or the policy that rejects its Pod; no data is lost: kubectl describe statefulset SET -n demo"},
	}
}

// What Kubernetes says of a Pod decides the step, the same for a node that is DOWN and for a new node.
func TestWhatKubernetesSaysDecides(t *testing.T) {
	t.Parallel()
	for what, tc := range podCases() {
		for kind, isNew := range map[string]bool{"DOWN": false, "new": true} {
			t.Run(what+"/"+kind, func(t *testing.T) {
				t.Parallel()
				c, member := plugintest.New(3, 1), "demo-dc1-rack3-0"
				if isNew {
					member = c.Newcomer("dc1", "rack1", 1)
				} else {
					c.Down(member)
				}
				set := member[:strings.LastIndex(member, "-")]
				pod := c.Pod(member)
				if tc.change != nil {
					pod.CreationTimestamp.Time = scenes.Now.Add(-5 * time.Minute)
					tc.change(pod)
				}
				o := scenes.Objects(c)
				if tc.change == nil {
					o.Pods = without(o.Pods, member)
				}
				claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + member}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"}}
				if tc.claim != nil {
					tc.claim(&claim)
				}
				o.PVCs = append(o.PVCs, claim)
				if tc.events != nil {
					o.SetEvents(tc.events(member, set))
				}
				if tc.more != nil {
					tc.more(&o)
				}
				var got []string
				for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)) {
					if f.Kind == diagnosis.NodeDown || f.Kind == diagnosis.NodeNotStarted || f.Kind == diagnosis.NodeStarting {
						why, _ := f.Message.Params["why"].(words.Message)
						got = append(got, words.Text(why), words.Text(f.Step))
					}
				}
				put := strings.NewReplacer("MEMBER", member, "SET", set)
				if diff := cmp.Diff([]string{put.Replace(tc.why), put.Replace(tc.step)}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// The Scylla Operator sets its probes: no field of a ScyllaCluster changes them.
func TestTheProbesOfTheOperator(t *testing.T) {
	t.Parallel()
	c, member := plugintest.New(3, 1).Operator(), "demo-dc1-rack3-0"
	podCases()["its probe ends it"].change(c.Down(member).Pod(member))
	o := scenes.Objects(c)
	o.SetEvents([]corev1.Event{warned("Pod", member, "Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 503")})
	f := diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now))[0]
	const want = "the Scylla Operator sets this probe, and the ScyllaCluster has no field for it: check in its log why the start takes so long. " +
		"ScyllaDB replays its commit log before it responds, and each restart begins that again; no data is lost: kubectl logs demo-dc1-rack3-0 -c scylla --previous -n demo"
	if diff := cmp.Diff(want, words.Text(f.Step)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A container beside a ready ScyllaDB keeps its Pod from being Ready: it is named with its step.
func TestAContainerBesideScyllaDB(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		state, last corev1.ContainerState
		sidecar     bool
		why, step   string
	}{
		"its image": {state: waits("ImagePullBackOff", `Back-off pulling image "registry/agent:1"`),
			why:  `container agent cannot pull its image registry/agent:1 (ImagePullBackOff): Back-off pulling image "registry/agent:1"`,
			step: "fix the name of the image in StatefulSet demo-dc1-rack1, its pull Secret, or access to its registry; no data is lost: " + room},
		"it exits": {state: waits("CrashLoopBackOff", ""), last: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "no token"}},
			why:  "agent exits with code 2, 7 restarts: no token",
			step: "check the log of this container; ScyllaDB in the same Pod is ready: kubectl logs MEMBER -c agent --previous -n demo"},
		"its memory": {state: waits("CrashLoopBackOff", ""), last: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
			why:  "container agent exceeded its memory limit (OOMKilled, 7 restarts)",
			step: "raise the memory limit of container agent in StatefulSet demo-dc1-rack1; no data is lost: " + room},
		"it runs": {state: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(scenes.Now.Add(-time.Hour))}},
			why:  "its Pod is waiting for container agent to become ready",
			step: "check the log of this container; ScyllaDB in the same Pod is ready: kubectl logs MEMBER -c agent -n demo"},
		"a sidecar": {state: waits("CreateContainerConfigError", `secret "agent" not found`), sidecar: true,
			why:  `init container agent lacks an object of its configuration (CreateContainerConfigError): secret "agent" not found`,
			step: "create the missing Secret, ConfigMap or key, or fix its name in StatefulSet demo-dc1-rack1; no data is lost: " + room},
	} {
		for kind, rolling := range map[string]bool{"PodsNotReady": false, "RolloutInProgress": true} {
			t.Run(what+"/"+kind, func(t *testing.T) {
				t.Parallel()
				c, member := plugintest.New(3, 1), "demo-dc1-rack1-0"
				pod := c.Pod(member)
				agent := corev1.Container{Name: "agent", Image: "registry/agent:1"}
				st := corev1.ContainerStatus{Name: "agent", State: tc.state, LastTerminationState: tc.last, RestartCount: 7}
				if tc.sidecar {
					agent.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
					pod.Spec.InitContainers, pod.Status.InitContainerStatuses = append(pod.Spec.InitContainers, agent), append(pod.Status.InitContainerStatuses, st)
				} else {
					pod.Spec.Containers, pod.Status.ContainerStatuses = append(pod.Spec.Containers, agent), append(pod.Status.ContainerStatuses, st)
				}
				for i := range pod.Status.Conditions {
					if k := &pod.Status.Conditions[i]; k.Type == corev1.PodReady || k.Type == corev1.ContainersReady {
						k.Status, k.Reason = corev1.ConditionFalse, "ContainersNotReady"
					}
				}
				o := scenes.Objects(c)
				for i := range o.StatefulSets {
					if set := &o.StatefulSets[i]; set.Name == "demo-dc1-rack1" {
						set.Status = appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1, CurrentRevision: "r", UpdateRevision: "r"}
						if rolling {
							set.Status.CurrentRevision, set.Status.UpdatedReplicas = "q", 0
						}
					}
				}
				put, got := strings.NewReplacer("MEMBER", member), []string(nil)
				for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)) {
					why, _ := f.Message.Params["why"].(words.Message)
					got = append(got, string(f.Kind), words.Text(why), words.Text(f.Step))
				}
				want := []string{kind, tc.why, put.Replace(tc.step)}
				if rolling {
					got[1] = tc.why // the rollout and its numbers
				}
				if rolling && what == "it runs" {
					want[2] = "wait up to 12h0m until the rollout has finished: kubectl rollout status statefulset/demo-dc1-rack1 -n demo"
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func without(pods []corev1.Pod, name string) []corev1.Pod {
	var out []corev1.Pod
	for i := range pods {
		if pods[i].Name != name {
			out = append(out, pods[i])
		}
	}
	return out
}
