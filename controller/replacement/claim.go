// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

// A PVC is deleted in three steps, because a request may be delayed in transit for any time. The
// controller marks the PVC, reads and judges everything again, and then deletes it with its UID and
// the resourceVersion of the mark as preconditions. A controller that decides otherwise in between
// first removes the mark, so that a delayed deletion fails. Pods that are not newer than the mark
// come from an API server that returns old objects, and delete nothing.
const (
	// settle is the time from the mark to the deletion. If a node recovers, its peers report it UP
	// within one or two seconds.
	settle = 3 * time.Second
	// markedFor is how long a mark is valid: an older one may be from a process that ended after it
	// sent the deletion.
	markedFor = 30 * time.Second
	// deleteTimeout limits the deletion request. After it everything is judged again.
	deleteTimeout = 2 * time.Second
)

// deleteClaim marks the PVC, or deletes it if the mark is old enough. pods is the resourceVersion
// of the list of Pods that was judged. wait is the remaining time, 0 if the deletion was requested.
func (r *reconciler) deleteClaim(ctx context.Context, step replace.Step, pods string) (wait time.Duration,
	err error) {
	claim, now := step.Claim, r.o.Clock.Now()
	request, at, _ := strings.Cut(claim.Annotations[api.AnnotationReplaceDeleting], " ")
	marked, bad := time.Parse(time.RFC3339Nano, at)
	stood := now.Sub(marked)
	if bad != nil || request != step.Request || stood < 0 || stood > markedFor {
		return settle, kube.PatchMetadata(ctx, r.o.Client, claim, func(p *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, api.AnnotationReplaceDeleting, step.Request+" "+
				now.UTC().Format(time.RFC3339Nano))
		})
	}
	if stood < settle {
		return settle - stood, nil
	}
	// A controller of ours renews its Lease within settle, so a current list is newer.
	if c, err := resourceversion.CompareResourceVersion(pods, claim.ResourceVersion); err == nil && c <= 0 {
		return 0, fmt.Errorf("keep persistentvolumeclaim %s/%s: the list of Pods has resourceVersion %s, which is not "+
			"newer than %s of the PVC: the API server returns old objects", claim.Namespace, claim.Name, pods,
			claim.ResourceVersion)
	}
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	err = r.o.Client.Delete(ctx, claim,
		client.Preconditions{UID: ptr.To(claim.UID), ResourceVersion: ptr.To(claim.ResourceVersion)})
	if err != nil {
		return 0, fmt.Errorf("delete persistentvolumeclaim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return 0, nil
}

// recallDeletions removes the marks from the member's PVCs, so that a delayed deletion fails.
func (r *reconciler) recallDeletions(ctx context.Context, reading *reading, member string) (changed bool,
	err error) {
	var errs []error
	for _, claim := range reading.Cluster.Claims(member) {
		if _, marked := claim.Annotations[api.AnnotationReplaceDeleting]; !marked || claim.DeletionTimestamp != nil {
			continue
		}
		err := kube.PatchMetadata(ctx, r.o.Client, claim,
			func(p *corev1.PersistentVolumeClaim) { delete(p.Annotations, api.AnnotationReplaceDeleting) })
		changed, errs = true, append(errs, client.IgnoreNotFound(err))
	}
	return changed, errors.Join(errs...)
}

func (r *reconciler) keepClaim(ctx context.Context, step replace.Step) error {
	return kube.PatchMetadata(ctx, r.o.Client, step.Claim, func(p *corev1.PersistentVolumeClaim) {
		delete(p.Annotations, api.AnnotationReplaceDeleting)
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, api.AnnotationReplaceKept, step.Request)
	})
}

// evict ends the old Pod through the eviction API, which respects disruption budgets. A Pod that
// became Ready since the read has another resourceVersion, and remains.
func (r *reconciler) evict(ctx context.Context, reading *reading, svc *corev1.Service,
	step replace.Step) error {
	pod := reading.Cluster.Pod(svc.Name)
	if pod == nil || string(pod.UID) != step.PodUID {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	err := r.o.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID), ResourceVersion: ptr.To(pod.ResourceVersion)}},
	})
	if err != nil {
		return fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
