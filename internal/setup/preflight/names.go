// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// names checks the members' DNS names: a member Service's EndpointSlices must have the Pod's
// address, and POD.SERVICE needs the headless Service of the StatefulSet. It resolves no names,
// because the DNS server is inside the cluster. It compares the sources of the DNS server with the
// addresses of the Pods.
func (c *checker) names() {
	if c.in.Pre {
		return
	}
	if c.in.SlicesErr != "" {
		c.add("dns", "", Unknown, words.New(words.CannotTell, "why", c.in.SlicesErr))
		return
	}
	from, seen := len(c.results), 0
	for i := range c.in.StatefulSets {
		s := &c.in.StatefulSets[i]
		if !guardable(s) || s.Spec.ServiceName == "" {
			continue
		}
		if g := c.service(s.Namespace, s.Spec.ServiceName); g == nil || g.Spec.ClusterIP != corev1.ClusterIPNone {
			c.add("dns", subject(s), Warning, words.New(words.NoGoverningService, "service", s.Spec.ServiceName),
				words.New(words.StepGoverning))
		}
	}
	for i := range c.in.Pods {
		p := &c.in.Pods[i]
		svc := c.service(p.Namespace, p.Name)
		// A missing Service, or one that selects another Pod, is already reported; a Service with a
		// ClusterIP has that in the DNS.
		if svc == nil || svc.Spec.ClusterIP != corev1.ClusterIPNone || p.Status.PodIP == "" ||
			p.DeletionTimestamp != nil {
			continue
		}
		seen++
		pod := "pod " + p.Namespace + "/" + p.Name
		published := c.published(svc)
		switch {
		case !svc.Spec.PublishNotReadyAddresses:
			c.add("dns", pod, Warning, words.New(words.NameHidden, "name", svc.Name), words.New(words.StepPublish).Do(
				words.Kubectl(svc.Namespace, "patch", "service", svc.Name, "--type=merge", "-p",
					`{"spec":{"publishNotReadyAddresses":true}}`)))
		case len(published) != 1 ||
			published[0] != p.Status.PodIP && !slices.Contains(p.Status.PodIPs, corev1.PodIP{IP: published[0]}):
			c.add("dns", pod, Failed, words.New(words.NameLeadsElsewhere, "name", svc.Name, "addresses",
				orNobody(published), "address", p.Status.PodIP),
				words.New(words.StepEndpoints).Do(words.Kubectl(svc.Namespace, "get", "endpointslices", "-l",
					discoveryv1.LabelServiceName+"="+svc.Name)))
		}
	}
	if seen > 0 {
		c.fine(from, "dns", "", words.New(words.NamesResolve, "names", seen))
	}
}

func orNobody(addresses []string) []string {
	if len(addresses) == 0 {
		return []string{"no address"}
	}
	return addresses
}

func (c *checker) service(namespace, name string) *corev1.Service {
	for i := range c.in.Services {
		if s := &c.in.Services[i]; s.Namespace == namespace && s.Name == name {
			return s
		}
	}
	return nil
}

// published returns the addresses of a Service in its first address family, sorted: a dual-stack
// Service has one slice per family.
func (c *checker) published(svc *corev1.Service) []string {
	family := discoveryv1.AddressTypeIPv4
	if len(svc.Spec.IPFamilies) > 0 {
		family = discoveryv1.AddressType(svc.Spec.IPFamilies[0])
	}
	var out []string
	for i := range c.in.Slices {
		s := &c.in.Slices[i]
		if s.Namespace != svc.Namespace || s.Labels[discoveryv1.LabelServiceName] != svc.Name ||
			s.AddressType != family {
			continue
		}
		for j := range s.Endpoints {
			out = append(out, s.Endpoints[j].Addresses...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
