// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// Reporters returns the members whose reporters must respond before the member starts: those that
// have joined and have a Pod here with our reporter. The member itself, the node that it replaces
// and the dead nodes that its replacement ignores are left out. Under the Scylla Operator there are
// none: its reporter is part of ScyllaDB's container and serves no port.
func (c *Cluster) Reporters(member string) []*Member {
	var dead []hostid.ID
	if m := c.Member(member); m != nil {
		dead = append(m.IgnoredDead(), hostid.Known(m.Label(api.LabelReplacingNodeHostID)))
	}
	var out []*Member
	for i := range c.all.Nodes() {
		n := &c.all.Nodes()[i]
		if c.ix.pods[n.Member] == nil || n.Member == member || n.Removed || slices.Contains(dead, n.HostID) {
			continue
		}
		m := c.MemberOf(n)
		// The row of a node that has just joined may not show it yet.
		if _, has := reporterPort(&m.Pod.Spec); has && (n.Joined || m.HasJoined() && m.RecordedID() == n.HostID) {
			out = append(out, m)
		}
	}
	return out
}

// ReporterAt returns the port on which its reporter reports whether it polls its ScyllaDB, and the
// host and port. port is 0 if no port is known; address is empty without a port or Pod address.
func (m *Member) ReporterAt() (address string, port int) {
	if m.Pod == nil {
		return "", 0
	}
	port, _ = reporterPort(&m.Pod.Spec)
	return m.at(port), port
}

// Heartbeat returns the TLS endpoint of its reporter that its row names; nil if it names none.
func (m *Member) Heartbeat() *api.ReportHeartbeat {
	if m.Report == nil || m.Pod == nil {
		return nil
	}
	return m.Report.Heartbeat
}

// HeartbeatAt returns host and port of Heartbeat; empty if there is none, or its Pod has no
// address.
func (m *Member) HeartbeatAt() string {
	h := m.Heartbeat()
	if h == nil {
		return ""
	}
	return m.at(int(h.Port))
}

// at returns the Pod's address with port; empty without either.
func (m *Member) at(port int) string {
	if port == 0 || m.Pod.Status.PodIP == "" {
		return ""
	}
	return net.JoinHostPort(m.Pod.Status.PodIP, strconv.Itoa(port))
}

// Flag and default of the reporter.
const (
	flagReporterAddress = "--health-probe-bind-address="
	defaultReporterPort = 8081
)

// reporterPort returns the port of our reporter in a Pod, 0 if it serves none or its flag is not
// readable: then it cannot be queried. has is false for a Pod without our reporter.
func reporterPort(spec *corev1.PodSpec) (port int, has bool) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			if c.Name != api.ContainerReporter {
				continue
			}
			for _, arg := range c.Args {
				if at, ok := strings.CutPrefix(arg, flagReporterAddress); ok {
					// no port on an error: "0" disables the server
					_, text, _ := net.SplitHostPort(at)
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
