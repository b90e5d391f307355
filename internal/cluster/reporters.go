// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Reporter is a member's reporter, with the address at which it answers whether it polls its ScyllaDB.
type Reporter struct {
	matrix.Ref
	// Address is host and port; empty where the Pod has no address.
	Address string
}

// Reporters are those that have to answer before the member starts: of the nodes that have joined and have a Pod here with our reporter, except the member itself, the node that it
// replaces and the dead ones that its replacement ignores. Under the Scylla Operator there are none: its reporter is part of ScyllaDB's container and serves no port.
func (c *Cluster) Reporters(member string) []Reporter {
	var dead []hostid.ID
	if svc := c.ix.services[member]; svc != nil {
		dead = append(bootstrap.IgnoredDead(svc.Annotations), hostid.Known(svc.Labels[api.LabelReplacingNodeHostID]))
	}
	var out []Reporter
	for i := range c.all.Nodes() {
		n := &c.all.Nodes()[i]
		pod := c.ix.pods[n.Member]
		if pod == nil || n.Member == member || !n.Joined || n.Removed || slices.Contains(dead, n.HostID) {
			continue
		}
		if port := reporterPort(&pod.Spec); port > 0 {
			r := Reporter{Ref: n.Ref}
			if pod.Status.PodIP != "" {
				r.Address = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
			}
			out = append(out, r)
		}
	}
	return out
}

// flagReporterAddress and defaultReporterPort are those of the reporter.
const (
	flagReporterAddress = "--health-probe-bind-address="
	defaultReporterPort = 8081
)

// reporterPort is the port of our reporter in a Pod, 0 where the Pod has none, or one without a server.
func reporterPort(spec *corev1.PodSpec) int {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			if c.Name != api.ContainerReporter {
				continue
			}
			for _, arg := range c.Args {
				if at, ok := strings.CutPrefix(arg, flagReporterAddress); ok {
					_, port, _ := strings.Cut(at, ":")
					n, _ := strconv.Atoi(port)
					return n
				}
			}
			return defaultReporterPort
		}
	}
	return 0
}
