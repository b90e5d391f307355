// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

const (
	// fewMachines is up to how many Kubernetes nodes are read by name; beyond, they are listed.
	fewMachines = 8
	// machinePage is how many are listed at once.
	machinePage = 500
	// machinesOld is how long a reading is reused: a screen that is drawn every two seconds must not list Kubernetes nodes every two seconds.
	machinesOld = 15 * time.Second
)

// KubernetesNodes reads those of the given names, in their order; one that does not exist is left out. pages of 500 are listed at most.
func KubernetesNodes(ctx context.Context, c client.Reader, names []string, pages int) ([]corev1.Node, error) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var out []corev1.Node
	if len(wanted) <= fewMachines {
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			var n corev1.Node
			switch err := c.Get(ctx, client.ObjectKey{Name: name}, &n); {
			case apierrors.IsNotFound(err):
			case err != nil:
				return nil, fmt.Errorf("get Kubernetes node %s: %w", name, err)
			default:
				out = append(out, n)
			}
		}
		return out, nil
	}
	next := ""
	for range pages {
		var list corev1.NodeList
		if err := c.List(ctx, &list, client.Limit(machinePage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list Kubernetes nodes: %w", err)
		}
		for i := range list.Items {
			if wanted[list.Items[i].Name] {
				out = append(out, list.Items[i])
			}
		}
		if next = list.Continue; next == "" {
			slices.SortFunc(out, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
			return out, nil
		}
	}
	return nil, fmt.Errorf("there are more than %d Kubernetes nodes; not all were looked at", pages*machinePage)
}

// Machines remembers the states of Kubernetes nodes from one reading to the next. The zero value is ready, and safe for concurrent use.
type Machines struct {
	mu     sync.Mutex
	at     time.Time
	states map[string]string // nil where they could not be read
}

// read gives the state of each Kubernetes node that a Pod is on; nil where they may not be read. That is no problem of the cluster: they say something about a
// node, and nothing rests on them alone.
func (m *Machines) read(ctx context.Context, c client.Reader, pods []corev1.Pod, now time.Time) map[string]string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	known := true
	for i := range pods {
		name := pods[i].Spec.NodeName
		if name == "" || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		if _, ok := m.states[name]; !ok && m.states != nil {
			known = false
		}
	}
	if known && !m.at.IsZero() && now.Sub(m.at) < machinesOld {
		return maps.Clone(m.states)
	}
	const pages = 20
	nodes, err := KubernetesNodes(ctx, c, names, pages)
	m.at, m.states = now, nil
	if err != nil {
		return nil
	}
	m.states = make(map[string]string, len(names))
	for _, name := range names {
		m.states[name] = cluster.KubernetesNodeGone
	}
	for i := range nodes {
		m.states[nodes[i].Name] = cluster.KubernetesNodeState(&nodes[i])
	}
	return maps.Clone(m.states)
}
