// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// place is a datacenter of one cluster, with the Kubernetes nodes and zones of its racks.
type place struct {
	namespace, cluster, datacenter string
}

// racks warns about racks that fail together: members of two racks on one Kubernetes node, or in
// one zone while the datacenter has several, and a rack whose members are in several zones. A zone
// that is unknown is not judged.
func (c *checker) racks() {
	machines := map[place]map[string][]string{} // the racks by Kubernetes node
	zones := map[place]map[string][]string{}    // the racks by zone
	add := func(to map[place]map[string][]string, at place, where, rack string) {
		if to[at] == nil {
			to[at] = map[string][]string{}
		}
		if where != "" && !slices.Contains(to[at][where], rack) {
			to[at][where] = append(to[at][where], rack)
		}
	}
	for i := range c.in.Pods {
		p := &c.in.Pods[i]
		at, rack := place{p.Namespace, api.ClusterOf(p.Labels), p.Labels[api.LabelDatacenter]}, p.Labels[api.LabelRack]
		if rack == "" || p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed {
			continue
		}
		add(machines, at, p.Spec.NodeName, rack)
		add(zones, at, c.in.Zones[p.Spec.NodeName], rack)
	}
	for _, at := range slices.SortedFunc(maps.Keys(machines), func(a, b place) int {
		return slices.Compare([]string{a.namespace, a.cluster, a.datacenter},
			[]string{b.namespace, b.cluster, b.datacenter})
	}) {
		from, subject := len(c.results), "cluster "+at.namespace+"/"+at.cluster+", datacenter "+at.datacenter
		for _, on := range slices.Sorted(maps.Keys(machines[at])) {
			if racks := machines[at][on]; len(racks) > 1 {
				c.add("racks", subject, Warning, words.New(words.RacksOnOneNode, "kubernetesNode", on, "racks", racks),
					words.New(words.StepApart))
			}
		}
		c.zones(zones[at], subject)
		c.fine(from, "racks", subject, words.New(words.RacksApart))
	}
}

// zones warns about the racks of one datacenter, by zone.
func (c *checker) zones(zones map[string][]string, subject string) {
	in := map[string][]string{} // the zones by rack
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		if racks := zones[zone]; len(racks) > 1 && len(zones) > 1 {
			c.add("racks", subject, Warning, words.New(words.RacksInOneZone, "zone", zone, "racks", racks),
				words.New(words.StepZones))
		}
		for _, rack := range zones[zone] {
			in[rack] = append(in[rack], zone)
		}
	}
	for _, rack := range slices.Sorted(maps.Keys(in)) {
		if len(in[rack]) > 1 {
			c.add("racks", subject, Warning, words.New(words.RackInZones, "rack", rack, "zones", in[rack]),
				words.New(words.StepZones))
		}
	}
}
