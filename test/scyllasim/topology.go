// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// topology is the replicated state, the same on every member: system.topology, topology_requests and the group 0 voters.
type topology struct {
	GroupID string               `json:"groupID"`
	Schema  string               `json:"schema"`
	Nodes   map[string]*topoNode `json:"nodes"`
	Voters  []string             `json:"voters"`
	// IgnoredNodes holds the host IDs that a replace, removenode or exclude_node named as dead.
	IgnoredNodes []string    `json:"ignored,omitempty"`
	Tasks        []*topoTask `json:"tasks,omitempty"`
	// Features are those that every normal node has supported at some time; they are never disabled again.
	Features string `json:"features"`
	// Legacy: the cluster was founded before 6.0, and its topology was not upgraded.
	Legacy    bool       `json:"legacy,omitempty"`
	Keyspaces []Keyspace `json:"keyspaces,omitempty"`
	// Auth has the roles and the two keyspaces that CQL clients see; nil without an authenticator.
	Auth *cql.State `json:"auth,omitempty"`
}

type topoNode struct {
	HostID string      `json:"hostID"`
	IP     string      `json:"ip"`
	DC     string      `json:"dc"`
	Rack   string      `json:"rack"`
	State  rules.State `json:"state"`
	Tokens []int64     `json:"tokens,omitempty"`
	// Stage is set while this node is in transition; at most one node has it.
	Stage     rules.Stage `json:"stage,omitempty"`
	Request   rules.Kind  `json:"request,omitempty"`
	RequestID string      `json:"requestID,omitempty"`
	Replaces  string      `json:"replaces,omitempty"`
	Ignore    []string    `json:"ignore,omitempty"`
	// Nonce tells one start of the joining process from the next on the same data directory.
	Nonce string `json:"nonce,omitempty"`
	// Features are those that the node's version supports.
	Features string `json:"features"`
	// ZeroToken nodes (join_ring=false) are members that own no token.
	ZeroToken bool `json:"zeroToken,omitempty"`
	// InGroup0 nodes receive the replicated state.
	InGroup0 bool `json:"inGroup0,omitempty"`
}

func (s *topology) clone() *topology {
	out := &topology{}
	if b, err := json.Marshal(s); err != nil || json.Unmarshal(b, out) != nil {
		return nil
	}
	return out
}

// sorted returns the nodes in order of host ID, so that every walk over them is repeatable.
func (s *topology) sorted() []*topoNode {
	if s == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(s.Nodes), func(a, b *topoNode) int { return cmp.Compare(a.HostID, b.HostID) })
}

func (s *topology) node(id string) *topoNode {
	if s == nil {
		return nil
	}
	return s.Nodes[id]
}

func (s *topology) State(id string) rules.State {
	if n := s.node(id); n != nil {
		return n.State
	}
	return rules.Absent
}

func (s *topology) Normal() []string {
	return s.ids(func(n *topoNode) bool { return n.State == rules.Normal })
}

// ids are the host IDs of the nodes for which something holds, in order.
func (s *topology) ids(holds func(n *topoNode) bool) []string {
	var out []string
	for _, n := range s.sorted() {
		if holds(n) {
			out = append(out, n.HostID)
		}
	}
	return out
}

func (s *topology) Ignored(id string) bool { return s != nil && slices.Contains(s.IgnoredNodes, id) }

func (n *topoNode) place() rules.Place {
	return rules.Place{DC: n.DC, Rack: n.Rack, ZeroToken: n.ZeroToken}
}

// owner reports whether a node in this state owns normal tokens.
func (n *topoNode) owner() bool {
	switch n.State {
	case rules.Normal:
		return true
	case rules.Decommissioning, rules.Removing:
		return n.Stage != rules.LeftRing
	}
	return false
}

// gossipStatus is the STATUS of a normal node.
func (n *topoNode) gossipStatus() string {
	if len(n.Tokens) == 0 {
		return "NORMAL,"
	}
	return "NORMAL," + itoa(n.Tokens[0])
}

// visible reports whether the node is in token metadata: its tokens (none, for a zero-token node) are chosen and it has not left.
func (n *topoNode) visible() bool {
	switch n.State {
	case rules.None, rules.Left:
		return false
	case rules.Bootstrapping, rules.Replacing:
		return len(n.Tokens) > 0 || n.ZeroToken
	}
	return true
}

// ringToken is one token of the ring and the node that owns it.
type ringToken struct {
	token int64
	node  *topoNode
}

// ring returns the normal tokens of all owners in ascending order.
func (s *topology) ring() []ringToken {
	var out []ringToken
	for _, n := range s.sorted() {
		if n.owner() {
			for _, t := range n.Tokens {
				out = append(out, ringToken{t, n})
			}
		}
	}
	slices.SortFunc(out, func(a, b ringToken) int { return cmp.Compare(a.token, b.token) })
	return out
}

// otherOwner reports whether a normal node other than id owns tokens.
func (s *topology) otherOwner(id string) bool {
	return slices.ContainsFunc(s.sorted(), func(n *topoNode) bool { return n.HostID != id && n.State == rules.Normal && !n.ZeroToken })
}

func addUnique(list []string, ids ...string) []string {
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

func (s *topology) wantedVoters() []string {
	return s.ids(func(n *topoNode) bool { return rules.Voter(s, n.HostID) })
}

// nextVoters returns the voters after one step towards the wanted set. One change at a time keeps any two majorities overlapping.
func (s *topology) nextVoters() ([]string, bool) {
	wanted := s.wantedVoters()
	for _, id := range wanted {
		if !slices.Contains(s.Voters, id) {
			return append(slices.Clone(s.Voters), id), true
		}
	}
	for i, id := range s.Voters {
		if !slices.Contains(wanted, id) && len(s.Voters) > 1 {
			return slices.Delete(slices.Clone(s.Voters), i, i+1), true
		}
	}
	return s.Voters, false
}
