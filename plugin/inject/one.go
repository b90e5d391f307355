// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
)

// addOne adds flag --start-with-one.
func (o *options) addOne(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.o.StartWithOne, "start-with-one", false,
		"Start a new cluster with one member: replace spec.replicas by annotation "+api.AnnotationWantedReplicas+
			"; the controller raises the number once the first node has joined. Only with -f.")
}

// checkOne checks the arguments of --start-with-one.
func (o *options) checkOne() error {
	switch {
	case !o.o.StartWithOne:
		return nil
	case o.undo:
		return exit.Usagef("--start-with-one cannot be used with --undo")
	case o.cluster != "":
		return exit.Usagef("--start-with-one requires -f: a running cluster keeps its number of members")
	}
	return nil
}

// mayStartWithOne refuses a StatefulSet that exists: kubectl apply would remove spec.replicas from
// it, and Kubernetes would scale it down to 1. One that was applied without spec.replicas keeps its
// number.
func (o *options) mayStartWithOne(ctx context.Context, sets []types.NamespacedName) error {
	if len(sets) == 0 {
		return nil
	}
	c, err := o.d.NewClient()
	if err != nil {
		return err
	}
	for _, key := range sets {
		key.Namespace = cmp.Or(key.Namespace, o.o.Namespace)
		set := &appsv1.StatefulSet{}
		switch err := c.Get(ctx, key, set); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("read statefulset %s: %w", key, err)
		case !handedOver(set):
			return exit.WithHint(exit.Refusedf("--start-with-one: statefulset %s exists, and applying a manifest "+
				"without spec.replicas would scale it down to 1", key), "run inject without --start-with-one")
		}
	}
	return nil
}

// handedOver reports whether the StatefulSet has the annotation and was last applied without
// spec.replicas.
func handedOver(set *appsv1.StatefulSet) bool {
	var last appsv1.StatefulSet
	err := json.Unmarshal([]byte(set.Annotations[corev1.LastAppliedConfigAnnotation]), &last)
	return err == nil && last.Spec.Replicas == nil && last.Annotations[api.AnnotationWantedReplicas] != "" &&
		set.Annotations[api.AnnotationWantedReplicas] != ""
}
