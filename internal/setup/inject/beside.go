// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// checkOperator refuses a cluster whose namespace and name an object of the Scylla Operator has.
// The operator does not select our label, but the status reports of both clusters have one
// selector, so each barrier would wait for the nodes of both. An injected cluster gets a warning
// only, because this change takes its StatefulSets out of the operator's reach.
func (p *plan) checkOperator(beside []*unstructured.Unstructured) {
	namespace := cmp.Or(p.set.Namespace, p.o.Namespace)
	for _, u := range beside {
		if !slices.Contains(api.OperatorGVKs, u.GroupVersionKind()) || u.GetName() != p.clusterName ||
			cmp.Or(u.GetNamespace(), p.o.Namespace) != namespace {
			continue
		}
		if p.injected {
			p.note("%s %s/%s of the Scylla Operator has the name of this cluster: the barriers of both wait for the "+
				"nodes of both; the StatefulSet gets a label that the operator does not select", u.GetKind(), namespace,
				u.GetName())
			continue
		}
		p.refuse("%s %s/%s of the Scylla Operator has the name of this cluster, so the barriers of both would wait "+
			"for the nodes of both: create one of the two clusters in another namespace", u.GetKind(), namespace,
			u.GetName())
	}
}
