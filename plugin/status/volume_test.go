// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// A full volume has the command for its StorageClass, whether the reporter or ScyllaDB's log says that it is full.
func TestAFullVolumeIsEnlargedByItsStorageClass(t *testing.T) {
	t.Parallel()
	class := func(name, provisioner string, expands any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
			"metadata": map[string]any{"name": name}, "provisioner": provisioner}}
		if expands != nil {
			o.Object["allowVolumeExpansion"] = expands
		}
		return o
	}
	const grows = `kubectl patch pvc data-` + loggedBy + ` --type=merge -p '{"spec":{"resources":{"requests":{"storage":"150Gi"}}}}' -n demo`
	for name, tc := range map[string]struct {
		class    *unstructured.Unstructured
		capacity string
		want     []string
		patches  bool
	}{
		"it allows it": {class("fast", "ebs.csi.aws.com", true), "100Gi", []string{
			"enlarge PVC data-" + loggedBy + " (now 100Gi), which cannot be undone: StorageClass fast allows it; 150Gi is an example", grows,
			"The template in StatefulSet demo-dc1-rack3 keeps the old size"}, true},
		"it forbids it":        {class("fast", "ebs.csi.aws.com", nil), "100Gi", []string{"StorageClass fast does not allow PVC data-" + loggedBy, "nodetool " + loggedBy + " -n demo -- listsnapshots"}, false},
		"local volumes":        {class("fast", "kubernetes.io/no-provisioner", true), "100Gi", []string{"has a local volume (StorageClass fast), which cannot be enlarged"}, false},
		"it is not readable":   {class("other", "ebs.csi.aws.com", true), "100Gi", []string{"if its StorageClass fast allows expansion", "kubectl get pvc,storageclass -n demo"}, false},
		"it is being enlarged": {class("fast", "ebs.csi.aws.com", true), "50Gi", []string{"is being enlarged from 50Gi to 100Gi", "kubectl describe pvc data-" + loggedBy}, false},
	} {
		loop := loops("storage_io_error (Storage I/O error: 28: No space left on device)")
		full := plugintest.New(3, 1).Says(func(n plugintest.Node, said *api.NodeStatusReport) {
			if n.Name == loggedBy {
				said.DiskUsedPercent = new(int32(95))
			}
		})
		full.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + loggedBy}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-3", StorageClassName: new("fast")}})
		for what, c := range map[string]*plugintest.Cluster{"log": loop, "reporter": full} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				objects := c.Objects()
				for _, o := range objects {
					if p, ok := o.(*corev1.PersistentVolumeClaim); ok {
						p.Labels = map[string]string{api.LabelCluster: "demo"}
						p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}
						p.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(tc.capacity)}}
					}
				}
				objects = append(objects, tc.class)
				live := plugintest.Run{Args: []string{"status", "demo", "-n", "demo"}, Objects: objects}.Transcript(t)
				saved := plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--from", plugintest.Save(t, objects)}}.Transcript(t)
				text := live + saved
				got := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
				for _, want := range tc.want {
					if strings.Count(got, want) < 2 {
						t.Errorf("want %q in\n%s", want, text)
					}
				}
				if strings.Contains(got, "patch pvc") != tc.patches || !strings.Contains(strings.ToLower(got), "do not delete files on the volume") || strings.Contains(got, "scylla replace ") {
					t.Errorf("patches: want %t in\n%s", tc.patches, text)
				}
			})
		}
	}
}
