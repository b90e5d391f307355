// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Reporter is a member's reporter, with the address at which it answers whether it polls its ScyllaDB.
type Reporter struct {
	matrix.Ref
	// Port is where it answers, 0 where it serves none that is known. Address is host and port; empty where there is no port, or the Pod has no address.
	Port    int
	Address string
	// Pod is the UID of its Pod. Heartbeat is where its row names the TLS end of the reporter, nil for none; HeartbeatAt is host and port of that, empty as Address.
	Pod         types.UID
	Heartbeat   *api.ReportHeartbeat
	HeartbeatAt string
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
		port, has := reporterPort(&pod.Spec)
		if !has {
			continue
		}
		r := Reporter{Ref: n.Ref, Port: port, Pod: pod.UID}
		if said := c.Said(n.Member); said != nil {
			r.Heartbeat = said.Heartbeat
		}
		at := func(port int) string {
			if port == 0 || pod.Status.PodIP == "" {
				return ""
			}
			return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
		}
		r.Address = at(port)
		if r.Heartbeat != nil {
			r.HeartbeatAt = at(int(r.Heartbeat.Port))
		}
		out = append(out, r)
	}
	return out
}

// flagReporterAddress and defaultReporterPort are those of the reporter.
const (
	flagReporterAddress = "--health-probe-bind-address="
	defaultReporterPort = 8081
)

// reporterPort is the port of our reporter in a Pod, 0 where it serves none, or none that can be read: a reporter that cannot be asked. has is false for a Pod without our reporter.
func reporterPort(spec *corev1.PodSpec) (port int, has bool) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			if c.Name != api.ContainerReporter {
				continue
			}
			for _, arg := range c.Args {
				if at, ok := strings.CutPrefix(arg, flagReporterAddress); ok {
					_, text, _ := net.SplitHostPort(at) // no port on an error: "0" switches the server off
					if n, err := strconv.ParseUint(text, 10, 16); err == nil {
						return int(n), true
					}
					return 0, true
				}
			}
			return defaultReporterPort, true
		}
	}
	return 0, false
}
