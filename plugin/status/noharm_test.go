// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestNoHarm4OnlyAHostIDOfOurOwnRackIsRemoved: a node that lives elsewhere and is DOWN for a moment must never be named for removenode, which bans it.
func TestNoHarm4OnlyAHostIDOfOurOwnRackIsRemoved(t *testing.T) {
	const gone = "demo-dc1-rack4-0"
	lost := func(ago time.Duration, members int) *plugintest.Cluster {
		return plugintest.New(4, members).DownSince(gone, ago)
	}
	places := func(change func(*api.NodePlace)) *plugintest.Cluster {
		return lost(time.Hour, 2).Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
			for i := range said.Places {
				change(&said.Places[i])
			}
		})
	}
	service := func(namespace, cluster string) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "other-dc2-rack1-0", Labels: map[string]string{api.LabelCluster: cluster},
			Annotations: map[string]string{api.AnnotationHostID: lost(0, 2).Node(gone).HostID},
		}}
	}
	unknown := lost(time.Hour, 2).Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
		said.ObservedNodes = append(said.ObservedNodes, api.ObservedNodeStatusReport{HostID: "f00d0000-5ea1-4d00-8000-000000000001", Status: api.NodeStatusUp})
	})
	for name, tc := range map[string]struct {
		objects []client.Object
		removes bool
		want    string
	}{
		"every evidence":                {objects: lost(time.Hour, 2).Leftover(gone), removes: true},
		"DOWN for five seconds":         {objects: lost(5*time.Second, 2).Leftover(gone), want: "must have shown it DOWN for 5m"},
		"its place is not known":        {objects: lost(time.Hour, 2).Says(func(_ plugintest.Node, said *api.NodeStatusReport) { said.Places = nil }).Leftover(gone), want: "its datacenter and rack are unknown"},
		"a second datacenter":           {objects: places(func(p *api.NodePlace) { p.Datacenter = "dc2" }).Leftover(gone), want: "it is in datacenter dc2"},
		"a rack without a member here":  {objects: places(func(p *api.NodePlace) { p.Rack = "rack9" }).Leftover(gone), want: "it is in datacenter dc1, rack rack9, which has no member here"},
		"another unknown host ID is UP": {objects: unknown.NoReports().Leftover(gone), want: "f00d0000-5ea1-4d00-8000-000000000001 is also listed"},
		"a Service in another namespace records it": {
			objects: append(lost(time.Hour, 2).Leftover(gone), service("other", "other")), want: "Service other/other-dc2-rack1-0 records it",
		},
		"a Service of another cluster here records it": {
			objects: append(lost(time.Hour, 2).Leftover(gone), service("demo", "other")), want: "Service demo/other-dc2-rack1-0 records it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := lost(0, 2).Node(gone).HostID
			var all strings.Builder
			for _, args := range [][]string{{"status", "demo", "--all"}, {"status", "demo", "-o", "json"}, {"describe", id}, {"report", "demo", "-o", "wide"}, {"replace", "status"}} {
				all.WriteString(plugintest.Run{Args: append(args, "-n", "demo"), Objects: tc.objects}.Transcript(t))
			}
			got := strings.Join(strings.Fields(strings.ReplaceAll(all.String(), "\\\n", "")), " ")
			if removes := strings.Contains(got, "removenode"); removes != tc.removes {
				t.Errorf("removenode named: %t, want %t\n%s", removes, tc.removes, all.String())
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("want %q in\n%s", tc.want, all.String())
			}
			if elsewhere := strings.HasPrefix(tc.want, "Service ") || strings.HasPrefix(tc.want, "it is of "); elsewhere && !strings.Contains(got, "remote add") {
				t.Errorf("want remote add in\n%s", all.String())
			}
		})
	}
}

// onlyDown is a cluster whose one node has been DOWN for an hour, with its claim on a volume that can be used on the Kubernetes node disk alone, or anywhere.
func onlyDown(member, disk string) *plugintest.Cluster {
	c := plugintest.New(4, 1).DownSince(member, time.Hour)
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + member}}
	if disk != "" {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{disk}}},
		}}}}
	}
	return c.Add(pv, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + member, UID: "claim", Labels: map[string]string{api.LabelCluster: "demo"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: pv.Name},
	})
}

// pending has the Pod of onlyDown wait for a Kubernetes node.
func pending(c *plugintest.Cluster) *plugintest.Cluster {
	p := c.Pod("demo-dc1-rack3-0")
	p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending
	p.Status.InitContainerStatuses, p.Status.ContainerStatuses = nil, nil
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(plugintest.Now.Add(-time.Hour)),
		Message: "0/4 nodes are available: 1 node(s) were unschedulable",
	}}
	return c
}

func machine(name string, ready corev1.ConditionStatus, since time.Duration, cordoned bool) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(plugintest.Now.Add(-since))}}},
	}
}

// TestNoHarm5AVolumeOnAReadyKubernetesNodeIsNotReplaced: replace is named only where the machine with the volume is gone, or has been away for long.
func TestNoHarm5AVolumeOnAReadyKubernetesNodeIsNotReplaced(t *testing.T) {
	const member = "demo-dc1-rack3-0"
	on := func(c *plugintest.Cluster, name string) *plugintest.Cluster {
		c.Pod(member).Spec.NodeName = name
		return c
	}
	id := plugintest.New(4, 1).Node(member).HostID
	replace := "kubectl scylla replace " + id
	for name, tc := range map[string]struct {
		cluster  *plugintest.Cluster
		want     string
		replaces bool
		refused  string // of replace
	}{
		"its volume is on a cordoned Kubernetes node": {
			cluster: pending(onlyDown(member, "disk")).Add(machine("disk", corev1.ConditionTrue, time.Hour, true)), want: "when its maintenance is finished: kubectl uncordon disk",
			refused: "kubectl uncordon disk",
		},
		"its volume is on a Ready Kubernetes node": {
			cluster: pending(onlyDown(member, "disk")).Add(machine("disk", corev1.ConditionTrue, time.Hour, false)),
			want:    "uncordon a Kubernetes node that can use its volume, when its maintenance is finished; no data is lost: kubectl get nodes", refused: "1 node(s) were unschedulable, and its volume is intact",
		},
		"its volume can move": {
			cluster: pending(onlyDown(member, "")), want: "uncordon a Kubernetes node that can use its volume, when its maintenance is finished; no data is lost: kubectl get nodes", refused: "and its volume is intact",
		},
		"nobody can say where its volume is": {
			cluster: pending(plugintest.New(4, 1).DownSince(member, time.Hour)), want: "uncordon a Kubernetes node that can use its volume, when its maintenance is finished; no data is lost: kubectl get nodes",
		},
		"its volume is on a Kubernetes node that was deleted": {cluster: pending(onlyDown(member, "disk")), want: replace, replaces: true},
		"its volume is on a Kubernetes node that is away for a minute": {
			cluster: pending(onlyDown(member, "disk")).Add(machine("disk", corev1.ConditionUnknown, time.Minute, false)), want: "check Kubernetes node disk and bring it back: kubectl describe node disk",
		},
		"its volume is on a Kubernetes node that is away for long": {
			cluster: pending(onlyDown(member, "disk")).Add(machine("disk", corev1.ConditionUnknown, time.Hour, false)), want: "check Kubernetes node disk and bring it back: kubectl describe node disk",
		},
		"its Pod is on a Kubernetes node that is away for a minute": {
			cluster: on(onlyDown(member, "disk"), "disk").Add(machine("disk", corev1.ConditionUnknown, time.Minute, false)), want: "check Kubernetes node disk and bring it back: kubectl describe node disk",
		},
		"its Pod is on a Kubernetes node that is away for long": {
			cluster: on(onlyDown(member, "disk"), "disk").Add(machine("disk", corev1.ConditionUnknown, time.Hour, false)), want: "check Kubernetes node disk and bring it back: kubectl describe node disk",
		},
	} {
		t.Run(name, func(t *testing.T) {
			shown := func(args ...string) string {
				text := plugintest.Run{Args: append(args, "-n", "demo"), Objects: tc.cluster.Objects()}.Transcript(t)
				return strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
			}
			status := shown("status", "demo", "--all") + shown("describe", member)
			if !strings.Contains(status, tc.want) {
				t.Errorf("want %q in\n%s", tc.want, status)
			}
			if got := strings.Contains(status, replace); got != tc.replaces {
				t.Errorf("replace named: %t, want %t\n%s", got, tc.replaces, status)
			}
			plan := shown("replace", member, "--dry-run=client")
			if !strings.Contains(plan, tc.refused) || tc.refused != "" && !strings.Contains(plan, "Refused") {
				t.Errorf("want %q in\n%s", tc.refused, plan)
			}
			if tc.replaces && strings.Contains(plan, "just-started failed") {
				t.Errorf("replace is named and takes the Pod for one that starts:\n%s", plan)
			}
		})
	}
}

// TestNoHarm9ARackThatIsAwayIsOneCauseEverywhere: status, the condition NodeReplaceable, the barrier and the plan of a replacement have one cause and one step.
func TestNoHarm9ARackThatIsAwayIsOneCauseEverywhere(t *testing.T) {
	c := plugintest.New(3, 2).DownSince("demo-dc1-rack3-0", time.Hour).DownSince("demo-dc1-rack3-1", time.Hour)
	waits := c.Newcomer("dc1", "rack1", 2)
	objects := c.Objects()
	const want = "do not replace any node while the whole rack is DOWN"
	for _, args := range [][]string{
		{"status", "demo", "--all"}, {"barrier", waits}, {"describe", "demo-dc1-rack3-0"}, {"report", "demo", "-o", "wide"}, {"replace", "demo-dc1-rack3-0", "--dry-run=client"},
	} {
		text := plugintest.Run{Args: append(args, "-n", "demo"), Objects: objects}.Transcript(t)
		got := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
		if !strings.Contains(got, want) || strings.Contains(got, "kubectl scylla replace 3") {
			t.Errorf("%v: want %q and no replace in\n%s", args, want, text)
		}
	}
	in := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}, Read: cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			in.Services = append(in.Services, *o)
		case *corev1.Pod:
			in.Pods = append(in.Pods, *o)
		case *appsv1.StatefulSet:
			in.StatefulSets = append(in.StatefulSets, *o)
		}
	}
	if condition, n := view.Replaceable(cluster.New(in, cluster.SourceAnnotation, plugintest.Now)); n != 0 {
		t.Errorf("condition NodeReplaceable names %d nodes: %s", n, words.Text(condition.Message))
	}
}

// TestNoHarm14StatusPrintsNoReplaceThatReplaceRefuses: the Scylla Operator's rows do not have since when a node is DOWN, so that replace cannot know it
// either. A volume whose Kubernetes node was deleted does not come back, however long the node has been DOWN.
func TestNoHarm14StatusPrintsNoReplaceThatReplaceRefuses(t *testing.T) {
	const member = "demo-dc1-rack3-0"
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		named   bool
	}{
		"rows with times":                {pending(onlyDown(member, "disk")), true},
		"rows of the Scylla Operator":    {pending(onlyDown(member, "disk")).Operator(), true},
		"rows of the Scylla Operator, 2": {pending(onlyDown(member, "disk")).Operator().NoReports(), true},
		"its volume may exist":           {onlyDown(member, "disk").Operator(), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.cluster
			for i := range c.Pod(member).Status.Conditions { // its Pod has not been ready for as long
				if at := &c.Pod(member).Status.Conditions[i]; at.Status == corev1.ConditionFalse {
					at.LastTransitionTime = metav1.NewTime(plugintest.Now.Add(-time.Hour))
				}
			}
			status := plugintest.Run{Args: []string{"status", "demo", "-n", "demo"}, Objects: c.Objects()}.Transcript(t)
			plan := plugintest.Run{Args: []string{"replace", member, "-n", "demo", "--dry-run=client"}, Objects: c.Objects()}.Transcript(t)
			named := strings.Contains(strings.ReplaceAll(status, "\\\n", ""), "kubectl scylla replace "+c.Node(member).HostID)
			if named != tc.named {
				t.Errorf("replace named: %t, want %t\n%s", named, tc.named, status)
			}
			if refused := strings.Contains(plan, "down-for") && !strings.Contains(plan, "down-for      ok"); refused == tc.named {
				t.Errorf("replace refused by down-for: %t\n%s", refused, plan)
			}
		})
	}
}

// TestNoHarm15TheOnlyMemberLostItsVolume: no controller and no wait brings the data back, so status and barrier say that it is gone and what is to be decided.
func TestNoHarm15TheOnlyMemberLostItsVolume(t *testing.T) {
	const member = "demo-dc1-rack1-0"
	lone := func(racks int, empty bool) *plugintest.Cluster {
		c := plugintest.New(racks, 1).NoRow(member)
		model := plugintest.New(1, 1)
		waiting := model.Pod(model.Newcomer("dc1", "rack1", 1)).Status
		p := c.Pod(member)
		p.Status, p.Annotations = waiting, map[string]string{}
		if empty {
			p.Annotations[api.AnnotationBarrier] = `{"emptyVolume":true}`
		}
		return c
	}
	const gone, decide = "the data of the cluster is lost", "kubectl scylla init reset demo -n demo"
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		want    bool
	}{
		"its barrier found the volume empty":           {lone(1, true), true},
		"nobody has looked at its volume":              {lone(1, false), false},
		"other members have joined, and have its data": {lone(3, true), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"status", "demo"}, {"barrier", member}} {
				text := plugintest.Run{Args: append(args, "-n", "demo"), Objects: tc.cluster.Objects()}.Transcript(t)
				got := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
				if strings.Contains(got, gone) != tc.want || strings.Contains(got, decide) != tc.want {
					t.Errorf("%v: data gone and decision: want %t in\n%s", args, tc.want, text)
				}
				if tc.want && strings.Contains(got, "check that the controller") {
					t.Errorf("%v names the controller:\n%s", args, text)
				}
			}
		})
	}
}

// TestNoHarm19CommandsNameTheContainer: every command was printed with -c scylla, whatever the container is called.
func TestNoHarm19CommandsNameTheContainer(t *testing.T) {
	const gone = "demo-dc1-rack4-0"
	now := metav1.NewTime(plugintest.Now)
	deleting := plugintest.New(4, 1).Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "data-" + gone, UID: "c", DeletionTimestamp: &now, Finalizers: []string{"kubernetes.io/pvc-protection"},
		Labels: map[string]string{api.LabelCluster: "demo"},
	}})
	leaving := plugintest.New(4, 1).DownSince(gone, time.Hour)
	leaving.Service(gone).Labels[api.LabelDecommissioned] = "false"
	split := plugintest.New(4, 1).Says(func(by plugintest.Node, said *api.NodeStatusReport) {
		said.Group0ID = "11111111-1111-1111-1111-111111111111"
		if by.Name == gone {
			said.Group0ID = "22222222-2222-2222-2222-222222222222"
		}
	})
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"DOWN":                    {plugintest.New(4, 1).Down(gone).Objects(), "kubectl logs " + gone + " -c db"},
		"a ghost":                 {plugintest.New(4, 2).DownSince(gone, time.Hour).Leftover(gone), "kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- removenode"},
		"a claim is deleted":      {deleting.Objects(), "kubectl exec " + gone + " -n demo -c db -- nodetool decommission"},
		"the operator removes it": {leaving.Operator().Objects(), "kubectl logs " + gone + " -c db"},
		"two clusters":            {split.Objects(), "-c db -- cqlsh"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range tc.objects {
				switch o := o.(type) {
				case *appsv1.StatefulSet:
					o.Spec.Template.Spec.Containers[0].Name = "db"
				case *corev1.Pod:
					o.Spec.Containers[0].Name = "db"
					for i := range o.Status.ContainerStatuses {
						o.Status.ContainerStatuses[i].Name = "db"
					}
				}
			}
			var all strings.Builder
			for _, args := range [][]string{{"status", "demo", "--all"}, {"status", "demo", "-o", "json"}, {"describe", gone}, {"replace", "status"}} {
				all.WriteString(plugintest.Run{Args: append(args, "-n", "demo"), Objects: tc.objects}.Transcript(t))
			}
			got := strings.Join(strings.Fields(strings.ReplaceAll(all.String(), "\\\n", "")), " ")
			if strings.Contains(got, "-c scylla ") || !strings.Contains(got, tc.want) {
				t.Errorf("want %q, and -c scylla nowhere, in\n%s", tc.want, all.String())
			}
		})
	}
}

// TestNoHarm33WhatKubernetesSaysOfAPodComesFirst: the reason in the Pod's status is the cause, its step names what to change, and DOWN for an hour is no
// reason to replace the node.
func TestNoHarm33WhatKubernetesSaysOfAPodComesFirst(t *testing.T) {
	const member = "demo-dc1-rack3-0"
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(plugintest.Now.Add(-time.Minute))}}
	}
	looping := waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container")
	const look = "kubectl describe pod " + member + " -n demo"
	for name, tc := range map[string]struct {
		is, was corev1.ContainerState
		change  func(*corev1.Pod)
		want    []string
	}{
		"ErrImagePull":      {is: waiting("ErrImagePull", "not found"), want: []string{"container scylla cannot pull its image", "(ErrImagePull): not found", "fix the name of the image in StatefulSet", look}},
		"ImagePullBackOff":  {is: waiting("ImagePullBackOff", ""), want: []string{"(ImagePullBackOff)", "its pull Secret", look}},
		"InvalidImageName":  {is: waiting("InvalidImageName", ""), want: []string{"(InvalidImageName)", "fix the name of the image", look}},
		"a missing Secret":  {is: waiting("CreateContainerConfigError", `secret "x" not found`), want: []string{`(CreateContainerConfigError): secret "x" not found`, "create the missing Secret", look}},
		"a missing command": {is: waiting("CreateContainerError", "no command specified"), want: []string{"cannot be started (CreateContainerError): no command specified", "check the Events of its Pod", look}},
		"RunContainerError": {is: waiting("RunContainerError", ""), want: []string{"cannot be started (RunContainerError)", look}},
		"a new reason":      {is: waiting("SomethingNew", "in its own words"), want: []string{"(SomethingNew): in its own words", look}},
		"OOMKilled":         {is: looping, was: ended(137, "OOMKilled"), want: []string{"exceeded its memory limit (OOMKilled, 9 restarts)", "raise the memory limit of container scylla", look}},
		"fs.aio-max-nr":     {is: looping, was: ended(7, "Error"), want: []string{"scylla exits with code 7, 9 restarts", "kubectl logs " + member + " -c scylla --previous -n demo", "do not replace it yet"}},
		"evicted": {
			want: []string{"its Pod was evicted: The node was low on resource: ephemeral-storage", "free ephemeral-storage on Kubernetes node disk; its StatefulSet then creates the Pod again"},
			change: func(p *corev1.Pod) {
				p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: ephemeral-storage"
			},
		},
		"an init container": {
			is: waiting("PodInitializing", ""), want: []string{"init container scylladb-bootstrap-barrier cannot pull its image", look},
			change: func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				for i := range p.Status.InitContainerStatuses {
					if st := &p.Status.InitContainerStatuses[i]; st.Name == api.ContainerBarrier {
						st.State, st.LastTerminationState = waiting("ImagePullBackOff", ""), corev1.ContainerState{}
					}
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := onlyDown(member, "disk").Add(machine("disk", corev1.ConditionTrue, time.Hour, false))
			p := c.Pod(member)
			p.Spec.NodeName = "disk"
			for i := range p.Status.ContainerStatuses {
				if st := &p.Status.ContainerStatuses[i]; st.Name == "scylla" {
					st.Ready, st.RestartCount, st.State, st.LastTerminationState = false, 9, tc.is, tc.was
				}
			}
			if tc.change != nil {
				tc.change(p)
			}
			for _, args := range [][]string{{"status", "demo", "--all"}, {"describe", member}, {"report", "demo", "-o", "wide"}} {
				text := plugintest.Run{Args: append(args, "-n", "demo"), Objects: c.Objects()}.Transcript(t)
				got := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
				if strings.Contains(got, "scylla replace ") {
					t.Errorf("%v: a replacement is named:\n%s", args, text)
				}
				for _, want := range tc.want {
					if args[0] == "status" && !strings.Contains(got, want) {
						t.Errorf("%v: want %q in\n%s", args, want, text)
					}
				}
			}
		})
	}
}
