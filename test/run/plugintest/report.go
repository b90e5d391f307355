// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// withClusterReport gives the objects the cluster report that our controller writes of them, instead of the one that they have. A cluster that is not
// our controller's, has no reports, or brings a cluster report of another hand has none.
func (c *Cluster) withClusterReport(objects []client.Object) []client.Object {
	ours := func(o client.Object) bool { return o.GetLabels()[api.LabelManagedBy] == api.ManagedByUs }
	foreign := func(o client.Object) bool {
		_, is := o.(*api.ScyllaDBStatusReport)
		return is && o.GetName() == c.Name && !ours(o)
	}
	if !c.reports || slices.ContainsFunc(objects, foreign) {
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
	r.ObjectMeta = c.meta("statusreport", c.Name, map[string]string{api.LabelManagedBy: api.ManagedByUs})
	r.ManagedFields = written(`{"f:datacenters":{}}`)
	return append(out, r)
}
