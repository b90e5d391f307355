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
	var out, read []client.Object
	for _, o := range objects {
		if _, is := o.(*api.ScyllaDBStatusReport); is && o.GetName() == c.Name {
			continue
		}
		out = append(out, o)
		switch o.(type) {
		case *corev1.Service, *appsv1.StatefulSet:
			if !cluster.Managed(o) {
				continue
			}
		}
		read = append(read, o)
	}
	in := Objects(cluster.Key{Namespace: c.Namespace, Name: c.Name}, read)
	if len(in.StatefulSets) == 0 || len(in.Reports) == 0 {
		return objects
	}
	r := cluster.New(in, cluster.SourceAnnotation, Now).ClusterReport(nil, nil)
	r.ObjectMeta = c.Meta("statusreport", c.Name, map[string]string{api.LabelManagedBy: api.ManagedByUs})
	r.ManagedFields = stage.Written(`{"f:datacenters":{}}`)
	return append(out, r)
}

// Objects are those of a cluster as they are read from Kubernetes.
func Objects(key cluster.Key, all []client.Object) cluster.Objects {
	o := cluster.Objects{
		Key:  key,
		Read: cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets | cluster.KindPVCs | cluster.KindReports | cluster.KindStatusReport,
	}
	for _, obj := range all {
		switch obj := obj.(type) {
		case *corev1.Service:
			o.Services = append(o.Services, *obj)
		case *corev1.Pod:
			o.Pods = append(o.Pods, *obj)
		case *appsv1.StatefulSet:
			o.StatefulSets = append(o.StatefulSets, *obj)
		case *api.ScyllaDBDatacenterNodesStatusReport:
			o.Reports = append(o.Reports, *obj)
		case *api.ScyllaDBStatusReport:
			o.StatusReport = obj
		}
	}
	return o
}
