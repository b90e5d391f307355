// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter/publish"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// writeTries is how often one row is written while other clients write to the Pod.
const writeTries = 3

// readBack reads the annotation's present value and the Pod's resourceVersion. Error: errReplaced,
// and the API server's.
func (r *reporter) readBack(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, publish.RequestTimeout)
	defer cancel()
	pod := ownPod(r.Namespace, r.Pod)
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return nil, err
	}
	if r.PodUID != "" && pod.UID != r.PodUID {
		return nil, r.replaced()
	}
	r.version = pod.ResourceVersion
	next := r.Clock.Now().Add(wait.Jitter(publish.CheckEvery, checkJitter))
	r.state.Read(pod.Annotations[api.AnnotationNodeStatusReport], next)
	return pod, nil
}

// write writes the annotation. A late or repeated write must not restore an old row: each write
// requires the last known resourceVersion, and after an unknown result the annotation is read back
// for a while.
func (r *reporter) write(ctx context.Context, value string) error {
	var err error
	for range writeTries {
		if err = r.patch(ctx, value); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			if err != nil {
				r.state.Doubt(r.Clock.Now())
			}
			return err
		}
		// Usually the kubelet has updated the Pod's status; else the Pod was replaced or etcd
		// restored.
		if _, err := r.readBack(ctx); err != nil {
			return err
		}
		if r.state.Has(value) {
			return nil
		}
	}
	// not as a conflict: the Pod is the same one
	return fmt.Errorf("repeated write conflicts on the Pod: %s", err.Error())
}

func (r *reporter) patch(ctx context.Context, value string) error {
	ctx, cancel := context.WithTimeout(ctx, publish.RequestTimeout)
	defer cancel()
	// The API server refuses (409) if a new Pod has this name, or the Pod was written since.
	fields := map[string]any{"uid": r.PodUID, "annotations": map[string]string{api.AnnotationNodeStatusReport: value}}
	if r.version != "" {
		fields["resourceVersion"] = r.version
	}
	patch, err := json.Marshal(map[string]any{"metadata": fields})
	if err != nil {
		return err
	}
	pod := ownPod(r.Namespace, r.Pod)
	if err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	r.version = pod.ResourceVersion
	return nil
}
