// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// SeedInput is the input for the choice of a member's seeds as far as the API has it, from Objects with Services, Pods and reports; the caller adds the address that the member
// will have and the seeds that the user gave. Addresses are those of the Pods, or with byService the cluster IPs of the member Services.
func (c *Cluster) SeedInput(member string, byService bool) bootstrap.SeedInput {
	in := bootstrap.SeedInput{Self: member}
	m := c.Matrix()
	members := c.Members()
	for i := range members {
		mb := &members[i]
		var node *matrix.Node
		if at, ok := m.Index(mb.HostID); ok && mb.HostID != "" {
			node = &m.Nodes()[at]
		}
		if mb.Service == nil {
			// A host ID that only gossip has is no member, nor is a Pod that has not started yet.
			if node != nil && node.Joined {
				in.Elsewhere = append(in.Elsewhere, mb.Name())
			}
			continue
		}
		one := bootstrap.SeedMember{
			Name: mb.Ref.Member, Datacenter: mb.Datacenter, Rack: mb.Rack, Address: seedAddress(mb, byService),
			Created: mb.Service.CreationTimestamp.Time,
			Joined:  seedJoined(mb, node),
			Up:      node != nil && node.SeenUp > 0 && node.SeenDown == 0,
		}
		in.Members = append(in.Members, one)
		if one.Name == member {
			in.Forced = mb.Force == api.ForceProceedValue
			in.Restart = one.Joined && !mb.ReplaceRequested && mb.Replacing == ""
		}
	}
	for _, dc := range c.notVerified() {
		here := slices.ContainsFunc(in.Members, func(m bootstrap.SeedMember) bool { return m.Datacenter == dc })
		if !here && !slices.Contains(in.Elsewhere, dc) {
			in.Elsewhere = append(in.Elsewhere, dc)
		}
	}
	return in
}

// seedJoined accepts any evidence of a join: creating a second cluster is worse than waiting.
func seedJoined(mb *Member, node *matrix.Node) bool {
	recorded := mb.Service.Annotations[api.AnnotationHostID] != ""
	return mb.Joined != nil && *mb.Joined || mb.Joined == nil && recorded || node != nil && node.Joined
}

func seedAddress(mb *Member, byService bool) string {
	if byService {
		if ip := mb.Service.Spec.ClusterIP; ip != corev1.ClusterIPNone {
			return ip
		}
		return ""
	}
	if mb.Pod == nil || mb.Pod.DeletionTimestamp != nil {
		return ""
	}
	return mb.Pod.Status.PodIP
}

// SeedChoice is the choice of launch for the member on a new volume, as far as it is known outside its Pod: host names among the given seeds are not resolved. launched is false
// where ScyllaDB is not started by launch, so that another program chooses; the Scylla Operator does so by a similar rule.
func (c *Cluster) SeedChoice(member string) (choice bootstrap.SeedChoice, launched bool) {
	var spec *corev1.PodSpec
	if p := c.ix.pods[member]; p != nil {
		spec = &p.Spec
	} else if set := c.ix.set(member); set != nil {
		spec = &set.Spec.Template.Spec
	}
	if spec == nil || !startedByLaunch(spec) {
		return bootstrap.SeedChoice{}, false
	}
	in := c.SeedInput(member, false)
	in.External, in.Restart, in.SelfAddress = c.externalSeeds(spec), false, member
	for i := range in.Members {
		if m := &in.Members[i]; m.Name == member && m.Address != "" {
			in.SelfAddress = m.Address
		}
	}
	return bootstrap.Seeds(in), true
}

// startedByLaunch is true for a Pod whose ScyllaDB is started by `scylla-agent launch`, with seeds that are known here.
func startedByLaunch(spec *corev1.PodSpec) bool {
	container := ScyllaDBContainer(spec)
	if container == nil {
		return false
	}
	words := slices.Concat(container.Command, container.Args)
	at := slices.Index(words, "launch")
	if at < 1 || path.Base(words[at-1]) != "scylla-agent" {
		return false
	}
	// Seeds from a variable are known to the container alone.
	for i, w := range words {
		if strings.Contains(w, "$(") && (strings.HasPrefix(w, "--seeds") || i > 0 && words[i-1] == "--seeds") {
			return false
		}
	}
	return true
}
