// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestC6WhatASilentReporterProves: a dead process makes its row old at once; of a lost machine the kubelet's last word stays, so that the row counts until Kubernetes
// or the peers' gossip says otherwise. Either way the newcomer's verdict names the member.
func TestC6WhatASilentReporterProves(t *testing.T) {
	t.Parallel()
	const silent = "demo-rack2-0"
	crashed := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	tests := map[string]struct {
		change func(st *scene, pod *corev1.Pod)
		want   words.Code // empty: the newcomer may start
	}{
		"nothing has ended, or the machine a moment ago": {func(*scene, *corev1.Pod) {}, ""}, // the kubelet's silence is not noticed yet: the objects are the same
		"its process has ended":                          {func(_ *scene, pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].State = crashed }, words.RowStale},
		"its process hangs":                              {func(_ *scene, pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].Ready = false }, words.RowStale},
		"the machine, by gossip":                         {func(st *scene, _ *corev1.Pod) { peersSeeDown(t, st, silent) }, words.NodeDown},
		"the kubelet was missed":                         {func(_ *scene, pod *corev1.Pod) { pod.Status.Conditions[1].Status = corev1.ConditionFalse }, words.RowStale},
		"its ScyllaDB has no word":                       {func(_ *scene, pod *corev1.Pod) { delete(pod.Annotations, api.AnnotationNodeStatusReport) }, words.RowMissing},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 3, 1)
			newcomer := st.Newcomer(1, 1)
			tc.change(st, st.Pods[silent])
			v, err := bootstrap.VerdictOf(st.cluster(SourceAnnotation), newcomer)
			if err != nil {
				t.Fatal(err)
			}
			if v.Satisfied != (tc.want == "") {
				t.Fatalf("satisfied %v: %v", v.Satisfied, v.Blockers)
			}
			for _, b := range v.Blockers {
				if b.Reason == tc.want && (b.Observed.Member == silent || b.Observer.Member == silent) {
					return
				}
			}
			if tc.want != "" {
				t.Errorf("no %s that names %s: %v", tc.want, silent, v.Blockers)
			}
		})
	}
}

// peersSeeDown lets all other members' rows say that the member is DOWN.
func peersSeeDown(t *testing.T, st *scene, member string) {
	t.Helper()
	changeRows(t, st, member, func(row *api.NodeStatusReport, id hostid.ID) {
		for i := range row.ObservedNodes {
			if row.ObservedNodes[i].HostID == id {
				row.ObservedNodes[i].Status = api.NodeStatusDown
			}
		}
	})
}

// changeRows changes the rows of all others but the member, whose host ID is given.
func changeRows(t *testing.T, st *scene, member string, change func(*api.NodeStatusReport, hostid.ID)) {
	t.Helper()
	id := hostid.ID(st.Services[member].Annotations[api.AnnotationHostID])
	for name, pod := range st.Pods {
		if name == member || pod.Annotations[api.AnnotationNodeStatusReport] == "" {
			continue
		}
		row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
		if err != nil {
			t.Fatal(err)
		}
		change(row, id)
		setRow(t, pod, row)
	}
}
