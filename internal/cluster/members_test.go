// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

func TestMembersTellWhatEachIs(t *testing.T) {
	t.Parallel()
	first := "demo-rack1-0"
	setState := func(st *scene, id string, state api.NodeState) { st.states[id] = state }
	see := func(st *scene, id string, state api.NodeState) {
		for i := range st.Reports["dc1"].Racks[0].Nodes {
			n := &st.Reports["dc1"].Racks[0].Nodes[i]
			n.ObservedNodes = append(slices.Clone(n.ObservedNodes), api.ObservedNode{HostID: id, Status: api.NodeStatusDown})
		}
		setState(st, id, state)
	}
	foreign := hostID(7, 7)
	cases := map[string]struct {
		change func(*testing.T, *scene)
		who    string // member name, or host ID
		want   MemberState
		detail string
	}{
		"member": {who: first, want: MemberJoined},
		"newcomer in its barrier": {
			change: func(t *testing.T, st *scene) { st.Newcomer(1, 2) },
			who:    "demo-rack1-2", want: MemberNewcomer, detail: "its host ID is unknown",
		},
		"newcomer that says so": {
			change: func(t *testing.T, st *scene) {
				st.Services[st.Newcomer(1, 2)].Annotations = map[string]string{api.AnnotationNodeJoined: "false", api.AnnotationHostID: foreign}
			},
			who: "demo-rack1-2", want: MemberNewcomer, detail: "it has not joined",
		},
		"newcomer that peers see joining": {
			change: func(t *testing.T, st *scene) {
				st.Services[st.Newcomer(1, 2)].Annotations = map[string]string{api.AnnotationHostID: foreign}
				see(st, foreign, api.NodeStateJoining)
			},
			who: "demo-rack1-2", want: MemberNewcomer, detail: "its peers report it as joining",
		},
		"ordinal without Pod": {
			change: func(_ *testing.T, st *scene) { *st.Sets["demo-rack1"].Spec.Replicas = 3 },
			who:    "demo-rack1-2", want: MemberNewcomer, detail: "its Pod is not created yet",
		},
		"first ordinal is not 0": {
			change: func(_ *testing.T, st *scene) {
				st.Sets["demo-rack1"].Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 2}
			},
			who: "demo-rack1-3", want: MemberNewcomer, detail: "its Pod is not created yet",
		},
		"decommission asked for": {
			change: func(_ *testing.T, st *scene) { st.Services[first].Labels[api.LabelDecommissioned] = "false" },
			who:    first, want: MemberLeaving, detail: "its decommission is requested",
		},
		"decommissioned": {
			change: func(_ *testing.T, st *scene) {
				st.Services[first].Labels[api.LabelDecommissioned] = "true"
				setState(st, hostID(1, 0), api.NodeStateDecommissioned)
			},
			who: first, want: MemberLeaving, detail: "it is decommissioned",
		},
		"decommissioned by its label alone": {
			change: func(_ *testing.T, st *scene) { st.Services[first].Labels[api.LabelDecommissioned] = "true" },
			who:    first, want: MemberJoined,
		},
		"leaving by its peers": {
			change: func(_ *testing.T, st *scene) { setState(st, hostID(1, 0), api.NodeStateLeaving) },
			who:    first, want: MemberLeaving, detail: "its peers report it as leaving",
		},
		"ghost without Pod": {
			change: func(_ *testing.T, st *scene) { delete(st.Pods, first) },
			who:    first, want: MemberGhost, detail: "it is a member and has no Pod",
		},
		"host ID without Service and Pod whose place is not known": {
			change: func(_ *testing.T, st *scene) { see(st, foreign, "") },
			who:    foreign, want: MemberUnknown, detail: "peers list it as a member, but no Service or Pod here has its host ID",
		},
		"joining elsewhere": {
			change: func(_ *testing.T, st *scene) { see(st, foreign, api.NodeStateJoining) },
			who:    foreign, want: MemberNewcomer, detail: "peers report it as joining; no Service here has its host ID yet",
		},
		"replacement under way": {
			change: func(_ *testing.T, st *scene) { st.Services[first].Labels[api.LabelReplacingNodeHostID] = hostID(1, 0) },
			who:    first, want: MemberNewcomer, detail: "it replaces host ID " + hostID(1, 0),
		},
		"nothing tells": {
			change: func(_ *testing.T, st *scene) {
				clear(st.Reports)
				st.Services[first].Annotations = nil
				st.Pods[first].Annotations = nil
			},
			who: first, want: MemberUnknown, detail: "it is unknown whether it has joined",
		},
		"operator before it wrote whether a node has joined": {
			change: func(_ *testing.T, st *scene) { delete(st.Services[first].Annotations, api.AnnotationNodeJoined) },
			who:    first, want: MemberJoined,
		},
		"value that is no boolean": {
			change: func(_ *testing.T, st *scene) { st.Services[first].Annotations[api.AnnotationNodeJoined] = "yes" },
			who:    first, want: MemberJoined,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			if tc.change != nil {
				tc.change(t, st)
			}
			found := 0
			for _, m := range New(withClusterReport(st.objects(), st.states), SourceReport, start).Members() {
				if m.Ref.Member != tc.who && string(m.HostID) != tc.who {
					continue
				}
				found++
				if m.State != tc.want || words.Text(m.Detail) != tc.detail {
					t.Errorf("%s is %s, %q; want %s, %q", tc.who, m.State, words.Text(m.Detail), tc.want, tc.detail)
				}
			}
			if found != 1 {
				t.Errorf("%s appears %d times", tc.who, found)
			}
		})
	}
}

func TestMembersJoinEverythingByName(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	st.Newcomer(1, 1)
	svc := st.Services["demo-rack1-0"]
	svc.Labels[api.LabelReplace], svc.Annotations[api.AnnotationForceProceed] = "", "true"
	members := st.cluster(SourceAuto).Members()
	for i := range members {
		if members[i].Service == nil || members[i].Pod == nil || members[i].StatefulSet == nil || (members[i].PVC == nil) != (i == 1) {
			t.Errorf("member %s lacks Service, Pod, StatefulSet or claim", members[i].Ref.Member)
		}
	}
	golden.JSON(t, "members.json", members)
}

func TestGossipOnlyNodesAreShown(t *testing.T) {
	t.Parallel()
	e, known := Endpoint{Address: "10.0.0.9", HostID: hostID(8, 8)}, Endpoint{Address: "10.0.0.1", HostID: hostID(1, 0)}
	s := newStage(t, 1, 2).cluster(SourceAnnotation).WithLive(nil, map[string]LiveFacts{
		"demo-rack1-0": {GossipOnly: []Endpoint{e, known}}, "demo-rack1-1": {GossipOnly: []Endpoint{e}},
	}, nil)
	var got []Member
	for _, m := range s.Members() {
		if m.State == MemberGossipOnly {
			got = append(got, m)
		}
	}
	if len(got) != 1 || string(got[0].HostID) != hostID(8, 8) || words.Text(got[0].Detail) != "demo-rack1-0 sees it in gossip at 10.0.0.9, but does not list it as a member" {
		t.Errorf("gossip-only members %+v", got)
	}
}

func TestPodStateAndWaiting(t *testing.T) {
	t.Parallel()
	since := metav1.NewTime(start.Add(time.Minute))
	initFails := func(state corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Status.InitContainerStatuses[2].State = state
		}
	}
	notReady := func(started metav1.Time, conditions ...corev1.PodCondition) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = conditions
			scylla := &p.Status.ContainerStatuses[0]
			scylla.Ready, scylla.State.Running = false, &corev1.ContainerStateRunning{StartedAt: started}
		}
	}
	lost := func(at metav1.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: at}
	}
	cases := map[string]struct {
		change  func(*corev1.Pod)
		state   string
		waiting string
		since   time.Time
	}{
		"ready": {state: "Running 2/2"},
		"not ready while condition ContainersReady is still True": {
			change: func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = false },
			state:  "Running 1/2", waiting: "container scylla to become ready",
		},
		"no node fits": {
			change: func(p *corev1.Pod) {
				p.Spec.NodeName, p.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available", LastTransitionTime: since}}}
			},
			state: "Pending", waiting: "scheduling: 0/3 nodes are available", since: since.Time,
		},
		"not scheduled": {
			change: func(p *corev1.Pod) { p.Spec.NodeName, p.Status = "", corev1.PodStatus{Phase: corev1.PodPending} },
			state:  "Pending", waiting: "scheduling",
		},
		"in the barrier": {
			change: initFails(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}),
			state:  "Init:2/3", waiting: "init container scylladb-bootstrap-barrier to finish", since: since.Time,
		},
		"init container failed": {
			change: initFails(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Reason: "Error", Message: "data directory is banned\ndelete PVC data-x\n", FinishedAt: since}}),
			state: "Init:Error", waiting: "init container scylladb-bootstrap-barrier, which exited with code 1: data directory is banned", since: since.Time,
		},
		"init container in crash loop": {
			change: func(p *corev1.Pod) {
				initFails(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}})(p)
				p.Status.InitContainerStatuses[2].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, FinishedAt: since}
			},
			state: "Init:CrashLoopBackOff", waiting: "init container scylladb-bootstrap-barrier (CrashLoopBackOff): exit code 2", since: since.Time,
		},
		"sidecar's image missing": {
			change: func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerReporter,
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}
				p.Status.ContainerStatuses = nil
			},
			state: "Init:ImagePullBackOff", waiting: "init container scylla-reporter (ImagePullBackOff): no such image",
		},
		"sidecar not started": {
			change: func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerReporter, Started: new(false),
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}}}
				p.Status.ContainerStatuses = nil
			},
			state: "Init:0/3", waiting: "init container scylla-reporter to start", since: since.Time,
		},
		"sidecar not ready": {
			change: func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].Ready = false },
			state:  "Running 1/2",
		},
		"sidecar in crash loop beside ScyllaDB": {
			change: func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue})
				p.Status.InitContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerReporter, Started: new(false),
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
			},
			state: "Init:CrashLoopBackOff", waiting: "init container scylla-reporter (CrashLoopBackOff)",
		},
		"sidecar and ScyllaDB in crash loops": {
			change: func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue})
				back := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
				p.Status.InitContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerReporter, Started: new(false), State: back}
				p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: back}
			},
			state: "CrashLoopBackOff 0/2", waiting: "init container scylla-reporter (CrashLoopBackOff)",
		},
		"restarted after it was initialised": {
			change: func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue})
				p.Status.ContainerStatuses[0].Ready = false
			},
			state: "Running 1/2", waiting: "container scylla to become ready",
		},
		"lost Ready long after its start": {
			change: notReady(metav1.NewTime(start), lost(since)), state: "Running 1/2", waiting: "container scylla to become ready", since: since.Time,
		},
		"started long after its Pod": {
			change: notReady(since, lost(metav1.NewTime(start))), state: "Running 1/2", waiting: "container scylla to become ready", since: since.Time,
		},
		"not ready without a condition": {
			change: notReady(since), state: "Running 1/2", waiting: "container scylla to become ready",
		},
		"image missing": {
			change: func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB,
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}
			},
			state: "ErrImagePull 1/2", waiting: "container scylla (ErrImagePull)",
		},
		"terminating": {
			change: func(p *corev1.Pod) { p.DeletionTimestamp = &since },
			state:  "Terminating 2/2", waiting: "its Pod to terminate", since: since.Time,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := stage.NewPod(t, "x-0", 1, nil)
			if tc.change != nil {
				tc.change(p)
			}
			waiting, at := PodWaitingNow(p)
			if got := PodState(p); got != tc.state {
				t.Errorf("state %q, want %q", got, tc.state)
			}
			if words.Text(waiting) != tc.waiting || !at.Equal(tc.since) {
				t.Errorf("waiting for %q since %v, want %q since %v", waiting, at, tc.waiting, tc.since)
			}
		})
	}
	running, starts := stage.NewPod(t, "x-0", 1, nil), stage.NewPod(t, "x-0", 1, nil)
	running.Status.ContainerStatuses[0].Ready = false
	starts.Status.Phase, starts.Status.InitContainerStatuses = corev1.PodPending, nil
	for want, pod := range map[string]*corev1.Pod{
		"its Pod is Running, with 1 of 2 containers Ready":          running,
		"its Pod is starting: 0 of 3 init containers have finished": starts,
		"its Pod is None": nil,
	} {
		if got := words.Text(BecausePod(pod)); got != want {
			t.Errorf("in a sentence: %q, want %q", got, want)
		}
	}
	if got := PodState(nil); got != "None" {
		t.Errorf("no Pod: %q", got)
	}
}

func TestPVCNames(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*scene)
		want   string
	}{
		"from the Pod": {change: func(st *scene) {
			st.Pods["demo-rack1-0"].Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "restored"
		}, want: "restored"},
		"from the claim template": {change: func(st *scene) {
			delete(st.Pods, "demo-rack1-0")
			set := st.Sets["demo-rack1"]
			set.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "logs", MountPath: "/logs"}, {Name: "store", MountPath: "/var/lib/scylla/"}}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "logs"}}, {ObjectMeta: metav1.ObjectMeta{Name: "store"}}}
		}, want: "store-demo-rack1-0"},
		"from the only claim template": {change: func(st *scene) {
			delete(st.Pods, "demo-rack1-0")
			set := st.Sets["demo-rack1"]
			set.Spec.Template.Spec.Containers[0].VolumeMounts = nil
			set.Spec.VolumeClaimTemplates[0].Name = "disk"
		}, want: "disk-demo-rack1-0"},
		"as the operator": {change: func(st *scene) { clear(st.Pods); clear(st.Sets) }, want: "data-demo-rack1-0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 1)
			tc.change(st)
			m := memberNamed(t, st.cluster(SourceAuto).Members(), "demo-rack1-0")
			if m.PVCName != tc.want {
				t.Errorf("claim %q, want %q", m.PVCName, tc.want)
			}
		})
	}
}

func TestNearestNames(t *testing.T) {
	t.Parallel()
	known := []string{"demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0", "demo-dc1-rack3-1", "unrelated"}
	cases := map[string]struct {
		typed string
		want  []string
	}{
		"one letter":                       {"demo-dc1-rakc3-1", []string{"demo-dc1-rack3-1", "demo-dc1-rack3-0", "demo-dc1-rack1-0"}},
		"a part":                           {"rack3-1", []string{"demo-dc1-rack3-1"}},
		"two letters swapped are one slip": {"demo-dc1-rack1-0"[:9] + "arck1-0", []string{"demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0"}},
		"a word of several names":          {"rack", []string{"demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0"}},
		"a piece out of the middle":        {"lated", nil},
		"far":                              {"q", nil},
		"very long":                        {strings.Repeat("x", 10_000), nil},
		"other case":                       {"UNRELATED", []string{"unrelated"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Nearest(tc.typed, known)); diff != "" {
				t.Errorf("nearest (-want +got):\n%s", diff)
			}
		})
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "acb", 1}, {"abcd", "badc", 2}, {"status", "statsu", 1}, {"abc", "xyz", 3}, {"kitten", "sitting", 3}} {
		if got := EditDistance(tc.a, tc.b); got != tc.want || EditDistance(tc.b, tc.a) != got {
			t.Errorf("from %q to %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// withClusterReport adds the cluster report that says what the datacenter reports say, and the states of nodes.
func withClusterReport(o Objects, states map[string]api.NodeState) Objects {
	report := &api.ScyllaDBStatusReport{}
	report.Labels = map[string]string{api.LabelManagedBy: api.ManagedByUs}
	for _, r := range o.Reports {
		dc := api.StatusReportDatacenter{Name: r.DatacenterName}
		for _, rack := range r.Racks {
			for _, n := range rack.Nodes {
				name := fmt.Sprintf("%s-%s-%d", o.Name, rack.Name, n.Ordinal)
				cells := stage.Cells(n.ObservedNodes)
				for i := range cells {
					cells[i].State = states[string(cells[i].HostID)]
				}
				dc.Nodes = append(dc.Nodes, api.StatusReportNode{HostID: *n.HostID, Member: name, ObservedNodes: cells})
				report.Status.Members = append(report.Status.Members, api.StatusReportMember{
					Name: name, Namespace: o.Namespace, Datacenter: r.DatacenterName, Rack: rack.Name, Ordinal: n.Ordinal, HostID: *n.HostID, Joined: true,
				})
			}
		}
		report.Datacenters = append(report.Datacenters, dc)
	}
	if len(report.Datacenters) > 0 {
		o.StatusReport = report
	}
	return o
}
