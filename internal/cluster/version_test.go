// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// TestVersionOfWhatRuns: the Scylla Operator's reporters write no version. The tag of an image is one only for the container that runs it.
func TestVersionOfWhatRuns(t *testing.T) {
	t.Parallel()
	const old, want = "docker.io/scylladb/scylla:2025.1.4", "scylladb/scylla:2026.2.4"
	cases := map[string]struct {
		image  string // that the kubelet reports
		change func(*corev1.Pod)
		want   string
	}{
		"the image of the spec runs":        {image: "docker.io/" + want, want: "2026.2.4"},
		"by tag and digest":                 {image: want + "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", want: "2026.2.4"},
		"another image than the spec's":     {image: old, want: "2025.1.4"},
		"a digest alone":                    {image: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		"latest":                            {image: "scylladb/scylla:latest"},
		"the kubelet has reported no image": {},
		"not started": {image: want, change: func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		}},
		"ended within the container": {image: want, change: func(p *corev1.Pod) {
			p.Annotations[api.AnnotationNodeStatusReport] = `{"observedNodes":[],"process":{"state":"FATAL"}}`
		}},
		"being deleted": {image: want, change: func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(stage.Now)) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := stage.NewCluster("demo", "demo", "dc1", 3, 1).OperatorObjects("dc1", nil)
			in := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}, Read: cluster.KindServices | cluster.KindPods}
			for _, o := range objects {
				switch o := o.(type) {
				case *corev1.Service:
					in.Services = append(in.Services, *o)
				case *corev1.Pod:
					o.Status.ContainerStatuses[0].Image = tc.image
					if tc.change != nil {
						tc.change(o)
					}
					in.Pods = append(in.Pods, *o)
				}
			}
			for _, m := range cluster.New(in, cluster.SourceAuto, stage.Now).Members() {
				if m.Version != tc.want {
					t.Errorf("%s runs %q, want %q", m.Member, m.Version, tc.want)
				}
			}
		})
	}
}
