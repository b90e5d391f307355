// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
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

// Where the replacement has a step, because it knows what became of the Kubernetes node of the old Pod or of the new volume, that is the step; otherwise what
// Kubernetes says of the Pod decides, and nothing is to be forced.
func TestAReplacementWhosePodIsStuck(t *testing.T) {
	const member = "demo-dc1-rack2-0"
	ends := func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: scenes.Now.Add(-10 * time.Minute)} }
	unplaced := func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient cpu."}}}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		cure   words.Code
		want   words.Code
	}{
		"nothing is known of its Kubernetes node":               {ends, "", words.SeeEnding},
		"its Kubernetes node is lost":                           {ends, words.MendKubernetesNode, words.ReplacementWaits},
		"nothing is known of the Kubernetes node of its volume": {unplaced, "", words.MakeRoom},
		"the Kubernetes node of its volume is gone":             {unplaced, words.CureVolumeLost, words.ReplacementWaits},
	} {
		t.Run(name, func(t *testing.T) {
			c := plugintest.New(3, 1).Replacing(member)
			tc.change(c.Pod(member))
			snap := cluster.New(scenes.Objects(c), cluster.SourceReport, scenes.Now)
			var known diagnosis.Known
			if tc.cure != "" {
				known.Steps = map[hostid.ID]words.Message{hostid.ID(c.Node(member).HostID): words.New(words.ReplacementWaits, "cure", words.New(tc.cure))}
			}
			for _, f := range diagnosis.From(snap, bootstrap.HealthOf(snap), known) {
				if f.Kind != diagnosis.ReplacementOpen {
					continue
				}
				if f.Step.Code != tc.want {
					t.Errorf("step %s, want %s", f.Step.Code, tc.want)
				}
				return
			}
			t.Error("no finding of the replacement")
		})
	}
}
