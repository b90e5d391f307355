// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Neighbourhood is a whole namespace, with the objects of every cluster.
type Neighbourhood struct {
	Services []corev1.Service
	Pods     []corev1.Pod
}

// NotFirst returns why a member cannot be the first node of its cluster, although nothing else of
// that cluster is known; zero without such evidence. A mistyped or edited label makes a new cluster
// of a member whose seeds belong to a running cluster. The member would join that cluster without
// any check. The Cluster must have been read with its Services.
func (c *Cluster) NotFirst(member string, all Neighbourhood) words.Message {
	pod := all.pod(member)
	if pod == nil {
		pod = c.ix.pods[member]
	}
	if pod == nil {
		// its seeds are unknown: the caller is outside the Pod, which does not exist yet
		return words.Message{}
	}
	if l := api.ClusterOf(pod.Labels); l != "" && l != c.Name {
		return words.New(words.PodIsOfCluster, "pod", l, "service", c.Name)
	}
	if set := statefulSetOf(pod); set != "" {
		for i := range all.Pods {
			p := &all.Pods[i]
			if of := all.clusterOf(p); statefulSetOf(p) == set && of != "" && of != c.Name {
				return words.New(words.StatefulSetHasMembersOfCluster, "statefulSet", set, "member", p.Name, "cluster",
					of)
			}
		}
	}
	for _, seed := range seedWords(&pod.Spec) {
		if why := c.seedElsewhere(seed, pod, all); !why.IsZero() {
			return why
		}
	}
	return words.Message{}
}

// seedElsewhere returns why a seed is neither the member itself nor a member of its cluster. Zero
// if it is, does not resolve, or only the container can expand it.
func (c *Cluster) seedElsewhere(seed string, own *corev1.Pod, all Neighbourhood) words.Message {
	if name, _, _ := strings.Cut(seed, "."); name == own.Name || strings.HasPrefix(seed, "$") {
		return words.Message{}
	}
	pods, here := all.reach(seed, c.Namespace)
	if !here {
		return words.New(words.SeedIsElsewhere, "seed", seed)
	}
	for _, p := range pods {
		if of := all.clusterOf(p); p.Name != own.Name && of != c.Name {
			return words.New(words.SeedIsMemberOfCluster, "seed", seed, "member", p.Name, "cluster", of)
		}
	}
	return words.Message{}
}

// reach returns the Pods that a seed resolves to. here is false if the seed is outside the
// namespace or its place is unknown.
func (n Neighbourhood) reach(seed, namespace string) (pods []*corev1.Pod, here bool) {
	if ip, err := netip.ParseAddr(seed); err == nil {
		return n.withAddress(ip.Unmap())
	}
	names := strings.Split(strings.TrimSuffix(seed, "."), ".")
	if at := slices.Index(names, "svc"); at > 1 {
		names = names[:at]
	}
	// Forms: SERVICE and POD.SERVICE, each with or without the namespace.
	service := func(name string) bool { return n.service(name) != nil }
	switch last := names[len(names)-1]; {
	case len(names) == 1:
	case len(names) == 2 && service(last):
	case len(names) <= 3 && last == namespace:
		names = names[:len(names)-1]
	default:
		return nil, false
	}
	if len(names) == 2 {
		if p := n.pod(names[0]); p != nil {
			return []*corev1.Pod{p}, true
		}
		return nil, service(names[1]) // a Pod that does not exist yet has no address
	}
	s := n.service(names[0])
	if s == nil {
		return nil, true // no such name in this namespace: it does not resolve
	}
	return n.behind(s)
}

func (n Neighbourhood) withAddress(ip netip.Addr) (pods []*corev1.Pod, here bool) {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool {
			a, err := netip.ParseAddr(t)
			return err == nil &&
				a.Unmap() == ip
		})
	}
	for i := range n.Pods {
		p := &n.Pods[i]
		if has(p.Status.PodIP) || slices.ContainsFunc(p.Status.PodIPs, func(a corev1.PodIP) bool { return has(a.IP) }) {
			return []*corev1.Pod{p}, true
		}
	}
	for i := range n.Services {
		if s := &n.Services[i]; has(s.Spec.ClusterIP) || has(s.Spec.ClusterIPs...) {
			return n.behind(s)
		}
	}
	return nil, false
}

// behind returns the Pods that a Service selects. A Service without a selector may have any
// address: here is false.
func (n Neighbourhood) behind(s *corev1.Service) (pods []*corev1.Pod, here bool) {
	if len(s.Spec.Selector) == 0 {
		return nil, false
	}
	selects := labels.SelectorFromSet(s.Spec.Selector)
	for i := range n.Pods {
		if selects.Matches(labels.Set(n.Pods[i].Labels)) {
			pods = append(pods, &n.Pods[i])
		}
	}
	return pods, true
}

func (n Neighbourhood) pod(name string) *corev1.Pod {
	if i := slices.IndexFunc(n.Pods, func(p corev1.Pod) bool { return p.Name == name }); i >= 0 {
		return &n.Pods[i]
	}
	return nil
}

func (n Neighbourhood) service(name string) *corev1.Service {
	if i := slices.IndexFunc(n.Services, func(s corev1.Service) bool { return s.Name == name }); i >= 0 {
		return &n.Services[i]
	}
	return nil
}

// clusterOf returns the cluster of a Pod: by its Service's label, which takes precedence, or its
// own; empty if it has none.
func (n Neighbourhood) clusterOf(p *corev1.Pod) string {
	of := ""
	if s := n.service(p.Name); s != nil {
		of = api.ClusterOf(s.Labels)
	}
	return cmp.Or(of, api.ClusterOf(p.Labels))
}

func statefulSetOf(p *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil && owner.Kind == "StatefulSet" {
		return owner.Name
	}
	return ""
}

// DeadAddresses returns the addresses of the member's dead node: its Service's ClusterIPs. For a
// headless Service it is the address that the controller recorded before the old Pod was deleted;
// the present Pod has a different one.
func (m *Member) DeadAddresses() []netip.Addr {
	var out []netip.Addr
	svc := m.Service
	if svc == nil {
		return nil
	}
	for _, text := range append([]string{svc.Spec.ClusterIP}, svc.Spec.ClusterIPs...) {
		if ip, err := netip.ParseAddr(text); err == nil && !slices.Contains(out, ip.Unmap()) {
			out = append(out, ip.Unmap())
		}
	}
	if len(out) > 0 {
		return out
	}
	if ip, err := netip.ParseAddr(svc.Annotations[api.AnnotationReplaceAddress]); err == nil {
		out = append(out, ip.Unmap())
	}
	return out
}
