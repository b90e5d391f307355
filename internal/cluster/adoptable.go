// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Adoptable are our objects that the Scylla Operator selects for an object of the cluster's name:
// it adopts those without a controller, and deletes the StatefulSets.
type Adoptable struct {
	StatefulSets, Services []string
	// Owner is the operator's object that has adopted one of them, "ScyllaDBDatacenter demo"; empty
	// if none has.
	Owner string
}

// Adoptable returns our StatefulSets and member Services with the operator's label for the cluster.
func (o *Objects) Adoptable() Adoptable {
	var a Adoptable
	add := func(names *[]string, obj metav1.Object) {
		owner, may := Selected(obj, o.Name)
		if !may {
			return
		}
		*names = append(*names, obj.GetName())
		if owner != "" {
			a.Owner = owner
		}
	}
	for i := range o.StatefulSets {
		add(&a.StatefulSets, &o.StatefulSets[i])
	}
	for i := range o.Services {
		add(&a.Services, &o.Services[i])
	}
	return a
}

// Selected reports whether an object is ours and the Scylla Operator selects it for its object of
// that name. owner is the operator's object that has adopted it, empty if none has.
func Selected(obj metav1.Object, name string) (owner string, may bool) {
	_, injected := obj.GetAnnotations()[api.AnnotationInjected]
	if obj.GetLabels()[api.LabelCluster] != name ||
		!injected && obj.GetLabels()[api.LabelManagedBy] != api.ManagedByUs {
		return "", false
	}
	c := metav1.GetControllerOf(obj)
	switch {
	case c == nil:
		return "", true
	case strings.HasPrefix(c.APIVersion, api.GroupVersion.Group+"/"):
		return c.Kind + " " + c.Name, true
	}
	return "", false
}

// BesideOperator returns our objects that the Scylla Operator can adopt, and its object for which
// it does; zero if it has no object of the cluster's name.
func (c *Cluster) BesideOperator() (a Adoptable, owner string) {
	a = c.Adoptable()
	if owner = a.Owner; owner == "" && c.OperatorState != nil && len(c.OperatorState.Namesakes) > 0 {
		owner = c.OperatorState.Namesakes[0]
	}
	if owner == "" || len(a.StatefulSets)+len(a.Services) == 0 {
		return Adoptable{}, ""
	}
	return a, owner
}
