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

// TestNoHarm5AVolumeOnAReadyKubernetesNodeIsNotReplaced: replace is named only where the machine with the volume is gone.
func TestNoHarm5AVolumeOnAReadyKubernetesNodeIsNotReplaced(t *testing.T) {
	const (
		member   = "demo-dc1-rack3-0"
		uncordon = "uncordon a Kubernetes node that can use its volume, when its maintenance is finished; no data is lost: kubectl get nodes"
		away     = "check Kubernetes node disk and bring it back: kubectl describe node disk"
	)
	on := func(name string) *plugintest.Cluster {
		c := onlyDown(member, "disk")
		c.Pod(member).Spec.NodeName = name
		return c
	}
	waits := func(disk string) *plugintest.Cluster { return pending(onlyDown(member, disk)) }
	ready, unknown := corev1.ConditionTrue, corev1.ConditionUnknown
	replace := "kubectl scylla replace " + plugintest.New(4, 1).Node(member).HostID
	labelled := machine("disk", ready, time.Hour, true)
	labelled.Labels = map[string]string{corev1.LabelHostname: "host"}
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		want    string
		refused string // of replace
	}{
		"its volume is on a cordoned Kubernetes node": {
			waits("disk").Add(machine("disk", ready, time.Hour, true)), "when its maintenance is finished: kubectl uncordon disk", "kubectl uncordon disk"},
		"its volume is on a cordoned Kubernetes node with another hostname label": {
			waits("host").Add(labelled), "when its maintenance is finished: kubectl uncordon disk", "kubectl uncordon disk"},
		"its volume is on a Ready Kubernetes node": {
			waits("disk").Add(machine("disk", ready, time.Hour, false)), uncordon, "1 node(s) were unschedulable, and its volume is intact"},
		"its volume can move":                                          {waits(""), uncordon, "and its volume is intact"},
		"nobody can say where its volume is":                           {pending(plugintest.New(4, 1).DownSince(member, time.Hour)), uncordon, ""},
		"its volume is on a Kubernetes node that was deleted":          {waits("disk"), replace, ""},
		"its volume is on a Kubernetes node that is away for a minute": {waits("disk").Add(machine("disk", unknown, time.Minute, false)), away, ""},
		"its volume is on a Kubernetes node that is away for long":     {waits("disk").Add(machine("disk", unknown, time.Hour, false)), away, ""},
		"its Pod is on a Kubernetes node that is away for a minute":    {on("disk").Add(machine("disk", unknown, time.Minute, false)), away, ""},
		"its Pod is on a Kubernetes node that is away for long":        {on("disk").Add(machine("disk", unknown, time.Hour, false)), away, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status := printed(t, tc.cluster.Objects(), "status demo --all", "describe "+member)
			if replaces := tc.want == replace; !strings.Contains(status, tc.want) || strings.Contains(status, replace) != replaces {
				t.Errorf("want %q, and replace named %t, in\n%s", tc.want, replaces, status)
			}
			plan := printed(t, tc.cluster.Objects(), "replace "+member+" --dry-run=client")
			if !strings.Contains(plan, tc.refused) || tc.refused != "" && !strings.Contains(plan, "Refused") {
				t.Errorf("want %q in\n%s", tc.refused, plan)
			}
			if tc.want == replace && strings.Contains(plan, "just-started failed") {
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
	for _, line := range []string{"status demo --all", "barrier " + waits, "describe demo-dc1-rack3-0", "report demo -o wide", "replace demo-dc1-rack3-0 --dry-run=client"} {
		shows(t, objects, line, []string{want}, "kubectl scylla replace 3")
	}
	in := plugintest.Objects(cluster.Key{Namespace: "demo", Name: "demo"}, objects)
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
			status := printed(t, c.Objects(), "status demo")
			plan := plugintest.Run{Args: []string{"replace", member, "-n", "demo", "--dry-run=client"}, Objects: c.Objects()}.Transcript(t)
			named := strings.Contains(status, "kubectl scylla replace "+c.Node(member).HostID)
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
	const member, gone, decide = "demo-dc1-rack1-0", "the data of the cluster is lost", "kubectl scylla init reset demo -n demo"
	lone := func(racks int, barrier string) []client.Object {
		c, model := plugintest.New(racks, 1).NoRow(member), plugintest.New(1, 1)
		p := c.Pod(member)
		p.Status, p.Annotations = model.Pod(model.Newcomer("dc1", "rack1", 1)).Status, map[string]string{}
		if barrier != "" {
			p.Annotations[api.AnnotationBarrier] = barrier
		}
		return c.Objects()
	}
	for _, tc := range map[string]struct {
		objects []client.Object
		want    bool
	}{
		"its barrier found the volume empty":           {lone(1, `{"emptyVolume":true}`), true},
		"nobody has looked at its volume":              {lone(1, ""), false},
		"other members have joined, and have its data": {lone(3, `{"emptyVolume":true}`), false},
	} {
		for _, line := range []string{"status demo", "barrier " + member} {
			if tc.want {
				shows(t, tc.objects, line, []string{gone, decide}, "check that the controller")
			} else {
				shows(t, tc.objects, line, nil, gone, decide)
			}
		}
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
			edit(tc.objects, "", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Name = "db" })
			edit(tc.objects, "", func(p *corev1.Pod) {
				p.Spec.Containers[0].Name = "db"
				for i := range p.Status.ContainerStatuses {
					p.Status.ContainerStatuses[i].Name = "db"
				}
			})
			got := printed(t, tc.objects, "status demo --all", "status demo -o json", "describe "+gone, "replace status")
			if strings.Contains(got, "-c scylla ") || !strings.Contains(got, tc.want) {
				t.Errorf("want %q, and -c scylla nowhere, in\n%s", tc.want, got)
			}
		})
	}
}

// TestNoHarm33WhatKubernetesSaysOfAPodComesFirst: the reason in the Pod's status is the cause, its step names what to change, and DOWN for an hour is no
// reason to replace the node. internal/diagnosis has all causes.
func TestNoHarm33WhatKubernetesSaysOfAPodComesFirst(t *testing.T) {
	const member = "demo-dc1-rack3-0"
	const look, image = "kubectl describe pod " + member + " -n demo", "fix the name of the image in StatefulSet"
	const looping = "CrashLoopBackOff"
	for name, tc := range map[string]struct {
		reason, message string
		ended           int32
		want            []string
	}{
		"an image":          {"ErrImagePull", "not found", 0, []string{"container scylla cannot pull its image", "(ErrImagePull): not found", image, look}},
		"ImagePullBackOff":  {"ImagePullBackOff", "", 0, []string{"(ImagePullBackOff)", "its pull Secret", look}},
		"InvalidImageName":  {"InvalidImageName", "", 0, []string{"(InvalidImageName)", image, look}},
		"a missing Secret":  {"CreateContainerConfigError", `secret "x" not found`, 0, []string{`(CreateContainerConfigError): secret "x" not found`, "create the missing Secret", look}},
		"a missing command": {"CreateContainerError", "no command specified", 0, []string{"cannot be started (CreateContainerError): no command specified", "check the Events of its Pod", look}},
		"RunContainerError": {"RunContainerError", "", 0, []string{"cannot be started (RunContainerError)", look}},
		"a new reason":      {"SomethingNew", "in its own words", 0, []string{"(SomethingNew): in its own words", look}},
		"OOMKilled":         {looping, "", 137, []string{"exceeded its memory limit (OOMKilled, 9 restarts)", "raise the memory limit of container scylla", look}},
		"fs.aio-max-nr":     {looping, "", 7, []string{"scylla exits with code 7, 9 restarts", "kubectl logs " + member + " -c scylla --previous -n demo", "do not replace it yet"}},
		"evicted": {"", "", 0, []string{"its Pod was evicted: The node was low on resource: ephemeral-storage",
			"free ephemeral-storage on Kubernetes node disk; its StatefulSet then creates the Pod again"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := onlyDown(member, "disk").Add(machine("disk", corev1.ConditionTrue, time.Hour, false))
			p := c.Pod(member)
			p.Spec.NodeName = "disk"
			st := &p.Status.ContainerStatuses[0]
			st.Ready, st.RestartCount, st.State, st.LastTerminationState = false, 9, corev1.ContainerState{}, corev1.ContainerState{}
			if tc.reason == "" {
				p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: ephemeral-storage"
			} else {
				st.State.Waiting = &corev1.ContainerStateWaiting{Reason: tc.reason, Message: tc.message}
			}
			if tc.ended > 0 {
				st.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: tc.ended, FinishedAt: metav1.NewTime(plugintest.Now.Add(-time.Minute)),
					Reason: map[int32]string{137: "OOMKilled", 7: "Error"}[tc.ended]}
			}
			for line, want := range map[string][]string{"status demo --all": tc.want, "describe " + member: nil, "report demo -o wide": nil} {
				shows(t, c.Objects(), line, want, "scylla replace ")
			}
		})
	}
}
