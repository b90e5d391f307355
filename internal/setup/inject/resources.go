// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// qosOf returns the QoS class that Kubernetes gives Pods with these containers. Init containers
// count, and a request that is not set equals its limit.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, none := true, true
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := requests(&c)[name], c.Resources.Limits[name]
			none = none && request.IsZero() && limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && request.Cmp(limit) == 0
		}
	}
	switch {
	case none:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// requests returns the requests of a container, for each resource at least its default: the limit.
func requests(c *corev1.Container) corev1.ResourceList {
	out := c.Resources.Limits.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	for name, request := range c.Resources.Requests {
		out[name] = request
	}
	return out
}

func limits(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits }

// Demand is what a ResourceQuota counts for a Pod, as far as an injection changes it.
func Demand(spec *corev1.PodSpec) corev1.ResourceList {
	r, l := demand(spec, requests), demand(spec, limits)
	return corev1.ResourceList{
		corev1.ResourceCPU: *r.Cpu(), corev1.ResourceRequestsCPU: *r.Cpu(), corev1.ResourceLimitsCPU: *l.Cpu(),
		corev1.ResourceMemory: *r.Memory(), corev1.ResourceRequestsMemory: *r.Memory(),
		corev1.ResourceLimitsMemory: *l.Memory(),
	}
}

// demand returns the sum that Kubernetes reserves or limits for a Pod. Sidecars run at the same
// time as the containers. Any other init container runs before, with the sidecars that precede it.
func demand(spec *corev1.PodSpec, of func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	total, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if p := c.RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			add(sidecars, of(c))
			add(total, of(c))
			continue
		}
		now := sidecars.DeepCopy()
		add(now, of(c))
		atLeast(most, now)
	}
	for i := range spec.Containers {
		add(total, of(&spec.Containers[i]))
	}
	atLeast(total, most)
	return total
}

func add(sum, more corev1.ResourceList) {
	for name, q := range more {
		s := sum[name]
		s.Add(q)
		sum[name] = s
	}
}

func atLeast(sum, other corev1.ResourceList) {
	for name, q := range other {
		if s := sum[name]; s.Cmp(q) < 0 {
			sum[name] = q
		}
	}
}

// Resources of the added containers in a Guaranteed Pod. No CPU is a whole number: such a container
// would get CPUs of its own from the static CPU manager.
const (
	agentCPU, agentMemory = "100m", "128Mi"
	queryCPU, queryMemory = "500m", "2Gi"
)

// resources returns the resources of an added container, with which the QoS class of the Pod stays:
// the static CPU manager takes ScyllaDB's exclusive CPUs away if a Guaranteed Pod becomes
// Burstable.
func (p *plan) resources(cpu, memory string, burstable object) object {
	switch qosOf(&p.set.Spec.Template.Spec) {
	case corev1.PodQOSBestEffort:
		return object{}
	case corev1.PodQOSGuaranteed:
		return object{"requests": object{"cpu": cpu, "memory": memory}, "limits": object{"cpu": cpu, "memory": memory}}
	case corev1.PodQOSBurstable:
	}
	return burstable
}

func (p *plan) agentResources() object {
	return p.resources(agentCPU, agentMemory,
		object{"requests": object{"cpu": "10m", "memory": "32Mi"}, "limits": object{"memory": "128Mi"}})
}

// queryResources: if the query is killed at its memory limit, the barrier waits, and nothing is
// lost.
func (p *plan) queryResources() object {
	return p.resources(queryCPU, queryMemory,
		object{"requests": object{"cpu": "10m", "memory": "64Mi"}, "limits": object{"memory": "2Gi"}})
}

// cost describes the resources of the added containers, and by how much the request of a Pod rises.
func cost(before, after *corev1.PodSpec) string {
	class := qosOf(before)
	if class == corev1.PodQOSBestEffort {
		return "the added containers have no requests and no limits: QoS class BestEffort is unchanged"
	}
	var each []string
	for i := range after.InitContainers {
		c := &after.InitContainers[i]
		if !slices.ContainsFunc(before.InitContainers, func(b corev1.Container) bool { return b.Name == c.Name }) {
			each = append(each, fmt.Sprintf("%s %s", c.Name, amounts(requests(c))))
		}
	}
	more := demand(after, requests)
	for name, q := range demand(before, requests) {
		m := more[name]
		m.Sub(q)
		more[name] = m
	}
	return fmt.Sprintf("each Pod requests %s more (%s): QoS class %s is unchanged", amounts(more),
		strings.Join(each, ", "), class)
}

func amounts(l corev1.ResourceList) string {
	return fmt.Sprintf("cpu %s memory %s", l.Cpu(), l.Memory())
}
