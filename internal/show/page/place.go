// SPDX-License-Identifier: Apache-2.0

package page

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
)

// Place is where a member runs.
type Place struct {
	Member string `json:"member"`
	PodIP  string `json:"podIP,omitempty"`
	// KubernetesNode is the name, State kubectl's status ("Ready", "NotReady,SchedulingDisabled")
	// or Gone; empty if it was not read.
	KubernetesNode string `json:"kubernetesNode,omitempty"`
	State          string `json:"kubernetesNodeState,omitempty"`
}

// addPlaces lists the Pods with their Kubernetes nodes.
func (r *Report) addPlaces(c *support.Cluster) {
	states := map[string]string{}
	for i := range c.Nodes {
		states[c.Nodes[i].Name] = cluster.KubernetesNodeState(&c.Nodes[i])
	}
	for i := range c.Snapshot.Pods {
		p := &c.Snapshot.Pods[i]
		place := Place{Member: p.Name, PodIP: p.Status.PodIP, KubernetesNode: p.Spec.NodeName,
			State: states[p.Spec.NodeName]}
		if c.NodesRead && place.KubernetesNode != "" && place.State == "" {
			place.State = cluster.KubernetesNodeGone
		}
		if place.PodIP != "" || place.KubernetesNode != "" {
			r.Places = append(r.Places, place)
		}
	}
}

// places returns the report's places by member.
func (r *Report) places() map[string]Place {
	out := make(map[string]Place, len(r.Places))
	for _, p := range r.Places {
		out[p.Member] = p
	}
	return out
}
