// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"fmt"
)

// Changes lists the differences between two documents of a cluster: verdict, summary, then nodes.
// before is nil for a cluster that did not exist.
func Changes(before, after *ClusterStatus) []string {
	if before == nil {
		return []string{"appeared: " + after.Verdict}
	}
	var out []string
	if before.Verdict != after.Verdict {
		out = append(out, fmt.Sprintf("%s → %s", before.Verdict, after.Verdict))
	}
	if before.Summary != after.Summary && !after.Healthy {
		out = append(out, after.Summary)
	}
	old := map[string]*Node{}
	for i := range before.Nodes {
		old[before.Nodes[i].key()] = &before.Nodes[i]
	}
	for i := range after.Nodes {
		n := &after.Nodes[i]
		o := old[n.key()]
		delete(old, n.key())
		if o == nil {
			out = append(out, n.Name()+" is new")
			continue
		}
		for _, c := range []struct{ what, from, to string }{
			{"is seen", seenStatus(o.Seen), seenStatus(n.Seen)}, {"status report", o.Row.Word(), n.Row.Word()},
			{"Pod", o.Pod, n.Pod},
			{"host ID", string(o.HostID), string(n.HostID)}, {"version", o.Version, n.Version},
			{"Kubernetes node", o.On(), n.On()},
		} {
			if c.from != c.to {
				out = append(out, fmt.Sprintf("%s %s %s → %s", n.Name(), c.what, cmp.Or(c.from, "-"),
					cmp.Or(c.to, "-")))
			}
		}
	}
	for i := range before.Nodes {
		if n := &before.Nodes[i]; old[n.key()] != nil {
			out = append(out, n.Name()+" is gone")
		}
	}
	return out
}

// key identifies a node across documents: its member if it has one, because a replacement changes
// the host ID.
func (n *Node) key() string {
	if n.Member != "" {
		return n.Member
	}
	return string(n.HostID)
}

// On returns its Kubernetes node with the state; empty if unknown.
func (n *Node) On() string {
	if n.KubernetesNode == nil {
		return ""
	}
	return n.KubernetesNode.String()
}

func seenStatus(s *Seen) string {
	if s == nil {
		return ""
	}
	return string(s.Status)
}
