// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ReasonNotFound is the reason of condition PrerequisitesMissing.
const ReasonNotFound = "NotFound"

// Prerequisites returns the condition with the Secrets and ConfigMaps that Pods need to start;
// false if none is missing.
func Prerequisites(namespace string, pods []cluster.Unstarted) (Condition, bool) {
	var objects, names []string
	for _, p := range pods {
		if len(p.Missing) > 0 {
			names = append(names, p.Pod)
		}
		for _, m := range p.Missing {
			objects = append(objects, m.String())
		}
	}
	slices.Sort(objects)
	return Condition{
		Type: api.ConditionPrerequisitesMissing, Status: metav1.ConditionTrue, Reason: ReasonNotFound,
		Message: words.New(words.PrerequisitesMissing, "objects", slices.Compact(objects), "namespace", namespace,
			"pods", names),
	}, len(names) > 0
}
