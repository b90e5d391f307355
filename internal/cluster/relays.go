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
// that does not receive it. They have joined and have a Service here. They are spread evenly over
// all, and so over the racks, and differ between members.
func (c *Cluster) Relays(member string, most int) []string {
	var all []string // ordered by datacenter and rack
	for i := range c.all.Nodes() {
		n := &c.all.Nodes()[i]
		if n.Member != "" && n.Member != member && n.Joined && !n.Removed && c.ix.services[n.Member] != nil {
			all = append(all, n.Member)
		}
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(member))
	out := make([]string, min(most, len(all)))
	for i := range out {
		out[i] = all[(int(sum.Sum32()>>1)+i*len(all)/len(out))%len(all)]
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
