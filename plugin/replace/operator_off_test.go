// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// phase is a replacement by the Scylla Operator, as its objects show it.
type phase struct {
	original        string // recorded on the Service
	hostID          string // of the Service, oldID where empty
	noClaim, noPod  bool
	newPod, listed  bool // a new Pod; the rows of the others list the new node as UP
	ready, oldGone  bool
	claimTerminates bool
}

// at are the objects of a phase. off scales the operator to 0.
func (p phase) at(off bool) []client.Object {
	c := dead()
	if off {
		c.Operator().Add(operatorObjects(0, 0, "operator-1", plugintest.Now.Add(-time.Hour))...)
	} else {
		operated(c)
	}
	svc, pod := c.Service(target), c.Pod(target)
	svc.Labels[api.LabelReplace] = ""
	if p.original != "" {
		svc.Labels[api.LabelReplacingNodeHostID] = p.original
	}
	if p.hostID != "" {
		svc.Annotations[api.AnnotationHostID] = p.hostID
	}
	if p.newPod {
		pod.UID = "new"
		c.NoRow(target)
		for i := range pod.Status.ContainerStatuses {
			s := &pod.Status.ContainerStatuses[i]
			*s = corev1.ContainerStatus{Name: s.Name, Ready: p.ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-time.Minute))}}}
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[p.ready]}}
	}
	objects := slices.DeleteFunc(c.Objects(), func(o client.Object) bool {
		_, isPod := o.(*corev1.Pod)
		return p.noPod && isPod && o.GetName() == target || p.noClaim && o.GetName() == "data-"+target
	})
	for _, o := range objects {
		switch o := o.(type) {
		case *api.ScyllaDBDatacenterNodesStatusReport:
			for i := range o.Racks {
				for j := range o.Racks[i].Nodes {
					p.row(&o.Racks[i].Nodes[j])
				}
			}
		case *corev1.Pod:
			delete(o.Annotations, api.AnnotationNodeStatusReport)
		}
	}
	if p.claimTerminates {
		objects = terminating(objects)
	}
	return objects
}

func (p phase) row(n *api.NodeReport) {
	if len(n.ObservedNodes) == 0 {
		return
	}
	if p.oldGone {
		n.ObservedNodes = slices.DeleteFunc(n.ObservedNodes, func(o api.ObservedNode) bool { return o.HostID == oldID })
	}
	if p.listed {
		n.ObservedNodes = append(n.ObservedNodes, api.ObservedNode{HostID: newID(1), Status: api.NodeStatusUp})
	}
}

// Each phase has its own cause and step while the Scylla Operator is off. Until now the request should be withdrawn after its claim was gone, and a report out of date ended with 0.
func TestEachPhaseWhileTheOperatorIsOff(t *testing.T) {
	t.Parallel()
	const withdraw, keep, end = "or withdraw the request while nothing is deleted", "do not withdraw the request", "which removes the labels when the new node has joined"
	for name, tc := range map[string]struct {
		at    phase
		cause string
		step  string
	}{
		"requested":                          {phase{}, "nothing happens: the Scylla Operator is scaled to 0", withdraw},
		"the claim is being deleted":         {phase{claimTerminates: true}, "host ID of the dead node is not recorded yet: the Scylla Operator is scaled to 0", keep},
		"the claim is gone":                  {phase{noClaim: true}, "host ID of the dead node is not recorded yet", keep},
		"claim and Pod are gone":             {phase{noClaim: true, noPod: true}, "host ID of the dead node is not recorded yet", keep},
		"recorded, no Pod":                   {phase{original: oldID, noPod: true}, "waiting for the new Pod", end},
		"the new node starts":                {phase{original: oldID, newPod: true}, "report may be out of date: the Scylla Operator is scaled to 0", end},
		"it is UP, and no Service names it":  {phase{original: oldID, newPod: true, listed: true}, "report may be out of date", end},
		"it is named, and not in the report": {phase{original: oldID, hostID: newID(1), newPod: true}, "report may be out of date", end},
		"it has joined":                      {phase{original: oldID, hostID: newID(1), newPod: true, listed: true}, "report may be out of date", end},
		"it is Ready":                        {phase{original: oldID, hostID: newID(1), newPod: true, listed: true, ready: true, oldGone: true}, "", end},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, source := range []string{"auto", "report"} {
				text, code := says(t, tc.at.at(true), "replace", "status", "--source="+source)
				if code != 3 || !strings.Contains(text, tc.cause) || !strings.Contains(text, tc.step) || tc.step != withdraw && strings.Contains(text, withdraw) || strings.Contains(text, "Orphaned host IDs") {
					t.Errorf("--source=%s: exit %d, want 3, %q and %q, and one replacement:\n%s", source, code, tc.cause, tc.step, text)
				}
				if text, _ := says(t, tc.at.at(true), "status", "--source="+source); !strings.Contains(text, "1 replacement open") {
					t.Errorf("status --source=%s: want one replacement:\n%s", source, text)
				}
			}
			text, code := says(t, tc.at.at(false), "replace", "status")
			if code == 3 || strings.Contains(text, "scaled to 0") {
				t.Errorf("while it runs: exit %d\n%s", code, text)
			}
		})
	}
}

// says are the words of a command and its exit code.
func says(t *testing.T, objects []client.Object, args ...string) (string, int) {
	t.Helper()
	got := plugintest.Run{Args: append(args, "-n", "demo"), Objects: objects}.Do(t)
	return strings.Join(strings.Fields(got.Stdout), " "), got.Code
}
