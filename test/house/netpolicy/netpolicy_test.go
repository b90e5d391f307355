// SPDX-License-Identifier: Apache-2.0

// Package netpolicy checks the NetworkPolicies of docs/install/networkpolicies against the connections that must be possible and those that must not.
// The test cluster enforces no NetworkPolicy, so the test evaluates the policies by the API's documentation; it does not test that a network plugin
// enforces them.
package netpolicy

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// end of a connection: a Pod, or an address outside.
type end struct {
	namespace string // empty for an address
	labels    map[string]string
	address   string
}

func pod(namespace string, keysAndValues ...string) end {
	e := end{namespace: namespace, labels: map[string]string{}}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		e.labels[keysAndValues[i]] = keysAndValues[i+1]
	}
	return e
}

func matches(t *testing.T, s *metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	x, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return x.Matches(labels.Set(set))
}

// selects is true when a peer of a rule matches e; the policy is in namespace ns.
func selects(t *testing.T, p networkingv1.NetworkPolicyPeer, ns string, e end) bool {
	t.Helper()
	if p.IPBlock != nil {
		prefix, err := netip.ParsePrefix(p.IPBlock.CIDR)
		if err != nil {
			t.Fatal(err)
		}
		return e.namespace == "" && prefix.Contains(netip.MustParseAddr(e.address))
	}
	if e.namespace == "" {
		return false
	}
	inNamespace := e.namespace == ns
	if p.NamespaceSelector != nil {
		inNamespace = matches(t, p.NamespaceSelector, map[string]string{corev1.LabelMetadataName: e.namespace})
	}
	return inNamespace && (p.PodSelector == nil || matches(t, p.PodSelector, e.labels))
}

// allows is true when one rule allows a connection; no peers mean every peer, no ports every port.
func allows(t *testing.T, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, ns string, other end, proto corev1.Protocol, port int) bool {
	t.Helper()
	ok := len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool { return selects(t, p, ns, other) })
	return ok && (len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.EndPort != nil || p.Port == nil || p.Port.IntValue() == 0 {
			t.Fatal("a range of ports, or a port by name: teach this test what it means")
		}
		return *p.Protocol == proto && p.Port.IntValue() == port
	}))
}

// possible is true when both ends allow a connection: a Pod that no policy selects for a direction is open in it.
func possible(t *testing.T, all []networkingv1.NetworkPolicy, from, to end, proto corev1.Protocol, port int) bool {
	t.Helper()
	direction := func(e end, kind networkingv1.PolicyType, rule func(networkingv1.NetworkPolicy) bool) bool {
		isolated, open := false, false
		for _, p := range all {
			if e.namespace == p.Namespace && slices.Contains(p.Spec.PolicyTypes, kind) && matches(t, &p.Spec.PodSelector, e.labels) {
				isolated, open = true, open || rule(p)
			}
		}
		return !isolated || open
	}
	return direction(from, networkingv1.PolicyTypeEgress, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return allows(t, r.To, r.Ports, p.Namespace, to, proto, port)
		})
	}) && direction(to, networkingv1.PolicyTypeIngress, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return allows(t, r.From, r.Ports, p.Namespace, from, proto, port)
		})
	})
}

func shipped(t *testing.T) []networkingv1.NetworkPolicy {
	t.Helper()
	files, err := filepath.Glob("../../../docs/install/networkpolicies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no policies", err)
	}
	var all []networkingv1.NetworkPolicy
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var p networkingv1.NetworkPolicy
		if err := yaml.UnmarshalStrict(b, &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, p)
	}
	return all
}

func TestNeededConnectionsArePossibleAndOthersAreNot(t *testing.T) {
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	var (
		node       = pod("demo", "scylla/cluster", "demo", "scylla/rack", "a")
		other      = pod("demo", "scylla/cluster", "demo", "scylla/rack", "b")
		foreign    = pod("demo", "scylla/cluster", "other")
		sameLabels = pod("elsewhere", "scylla/cluster", "demo")
		client     = pod("shop", "scylladb-client", "true")
		stranger   = pod("shop", "app", "x")
		prometheus = pod("monitoring", "app", "prometheus")
		dns        = pod("kube-system", "k8s-app", "kube-dns")
		controller = pod("kubectl-scylla", "app.kubernetes.io/name", "kubectl-scylla", "app.kubernetes.io/component", "controller")
		apiServer  = end{address: "192.0.2.1"}
		outside    = end{address: "198.51.100.7"}
	)
	policies := shipped(t)
	for name, c := range map[string]struct {
		from, to end
		proto    corev1.Protocol
		ports    []int
		want     bool
	}{
		"nodes gossip and stream":                           {node, other, tcp, []int{7000, 7001}, true},
		"a barrier asks another member's reporter":          {node, other, tcp, []int{8083}, true},
		"nodes ask each other by CQL":                       {node, other, tcp, []int{9042, 19042}, true},
		"reporter, barrier and launcher ask the API server": {node, apiServer, tcp, []int{443, 6443}, true},
		"a node resolves names":                             {node, dns, udp, []int{53}, true},
		"a node resolves names by TCP":                      {node, dns, tcp, []int{53}, true},
		"clients speak CQL":                                 {client, node, tcp, []int{9042, 9142, 19042, 19142}, true},
		"Prometheus reads reporter, barrier and ScyllaDB":   {prometheus, node, tcp, []int{8081, 8082, 9180}, true},
		"the controller asks API servers, remotes' too":     {controller, apiServer, tcp, []int{443, 6443}, true},
		"the controller resolves names":                     {controller, dns, udp, []int{53}, true},
		"Prometheus reads the controller":                   {prometheus, controller, tcp, []int{8080}, true},

		"the controller asks reporters for heartbeats": {controller, node, tcp, []int{8083}, true},

		"a node asks the controller for the view":         {node, controller, tcp, []int{8443}, true},
		"a stranger does not":                             {stranger, controller, tcp, []int{8443}, false},
		"a barrier asks another member for the view":      {node, other, tcp, []int{8083}, true},
		"another cluster's Pods do not":                   {foreign, node, tcp, []int{8083}, false},
		"nor a Pod of the controller's namespace":         {pod("kubectl-scylla", "app", "x"), node, tcp, []int{8083}, false},
		"nobody reaches ScyllaDB's own API":               {other, node, tcp, []int{10000}, false},
		"a stranger reaches no node":                      {stranger, node, tcp, []int{7000, 7001, 8081, 8082, 9042, 9180, 10000}, false},
		"another cluster's nodes do not gossip with it":   {foreign, node, tcp, []int{7000, 7001, 8081}, false},
		"the same labels in another namespace do not":     {sameLabels, node, tcp, []int{7000, 7001, 8081}, false},
		"a client neither gossips nor reads the reporter": {client, node, tcp, []int{7000, 8081, 10000}, false},
		"a node opens nothing outside but API servers":    {node, outside, tcp, []int{80, 22, 9042}, false},
		"a stranger reaches no controller":                {stranger, controller, tcp, []int{8080, 8081}, false},
		"the controller reaches nothing else of a node":   {controller, node, tcp, []int{7000, 8081, 9042, 10000}, false},
		"the controller reaches no other Pod":             {controller, stranger, tcp, []int{8083}, false},
		"nobody outside reaches a node":                   {outside, node, tcp, []int{7000, 9042}, false},
	} {
		for _, port := range c.ports {
			if got := possible(t, policies, c.from, c.to, c.proto, port); got != c.want {
				t.Errorf("%s: port %d: possible %v, want %v", name, port, got, c.want)
			}
		}
	}
}
