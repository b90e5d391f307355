// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// OperatorObjects are the objects as the Scylla Operator leaves them in the namespace of one datacenter of a ScyllaDBCluster: its Pods without our
// containers and with its own annotation, and in place of the members of every other datacenter that datacenter's report, copied in. change may alter the copy;
// nil leaves it out, as when the other datacenter cannot be reached.
func (c *Cluster) OperatorObjects(datacenter string, change func(*api.ScyllaDBDatacenterNodesStatusReport)) []client.Object {
	var out []client.Object
	parent := func(o client.Object) {
		l := o.GetLabels()
		l[api.LabelManagedBy] = api.ManagedByOperator
		if len(c.datacenters()) > 1 {
			l[api.LabelParentScyllaDBCluster] = c.Name
		}
		o.SetLabels(l)
		a := o.GetAnnotations()
		if a == nil {
			a = map[string]string{}
		}
		a[api.AnnotationManagedHash] = "x"
		o.SetAnnotations(a)
	}
	for _, o := range c.Objects() {
		o = o.DeepCopyObject().(client.Object)
		if dc := o.GetLabels()[api.LabelDatacenter]; dc != "" && dc != datacenter {
			continue
		}
		switch o := o.(type) {
		case *api.ScyllaDBStatusReport:
			continue
		case *api.ScyllaDBDatacenterNodesStatusReport:
			if o.DatacenterName != datacenter {
				if change == nil {
					continue
				}
				o.Name, o.Labels[api.LabelRemoteReport] = c.Name+"-"+o.DatacenterName+"-external-1c1up", c.Name
				parent(o)
				o.OwnerReferences = []metav1.OwnerReference{{APIVersion: api.GroupVersion.String(), Kind: "RemoteOwner", Name: c.Name, UID: "ro", Controller: new(true)}}
				change(o)
				break
			}
			parent(o)
			o.OwnerReferences = operatorOwner(c.Name)
		case *corev1.Pod:
			o.Labels[api.LabelManagedBy] = api.ManagedByOperator
			c.operatorSpec(&o.Spec)
			o.Status.InitContainerStatuses = slices.DeleteFunc(o.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name != api.ContainerBarrier })
			c.operatorRow(o)
		case *appsv1.StatefulSet:
			parent(o)
			o.OwnerReferences = operatorOwner(c.Name)
			c.operatorSpec(&o.Spec.Template.Spec)
		case *corev1.Service:
			parent(o)
			o.OwnerReferences = operatorOwner(c.Name)
		}
		out = append(out, o)
	}
	return out
}

func operatorOwner(name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: api.GroupVersion.String(), Kind: api.ScyllaDBDatacenterGVK.Kind, Name: name, UID: "sdc", Controller: new(true)}}
}

func (c *Cluster) datacenters() []string {
	var out []string
	for _, n := range c.Nodes {
		if !slices.Contains(out, n.Datacenter) {
			out = append(out, n.Datacenter)
		}
	}
	return out
}

// operatorSpec has the containers that the Scylla Operator makes, as far as anybody reads them.
func (c *Cluster) operatorSpec(spec *corev1.PodSpec) {
	many := len(c.datacenters()) > 1
	spec.InitContainers = []corev1.Container{{Name: api.ContainerBarrier, Command: []string{
		"/mnt/shared/scylla-operator", "run-bootstrap-barrier", "--service-name=$(SERVICE_NAME)", "--selector-label-value=" + c.Name,
		fmt.Sprintf("--single-report-allow-non-reporting-host-ids=%t", many),
	}}}
	script := "exec /mnt/shared/scylla-operator sidecar \\\n--service-name=$(SERVICE_NAME) \\\n"
	if many {
		script += "--external-seeds=10.2.0.7 \\\n"
	}
	spec.Containers[0].Command = []string{"/usr/bin/bash", "-c", script + ` -- "$@"`}
}

// operatorRow has of a row what the Scylla Operator's type has: its reporter writes nothing else.
func operatorRow(said *api.NodeStatusReport) *api.NodeStatusReport {
	return &api.NodeStatusReport{ObservedNodes: Cells(api.Plain(said.ObservedNodes)), Error: said.Error}
}

// operatorRow takes from a Pod's annotation what the Scylla Operator's sidecar does not write.
func (c *Cluster) operatorRow(p *corev1.Pod) {
	text, ok := p.Annotations[api.AnnotationNodeStatusReport]
	if !ok {
		return
	}
	said, err := api.DecodeNodeStatusReport(text)
	if err != nil {
		return // as the test wants it
	}
	v, err := api.EncodeNodeStatusReport(operatorRow(said))
	if err != nil {
		panic(err)
	}
	p.Annotations[api.AnnotationNodeStatusReport] = strings.TrimSpace(v) + "\n"
}
