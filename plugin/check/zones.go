// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// zones reads the zone labels of the Pods' Kubernetes nodes; without permission they are unknown.
func zones(ctx context.Context, c client.Client, pods []corev1.Pod) map[string]string {
	const pages = 20
	var names []string
	for i := range pods {
		if name := pods[i].Spec.NodeName; name != "" {
			names = append(names, name)
		}
	}
	nodes, err := kube.KubernetesNodes(ctx, c, names, pages)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for i := range nodes {
		out[nodes[i].Name] = nodes[i].Labels[corev1.LabelTopologyZone]
	}
	return out
}
