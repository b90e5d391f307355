// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation"
)

// Rack is a rack of a datacenter with the number of nodes that it shall have.
type Rack struct {
	Name  string
	Nodes int32
}

// Assemble makes the racks of the operator's report: a row for each ordinal whose joined annotation on the Service is true, with the row in its Pod's
// annotation. An error means that nothing is written and the report stays as it was; a single annotation that cannot be decoded causes it.
func Assemble(prefix string, racks []Rack, services map[string]*corev1.Service, pods map[string]*corev1.Pod) ([]api.RackReport, error) {
	var out []api.RackReport
	var errs []error
	for _, r := range racks {
		rack := api.RackReport{Name: r.Name}
		for o := range r.Nodes {
			name := fmt.Sprintf("%s-%s-%d", prefix, r.Name, o)
			svc := services[name]
			if svc == nil || svc.Annotations[api.AnnotationNodeJoined] != "true" {
				continue
			}
			row := api.NodeReport{Ordinal: o}
			id := svc.Annotations[api.AnnotationHostID]
			if id == "" {
				rack.Nodes = append(rack.Nodes, row) // without the row in its Pod's annotation
				continue
			}
			row.HostID = &id
			observed, err := observations(pods[name])
			if err != nil {
				errs = append(errs, fmt.Errorf("decode the annotation of Pod %s: %w", name, err))
			}
			row.ObservedNodes = observed
			rack.Nodes = append(rack.Nodes, row)
		}
		out = append(out, rack)
	}
	return out, errors.Join(errs...)
}

// observations returns the cells of a Pod's annotation; none where there is no Pod, no annotation, or the annotation is an error.
func observations(pod *corev1.Pod) ([]api.ObservedNode, error) {
	if pod == nil {
		return nil, nil
	}
	text, there := pod.Annotations[api.AnnotationNodeStatusReport]
	if !there {
		return nil, nil
	}
	var said struct {
		Error         *string            `json:"error"`
		ObservedNodes []api.ObservedNode `json:"observedNodes"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&said); err != nil {
		return nil, err
	}
	if said.Error != nil {
		return nil, nil
	}
	return said.ObservedNodes, nil
}

// Answer is the action of a barrier.
type Answer string

// The operator's barrier opens, waits, or ends with an error and is restarted.
const (
	Opens Answer = "opens"
	Waits Answer = "waits"
	Fails Answer = "ends with an error, again and again"
)

// Barrier is the operator's: the data directory, labels of place, force, replacement, and then its precondition over the reports of the selector. lenient is its
// flag for nodes that do not report.
func Barrier(svc *corev1.Service, bootstrapped bool, reports []api.ScyllaDBDatacenterNodesStatusReport, lenient bool) Answer {
	if bootstrapped {
		return Opens
	}
	dc, hasDC := svc.Labels[api.LabelDatacenter]
	rack, hasRack := svc.Labels[api.LabelRack]
	dash := strings.LastIndexByte(svc.Name, '-')
	ordinal, err := strconv.ParseInt(svc.Name[dash+1:], 10, 64)
	if !hasDC || !hasRack || dash < 0 || err != nil {
		return Fails
	}
	if force, forced := svc.Annotations[api.AnnotationForceProceed]; forced {
		if force == api.ForceProceedValue {
			return Opens
		}
		return Fails
	}
	if _, replaces := svc.Labels[api.LabelReplacingNodeHostID]; replaces {
		return Opens
	}
	if simulation.OperatorPrecondition(reports, simulation.Place{Datacenter: dc, Rack: rack, Ordinal: int32(ordinal)}, lenient) { //nolint:gosec // it wraps there, too
		return Opens
	}
	return Waits
}

// Sort extracts the input of Assemble and Barrier from a list of objects: Services and Pods by name, and the racks of a datacenter by its
// StatefulSets.
func Sort(objects []client.Object, datacenter string) (racks []Rack, services map[string]*corev1.Service, pods map[string]*corev1.Pod) {
	services, pods = map[string]*corev1.Service{}, map[string]*corev1.Pod{}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			services[o.Name] = o
		case *corev1.Pod:
			pods[o.Name] = o
		case *appsv1.StatefulSet:
			if o.Labels[api.LabelDatacenter] == datacenter {
				racks = append(racks, Rack{o.Labels[api.LabelRack], *o.Spec.Replicas})
			}
		}
	}
	return racks, services, pods
}
