// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// startWithOne hands the replicas of a StatefulSet to our controller: the annotation has the wanted
// number, and spec.replicas is removed, so that Kubernetes creates one Pod. It must not be 1: each
// later apply of the manifest would scale a grown cluster down.
func (m *Manifest) startWithOne(u *unstructured.Unstructured) error {
	s, err := typed(u)
	if err != nil {
		return err
	}
	a := s.Annotations
	wanted, is := a[api.AnnotationWantedReplicas]
	switch {
	case s.Spec.Replicas == nil && is:
		return nil // by an earlier injection
	case s.Spec.Replicas == nil || *s.Spec.Replicas < 1:
		err = errors.New("spec.replicas: set the wanted number of members, which is kept in an annotation")
	case is && wanted != strconv.Itoa(int(*s.Spec.Replicas)):
		err = fmt.Errorf("spec.replicas is %d, annotation %s is %q: remove the wrong one", *s.Spec.Replicas,
			api.AnnotationWantedReplicas, api.Clip(wanted, 60))
	}
	if err != nil {
		return fmt.Errorf("inject %s: %w", Name(u), err)
	}
	if a == nil {
		a = map[string]string{}
	}
	a[api.AnnotationWantedReplicas] = strconv.Itoa(int(*s.Spec.Replicas))
	u.SetAnnotations(a)
	delete(child(u.Object, "spec"), "replicas")
	m.HandedOver = append(m.HandedOver, types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})
	return nil
}
