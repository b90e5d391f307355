// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StorageClass is the name of the cluster's only StorageClass, which is also the default one. It gives each PVC an
// empty directory on the Kubernetes node that its first pod is scheduled to, and wipes it when the PVC goes.
const StorageClass = "local"

const (
	provisioner      = "local.test-cluster"
	annSelectedNode  = "volume.kubernetes.io/selected-node"
	annProvisionedBy = "pv.kubernetes.io/provisioned-by"
	provisionRetry   = time.Second
	provisionSettle  = 10 * time.Millisecond // lets the claims of one StatefulSet come in together
	volumesDir       = "volumes"
	labelHostname    = "kubernetes.io/hostname"
	annDefaultClass  = "storageclass.kubernetes.io/is-default-class"
)

func storageClass() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: StorageClass, Annotations: map[string]string{annDefaultClass: "true"}},
		Provisioner:       provisioner,
		ReclaimPolicy:     ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
}

// provision makes volumes for claims and removes those that were released, until ctx ends. It looks at everything
// after each change of a claim or volume and once a second, so that nothing it misses while the API server is down
// stays undone.
func (c *Cluster) provision(ctx context.Context) {
	changed := make(chan struct{}, 1)
	c.tasks.Go(func() { c.notify(ctx, &corev1.PersistentVolumeClaimList{}, changed) })
	c.tasks.Go(func() { c.notify(ctx, &corev1.PersistentVolumeList{}, changed) })
	for {
		if err := c.provisionOnce(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(c.opts.Log, "storage: %v\n", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(provisionRetry):
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(provisionSettle):
		}
	}
}

// notify puts a token into changed for each change of the objects of a kind, until ctx ends.
func (c *Cluster) notify(ctx context.Context, list client.ObjectList, changed chan<- struct{}) {
	for ctx.Err() == nil {
		w, err := c.client.Watch(ctx, list)
		if err == nil {
			drain(w, changed)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func drain(w watch.Interface, changed chan<- struct{}) {
	defer w.Stop()
	for range w.ResultChan() {
		select {
		case changed <- struct{}{}:
		default: // one look for all
		}
	}
}

func (c *Cluster) provisionOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var claims corev1.PersistentVolumeClaimList
	if err := c.client.List(ctx, &claims); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	var errs []error // one claim that cannot be served must not hold up the others
	for i := range claims.Items {
		claim := &claims.Items[i]
		if ptr.Deref(claim.Spec.StorageClassName, "") != StorageClass || claim.Spec.VolumeName != "" ||
			claim.Status.Phase != corev1.ClaimPending || claim.DeletionTimestamp != nil || claim.Annotations[annSelectedNode] == "" {
			continue
		}
		if err := c.createVolume(ctx, claim); err != nil {
			errs = append(errs, fmt.Errorf("provision volume for claim %s/%s: %w", claim.Namespace, claim.Name, err))
		}
	}
	var volumes corev1.PersistentVolumeList
	if err := c.client.List(ctx, &volumes); err != nil {
		return errors.Join(append(errs, fmt.Errorf("list volumes: %w", err))...)
	}
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		if volume.Annotations[annProvisionedBy] != provisioner || volume.DeletionTimestamp != nil ||
			volume.Status.Phase != corev1.VolumeReleased || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			continue
		}
		if err := c.removeVolume(ctx, volume); err != nil {
			errs = append(errs, fmt.Errorf("remove volume %s: %w", volume.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) createVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	node := claim.Annotations[annSelectedNode]
	name := "pvc-" + string(claim.UID)
	dir := filepath.Join("nodes", node, volumesDir, name)
	if err := os.Mkdir(filepath.Join(c.dir, dir), 0o777); err != nil && !os.IsExist(err) {
		return err
	}
	// Whatever the umask: containers run as any user.
	if err := os.Chmod(filepath.Join(c.dir, dir), 0o777); err != nil {
		return err
	}
	err := c.client.Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annProvisionedBy: provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              StorageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: c.in(dir)}},
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: labelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	})
	if apierrors.IsAlreadyExists(err) { // the claim is about to be bound to it
		return nil
	}
	return err
}

func (c *Cluster) removeVolume(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volume.Spec.Local == nil {
		return nil
	}
	rel, err := filepath.Rel(c.base, volume.Spec.Local.Path)
	if err != nil || !filepath.IsLocal(rel) || filepath.Base(filepath.Dir(rel)) != volumesDir {
		return fmt.Errorf("its path %s is not one of the cluster's volumes; it is left alone", volume.Spec.Local.Path)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, rel)); err != nil {
		return err
	}
	return client.IgnoreNotFound(c.client.Delete(ctx, volume))
}
