// SPDX-License-Identifier: Apache-2.0

package document

import "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"

// Pods returns the names of the nodes' Pods, for -o name. A node without a Pod here has none.
func (d *ClusterStatus) Pods() (names []string) {
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Member != "" && existing(n.Pod) {
			names = append(names, n.Member)
		}
	}
	return names
}

// existing reports whether a state, as text, is of a Pod that was read.
func existing(pod string) bool {
	return pod != "" && pod != cluster.PodState(nil) && pod != "?" && pod != "-"
}

// Pods as for ClusterStatus.
func (l *ClusterStatusList) Pods() (names []string) {
	for i := range l.Items {
		names = append(names, l.Items[i].Pods()...)
	}
	return names
}

// Pods returns the name of the member's Pod; nil without one.
func (d *BarrierVerdict) Pods() []string {
	if !existing(d.Pod) {
		return nil
	}
	return []string{d.Name}
}

// Pods as for ClusterStatus.
func (l *BarrierVerdictList) Pods() (names []string) {
	for i := range l.Items {
		names = append(names, l.Items[i].Pods()...)
	}
	return names
}
