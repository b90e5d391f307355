// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestReservedPortIsOthersNotToTake(t *testing.T) {
	r, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)))
	if err == nil {
		_ = l.Close()
		t.Error("a reserved port was taken")
	}
}

func newProvisionerTest(t *testing.T, objects ...client.Object) *Cluster {
	t.Helper()
	c := &Cluster{dir: t.TempDir(), base: insideState,
		client: fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.PersistentVolume{}).Build()}
	if err := os.MkdirAll(filepath.Join(c.dir, "nodes", "node1", volumesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func pendingClaim(name, node string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "uid-of-claim", Annotations: map[string]string{annSelectedNode: node}},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To(StorageClass)},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}

func TestProvisionerServesOneClaimThoughAnotherCannotBeServed(t *testing.T) {
	c := newProvisionerTest(t, pendingClaim("a-nowhere", "node9"), pendingClaim("data", "node1"))
	err := c.provisionOnce(t.Context())
	if err == nil || !strings.Contains(err.Error(), "claim demo/a-nowhere") {
		t.Errorf("got error %v, want it to name the claim on a node that does not exist", err)
	}
	var pv corev1.PersistentVolume
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "pvc-uid-of-claim"}, &pv); err != nil {
		t.Fatal(err)
	}
	if want := insideState + "/nodes/node1/volumes/pvc-uid-of-claim"; pv.Spec.Local.Path != want || pv.Spec.ClaimRef.Name != "data" {
		t.Errorf("volume has path %s for claim %s, want %s for data", pv.Spec.Local.Path, pv.Spec.ClaimRef.Name, want)
	}
	info, err := os.Stat(filepath.Join(c.dir, "nodes", "node1", volumesDir, pv.Name))
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("its directory has mode %v, error %v", info, err)
	}
}

func TestProvisionerWipesReleasedVolumesAndOnlyItsOwn(t *testing.T) {
	volume := func(name, path string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annProvisionedBy: provisioner}},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}}},
			Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeReleased},
		}
	}
	bound := volume("bound", insideState+"/nodes/node1/volumes/bound")
	bound.Status.Phase = corev1.VolumeBound
	c := newProvisionerTest(t, volume("done", insideState+"/nodes/node1/volumes/done"), bound,
		volume("outside", insideState+"/nodes/node1/volumes/../../../../.."), volume("high", insideState+"/nodes/node1"))
	for _, dir := range []string{"done", "bound"} {
		path := filepath.Join(c.dir, "nodes", "node1", volumesDir, dir)
		if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err := c.provisionOnce(t.Context())
	if err == nil || strings.Count(err.Error(), "is not one of the cluster's volumes") != 2 {
		t.Errorf("got error %v, want the two paths outside refused", err)
	}
	left, err := os.ReadDir(filepath.Join(c.dir, "nodes", "node1", volumesDir))
	if err != nil || len(left) != 1 || left[0].Name() != "bound" {
		t.Errorf("directories left are %v (error %v), want only the bound one", left, err)
	}
	var pv corev1.PersistentVolume
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "done"}, &pv); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the volume object is still there (error %v)", err)
	}
}
