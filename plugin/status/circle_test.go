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

// lostAtBarrier are members whose Pods wait in their barriers with new, empty volumes.
func lostAtBarrier(c *plugintest.Cluster, names ...string) *plugintest.Cluster {
	model := plugintest.New(1, 1)
	waits := model.Pod(model.Newcomer("dc1", "rack1", 1)).Status
	for _, name := range names {
		p := c.NoRow(name).Pod(name)
		p.CreationTimestamp.Time, p.Status = plugintest.Now.Add(-time.Hour), waits
		empty(p)
	}
	return c
}

// TestStatusDoesNotLeadInACircle: of two nodes that lost their volumes, status named the replacement of each, and that refused it for the other one; of a
// whole rack also for ever.
func TestStatusDoesNotLeadInACircle(t *testing.T) {
	t.Parallel()
	const first, second, other = "demo-dc1-rack3-0", "demo-dc1-rack3-1", "demo-dc1-rack2-0"
	two := func(a, b string, since time.Duration) *plugintest.Cluster {
		return lostAtBarrier(plugintest.New(3, 2).DownSince(a, since).DownSince(b, since), a, b)
	}
	rack := two(first, second, time.Hour)
	replace := "kubectl scylla replace " + rack.Node(first).HostID
	for name, tc := range map[string]struct {
		c          *plugintest.Cluster
		want, none string // of status
		plan       string // of replace
	}{
		"a whole rack":      {rack, replace, "while the whole rack is DOWN", replace + " --ignore-dead=" + rack.Node(second).HostID + " -n demo"},
		"of two racks":      {two(first, other, time.Hour), replace, "do not replace", replace + " --ignore-dead=" + rack.Node(other).HostID + " -n demo"},
		"for a minute":      {two(first, other, time.Minute), "do not replace it yet: " + first + " (39d4f5a4) has been DOWN since", replace, "down-for failed"},
		"the other is DOWN": {lostAtBarrier(plugintest.New(3, 2).DownSince(first, time.Hour).DownSince(other, time.Hour), first), "do not replace it yet: ", replace, "bring these nodes back first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shows(t, tc.c.Objects(), "barrier "+first, []string{tc.want}, tc.none)
			shows(t, tc.c.Objects(), "replace "+first+" --dry-run=client", []string{tc.plan})
		})
	}
}

// TestStatusNamesTheNewNodeThatNobodyRecorded: status said that its host ID may be that of the member, and the replacement of that member knew the way out.
func TestStatusNamesTheNewNodeThatNobodyRecorded(t *testing.T) {
	const member, old = "demo-dc1-rack4-0", "99990000-7777-4777-8777-777777777777"
	for since, want := range map[time.Duration]string{time.Hour: "Record it on the Service of " + member, time.Minute: "it may be the node of " + member} {
		c := plugintest.New(4, 1).DownSince(member, since)
		objects := edit(heldAtBarrier(c, time.Second, empty), member, func(s *corev1.Service) {
			s.Annotations[api.AnnotationHostID], s.Annotations[api.AnnotationNodeJoined] = old, "true"
			s.Labels[api.LabelReplace], s.Labels[api.LabelReplacingNodeHostID] = "", old
		})
		edit(objects, member, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c.Set("dc1", "rack4"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		})
		shows(t, objects, "status demo --all", []string{want})
	}
}

// TestAForceThatDoesNotCoverIsNotTakenBack: status told who had just forced a start to take the force back, not what it does not cover.
func TestAForceThatDoesNotCoverIsNotTakenBack(t *testing.T) {
	const down = "demo-dc1-rack3-0"
	for overrides, step := range map[string]string{
		"[]": "kubectl scylla barrier demo-dc1-rack1-1 -n demo",
		"":   "kubectl scylla force-proceed demo-dc1-rack1-1 --undo -n demo",
	} {
		c := plugintest.New(3, 1).DownSince(down, time.Hour)
		waits := c.Newcomer("dc1", "rack1", 1)
		c.Service(waits).Annotations = map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceVolume: string(c.Pod(waits).UID)}
		if overrides != "" {
			c.Service(waits).Annotations[api.AnnotationForceOverrides] = overrides
		}
		got := printed(t, c.Objects(), "status demo --all")
		if _, forced, ok := strings.Cut(got, "forced: "+waits); !ok || !strings.Contains(forced, step) {
			t.Errorf("overrides %q: no %q after the force in\n%s", overrides, step, got)
		}
	}
}

// TestStatusTellsOfAReplacementThatWaitsForItsOrder: the Pod of the new node is not created before a lower ordinal, whose barrier waits for that node.
func TestStatusTellsOfAReplacementThatWaitsForItsOrder(t *testing.T) {
	const lower, replaced, orphan, look = "demo-dc1-rack3-0", "demo-dc1-rack3-1", "kubectl delete statefulset demo-dc1-rack3 --cascade=orphan -n demo", "check what demo-dc1-rack3-0 is waiting for"
	for name, tc := range map[string]struct {
		policy     appsv1.PodManagementPolicyType
		operator   bool
		want, none string
	}{
		"in order":                         {policy: appsv1.OrderedReadyPodManagement, want: orphan, none: look},
		"in order, by the Scylla Operator": {policy: appsv1.OrderedReadyPodManagement, operator: true, want: look, none: orphan},
		"in parallel":                      {policy: appsv1.ParallelPodManagement, want: replaced, none: orphan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 2)
			if tc.operator {
				c.Operator()
			}
			lostAtBarrier(c.Replacing(replaced).DownSince(lower, time.Hour), lower).Set("dc1", "rack3").Spec.PodManagementPolicy = tc.policy
			objects := slices.DeleteFunc(c.Objects(), func(o client.Object) bool {
				_, pod := o.(*corev1.Pod)
				return pod && o.GetName() == replaced
			})
			for _, line := range []string{"status demo --all", "replace status"} {
				shows(t, objects, line, []string{tc.want}, tc.none)
			}
		})
	}
}
