// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// Cluster and Node are those of the one builder; its clusters here have the cluster report that our controller writes.
type (
	Cluster = stage.Cluster
	Node    = stage.Node
)

// Now, Start and HostID are the builder's.
var (
	Now    = stage.Now
	Start  = stage.Start
	HostID = stage.NumberedHostID
)

// New is a cluster demo in namespace demo: racks rack1.. of datacenter dc1 with so many members each, all joined, running
// and UP.
func New(racks, members int) *Cluster { return NewNamed("demo", "demo", "dc1", racks, members) }

// NewNamed is New with other names.
func NewNamed(namespace, name, datacenter string, racks, members int) *Cluster {
	c := stage.NewCluster(namespace, name, datacenter, racks, members)
	c.Finish = func(objects []client.Object) []client.Object { return withClusterReport(c, objects) }
	return c
}

// withClusterReport gives the objects the cluster report that our controller writes of them, instead of the one that
// they have. A cluster that is not our controller's or brings a cluster report of another hand has none.
func withClusterReport(c *Cluster, objects []client.Object) []client.Object {
	ours := func(o client.Object) bool { return o.GetLabels()[api.LabelManagedBy] == api.ManagedByUs }
	foreign := func(o client.Object) bool {
		_, is := o.(*api.ScyllaDBStatusReport)
		return is && o.GetName() == c.Name && !ours(o)
	}
	if slices.ContainsFunc(objects, foreign) {
		return objects
	}
	in := cluster.Objects{
		Key:  cluster.Key{Namespace: c.Namespace, Name: c.Name},
		Read: cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets | cluster.KindReports | cluster.KindStatusReport,
	}
	var out []client.Object
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			if cluster.Managed(o) {
				in.Services = append(in.Services, *o)
			}
		case *corev1.Pod:
			in.Pods = append(in.Pods, *o)
		case *appsv1.StatefulSet:
			if cluster.Managed(o) {
				in.StatefulSets = append(in.StatefulSets, *o)
			}
		case *api.ScyllaDBDatacenterNodesStatusReport:
			in.Reports = append(in.Reports, *o)
		case *api.ScyllaDBStatusReport:
			if o.Name == c.Name {
				continue
			}
		}
		out = append(out, o)
	}
	if len(in.StatefulSets) == 0 || len(in.Reports) == 0 {
		return objects
	}
	r := cluster.New(in, cluster.SourceAnnotation, Now).ClusterReport(nil, nil)
	r.ObjectMeta = c.Meta("statusreport", c.Name, map[string]string{api.LabelManagedBy: api.ManagedByUs})
	r.ManagedFields = stage.Written(`{"f:datacenters":{}}`)
	return append(out, r)
}
