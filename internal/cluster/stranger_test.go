// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A volume is fresh only where it is known that nothing ran on it before the Pod of today; it may be another's only where it is known to be older.
func TestAVolumeIsOfThePodThatItWasMadeWith(t *testing.T) {
	t.Parallel()
	const name = "demo-rack1-0"
	made := metav1.NewTime(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	for what, tc := range map[string]struct {
		age             time.Duration // of the claim, when the Pod was made
		change          func(pod *corev1.Pod, pvc *corev1.PersistentVolumeClaim)
		fresh, anothers bool
	}{
		"made together":        {fresh: true},
		"a second older":       {age: time.Second, fresh: true},
		"ten minutes older":    {age: 10 * time.Minute, anothers: true},
		"older, and no volume": {age: 10 * time.Minute, change: func(_ *corev1.Pod, c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "" }},
		"it is deleted":        {change: func(_ *corev1.Pod, c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &made }},
		"nobody knows when":    {change: func(_ *corev1.Pod, c *corev1.PersistentVolumeClaim) { c.CreationTimestamp = metav1.Time{} }},
		"nor of the Pod":       {change: func(p *corev1.Pod, _ *corev1.PersistentVolumeClaim) { p.CreationTimestamp = metav1.Time{} }},
		"the next Pod is late": {age: -time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			st := newStage(t, 2, 1)
			pod := st.Pods[name]
			pod.CreationTimestamp = made
			pvc := corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "data-" + name, CreationTimestamp: metav1.NewTime(made.Add(-tc.age))},
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
			}
			if tc.change != nil {
				tc.change(pod, &pvc)
			}
			o := st.cluster(SourceAuto).Objects
			o.PVCs, o.Read = []corev1.PersistentVolumeClaim{pvc}, o.Read|KindPVCs
			c := New(o, SourceAuto, made.Add(time.Hour))
			if got := c.FreshVolume(name); got != tc.fresh {
				t.Errorf("fresh %v, want %v", got, tc.fresh)
			}
			if got := c.HadAnotherPod(name); got != tc.anothers {
				t.Errorf("of another Pod %v, want %v", got, tc.anothers)
			}
		})
	}
}

// A Pod whose ScyllaDB has run on its volume, and which waits at its barrier, may be the node that nobody knows. It records one that was removed.
func TestAPodAtItsBarrierMayHaveJoined(t *testing.T) {
	const name = "demo-rack2-0"
	for what, tc := range map[string]struct {
		launcher bool
		restarts int32
		older    time.Duration // its PVC than its Pod
		ours     bool
	}{
		"the first Pod of its PVC":                  {},
		"ScyllaDB has run in it":                    {restarts: 1, ours: true},
		"another Pod had the PVC":                   {older: time.Minute, ours: true},
		"its launcher waits":                        {launcher: true},
		"its launcher waits, after ScyllaDB ran":    {launcher: true, restarts: 1, ours: true},
		"its launcher waits, another Pod had a PVC": {launcher: true, older: time.Minute, ours: true},
	} {
		st := newStage(t, 2, 1)
		st.Services[name].Annotations[api.AnnotationHostID] = "99999999-0000-4000-8000-000000000009"
		pod := st.Pods[name]
		pod.Annotations, pod.CreationTimestamp = map[string]string{}, metav1.NewTime(start)
		scylla, barrier := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		if tc.launcher {
			scylla, barrier = barrier, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			pod.Annotations[api.AnnotationBarrier] = `{"launcher":true}`
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, RestartCount: tc.restarts, State: scylla}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: barrier}}
		o := st.cluster(SourceAuto).Objects
		o.PVCs, o.Read = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "data-" + name, CreationTimestamp: metav1.NewTime(start.Add(-tc.older))},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
		}}, o.Read|KindPVCs
		why := New(o, SourceAuto, start.Add(time.Hour)).WhyNotRemovable(hostid.Known(hostID(2, 0)))
		if got := why.Code == words.StrangerMayBeOurs; got != tc.ours {
			t.Errorf("%s: %s %v", what, why.Code, why.Params)
		}
	}
}

// A host ID that no member has may be that of a node which runs unrecorded. A launcher that waits in its container is no node: it waited for the removal of that host
// ID, and the removal was not offered because of it.
func TestAWaitingLauncherIsNoUnrecordedNode(t *testing.T) {
	t.Parallel()
	const name = "demo-rack2-0"
	for what, tc := range map[string]struct {
		waits    bool
		restarts int32
		ours     bool
	}{
		"ScyllaDB runs":                          {ours: true},
		"the launcher waits":                     {waits: true},
		"the launcher waits, after ScyllaDB ran": {waits: true, restarts: 1, ours: true},
	} {
		st := newStage(t, 2, 1)
		st.Services[name].Annotations = nil
		pod := st.Pods[name]
		pod.Annotations = map[string]string{}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, RestartCount: tc.restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
		if tc.waits {
			value, err := api.EncodeBarrierWait(&api.BarrierWait{Launcher: true})
			if err != nil {
				t.Fatal(err)
			}
			pod.Annotations[api.AnnotationBarrier] = value
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(start.Add(-time.Hour))}}
		if got := st.cluster(SourceAuto).Halted(name).Code == words.ScyllaDBStartsLong; got == tc.waits {
			t.Errorf("%s: starting for long: %t", what, got)
		}
		why := st.cluster(SourceAuto).WhyNotRemovable(hostid.Known(hostID(2, 0)))
		if got := why.Code == words.StrangerMayBeOurs; got != tc.ours {
			t.Errorf("%s: %s, which says that it may be of a member here: %t, want %t", what, why.Code, got, tc.ours)
		}
	}
}
