// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Commands that people paste contain names. A file can have names that no API server accepts, and kubectl would take this one for an option that sends the user's token to a
// server of the attacker.
func TestAttack5AFileHasNoNamesThatAreOptions(t *testing.T) {
	const option = "--server=http://evil"
	for name, change := range map[string]func(*corev1.Pod){
		"none: it is read":          func(*corev1.Pod) {},
		"name":                      func(p *corev1.Pod) { p.Name = option },
		"namespace":                 func(p *corev1.Pod) { p.Namespace = option },
		"cluster":                   func(p *corev1.Pod) { p.Labels[api.LabelCluster] = option },
		"rack":                      func(p *corev1.Pod) { p.Labels[api.LabelRack] = option },
		"rack that ends in a dash":  func(p *corev1.Pod) { p.Labels[api.LabelRack] = "rack-" },
		"Kubernetes node":           func(p *corev1.Pod) { p.Spec.NodeName = option },
		"container":                 func(p *corev1.Pod) { p.Spec.Containers[0].Name = option },
		"container with a newline":  func(p *corev1.Pod) { p.Spec.Containers[0].Name = "scylla\n" },
		"claim":                     func(p *corev1.Pod) { p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = option },
		"name with a shell's words": func(p *corev1.Pod) { p.Name = "x;id" },
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-rack1-0", Labels: map[string]string{api.LabelCluster: "demo", api.LabelRack: "Rack_1.a"}},
				Spec: corev1.PodSpec{NodeName: "node-1.example", Containers: []corev1.Container{{Name: "scylla"}}, Volumes: []corev1.Volume{{
					VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-demo-rack1-0"}},
				}}},
			}
			change(pod)
			text, err := json.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			clusters, err := kube.Read(strings.NewReader(string(text)))
			if read := strings.HasPrefix(name, "none"); read != (err == nil) || read && len(clusters) != 1 {
				t.Errorf("%d clusters, %v", len(clusters), err)
			}
		})
	}
}
