// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// topology are the commands of nodetool that move a node's data, or remove or stop a node.
var topology = []string{"decommission", "removenode", "excludenode", "rebuild", "assassinate", "move", "drain",
	"stopdaemon", "disablegossip", "disablebinary"}

// ChangesTopology reports whether the nodetool arguments have such a command. It may be after
// options; "removenode status" only reads.
func ChangesTopology(nodetool []string) bool {
	i := slices.IndexFunc(nodetool, func(arg string) bool { return slices.Contains(topology, arg) })
	return i >= 0 && !slices.Contains(nodetool[:i], "help") &&
		(nodetool[i] != "removenode" || !slices.Contains(nodetool[i+1:], "status"))
}

// AgainstTopology returns the reasons against such a command: the findings except remarks, and why
// a host ID among its arguments should not be removed.
func AgainstTopology(c *cluster.Cluster, nodetool []string) []words.Message {
	var out []words.Message
	for _, f := range Of(c) {
		if !f.Remark {
			out = append(out, f.Message)
		}
	}
	for _, arg := range nodetool {
		id := hostid.Known(arg)
		if id == "" {
			continue
		}
		switch why := maintenance.Removable(c, id); {
		case why.IsZero():
		case why.Code == words.HostIDOfMember:
			out = append(out, why)
		default:
			out = append(out, words.New(words.HostIDNotRemovable, "id", id, "why", why))
		}
	}
	return out
}
