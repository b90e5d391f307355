// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Leftover gives the cluster's objects once Kubernetes has forgotten the last member of a rack, which its peers still list: no Service, no
// Pod, no row, one replica less. Such a host ID stays behind when a replacement or a join fails.
func (c *Cluster) Leftover(name string) []client.Object {
	gone := c.Node(name)
	objects := slices.DeleteFunc(c.Objects(), func(o client.Object) bool {
		_, report := o.(*api.ScyllaDBDatacenterNodesStatusReport)
		return !report && o.GetName() == name
	})
	for i, o := range objects {
		switch o := o.DeepCopyObject().(type) {
		case *appsv1.StatefulSet:
			if o.Name == c.set(gone.Datacenter, gone.Rack) {
				*o.Spec.Replicas--
			}
			objects[i] = o
		case *api.ScyllaDBDatacenterNodesStatusReport:
			for j := range o.Racks {
				o.Racks[j].Nodes = slices.DeleteFunc(o.Racks[j].Nodes, func(n api.NodeReport) bool { return n.HostID != nil && *n.HostID == gone.HostID })
			}
			objects[i] = o
		}
	}
	return c.finish(objects)
}
