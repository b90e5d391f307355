// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"hash/fnv"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Relays returns at most most members whose reporters can relay the controller's view to a member
// that does not receive it. They have joined and have a Service here. They are from as many racks
// as possible, and differ between members.
func (c *Cluster) Relays(member string, most int) []string {
	type place struct{ datacenter, rack string }
	var racks []place
	of := map[place][]string{}
	for i := range c.all.Nodes() {
		n := &c.all.Nodes()[i]
		if n.Member == "" || n.Member == member || !n.Joined || n.Removed || c.ix.services[n.Member] == nil {
			continue
		}
		at := place{n.Datacenter, n.Rack}
		if of[at] == nil {
			racks = append(racks, at)
		}
		of[at] = append(of[at], n.Member)
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(member))
	start := int(sum.Sum32() >> 1)
	var out []string
	for round := 0; len(racks) > 0 && len(out) < most; round++ {
		before := len(out)
		for i := range racks {
			if here := of[racks[(start+i)%len(racks)]]; round < len(here) && len(out) < most {
				out = append(out, here[(start+round)%len(here)])
			}
		}
		if len(out) == before {
			break
		}
	}
	return out
}

// ServedAt returns the address at which a Pod's reporter serves TLS, and the fingerprint of its
// certificate; false if the Pod records no such server.
func ServedAt(pod *corev1.Pod) (address, fingerprint string, ok bool) {
	row, _ := api.RowOf(pod.Annotations)
	said, err := row.Decode()
	if err != nil || said.Heartbeat == nil || pod.Status.PodIP == "" || !api.IsFingerprint(said.Heartbeat.Fingerprint) {
		return "", "", false
	}
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(said.Heartbeat.Port))), said.Heartbeat.Fingerprint, true
}
