// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// refuseUnfinished refuses an older version while an operation is in progress that it may be unable
// to finish. Such an operation is a replacement, a roll of inject, or a join with a permit.
func (o *options) refuseUnfinished(ctx context.Context, c client.Client) error {
	var open []string
	for _, look := range []func(context.Context, client.Client) ([]string, error){replacements, rolls, permits} {
		found, err := look(ctx, c)
		if err != nil {
			return exit.WithHint(err,
				"an older version is installed only if it is certain that no operation is in progress")
		}
		open = append(open, found...)
	}
	if len(open) == 0 {
		return nil
	}
	slices.Sort(open)
	return exit.WithHint(exit.Refusedf("an older version could be unable to finish: %s", strings.Join(open, "; ")),
		"wait until it has finished, or cancel it", words.Scylla("", "status", "-A")...)
}

func replacements(ctx context.Context, c client.Client) ([]string, error) {
	services := metav1.PartialObjectMetadataList{}
	services.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ServiceList"})
	if err := c.List(ctx, &services, client.HasLabels{api.LabelCluster}); err != nil {
		return nil, fmt.Errorf("list Services to find open replacements: %w", err)
	}
	var open []string
	for i := range services.Items {
		s := &services.Items[i]
		_, asked := s.Labels[api.LabelReplace]
		_, begun := s.Labels[api.LabelReplacingNodeHostID]
		if asked || begun {
			open = append(open, fmt.Sprintf("the replacement of member %s/%s", s.Namespace, s.Name))
		}
	}
	return open, nil
}

func rolls(ctx context.Context, c client.Client) ([]string, error) {
	sets := metav1.PartialObjectMetadataList{}
	sets.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSetList"})
	if err := c.List(ctx, &sets); err != nil {
		return nil, fmt.Errorf("list StatefulSets to find unfinished injects: %w", err)
	}
	var open []string
	for i := range sets.Items {
		if s := &sets.Items[i]; s.Annotations[api.AnnotationRolling] != "" {
			open = append(open, fmt.Sprintf("inject of statefulset %s/%s", s.Namespace, s.Name))
		}
	}
	return open, nil
}

func permits(ctx context.Context, c client.Client) ([]string, error) {
	reports := unstructured.UnstructuredList{}
	reports.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBStatusReportList"))
	if err := c.List(ctx, &reports); meta.IsNoMatchError(err) {
		return nil, nil // no CRD, no permit
	} else if err != nil {
		return nil, fmt.Errorf("list ScyllaDBStatusReports to find permits: %w", err)
	}
	var open []string
	for i := range reports.Items {
		r := &reports.Items[i]
		given, _, err := unstructured.NestedSlice(r.Object, "status", "view", "permits")
		if err != nil {
			return nil, fmt.Errorf("read the permits of scylladbstatusreport %s/%s: %w", r.GetNamespace(), r.GetName(),
				err)
		}
		if len(given) > 0 {
			open = append(open, fmt.Sprintf("a join with a permit of cluster %s/%s", r.GetNamespace(), r.GetName()))
		}
	}
	return open, nil
}
