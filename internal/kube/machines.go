// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

const (
	// fewMachines is the largest number of Kubernetes nodes that are read by name; more are listed.
	fewMachines = 8
	// machinePage is the page size of a list.
	machinePage = 500
	// machinesOld is how long a result is reused: a screen refreshed every 2 s must not list
	// Kubernetes nodes every 2 s.
	machinesOld = 15 * time.Second
)

// KubernetesNodes reads the Kubernetes nodes with the given names, sorted by name. Missing ones are
// omitted. It lists at most that many pages of 500.
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
	return nil, fmt.Errorf("more than %d Kubernetes nodes exist; only these were read", pages*machinePage)
}

// Machines caches the states of Kubernetes nodes. The zero value is ready to use, and safe for
// concurrent use.
type Machines struct {
	mu     sync.Mutex
	at     time.Time
	states map[string]string // nil if the Kubernetes nodes could not be read
	hosts  map[string]string // by hostname label; empty if unknown
	since  map[string]time.Time

	warnings map[string]warnings // by namespace

	claimedAt time.Time
	claimed   map[client.ObjectKey]string // nil if the PersistentVolumes could not be read
}

// notReadySince returns the time since which each Kubernetes node of the last read has not been
// Ready.
func (m *Machines) notReadySince() map[string]time.Time {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.since)
}

// notReadySince returns the time since which Kubernetes nodes have not been Ready, by name. Ready
// nodes are omitted.
func notReadySince(nodes []corev1.Node) map[string]time.Time {
	out := map[string]time.Time{}
	for i := range nodes {
		if c := cluster.KubernetesNodeReadiness(&nodes[i]); c.Status != corev1.ConditionTrue &&
			!c.LastTransitionTime.IsZero() {
			out[nodes[i].Name] = c.LastTransitionTime.Time
		}
	}
	return out
}

// readVolumes reads the node affinity of the volumes of Pods that do not serve, and returns the
// Kubernetes nodes that it names. It omits a volume if either cannot be read.
func (l *loader) readVolumes(ctx context.Context) (machines []string) {
	for i := range l.o.Pods {
		if cluster.Serving(&l.o.Pods[i]) || len(l.o.Volumes) >= fewMachines {
			continue
		}
		for j := range l.o.PVCs {
			pvc := &l.o.PVCs[j]
			if pvc.Spec.VolumeName == "" || !strings.HasSuffix(pvc.Name, "-"+l.o.Pods[i].Name) {
				continue
			}
			machines = append(machines, pvc.Annotations[cluster.SelectedNode])
			var pv corev1.PersistentVolume
			if err := l.c.Get(ctx, client.ObjectKey{Name: pvc.Spec.VolumeName}, &pv); err != nil {
				continue // missing permission: the volume stays unknown
			}
			nodes := boundTo(&pv)
			if len(nodes) == 1 {
				if nodes[0] = l.opts.Machines.ofHost(ctx, l.c, nodes[0]); nodes[0] == "" {
					continue
				}
				machines = append(machines, nodes[0])
			}
			if l.o.Volumes == nil {
				l.o.Volumes = map[string][]string{}
			}
			l.o.Volumes[pv.Name] = nodes
		}
	}
	return slices.DeleteFunc(machines, func(name string) bool { return name == "" })
}

// ofHost returns the name of the Kubernetes node with this hostname label, which can differ from
// its name. It is host if no Kubernetes node has the label, and empty if that is unknown.
func (m *Machines) ofHost(ctx context.Context, c client.Reader, host string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if name, read := m.hosts[host]; read {
		return name
	}
	if m.hosts == nil {
		m.hosts = map[string]string{}
	}
	var list corev1.NodeList
	switch err := c.List(ctx, &list, client.MatchingLabels{corev1.LabelHostname: host}, client.Limit(2)); {
	case err != nil || len(list.Items) > 1:
		m.hosts[host] = ""
	case len(list.Items) == 1:
		m.hosts[host] = list.Items[0].Name
	default:
		m.hosts[host] = host
	}
	return m.hosts[host]
}

// boundTo returns the hostname labels that a volume's node affinity names, nil if the volume can
// move.
func boundTo(pv *corev1.PersistentVolume) []string {
	a := pv.Spec.NodeAffinity
	if a == nil || a.Required == nil || len(a.Required.NodeSelectorTerms) != 1 {
		return nil
	}
	for _, e := range a.Required.NodeSelectorTerms[0].MatchExpressions {
		if e.Key == corev1.LabelHostname && e.Operator == corev1.NodeSelectorOpIn {
			return e.Values
		}
	}
	return nil
}

// read returns the states of the Kubernetes nodes of the Pods and of more, nil if they cannot be
// read. That is not a Problem: the states only explain, and no decision depends on them alone.
func (m *Machines) read(ctx context.Context, c client.Reader, pods []corev1.Pod, now time.Time,
	more ...string) map[string]string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	known := true
	for i := range pods {
		more = append(more, pods[i].Spec.NodeName)
	}
	for _, name := range more {
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
	m.at, m.states, m.hosts, m.since = now, nil, nil, notReadySince(nodes)
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
